// The NIC of a virtual board whose soft cores run a program.
#pragma once

#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "board_options.hpp"
#include "model.hpp"
#include "nic_afb_port.hpp"
#include "nic_dram.hpp"
#include "nic_regs.h"
#include "nic_soc_port.hpp"

namespace sw {

class NicCores {
 public:
  NicCores(Model& model, const NicOptions& options)
      : model_(model), options_(options), program_(read_program(options.program_path)),
        soc_(model.top(), cores_of(model)) {
    model.on_edge = [this](const Vboard&) { edge(); };
  }

  // Behind a reset of the model: the program starts again.
  void restart() {
    dram_.reset();
    soc_.load(program_, [this] { model_.tick(); });
    if (options_.mac) write_mac(*options_.mac);
    soc_.run();
    if (options_.mode == "nic") write("mode", kNicLoopback);
  }

  bool is_awake() const { return !soc_.has_ended && !soc_.is_asleep(); }

  // False: no register is called so.
  bool read(const std::string& name, uint32_t& value) {
    for (const Named& reg : kRegisters)
      if (name == reg.name && !is_queue(reg)) return value = access(true, reg.number, 0), true;
    return false;
  }

  // One line for each counter.
  std::string counters() {
    access(false, SW_NIC_REG_COMMAND, kSnapshot);
    std::string text;
    for (const Named& counter : kCounters) {
      const uint32_t at = SW_NIC_WINDOW_COUNTERS + 8 * counter.number;
      const uint64_t low = access(true, at, 0);
      const uint64_t value = uint64_t(access(true, at + 4, 0)) << 32 | low;
      text += std::string("nic.") + counter.name + " " + std::to_string(value) + "\n";
    }
    return text;
  }

  bool write(const std::string& name, uint32_t value) {
    for (const Named& reg : kRegisters)
      if (name == reg.name && !is_queue(reg)) return access(false, reg.number, value), true;
    return false;
  }

  void say_end() {
    for (size_t core = 0; core < soc_.asleep.size(); ++core)
      std::printf("  core %zu slept %" PRIu64 " of %" PRIu64 " cycles\n", core, soc_.asleep[core], cycles_);
  }

 private:
  // The program takes it as the board's.
  void write_mac(const std::array<uint8_t, 6>& mac) {
    uint32_t words[2] = {};
    for (unsigned i = 0; i < mac.size(); ++i) words[i / 4] |= uint32_t(mac[i]) << 8 * (i % 4);
    write("mac_lo", words[0]);
    write("mac_hi", words[1]);
  }

  struct Named {
    uint32_t number;
    const char* name;
  };
#define SW_NAME(number, name) {number, name},
  static constexpr Named kRegisters[] = {SW_NIC_REG_EACH(SW_NAME)};
  static constexpr Named kCounters[] = {SW_NIC_COUNTER_EACH(SW_NAME)};
#undef SW_NAME
  static constexpr uint32_t kSnapshot = 1, kNicLoopback = 1;
  static constexpr uint32_t kDramBytes = 64 << 20;

  // An access to a queue or the lock would take a buffer from the program. Levels stand between them.
  static bool is_queue(const Named& reg) {
    return reg.number >= SW_NIC_REG_RECEIVE_0 && reg.number <= SW_NIC_REG_LOCK && reg.number % 8 == 0;
  }

  static unsigned cores_of(Model& model) {
    model.top().eval();
    const unsigned cores = model.top().cores_o;
    if (cores == 0) throw std::runtime_error("--nic: this board has no soft cores (make SOC=1 board)");
    return cores;
  }

  uint32_t access(bool read, unsigned offset, uint32_t data) {
    registers_.start(read, offset, data);
    uint32_t result = 0;
    while (!registers_.take(result)) model_.tick();
    return result;
  }

  void edge() {
    Vboard& top = model_.top();
    const uint64_t cycle = cycles_++;
    soc_.drive();
    registers_.drive();
    dram_.drive(cycle);
    // Only the ports' requests answer within a cycle.
    if (!registers_.is_idle() || dram_.is_busy()) top.eval();
    dram_.after(cycle);
    registers_.after();
    soc_.after();
  }

  Model& model_;
  NicOptions options_;
  std::vector<uint8_t> program_;
  SocPort<Vboard> soc_;
  AfbPort<Vboard> registers_{model_.top(), 1};
  Dram<Vboard> dram_{model_.top(), kDramBytes};
  uint64_t cycles_ = 0;
};

}  // namespace sw

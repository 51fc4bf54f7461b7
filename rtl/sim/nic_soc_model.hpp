// A board with soft cores as nic_soc_bench sees it: the program, the console, the bench's port to the
// NIC's registers, and registers in the place of the sender's.
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "Vsoc.h"
#include "nic_afb_port.hpp"
#include "nic_dram.hpp"
#include "nic_regs.h"

namespace sw {

#ifndef CORES
#define CORES 1
#endif
#ifndef MAC_BYTES
#define MAC_BYTES 1
#endif
#ifndef MEMORY
#define MEMORY 0
#endif
constexpr unsigned kCores = CORES;
constexpr unsigned kBeatBytes = MAC_BYTES;
// 1G takes a byte at 125 MHz, 10G 8 bytes at 156.25 MHz.
constexpr double kClockMHz = kBeatBytes == 1 ? 125 : 156.25;
constexpr unsigned kProgramBytes = 128 << 10;

class Soc {
 public:
  Vsoc model;
  Dram<Vsoc> dram{model, 128 << 10};
  AfbPort<Vsoc> registers{model, 0};
  std::map<uint32_t, uint32_t> sender;  // what was written to the sender's registers
  std::deque<uint8_t> input;            // for the console of core 0
  std::string output[kCores];           // of the consoles; lines are printed as they end
  bool is_quiet = false;
  bool has_ended = false;
  uint32_t exit_code = 0;
  uint64_t now = 0, asleep[kCores] = {};  // cycles that each core slept
  double cpu_mhz;  // of the cores' clock, in a model where they have one

  explicit Soc(const std::vector<uint8_t>& program, double cpu_mhz = 100) : cpu_mhz(cpu_mhz) {
    model.rst_i = 1;
    model.run_i = 0;
    model.s_axis_tvalid = 0;
    model.m_axis_tready = 1;
    load_tick();
    for (size_t at = 0; at < program.size(); at += 4) {
      uint32_t word = 0;
      for (size_t i = 0; i < 4 && at + i < program.size(); i++)
        word |= uint32_t(program[at + i]) << 8 * i;
      model.load_i = 1;
      model.load_word_i = uint32_t(at / 4);
      model.load_data_i = word;
      load_tick();
    }
    model.load_i = 0;
    for (int i = 0; i < 8; i++) load_tick();
    model.rst_i = 0;
    // The reset takes the queues a while.
    for (int i = 0; i < 300; i++) cycle();
    model.run_i = 1;
  }

  // A cycle of the clock, and those of the cores' own clock that end in it.
  template <class... Parts>
  void cycle(Parts&... parts) {
    const bool is_one_clock = !model.has_cpu_clock_o;
    (parts.drive(now), ...);
    if (MEMORY) dram.drive(now);
    if (is_one_clock) drive_cores();
    model.eval();
    if (MEMORY) dram.after(now);
    (parts.after(now), ...);
    if (is_one_clock) after_cores();
    tick();
    if (is_one_clock) return;
    for (cpu_phase_ += cpu_mhz / kClockMHz; cpu_phase_ >= 1; cpu_phase_ -= 1) {
      drive_cores();
      model.eval();
      after_cores();
      tick_cores();
    }
  }

  // One access through the bench's port.
  template <class... Parts>
  uint32_t access(bool read, unsigned offset, uint32_t data, Parts&... parts) {
    registers.start(read, offset, data);
    for (uint32_t result;;) {
      cycle(parts...);
      if (registers.take(result)) return result;
    }
  }

  template <class... Parts>
  uint64_t counter(unsigned entry, Parts&... parts) {
    access(false, SW_NIC_REG_COMMAND, 1, parts...);
    const uint64_t low = access(true, SW_NIC_WINDOW_COUNTERS + 8 * entry, 0, parts...);
    return low | uint64_t(access(true, SW_NIC_WINDOW_COUNTERS + 8 * entry + 4, 0, parts...)) << 32;
  }

  // Until the program has enabled the MAC; false if it has not in so many cycles.
  bool starts(uint64_t cycles) {
    while (!model.enable_mac_o && !has_ended && cycles--) cycle();
    return model.enable_mac_o;
  }

 private:
  // What is on the cores' clock.
  void drive_cores() {
    registers.drive();
    model.console_valid_i = !input.empty();
    model.console_i = input.empty() ? 0 : input.front();
    model.m_axil_awready = model.m_axil_wready = model.m_axil_awvalid && model.m_axil_wvalid;
    model.m_axil_arready = 1;
    model.m_axil_bvalid = wrote_;
    model.m_axil_rvalid = reads_;
    model.m_axil_rdata = read_;
    model.time_ns_i = uint64_t(double(now) * 1000 / kClockMHz);
  }

  void after_cores() {
    registers.after();
    after_sender();
    after_outputs();
  }

  void after_sender() {
    wrote_ = model.m_axil_awvalid && model.m_axil_awready;
    if (wrote_) sender[model.m_axil_awaddr] = model.m_axil_wdata;
    reads_ = model.m_axil_arvalid;
    if (reads_) read_ = sender.count(model.m_axil_araddr) ? sender[model.m_axil_araddr] : 0;
  }

  void after_outputs() {
    if (model.console_ready_o & 1 && !input.empty()) input.pop_front();
    for (unsigned n = 0; n < kCores; n++) {
      asleep[n] += model.asleep_o >> n & 1;
      if (model.console_valid_o >> n & 1) print(n, char(uint64_t(model.console_o) >> 8 * n));
      if (!(model.exit_valid_o >> n & 1) || has_ended) continue;
      has_ended = true;
      exit_code = word(model.exit_code_o, n);
    }
  }

  void print(unsigned core, char byte) {
    if (byte != '\n') {
      output[core] += byte;
      return;
    }
    if (!is_quiet) std::printf("core %u: %s\n", core, output[core].c_str());
    std::fflush(stdout);
    output[core].clear();
  }

  static uint32_t word(uint32_t port, unsigned) { return port; }
  static uint32_t word(uint64_t port, unsigned n) { return uint32_t(port >> 32 * n); }
  template <class Wide>
  static uint32_t word(const Wide& port, unsigned n) { return port[n]; }

  void tick() {
    model.clk_i = 1;
    model.eval();
    model.clk_i = 0;
    model.eval();
    now++;
  }

  void load_tick() {
    tick();
    tick_cores();
  }

  void tick_cores() {
    model.cpu_clk_i = 1;
    model.eval();
    model.cpu_clk_i = 0;
    model.eval();
  }

  double cpu_phase_ = 0;
  bool wrote_ = false, reads_ = false;
  uint32_t read_ = 0;
};

}  // namespace sw

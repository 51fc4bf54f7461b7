// A board with soft cores as nic_soc_bench sees it: the program, the console, the bench's port to the
// NIC's registers, and registers in the place of the sender's.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "Vsoc.h"
#include "nic_afb_port.hpp"
#include "nic_dram.hpp"
#include "nic_regs.h"
#include "nic_soc_port.hpp"

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

constexpr uint32_t kDramBytes = 64 << 20;

class Soc {
 public:
  Vsoc model;
  Dram<Vsoc> dram{model, MEMORY ? kDramBytes : 8};
  AfbPort<Vsoc> registers{model, 0};
  std::map<uint32_t, uint32_t> sender;  // what was written to the sender's registers
  SocPort<Vsoc> cores{model, kCores};
  uint64_t now = 0;
  double cpu_mhz;  // of the cores' clock, in a model where they have one

  explicit Soc(const std::vector<uint8_t>& program, double cpu_mhz = 100) : cpu_mhz(cpu_mhz) {
    model.rst_i = 1;
    model.s_axis_tvalid = 0;
    model.m_axis_tready = 1;
    cores.load(program, [this] { load_tick(); });
    for (int i = 0; i < 8; i++) load_tick();
    model.rst_i = 0;
    // The reset takes the queues a while.
    for (int i = 0; i < 300; i++) cycle();
    cores.run();
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
    while (!model.enable_mac_o && !cores.has_ended && cycles--) cycle();
    return model.enable_mac_o;
  }

 private:
  // What is on the cores' clock.
  void drive_cores() {
    registers.drive();
    cores.drive();
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
    cores.after();
  }

  void after_sender() {
    wrote_ = model.m_axil_awvalid && model.m_axil_awready;
    if (wrote_) sender[model.m_axil_awaddr] = model.m_axil_wdata;
    reads_ = model.m_axil_arvalid;
    if (reads_) read_ = sender.count(model.m_axil_araddr) ? sender[model.m_axil_araddr] : 0;
  }

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

// nic_core with one processor port, as the bench sees it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "Vnic_core.h"
#include "fields.hpp"
#include "nic_processor.hpp"

namespace sw {

using Model = Vnic_core;

// Fields of nic_pkg::config_t.
struct NicConfig {
  bool enable = true, loopback = false;
  unsigned servers = 4, choice = 0, filter = 8;
  uint32_t base = 0;
  unsigned buffer_bits = 4, buffers = 64;

  void write(Model& model) const {
    Fields(model.config_i.data())
        .put(65536, 24).put(buffers, 8).put(buffer_bits, 3).put(base, 32).put(0, 4)
        .put(4791, 16).put(0x88B5, 16).put(kMac, 48).put(filter, 4).put(choice, 2)
        .put(servers, 3).put(loopback, 1).put(enable, 1);
  }
};

// Fields of nic_pkg::events_t, the last one in bit 0.
enum Event : unsigned {
  kRevoked, kLockedOp, kFullPush, kBadPush, kReadFailed, kBadLength, kSent,
  kDisabled, kWriteFailed, kQueueFull, kFiltered, kTooLong, kBad, kReceived, kEvents
};

// Operations on the queues by the processor port.
class OpPort {
 public:
  explicit OpPort(Model& model) : model_(model) {}
  void start(bool push, unsigned kind, unsigned server, uint32_t pointer) {
    op_ = uint64_t(push) << 36 | uint64_t(kind) << 34 | uint64_t(server) << 32 | pointer;
    is_asking_ = true;
    has_result_ = false;
  }
  unsigned interrupts() const { return model_.receive_waits_o; }
  void drive() {
    model_.op_valid_i = is_asking_;
    model_.op_i = op_;
  }
  void after() {
    if (is_asking_ && model_.op_ready_o) is_asking_ = false;
    if (model_.result_valid_o) {
      has_result_ = true;
      result_ = model_.result_o;
    }
  }
  bool take(uint32_t& result) {
    if (!has_result_) return false;
    result = result_;
    has_result_ = false;
    return true;
  }
  void reset() { is_asking_ = has_result_ = false; }

 private:
  Model& model_;
  bool is_asking_ = false, has_result_ = false;
  uint64_t op_ = 0;
  uint32_t result_ = 0;
};

class Nic {
 public:
  Model model;
  NicConfig config;
  OpPort port{model};
  Processor<OpPort> processor;
  std::array<uint64_t, kEvents> counts{};
  uint64_t now = 0;

  explicit Nic(uint64_t seed) : processor(port, seed) {
    model.response_ready_i = 1;
    config.write(model);
    reset();
  }

  void reset() {
    model.rst_i = 1;
    model.s_axis_tvalid = 0;
    model.m_axis_tready = 1;
    for (int i = 0; i < 4; i++) tick();
    model.rst_i = 0;
    port.reset();
    processor.forget();
    // The queues are cleared; then the processor owns all buffers.
    for (unsigned i = 0; i < config.buffers; i++)
      processor.give(config.base + (i << (7 + config.buffer_bits)));
    while (!processor.is_ready()) cycle();
  }

  template <class... Parts>
  void cycle(Parts&... parts) {
    (parts.drive(now), ...);
    processor.drive(now);
    model.counter_i = uint32_t(now);
    model.eval();
    (parts.after(now), ...);
    processor.after(now);
    count();
    tick();
  }

  // One operation, while the processor rests.
  uint32_t operate(bool push, unsigned kind, unsigned server, uint32_t pointer) {
    port.start(push, kind, server, pointer);
    for (uint32_t result;;) {
      port.drive();
      model.eval();
      port.after();
      count();
      tick();
      if (port.take(result)) return result;
    }
  }

 private:
  void count() {
    for (uint32_t events = model.events_o; events; events &= events - 1)
      counts[__builtin_ctz(events)]++;
  }

  void tick() {
    model.clk_i = 1;
    model.eval();
    model.clk_i = 0;
    model.eval();
    now++;
  }
};

}  // namespace sw

// The NIC as the bench sees it: two AFB ports, a dummy processor on the first, the bench on the second.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <utility>

#include "Vnic.h"
#include "nic_afb_port.hpp"
#include "nic_dram.hpp"
#include "nic_processor.hpp"
#include "nic_regs.h"

namespace sw {

using Model = Vnic;

#ifndef MEMORY
#define MEMORY 0
#endif
enum Memory : unsigned { kLocal, kOutside, kL2 };
constexpr Memory kMemory = Memory(MEMORY);  // as nic_pkg's
constexpr unsigned kMemoryBytes = 128 << 10;
#ifdef RINGS
constexpr bool kHasRings = true;  // queues in memory, in its last 16 KiB
#else
constexpr bool kHasRings = false;
#endif
constexpr unsigned kBuffersBytes = kMemoryBytes - (kHasRings ? 16 << 10 : 0);

// Of the window of counters those that the bench reads, in its order.
enum Count : unsigned {
  kReceived, kBad, kTooLong, kFiltered, kQueueFull, kWriteFailed, kDisabled, kSent, kBadLength,
  kReadFailed, kBadPush, kCounts
};

// What the dummy processor does with queues, as register accesses: a push gives its result.
class QueuePort {
 public:
  QueuePort(Model& model, AfbPort<Model>& afb) : model_(model), afb_(afb) {}
  void start(bool push, unsigned kind, unsigned server, uint32_t pointer) {
    const unsigned first = kind == kFree ? SW_NIC_REG_FREE :
                           kind == kReceive ? SW_NIC_REG_RECEIVE_0 : SW_NIC_REG_TRANSMIT_0;
    afb_.start(!push, first + 8 * server, pointer);
  }
  unsigned interrupts() const { return model_.irq_o; }
  void drive() { afb_.drive(); }
  void after() { afb_.after(); }
  bool take(uint32_t& result) { return afb_.take(result); }

 private:
  Model& model_;
  AfbPort<Model>& afb_;
};

// Reads the whole memory over and over through the first ACB port, a read offered each cycle; with
// the MAC side there is no such port.
class MemoryReader {
 public:
  MemoryReader([[maybe_unused]] Model& model, bool is_on) : is_on_(is_on) {
#ifndef HAS_MAC
    model_ = &model;
#endif
  }
  uint64_t reads = 0;

  void drive(uint64_t) {
#ifndef HAS_MAC
    model_->acb_valid_i = is_on_;
    model_->acb_i[2] = address_;
    model_->acb_i[3] = 0xFF << 4 | 1 << 12;  // mask, read
#endif
  }
  void after(uint64_t) {
#ifndef HAS_MAC
    if (!is_on_ || !(model_->acb_ready_o & 1)) return;
    reads++;
    address_ = (address_ + 8) % kMemoryBytes;
#endif
  }

 private:
  bool is_on_;
  uint32_t address_ = 0;
#ifndef HAS_MAC
  Model* model_;
#endif
};

struct NicConfig {
  bool enable = true;
  unsigned mode = 0;  // 0 normal, 1 NIC loopback, 2 MAC loopback
  unsigned servers = 4, choice = 0, filter = 8;
  unsigned buffer_bits = 4, buffers = 64;
};

class Nic {
 public:
  Model model;
  Dram<Model> dram{model, kMemoryBytes};
  AfbPort<Model> afb{model, 0}, control{model, 1};
  QueuePort port{model, afb};
  Processor<QueuePort> processor;
  NicConfig config;
  std::array<uint64_t, kCounts> counts{};  // since `mark`
  uint64_t now = 0;

  explicit Nic(uint64_t seed) : processor(port, seed) {
    model.acb_ready_i = 3;
    reset();
  }

  // Buffers 0 on belong to the processor, which gives them all; then frames may come.
  void reset() {
    const double errors = std::exchange(dram.errors, 0.);
    model.rst_i = 1;
    model.s_axis_tvalid = 0;
    model.m_axis_tready = 1;
    model.afb_valid_i = 0;
    dram.reset();
    model.dram_request_ready_i = model.dram_response_valid_i = 0;
    for (int i = 0; i < 4; i++) tick();
    model.rst_i = 0;
    afb.reset();
    control.reset();
    writes_.clear();
    is_changing_ = false;
    enables_.clear();
    processor.forget();
    write(SW_NIC_REG_BUFFER_SIZE, config.buffer_bits);
    write(SW_NIC_REG_BUFFERS, config.buffers);
    write(SW_NIC_REG_MAC_LO, uint32_t(kMac));
    write(SW_NIC_REG_MAC_HI, uint32_t(kMac >> 32));
    configure();
    finish();
    // Queues in memory that cannot be emptied are out of use until the next reset: memory fails only
    // behind that. An operation waits for it.
    if (kHasRings) access(true, SW_NIC_REG_FREE);
    dram.errors = errors;
    for (unsigned i = 0; i < config.buffers; i++) processor.give(i << (7 + config.buffer_bits));
    while (!processor.is_ready()) cycle();
    enable(true);
    finish();
  }

  void configure() {
    write(SW_NIC_REG_SERVERS, config.servers);
    write(SW_NIC_REG_FILTER, config.filter);
    write(SW_NIC_REG_MODE, config.mode);
    write(SW_NIC_REG_CHOICE, config.choice);
  }
  void enable(bool on) {
    config.enable = on;
    write(SW_NIC_REG_CONTROL, on ? 7 : 4);
  }
  void write(unsigned offset, uint32_t data) { writes_.push_back({offset, data}); }
  void finish() {
    while (!writes_.empty() || !control.is_idle()) cycle();
  }

  template <class... Parts>
  void cycle(Parts&... parts) {
    (parts.drive(now), ...);
    processor.drive(now);
    if (!writes_.empty() && control.is_idle()) {
      control.start(false, writes_.front().offset, writes_.front().data);
      changes_ = writes_.front();
      is_changing_ = true;
      writes_.pop_front();
    }
    control.drive();
    if (kMemory != kLocal) dram.drive(now);
    model.eval();
    if (kMemory != kLocal) dram.after(now);
    (parts.after(now), ...);
    processor.after(now);
    control.after();
    uint32_t result;
    if (is_changing_ && control.take(result)) {
      is_changing_ = false;
      // The register has its value in the cycle of the response.
      if (changes_.offset == SW_NIC_REG_CONTROL) enables_.push_front({now, bool(changes_.data & 1)});
      if (enables_.size() > 64) enables_.pop_back();
    }
    tick();
  }

  // In a cycle of the past.
  bool was_enabled(uint64_t cycle) const {
    for (const Enable& enable : enables_)
      if (cycle >= enable.since) return enable.on;
    return false;
  }

  // One access, while the processor rests.
  uint32_t access(bool read, unsigned offset, uint32_t data = 0) {
    control.start(read, offset, data);
    for (uint32_t result;;) {
      control.drive();
      if (kMemory != kLocal) dram.drive(now);
      model.eval();
      if (kMemory != kLocal) dram.after(now);
      control.after();
      tick();
      if (control.take(result)) return result;
    }
  }

  void read_counts() {
    access(false, SW_NIC_REG_COMMAND, 1);
    for (unsigned i = 0; i < kCounts; i++)
      counts[i] = counter(SW_NIC_COUNTER_RECEIVED + i) - marked_[i];
  }
  // As of the last `read_counts`.
  uint64_t counter(unsigned entry) {
    const unsigned offset = SW_NIC_WINDOW_COUNTERS + 8 * entry;
    const uint64_t low = access(true, offset);
    return low | uint64_t(access(true, offset + 4)) << 32;
  }
  void mark() {
    for (unsigned i = 0; i < kCounts; i++) marked_[i] += counts[i];
    counts = {};
  }

 private:
  struct Write {
    unsigned offset;
    uint32_t data;
  };

  struct Enable {
    uint64_t since;
    bool on;
  };

  void tick() {
    model.clk_i = 1;
    model.eval();
    model.clk_i = 0;
    model.eval();
    now++;
  }

  std::deque<Write> writes_;
  std::deque<Enable> enables_;  // the last one first
  Write changes_{};
  bool is_changing_ = false;
  std::array<uint64_t, kCounts> marked_{};
};

}  // namespace sw

// What a program does to bring a board up: the registers of regs/tx.toml, in order.
#pragma once

#include <optional>
#include <stdexcept>

#include "model.hpp"
#include "samplewire_regs.h"

namespace sw {

// The time of samples, as the registers hold it (docs/registers.md#time-of-samples).
struct TaiClock {
  uint64_t index = 0;      // whose time is known
  uint64_t tai_ns = 0;
  uint64_t period_q48 = 0;  // 2^-48 ns from one sample to the next

  // Of any index, rounded down.
  uint64_t time_ns(uint64_t of) const {
    return tai_ns + uint64_t(__int128(int64_t(of - index)) * period_q48 >> 48);
  }
};

struct Setup {
  Address self{{0x02, 0x53, 0x57, 0, 0, 1}, 0x0A400002, 9100};
  uint32_t payload_bytes = 1408;
  uint32_t channels = 1;
  uint64_t rate_hz = 0;            // samples a second, reported in ACCEPT; 0 = unknown
  uint32_t samples_per_ns_q = 0;   // the test source's rate, 0 = as fast as the ring takes them
  uint32_t pace_bytes_per_ns_q = 0;
  uint32_t line_gbps = Model::kBeatBytes == 64 ? 100 : 10;  // congestion control limits nothing there
  uint64_t gate_samples = 0;       // 0 = without end
  uint64_t boot_id = 1;
  uint64_t secret[2] = {0x0123456789ABCDEF, 0xFEDCBA9876543210};
  uint32_t window_packets = 0;     // reported in ACCEPT
  uint32_t tolerance_16ns = 3125;  // 50 us
  uint32_t dead_ms = 15000;
  uint32_t idle_ms = 100;
  const char* name = "samplewire board";
  std::optional<TaiClock> tai;
};

class Driver {
 public:
  explicit Driver(Model& model) : model_(model) {}

  void write(uint32_t offset, uint32_t value) {
    if (!model_.write(offset, value))
      throw std::runtime_error("register " + std::to_string(offset) + " refuses a write");
  }

  uint32_t read(uint32_t offset) {
    uint32_t value;
    if (!model_.read(offset, value))
      throw std::runtime_error("register " + std::to_string(offset) + " refuses a read");
    return value;
  }

  void write64(uint32_t offset_lo, uint64_t value) {
    write(offset_lo, uint32_t(value));
    write(offset_lo + 4, uint32_t(value >> 32));
  }

  // Copies all counters as of one cycle; then each is read from the copy.
  void snapshot();
  uint64_t snapshot_value(unsigned number);
  // A counter as of this moment.
  uint64_t counter(unsigned number);

  void configure(const Setup& setup);
  // The time of samples; without one it is unknown.
  void write_tai(const std::optional<TaiClock>& tai);
  // The preset of congestion control for a line; a stream starts at the line's rate.
  void write_line(uint32_t line_gbps);
  void close();

 private:
  Model& model_;
  uint16_t tai_number_ = 0;
};

}  // namespace sw

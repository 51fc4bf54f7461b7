// The rate of a board's congestion control, read from its ring of events, beside what leaves it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "world.hpp"

namespace sw {

// docs/registers.md, `event_cause`.
enum RateCause : uint32_t { kRateStart, kRateTimer, kRateBytes, kRateCut, kRateIgnored };

struct RateEvent {
  uint64_t at_ns;
  uint32_t cause;
  uint32_t rate;  // in 2^-16 bytes a ns, from then on
};

constexpr uint64_t kMillisecond = 1'000'000;

class RateWatch {
 public:
  // From here on; the world must outlive it.
  explicit RateWatch(World& world);

  // Takes over what the ring has seen since; at least once per 512 events.
  void poll();
  const std::vector<RateEvent>& events() const { return events_; }
  // Wire bytes by R_C within a millisecond, which begins at a multiple of one.
  double allowed_bytes(uint64_t ms) const;
  uint64_t wire_bytes(uint64_t ms) const;
  // Holds all that is polled and complete from `ms` on against the rate: what is wrong, or nothing.
  std::string compare(uint64_t ms, uint64_t end_ms) const;

 private:
  // Whether R_C falls from the line's rate within a millisecond, or just before it.
  bool leaves_line(uint64_t ms) const;

  World& world_;
  uint32_t line_;
  std::vector<RateEvent> events_;
  uint32_t seen_ = 0;
  std::map<uint64_t, uint64_t> wire_bytes_;  // by millisecond
  uint64_t frame_bytes_max_ = 0;
};

}  // namespace sw

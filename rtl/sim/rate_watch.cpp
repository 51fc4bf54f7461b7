#include "rate_watch.hpp"

namespace sw {

constexpr uint32_t kRingEvents = 512;
// Of mac_fifo, in beats. At the line's rate nothing waits, so the core fills it; what stands there at
// a cut leaves at the line's rate.
constexpr uint64_t kFifoBytes = 512 * Model::kBeatBytes;

RateWatch::RateWatch(World& world) : world_(world) {
  line_ = world_.driver().read(SW_REG_RATE_LINE);
  seen_ = world_.driver().read(SW_REG_EVENT_COUNT);
  events_.push_back({world_.model().now_ns(), kRateStart, world_.driver().read(SW_REG_RATE)});
  const auto watched = world_.model().on_frame;
  world_.model().on_frame = [this, watched](const Bytes& frame) {
    Data data;
    if (parse_data(frame, data)) {
      const uint64_t bytes = frame.size() + Model::kOverheadBytes;
      wire_bytes_[world_.model().now_ns() / kMillisecond] += bytes;
      frame_bytes_max_ = std::max(frame_bytes_max_, bytes);
    }
    watched(frame);
  };
}

void RateWatch::poll() {
  Driver& driver = world_.driver();
  const uint32_t count = driver.read(SW_REG_EVENT_COUNT);
  const uint32_t first = seen_;
  for (; seen_ != count; ++seen_) {
    driver.write(SW_REG_EVENT_INDEX, seen_ % kRingEvents);
    const uint64_t low = driver.read(SW_REG_EVENT_TIME_LO);
    const uint32_t high = driver.read(SW_REG_EVENT_TIME_HI);
    const uint64_t time = uint64_t(high & SW_REG_EVENT_TIME_HI_EVENT_TIME_HI_MASK) << 32 | low;
    events_.push_back({time, high >> SW_REG_EVENT_TIME_HI_EVENT_CAUSE_SHIFT,
                       driver.read(SW_REG_EVENT_RATE)});
  }
  if (driver.read(SW_REG_EVENT_COUNT) - first > kRingEvents)
    world_.fail("the ring of events was read too late");
}

double RateWatch::allowed_bytes(uint64_t ms) const {
  const uint64_t begin = ms * kMillisecond, end = begin + kMillisecond;
  double bytes = 0;
  for (size_t n = 0; n < events_.size(); ++n) {
    const uint64_t from = std::max(events_[n].at_ns, begin);
    const uint64_t to = n + 1 < events_.size() ? std::min(events_[n + 1].at_ns, end) : end;
    if (from < to) bytes += double(to - from) * events_[n].rate / 65536;
  }
  return bytes;
}

bool RateWatch::leaves_line(uint64_t ms) const {
  const uint64_t drain_ns = 65536 * kFifoBytes / line_, end = (ms + 1) * kMillisecond;
  for (size_t n = 1; n < events_.size(); ++n) {
    const bool is_here = events_[n].at_ns + drain_ns >= ms * kMillisecond && events_[n].at_ns < end;
    if (is_here && events_[n - 1].rate >= line_ && events_[n].rate < line_) return true;
  }
  return false;
}

uint64_t RateWatch::wire_bytes(uint64_t ms) const {
  const auto found = wire_bytes_.find(ms);
  return found == wire_bytes_.end() ? 0 : found->second;
}

std::string RateWatch::compare(uint64_t ms, uint64_t end_ms) const {
  for (; ms < end_ms; ++ms) {
    const double allowed = allowed_bytes(ms), sent = double(wire_bytes(ms));
    const double within = 0.01 * allowed + double(frame_bytes_max_);
    const double above = within + (leaves_line(ms) ? double(kFifoBytes) : 0);
    if (sent <= allowed + above && sent >= allowed - within) continue;
    return "in ms " + std::to_string(ms) + " " + std::to_string(uint64_t(sent)) +
           " wire bytes left where R_C allows " + std::to_string(uint64_t(allowed));
  }
  return "";
}

}  // namespace sw

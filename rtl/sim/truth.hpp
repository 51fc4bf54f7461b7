// What the board really sent, read from its frames before the wire can harm them, and what the host
// says of it. Every index is either in a packet that departed, or lost at the source; the host must
// have delivered the first and named the second.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "frame.hpp"
#include "samplewire_cosim.h"

namespace sw {

struct Data {
  uint32_t tag, seq, departure;
  uint64_t index;
  uint8_t flags;
  size_t payload_bytes;
};

constexpr uint8_t kStart = 0x01, kEndOfBurst = 0x02, kOverflow = 0x04, kRetransmission = 0x08;

inline uint64_t get64(const uint8_t* p) { return uint64_t(get32(p)) << 32 | get32(p + 4); }

// The header of a DATA packet of a frame of ours; false when it is none.
inline bool parse_data(const Bytes& frame, Data& data) {
  if (frame.size() < 68 + 8 || get16(&frame[12]) != 0x0800 || frame[42] != 0x10) return false;
  data.flags = frame[43];
  data.tag = get32(&frame[44]);
  data.index = get64(&frame[48]);
  data.seq = get32(&frame[56]);
  data.departure = get32(&frame[60]);
  data.payload_bytes = get16(&frame[38]) - 8u - 22u - 4u;
  return true;
}

class Truth {
 public:
  explicit Truth(unsigned sample_bytes) : sample_bytes_(sample_bytes) {}

  // Takes a frame as it leaves the board; says what is wrong with it, or nothing.
  std::string departs(const Bytes& frame) {
    Data data;
    if (!parse_data(frame, data)) return "";
    if (!has_tag_ || data.tag != tag_) begin(data.tag);
    if (is_stamped_ && int32_t(data.departure - departure_) <= 0) return "departures do not rise";
    is_stamped_ = true;
    departure_ = data.departure;
    if (data.flags & kRetransmission) {
      ++repeats_;
      return data.seq - next_seq_ < 1u << 31 ? "a repeat of what never departed" : "";
    }
    if (data.seq != next_seq_) return "seq " + std::to_string(data.seq) + " departs out of order";
    ++next_seq_;
    uint64_t samples = data.payload_bytes / sample_bytes_;
    if (data.flags & kEndOfBurst) samples = get64(&frame[frame.size() - 12]);
    if (is_first_) first_ = next_ = data.index;
    if (data.index < next_) return "an index retreats";
    if (data.index > next_ && !(data.flags & kStart)) {
      if (!(data.flags & kOverflow)) return "an index jumps without a flag";
      lost_.push_back({next_, data.index});
    }
    is_first_ = false;
    next_ = data.index + samples;
    sent_ += samples;
    return "";
  }

  // The source lost what lies between the last sample and `final_index`.
  void ends_at(uint64_t final_index) {
    if (final_index > next_) lost_.push_back({next_, final_index});
    next_ = final_index;
  }

  // Compares with a host of complete delivery that has finished.
  std::string compare(sw_host* host, const sw_host_counts& counts) {
    if (counts.delivered != sent_)
      return "sent " + std::to_string(sent_) + ", delivered " + std::to_string(counts.delivered);
    ends_at(counts.next_index);
    std::vector<Range> reported;
    sw_gap gap;
    while (sw_host_gap(host, &gap)) {
      if (gap.not_repaired || gap.cause != 0) return "a gap of another cause than source overflow";
      reported.push_back({gap.first, gap.first + gap.source_lost});
    }
    if (reported.size() != lost_.size() ||
        !std::equal(reported.begin(), reported.end(), lost_.begin()))
      return std::to_string(reported.size()) + " gaps reported, " + std::to_string(lost_.size()) +
             " are true";
    return "";
  }

  uint64_t sent() const { return sent_; }
  uint64_t repeats() const { return repeats_; }
  uint64_t gaps() const { return lost_.size(); }
  uint32_t tag() const { return tag_; }

 private:
  struct Range {
    uint64_t first, end;
    bool operator==(const Range& other) const { return first == other.first && end == other.end; }
  };

  void begin(uint32_t tag) {
    *this = Truth(sample_bytes_);
    tag_ = tag;
    has_tag_ = true;
  }

  unsigned sample_bytes_;
  bool has_tag_ = false, is_stamped_ = false, is_first_ = true;
  uint32_t tag_ = 0, next_seq_ = 0, departure_ = 0;
  uint64_t first_ = 0, next_ = 0, sent_ = 0, repeats_ = 0;
  std::vector<Range> lost_;
};

}  // namespace sw

// What the board really sent, read from its frames before the wire can harm them, and what the host
// says of it. Every index is either in a packet that departed, or lost at the source; the host must
// have delivered the first and named the second.
#pragma once

#include <algorithm>
#include <map>
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

  // Frames may be lost between the core and its MAC: a packet counts from its first frame that left.
  void allow_loss() { may_lose_ = true; }

  // Takes a frame as it leaves the board; says what is wrong with it, or nothing.
  std::string departs(const Bytes& frame) {
    Data data;
    if (!parse_data(frame, data)) return "";
    if (!has_tag_ || data.tag != tag_) begin(data.tag);
    if (is_stamped_ && int32_t(data.departure - departure_) <= 0) return "departures do not rise";
    is_stamped_ = true;
    departure_ = data.departure;
    uint64_t samples = data.payload_bytes / sample_bytes_;
    if (data.flags & kEndOfBurst) samples = get64(&frame[frame.size() - 12]);
    const Packet packet{data.index, samples, data.flags};
    if (may_lose_) return departs_somehow(data, packet);
    if (data.flags & kRetransmission) {
      ++repeats_;
      return data.seq - next_seq_ < 1u << 31 ? "a repeat of what never departed" : "";
    }
    if (data.seq != next_seq_) return "seq " + std::to_string(data.seq) + " departs out of order";
    ++next_seq_;
    return account(packet);
  }

  // The source lost what lies between the last sample and `final_index`.
  void ends_at(uint64_t final_index) {
    if (final_index > next_) lost_.push_back({next_, final_index});
    next_ = final_index;
  }

  // Compares with a host of complete delivery that has finished.
  std::string compare(sw_host* host, const sw_host_counts& counts) {
    uint32_t seq = 0;
    for (const auto& [packet_seq, packet] : packets_) {
      if (packet_seq != seq++) return "seq " + std::to_string(seq - 1) + " never left";
      const std::string wrong = account(packet);
      if (!wrong.empty()) return wrong;
    }
    packets_.clear();
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

  struct Packet {
    uint64_t index, samples;
    uint8_t flags;
  };

  // The packets in the order of their seqs.
  std::string account(const Packet& packet) {
    if (is_first_) first_ = next_ = packet.index;
    if (packet.index < next_) return "an index retreats";
    if (packet.index > next_ && !(packet.flags & kStart)) {
      if (!(packet.flags & kOverflow)) return "an index jumps without a flag";
      lost_.push_back({next_, packet.index});
    }
    is_first_ = false;
    next_ = packet.index + packet.samples;
    sent_ += packet.samples;
    return "";
  }

  // Whose first frame was lost is seen first as a repeat; all are compared in the end.
  std::string departs_somehow(const Data& data, const Packet& packet) {
    const bool is_repeat = data.flags & kRetransmission;
    repeats_ += is_repeat;
    if (!is_repeat && data.seq < next_seq_) return "a seq departs again without a mark";
    next_seq_ = std::max(next_seq_, data.seq + 1);
    const auto [at, is_new] = packets_.emplace(data.seq, packet);
    const bool is_same = at->second.index == packet.index && at->second.samples == packet.samples;
    return is_same ? "" : "a repeat differs";
  }

  void begin(uint32_t tag) {
    const bool may_lose = may_lose_;
    *this = Truth(sample_bytes_);
    may_lose_ = may_lose;
    tag_ = tag;
    has_tag_ = true;
  }

  unsigned sample_bytes_;
  bool may_lose_ = false, has_tag_ = false, is_stamped_ = false, is_first_ = true;
  uint32_t tag_ = 0, next_seq_ = 0, departure_ = 0;
  uint64_t first_ = 0, next_ = 0, sent_ = 0, repeats_ = 0;
  std::vector<Range> lost_;
  std::map<uint32_t, Packet> packets_;
};

}  // namespace sw

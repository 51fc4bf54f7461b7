// One direction of a wire: delay, loss, corruption, duplication and reordering from a seed.
#pragma once

#include <queue>

#include "frame.hpp"
#include "random.hpp"

namespace sw {

struct LinkSpec {
  uint64_t delay_ns = 10'000;
  double loss = 0;
  double corruption = 0;  // one bit of a UDP datagram
  double duplication = 0;
  double reordering = 0;
  uint64_t reorder_ns_max = 20'000;
  // Of every so many frames every other one of the first `2 * comb_teeth` is lost; 0 = none.
  uint64_t comb_period = 0;
  uint64_t comb_teeth = 32;
  // UDP checksums of what was corrupted are mended, or those of every other one.
  bool mends_all = false;
};

struct LinkCounts {
  uint64_t sent = 0, lost = 0, corrupted = 0, duplicated = 0, reordered = 0;
};

class Link {
 public:
  Link(const LinkSpec& spec, uint64_t seed) : spec_(spec), random_(seed) {}

  void send(uint64_t now_ns, Bytes frame) {
    ++counts_.sent;
    // The first teeth come half a period in: an opening has few packets and needs each other one.
    const uint64_t place = spec_.comb_period
                               ? (counts_.sent + spec_.comb_period / 2) % spec_.comb_period
                               : UINT64_MAX;
    if (random_.chance(spec_.loss) || (place < 2 * spec_.comb_teeth && place % 2)) {
      ++counts_.lost;
      return;
    }
    if (random_.chance(spec_.corruption)) corrupt(frame);
    uint64_t at = now_ns + spec_.delay_ns;
    if (random_.chance(spec_.duplication)) {
      ++counts_.duplicated;
      push(at + random_.below(spec_.delay_ns + 1), frame);
    }
    if (random_.chance(spec_.reordering)) {
      ++counts_.reordered;
      at += random_.below(spec_.reorder_ns_max + 1);
    }
    push(at, std::move(frame));
  }

  // When the next frame arrives; the largest number when none is on its way.
  uint64_t next_at() const { return waiting_.empty() ? UINT64_MAX : waiting_.top().at_ns; }

  Bytes take() {
    Bytes frame = waiting_.top().frame;
    waiting_.pop();
    return frame;
  }

  const LinkCounts& counts() const { return counts_; }

 private:
  struct Waiting {
    uint64_t at_ns, order;
    Bytes frame;
    bool operator<(const Waiting& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };

  void push(uint64_t at_ns, Bytes frame) {
    waiting_.push(Waiting{at_ns, order_++, std::move(frame)});
  }

  void corrupt(Bytes& frame) {
    const auto datagram = parse_udp(frame);
    if (!datagram || datagram->len == 0) return;
    ++counts_.corrupted;
    const size_t bit = random_.below(8 * datagram->len);
    frame[kPayloadAt + bit / 8] ^= uint8_t(1 << bit % 8);
    if (spec_.mends_all || counts_.corrupted % 2) fill_udp_checksum(frame);
  }

  LinkSpec spec_;
  Random random_;
  LinkCounts counts_;
  uint64_t order_ = 0;
  std::priority_queue<Waiting> waiting_;
};

}  // namespace sw

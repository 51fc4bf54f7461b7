// A flood of garbage to a simulated board at the wire's rate, and what the board does behind it.
//
// Garbage is random bytes behind headers of four kinds: any addresses, the board's, the block transfer's
// EtherType, and IPv4 or ARP. Most frames are short; some are runts, longer than a buffer, or end with
// tuser. Behind the last one the host sends a frame that the program answers, again each millisecond until
// the answer comes. Then each buffer that was free before the flood is free again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "nic_soc_end.hpp"
#include "nic_soc_model.hpp"
#include "random.hpp"

namespace sw {

// What a program answers.
enum class Probe { kSwap, kBlock, kArp };

class FloodHost {
 public:
  FloodHost(Soc& soc, Probe probe, uint64_t seed) : soc_(soc), probe_(probe), random_(seed) {
    end_.next = [this](Bytes& frame) { return next(frame); };
    end_.on_frame = [this](const Bytes& frame) { take(frame); };
  }

  uint64_t frames = 0, bytes = 0;  // of the flood
  uint64_t probes = 0;
  unsigned free = 0;  // buffers in the free queue ahead of the flood and behind it
  uint64_t answer_cycles = 0, buffers_cycles = 0;  // from the end of the flood

  void flood(uint64_t cycles) {
    for (uint64_t rest = kSettle; rest; rest--) soc_.cycle(end_);
    free = level(SW_NIC_REG_FREE_LEVEL);
    until_ = soc_.now + cycles;
    phase_ = kFlooding;
    while (soc_.now < until_ || end_.is_sending()) soc_.cycle(end_);
    const uint64_t ended = soc_.now;
    phase_ = kProbing;
    probe_at_ = ended;
    while (phase_ != kAnswered) {
      if (soc_.now - ended > kPatience) fail("no answer comes behind the flood", probes, soc_.now - ended);
      soc_.cycle(end_);
    }
    answer_cycles = answered_at_ - ended;
    while (!all_free()) {
      if (soc_.now - ended > kPatience) fail("buffers are not free behind the flood", level(SW_NIC_REG_FREE_LEVEL), free);
    }
    buffers_cycles = soc_.now - ended;
  }

 private:
  enum Phase { kSettling, kFlooding, kProbing, kAnswered };
  static constexpr uint64_t kSettle = 20'000, kPatience = 20'000'000;
  static constexpr uint64_t kRepeat = uint64_t(1'000 * kClockMHz);  // a millisecond
  static constexpr uint64_t kBroadcast = 0xFFFFFFFFFFFF, kArpEtherType = 0x0806;
  static constexpr uint64_t kHostIp = 0x0A400001, kBoardIp = 0x0A400003;  // that of `stack_apart`

  unsigned level(unsigned offset) { return soc_.access(true, offset, 0, end_); }

  bool all_free() {
    for (unsigned server = 0; server < 4; server++)
      if (level(SW_NIC_REG_RECEIVE_LEVEL_0 + 8 * server) || level(SW_NIC_REG_TRANSMIT_LEVEL_0 + 8 * server))
        return false;
    return level(SW_NIC_REG_FREE_LEVEL) == free;
  }

  bool next(Bytes& frame) {
    end_.is_bad = false;
    if (phase_ == kFlooding && soc_.now < until_) {
      frame = garbage();
      end_.is_bad = random_.chance(1. / 16);
      frames++;
      bytes += frame.size();
      return true;
    }
    if (phase_ != kProbing || soc_.now < probe_at_) return false;
    frame = probe();
    probes++;
    probe_at_ = soc_.now + kRepeat;
    return true;
  }

  Bytes garbage() {
    // No source is the host: its first byte is even, and no 0x02.
    const uint64_t from = (random_.draw() & 0x00FFFFFFFFFF) | 0x040000000000;
    const uint64_t kind = random_.below(4);
    const uint64_t to = kind == 0 ? random_.draw() : random_.chance(.1) ? kBroadcast : kBoard;
    const uint64_t type = kind < 2 ? random_.draw() : kind == 2 ? kBlockEtherType : random_.chance(.5) ? 0x0800 : kArpEtherType;
    Bytes frame = header(to, from, type);
    const bool is_short = random_.chance(7. / 8), is_long = !is_short && random_.chance(1. / 16);
    const uint64_t length = is_short ? 60 : is_long ? 1'515 + random_.below(1'500) : 1 + random_.below(1'514);
    if (kind == 3) frame.push_back(0x45);
    while (frame.size() < length) put(frame, random_.draw(), 8);
    frame.resize(length);
    return frame;
  }

  Bytes probe() const {
    if (probe_ == Probe::kArp) {
      Bytes frame = header(kBroadcast, kHost, kArpEtherType);
      put(frame, 0x0001'0800'0604'0001, 8);
      put(frame, kHost, 6);
      put(frame, kHostIp, 4);
      put(frame, 0, 6);
      put(frame, kBoardIp, 4);
      frame.resize(60);
      return frame;
    }
    // A file of one packet of a byte, which has not come.
    Bytes frame = block_frame(kSummary);
    put(frame, 1, 4);
    put(frame, 1, 8);
    frame.resize(60);
    return frame;
  }

  Bytes answer() const {
    if (probe_ == Probe::kArp) {
      Bytes frame = header(kHost, kBoard, kArpEtherType);
      put(frame, 0x0001'0800'0604'0002, 8);
      put(frame, kBoard, 6);
      put(frame, kBoardIp, 4);
      put(frame, kHost, 6);
      put(frame, kHostIp, 4);
      frame.resize(60);
      return frame;
    }
    Bytes frame = header(kHost, kBoard, kBlockEtherType);
    if (probe_ == Probe::kSwap) {
      const Bytes sent = probe();
      frame.insert(frame.end(), sent.begin() + 14, sent.end());
      return frame;
    }
    // The one packet is missing.
    put(frame, kAnswer, 1);
    put(frame, 'M' << 8 | 'I', 2);
    put(frame, 1, 2);
    put(frame, 0, 4);
    frame.resize(60);
    return frame;
  }

  void take(const Bytes& frame) {
    const Bytes to = header(kHost, 0, 0);
    if (frame.size() < 60) fail("a frame below 60 bytes", frame.size());
    if (!std::equal(frame.begin(), frame.begin() + 6, to.begin())) return;
    if (phase_ < kProbing || frame != answer()) fail("another answer", frame[14], frame.size());
    if (phase_ == kAnswered) return;
    phase_ = kAnswered;
    answered_at_ = soc_.now + 1;
  }

  Soc& soc_;
  Probe probe_;
  Random random_;
  WireEnd end_{soc_.model};
  Phase phase_ = kSettling;
  uint64_t until_ = 0, probe_at_ = 0, answered_at_ = 0;
};

}  // namespace sw

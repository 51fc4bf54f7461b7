// A picture to a simulated board and back, by an ideal host at a wire (T 6.7, 6.8).
//
// Its frames are DATA of the block transfer without ID (docs/block.md): 1,481 bytes of the picture each.
// Scheme 3: the board sends each frame back with its addresses swapped; after a burst the host sends one
// for each that came back. Scheme 4: block transfer to the board, which then transfers the picture back;
// the host pauses `gap` cycles behind each burst, from its last frame's first beat on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "nic_soc_end.hpp"
#include "nic_soc_model.hpp"

namespace sw {

class PictureHost {
 public:
  static constexpr size_t kPacketBytes = 1481;

  PictureHost(Soc& soc, size_t bytes, unsigned burst, uint64_t gap)
      : soc_(soc), picture_(bytes), burst_(burst), gap_(gap) {
    for (size_t i = 0; i < bytes; i++) picture_[i] = uint8_t(mixed(i / 8) >> 8 * (i % 8));
    end_.next = [this](Bytes& frame) { return next(frame); };
    end_.on_frame = [this](const Bytes& frame) { take(frame); };
  }

  uint64_t send_cycles = 0, receive_cycles = 0, repeats = 0;

  // Once both ways; ends the program where a byte is wrong or nothing comes.
  void transfer(unsigned scheme) {
    scheme_ = scheme;
    back_.assign(picture_.size(), 0);
    present_.assign(packets(), false);
    missing_ = packets();
    sent_ = came_ = 0;
    burst_left_ = burst_;
    lists_ = 0;
    sent_begin_ = back_begin_ = 0;
    phase_ = kSending;
    to_send_.clear();
    for (uint64_t heard = soc_.now; phase_ != kDone;) {
      const uint64_t before = came_ + sent_;
      soc_.cycle(end_);
      if (came_ + sent_ != before) heard = soc_.now;
      if (soc_.now - heard > kSilence) fail("the picture does not come back", missing_, phase_);
      // The summary, or a frame of its answer, is lost.
      if (phase_ == kWaiting && to_send_.empty() && soc_.now - heard > kRepeat) send_summary();
    }
    if (back_ != picture_) fail("the picture is another");
  }

 private:
  enum Phase { kSending, kWaiting, kReceiving, kAnswering, kDone };
  static constexpr uint64_t kSilence = 10'000'000, kRepeat = 1'250'000;
  static constexpr unsigned kSeqsMax = 370, kListsMax = 32;

  uint32_t packets() const { return uint32_t((picture_.size() + kPacketBytes - 1) / kPacketBytes); }

  size_t length(uint32_t seq) const {
    return std::min(kPacketBytes, picture_.size() - seq * kPacketBytes);
  }

  static uint32_t word(const Bytes& frame, size_t at) {
    return uint32_t(frame[at]) << 24 | frame[at + 1] << 16 | frame[at + 2] << 8 | frame[at + 3];
  }

  Bytes data(uint32_t seq) const {
    Bytes frame = block_frame(kData);
    put(frame, seq, 4);
    const auto at = picture_.begin() + ptrdiff_t(seq * kPacketBytes);
    frame.insert(frame.end(), at, at + ptrdiff_t(length(seq)));
    frame.resize(std::max<size_t>(frame.size(), 60));
    return frame;
  }

  void send_summary() {
    lists_ = 0;
    to_send_.push_back(summary());
  }

  Bytes summary() const {
    Bytes frame = block_frame(kSummary);
    put(frame, packets(), 4);
    put(frame, picture_.size(), 8);
    frame.resize(60);
    return frame;
  }

  Bytes answer() const {
    Bytes frame = block_frame(kAnswer);
    if (missing_ == 0) {
      put(frame, 'O' << 8 | 'K', 2);
    } else {
      const unsigned count = std::min(missing_, kSeqsMax);
      put(frame, 'M' << 8 | 'I', 2);
      put(frame, count, 2);
      unsigned listed = 0;
      for (uint32_t seq = 0; listed < count; seq++)
        if (!present_[seq]) put(frame, seq, 4), listed++;
    }
    frame.resize(std::max<size_t>(frame.size(), 60));
    return frame;
  }

  bool next(Bytes& frame) {
    if (scheme_ == 4 && soc_.now < ready_at_) return false;
    if (!next_unpaced(frame)) return false;
    if (--burst_left_ == 0) {
      burst_left_ = burst_;
      ready_at_ = soc_.now + gap_;
    }
    return true;
  }

  bool next_unpaced(Bytes& frame) {
    if (!to_send_.empty()) {
      frame = std::move(to_send_.front());
      to_send_.pop_front();
      if (phase_ == kAnswering && to_send_.empty()) phase_ = missing_ ? kReceiving : kDone;
      sent_++;
      return true;
    }
    if (phase_ != kSending || (scheme_ == 3 && (sent_ == packets() || sent_ >= burst_ + came_))) return false;
    if (sent_ == packets()) {
      phase_ = kWaiting;
      frame = summary();
      return true;
    }
    if (sent_ == 0) sent_begin_ = soc_.now;
    frame = data(uint32_t(sent_++));
    return true;
  }

  void take(const Bytes& frame) {
    came_++;
    if (frame.size() < 60 || frame[12] != 0x88 || frame[13] != 0xB5) fail("a frame of another type");
    if (frame[14] == kAnswer) return take_answer(frame);
    if (frame[14] == kSummary) {
      if (phase_ != kReceiving) return;
      if (word(frame, 15) != packets()) fail("the packets of the summary", word(frame, 15));
      phase_ = kAnswering;
      to_send_.push_back(answer());
      return;
    }
    const uint32_t seq = word(frame, 15);
    if (frame[14] != kData || seq >= packets()) fail("a frame that is no DATA", frame[14], seq);
    if (frame.size() != std::max<size_t>(19 + length(seq), 60)) fail("a frame's length", seq, frame.size());
    if (present_[seq]) return;
    if (missing_ == packets()) back_begin_ = end_.in_begin;
    present_[seq] = true;
    missing_--;
    std::copy_n(frame.begin() + 19, length(seq), back_.begin() + ptrdiff_t(seq * kPacketBytes));
    receive_cycles = end_.in_end + 1 - back_begin_;
    if (scheme_ != 3 || missing_) return;
    phase_ = kDone;
    // All left before the last came back.
    send_cycles = end_.out_begin + length(packets() - 1) / kBeatBytes - sent_begin_;
  }

  void take_answer(const Bytes& frame) {
    if (phase_ != kWaiting) return;
    if (frame[15] == 'O') {
      send_cycles = end_.in_end + 1 - sent_begin_;
      phase_ = kReceiving;
      return;
    }
    const unsigned count = unsigned(frame[17]) << 8 | frame[18];
    for (unsigned i = 0; i < count; i++) to_send_.push_back(data(word(frame, 19 + 4 * i)));
    repeats += count;
    // Behind a full frame of the answer there is another.
    if (count < kSeqsMax || ++lists_ == kListsMax) send_summary();
  }

  Soc& soc_;
  WireEnd end_{soc_.model};
  Bytes picture_, back_;
  std::vector<bool> present_;
  std::deque<Bytes> to_send_;
  unsigned burst_, scheme_ = 3, burst_left_ = 0, lists_ = 0;
  uint32_t missing_ = 0;
  uint64_t sent_ = 0, came_ = 0, sent_begin_ = 0, back_begin_ = 0, gap_, ready_at_ = 0;
  Phase phase_ = kDone;
};

}  // namespace sw

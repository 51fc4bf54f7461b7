// Both ends of a wire at a board's MAC: a host that sends as fast as the wire allows, and takes what
// comes back. A frame's contents follow from its number, which stands behind the header.
//
// kBeatBytes is the MAC's width: 1 (1G) or 8 (10G) bytes a clock.
#pragma once

#include <cstdint>
#include <functional>

#include "nic_frames.hpp"

namespace sw {

constexpr unsigned kHeaderBytes = 14;  // of Ethernet

// What the host sends: its payload begins with the number, 32 bits.
struct WireFrames {
  uint64_t to = 0x004957530200 | 0x5200000000ull << 8;  // first byte in the low bits
  uint64_t from = 0x534F48530200 | 0x5400000000ull << 8;
  unsigned ether_type = 0x88B6;
  unsigned bytes = 78;
  bool swaps = false;  // frames come back with their addresses swapped

  uint8_t byte(uint64_t number, unsigned at, bool back) const {
    const bool other = back && swaps;
    if (at < 6) return uint8_t((other ? from : to) >> 8 * at);
    if (at < 12) return uint8_t((other ? to : from) >> 8 * (at - 6));
    if (at < 14) return uint8_t(ether_type >> 8 * (13 - at));
    if (at < 18) return uint8_t(number >> 8 * (at - 14));
    return uint8_t(mixed(number << 16 | at / 8) >> 8 * (at % 8));
  }
};

// Sends frames at the wire's pace, each as `next` allows it.
template <class Model, unsigned kBeatBytes>
class WireSource {
 public:
  WireSource(Model& model, const WireFrames& frames, std::function<bool()> next)
      : model_(model), frames_(frames), next_(next) {}

  uint64_t begun = 0;       // frames
  uint64_t first_beat = 0;  // cycle of the last frame's

  void drive(uint64_t now) {
    if (!inside_ && double(now) >= due_ && next_()) {
      inside_ = true;
      beat_ = 0;
      first_beat = now;
      due_ = (due_ + 1 < double(now) ? double(now) : due_) +
             double(frames_.bytes + kWireBytes) / kBeatBytes;
      begun++;
    }
    model_.s_axis_tvalid = inside_;
    model_.s_axis_tuser = 0;
    if (!inside_) return;
    const unsigned at = kBeatBytes * beat_, left = frames_.bytes - at;
    uint64_t data = 0;
    for (unsigned i = 0; i < kBeatBytes && i < left; i++)
      data |= uint64_t(frames_.byte(begun - 1, at + i, false)) << 8 * i;
    model_.s_axis_tdata = data;
    model_.s_axis_tkeep = left >= kBeatBytes ? (1u << kBeatBytes) - 1 : (1u << left) - 1;
    model_.s_axis_tlast = left <= kBeatBytes;
    beat_++;
    inside_ = left > kBeatBytes;
  }
  void after(uint64_t) {}

 private:
  Model& model_;
  const WireFrames& frames_;
  std::function<bool()> next_;
  bool inside_ = false;
  unsigned beat_ = 0;
  double due_ = 0;
};

// Takes frames at the wire's pace and checks them.
template <class Model, unsigned kBeatBytes>
class WireSink {
 public:
  WireSink(Model& model, const WireFrames& frames) : model_(model), frames_(frames) {}

  std::function<void(uint64_t)> on_frame;  // its number, with its last beat
  uint64_t frames = 0, first_end = 0, last_end = 0, gaps = 0;

  void drive(uint64_t now) { model_.m_axis_tready = inside_ || double(now) >= due_; }

  void after(uint64_t now) {
    if (!model_.m_axis_tvalid || !model_.m_axis_tready) {
      gaps += inside_;
      return;
    }
    if (!inside_) {
      inside_ = true;
      at_ = 0;
      number_ = 0;
      if (due_ + 1 < double(now)) due_ = double(now);
    }
    const unsigned count = __builtin_popcount(model_.m_axis_tkeep);
    const uint64_t data = model_.m_axis_tdata;
    for (unsigned i = 0; i < count; i++, at_++) take(uint8_t(data >> 8 * i));
    if (!model_.m_axis_tlast) return;
    if (model_.m_axis_tuser) fail("a frame is cut", number_);
    inside_ = false;
    const unsigned sent = frames_.bytes < 60 ? 60 : frames_.bytes;
    if (at_ != sent) fail("a frame's length", number_, at_);
    due_ += double(at_ + kWireBytes) / kBeatBytes;
    if (!frames) first_end = now;
    last_end = now;
    frames++;
    if (on_frame) on_frame(number_);
  }

 private:
  // The header is checked once the number is known: the first bytes wait.
  void take(uint8_t byte) {
    if (at_ < 18) head_[at_] = byte;
    if (at_ >= 14 && at_ < 18) number_ |= uint64_t(byte) << 8 * (at_ - 14);
    if (at_ == 17)
      for (unsigned i = 0; i < 14; i++)
        if (head_[i] != frames_.byte(number_, i, true)) fail("a frame's header", number_, i);
    const uint8_t expected = at_ < frames_.bytes ? frames_.byte(number_, at_, true) : 0;
    if (at_ >= 18 && byte != expected) fail("a frame's bytes", number_, at_);
  }

  Model& model_;
  const WireFrames& frames_;
  bool inside_ = false;
  unsigned at_ = 0;
  uint64_t number_ = 0;
  uint8_t head_[18] = {};
  double due_ = 0;
};

}  // namespace sw

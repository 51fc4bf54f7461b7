// Frames at the NIC's MAC side: a source that keeps to a wire's pace, and a sink that checks them.
//
// A frame's contents follow from its number, so that the sink needs no copy of it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace sw {

// Preamble, FCS and gap: what the wire spends on a frame beside its bytes.
constexpr uint64_t kWireBytes = 24;
constexpr uint64_t kMac = 0x3322115e0002;  // first byte in the low bits

[[noreturn]] inline void fail(const char* what, uint64_t a = 0, uint64_t b = 0) {
  std::printf("FAILED: %s (%llu, %llu)\n", what, (unsigned long long)a, (unsigned long long)b);
  std::exit(1);
}

struct Frame {
  uint64_t number = 0;
  unsigned bytes = 60;
  bool is_bad = false;      // tuser
  bool is_foreign = false;  // for another address
};

inline uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9E3779B97F4A7C15;
  return x ^ (x >> 29);
}

// Dword k: addresses, the number in bytes 8 to 11, an EtherType that is not IP.
inline uint64_t dword(const Frame& frame, unsigned k) {
  if (k == 0) return (frame.is_foreign ? kMac ^ 0x400 : kMac) | 0xBBAAull << 48;
  if (k == 1) return (frame.number & 0xFFFFFFFF) | 0xB688ull << 32 | 0x5A5Aull << 48;
  return mixed(frame.number << 16 | k);
}

inline uint64_t low_bytes(unsigned count) { return count >= 8 ? ~0ull : (1ull << 8 * count) - 1; }

// Offers the frames that `next` gives, each at its time on the wire or as soon as it is taken.
template <class Model>
class FrameSource {
 public:
  FrameSource(Model& model, std::function<bool(Frame&)> next) : model_(model), next_(next) {}

  uint64_t lag_max = 0;      // cycles between a frame's time and its last beat, beyond its beats
  uint64_t first_beat = 0;   // cycle in which the last frame's first beat was taken
  bool is_paced = true;
  uint64_t frames = 0;       // taken to the end
  bool is_idle() const { return !inside_; }
  const Frame& frame() const { return frame_; }
  unsigned beat() const { return beat_; }
  void drop() { inside_ = false; }

  void drive(uint64_t now) {
    if (!inside_ && (!is_paced || double(now) >= due_) && next_(frame_)) {
      inside_ = true;
      beat_ = 0;
      begun_ = now;
      if (due_ + 1 < double(now) && !was_waiting_) due_ = double(now);
      late_ = uint64_t(double(now) - due_);
    }
    was_waiting_ = inside_;
    model_.s_axis_tvalid = inside_;
    if (!inside_) return;
    const unsigned left = frame_.bytes - 8 * beat_;
    model_.s_axis_tdata = dword(frame_, beat_);
    model_.s_axis_tkeep = left >= 8 ? 0xFF : (1 << left) - 1;
    model_.s_axis_tlast = left <= 8;
    model_.s_axis_tuser = left <= 8 && frame_.is_bad;
  }

  void after(uint64_t now) {
    if (!inside_ || !model_.s_axis_tready) return;
    if (beat_ == 0) first_beat = now;
    beat_++;
    if (8 * beat_ < frame_.bytes) return;
    inside_ = false;
    frames++;
    const uint64_t lag = now + 1 - begun_ - beat_ + late_;
    if (lag > lag_max) lag_max = lag;
    due_ += double(frame_.bytes + kWireBytes) / 8;
  }

 private:
  Model& model_;
  std::function<bool(Frame&)> next_;
  Frame frame_;
  bool inside_ = false, was_waiting_ = false;
  unsigned beat_ = 0;
  double due_ = 0;
  uint64_t begun_ = 0, late_ = 0;
};

// Takes frames and checks them against `find(number, frame)`, which fails for one that must not come.
template <class Model>
class FrameSink {
 public:
  FrameSink(Model& model, std::function<void(Frame&)> find) : model_(model), find_(find) {}

  uint64_t frames = 0, gaps = 0, last_beat = 0, cut = 0;
  bool may_cut = false;
  bool is_padded = true;  // frames below 60 bytes, by the transmit engine
  double ready = 1;  // chance of tready
  std::function<bool(double)> chance;
  void reset() { inside_ = false; }
  bool is_inside() const { return inside_; }

  void drive(uint64_t) { model_.m_axis_tready = ready >= 1 || chance(ready); }

  void after(uint64_t now) {
    if (!model_.m_axis_tvalid) {
      gaps += inside_;
      return;
    }
    if (!model_.m_axis_tready) return;
    const uint64_t data = model_.m_axis_tdata;
    const unsigned count = __builtin_popcount(model_.m_axis_tkeep);
    if (!inside_) {
      inside_ = true;
      beat_ = 0;
    }
    // The number stands in the second dword: the first is checked with it. The last beat of a frame
    // that is cut is anything.
    if (model_.m_axis_tlast && model_.m_axis_tuser) {
      if (!may_cut) fail("a frame is cut", frame_.number);
      inside_ = false;
      cut++;
      return;
    }
    if (beat_ == 0) {
      first_ = data;
    } else if (beat_ == 1) {
      frame_.number = data & 0xFFFFFFFF;
      find_(frame_);
      check(0, first_, 8);
      check(1, data, count);
    } else {
      check(beat_, data, count);
    }
    if (!model_.m_axis_tlast && count != 8) fail("a beat inside a frame is not full", beat_);
    beat_++;
    if (!model_.m_axis_tlast) return;
    inside_ = false;
    last_beat = now;
    const unsigned sent = is_padded && frame_.bytes < 60 ? 60 : frame_.bytes;
    if (8 * (beat_ - 1) + count != sent) fail("a frame's length", frame_.number, frame_.bytes);
    frames++;
  }

 private:
  void check(unsigned k, uint64_t data, unsigned count) {
    const unsigned at = 8 * k, in = frame_.bytes > at ? frame_.bytes - at : 0;
    const uint64_t expected = in ? dword(frame_, k) & low_bytes(in) : 0;
    if (((data ^ expected) & low_bytes(count)) != 0) fail("a frame's bytes", frame_.number, k);
  }

  Model& model_;
  std::function<void(Frame&)> find_;
  Frame frame_;
  bool inside_ = false;
  unsigned beat_ = 0;
  uint64_t first_ = 0;
};

}  // namespace sw

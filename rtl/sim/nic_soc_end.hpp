// A host's end of the wire at a simulated board, and the frames that it builds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "nic_soc_model.hpp"
#include "nic_soc_wire.hpp"

namespace sw {

using Bytes = std::vector<uint8_t>;

constexpr uint64_t kBoard = 0x025357495200, kHost = 0x025348534F54;  // Ethernet addresses
constexpr uint64_t kBlockEtherType = 0x88B5;
constexpr uint8_t kData = 1, kSummary = 2, kAnswer = 3;  // types of the block transfer (docs/block.md)

// Adds the low bytes of a value, the highest of them first.
inline void put(Bytes& frame, uint64_t value, unsigned bytes) {
  for (unsigned i = bytes; i--;) frame.push_back(uint8_t(value >> 8 * i));
}

inline Bytes header(uint64_t to, uint64_t from, uint64_t ether_type) {
  Bytes frame;
  put(frame, to, 6);
  put(frame, from, 6);
  put(frame, ether_type, 2);
  return frame;
}

// The beginning of a frame of the block transfer to the board.
inline Bytes block_frame(uint8_t type) {
  Bytes frame = header(kBoard, kHost, kBlockEtherType);
  frame.push_back(type);
  return frame;
}

// Sends what `next` gives and takes what comes, both at the wire's pace.
class WireEnd {
 public:
  explicit WireEnd(Vsoc& model) : model_(model) {}

  std::function<bool(Bytes&)> next;
  bool is_bad = false;  // the frame that `next` gave last ends with tuser
  std::function<void(const Bytes&)> on_frame;
  bool is_sending() const { return out_at_ < out_.size(); }
  uint64_t out_begin = 0;  // cycle of the first beat of the last frame sent
  uint64_t in_begin = 0, in_end = 0;  // .. of the first and the last beat of the last frame that came

  void drive(uint64_t now) {
    if (out_at_ >= out_.size() && double(now) >= out_due_ && next(out_)) {
      out_at_ = 0;
      out_begin = now;
      out_due_ = due_after(out_due_, now, out_.size());
    }
    model_.s_axis_tvalid = out_at_ < out_.size();
    if (out_at_ < out_.size()) {
      const size_t count = std::min<size_t>(kBeatBytes, out_.size() - out_at_);
      uint64_t data = 0;
      for (size_t i = 0; i < count; i++) data |= uint64_t(out_[out_at_ + i]) << 8 * i;
      model_.s_axis_tdata = data;
      model_.s_axis_tkeep = (1u << count) - 1;
      out_at_ += count;
      model_.s_axis_tlast = out_at_ == out_.size();
      model_.s_axis_tuser = model_.s_axis_tlast && is_bad;
    }
    model_.m_axis_tready = !in_.empty() || double(now) >= in_due_;
  }

  void after(uint64_t now) {
    if (!model_.m_axis_tvalid || !model_.m_axis_tready) {
      if (!in_.empty()) fail("a gap inside a frame", now);
      return;
    }
    if (in_.empty()) in_begin = now;
    const unsigned count = unsigned(__builtin_popcount(model_.m_axis_tkeep));
    const uint64_t data = model_.m_axis_tdata;
    for (unsigned i = 0; i < count; i++) in_.push_back(uint8_t(data >> 8 * i));
    if (!model_.m_axis_tlast) return;
    if (model_.m_axis_tuser) fail("a frame is cut", now);
    in_end = now;
    in_due_ = due_after(in_due_, in_begin, in_.size());
    on_frame(in_);
    in_.clear();
  }

 private:
  static double due_after(double due, uint64_t begin, size_t bytes) {
    return std::max(due, double(begin)) + double(bytes + kWireBytes) / kBeatBytes;
  }

  Vsoc& model_;
  Bytes out_, in_;
  size_t out_at_ = 0;
  double out_due_ = 0, in_due_ = 0;
};

}  // namespace sw

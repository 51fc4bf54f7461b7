// The NIC's side of a board: frames that it is given, and frames that it has to send.
#pragma once

#include <deque>
#include <functional>

#include "model.hpp"

namespace sw {

class NicPort {
 public:
  // Called with each frame that is given to the NIC; one that ends with tuser is not for it.
  std::function<void(const Bytes&, bool is_bad)> on_frame;
  // The next frame to send; none waits when it is empty.
  std::function<Bytes()> next;

  uint64_t sent() const { return sent_; }

  // Before an edge of the clock: takes and gives a beat.
  void edge(Vboard& top) {
    take(top);
    give(top);
  }

 private:
  static constexpr size_t kBytes = 8;

  void take(Vboard& top) {
    top.m_axis_nic_tready = 1;
    if (!top.m_axis_nic_tvalid) return;
    uint8_t beat[kBytes];
    std::memcpy(beat, &top.m_axis_nic_tdata, kBytes);
    const int len = __builtin_popcount(top.m_axis_nic_tkeep);
    in_.insert(in_.end(), beat, beat + len);
    if (!top.m_axis_nic_tlast) return;
    if (on_frame) on_frame(in_, top.m_axis_nic_tuser);
    in_.clear();
  }

  void give(Vboard& top) {
    if (at_ == out_.size()) {
      out_ = next ? next() : Bytes{};
      at_ = 0;
    }
    const size_t left = out_.size() - at_;
    const size_t len = std::min(left, kBytes);
    top.s_axis_nic_tvalid = len != 0;
    if (!len) return;
    put_beat(top.s_axis_nic_tdata, &out_[at_], len);
    top.s_axis_nic_tkeep = uint8_t((1u << len) - 1);
    top.s_axis_nic_tlast = left <= kBytes;
    top.s_axis_nic_tuser = 0;
    // Ready hangs on registers alone.
    if (!top.s_axis_nic_tready) return;
    at_ += len;
    sent_ += at_ == out_.size();
  }

  Bytes in_, out_;
  size_t at_ = 0;
  uint64_t sent_ = 0;
};

}  // namespace sw

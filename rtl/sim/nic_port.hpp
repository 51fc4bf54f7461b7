// A processor at the NIC of a board: it reads what the NIC receives, and sends one frame over and over.
//
// It has two ports: on the first its queue operations and its memory, one thing at a time; on the
// second registers, for whoever has the NIC (`access`).
#pragma once

#include <deque>
#include <functional>

#include "model.hpp"
#include "nic_afb_port.hpp"
#include "nic_regs.h"

namespace sw {

class NicPort {
 public:
  // Called with each frame that was received.
  std::function<void(const Bytes&)> on_frame;

  // Each buffer holds `frame`, if it has bytes, and is sent as often as it is free.
  NicPort(Vboard& top, const Bytes& frame, unsigned filter) : top_(top), sends_(!frame.empty()) {
    unsigned size_bits = kSizeBits;
    while ((128u << size_bits) < frame.size() + kHeaderBytes) ++size_bits;
    const unsigned buffers = std::min(kMemoryBytes >> (7 + size_bits), kBuffersMax);
    for (unsigned i = 0; i < buffers; ++i) {
      const uint32_t pointer = i << (7 + size_bits);
      for (size_t at = 0; sends_ && at < frame.size(); at += 8)
        writes_.push_back({pointer + kHeaderBytes + uint32_t(at), dword(frame, at)});
      if (sends_) writes_.push_back({pointer, uint64_t(frame.size()) << 16});
      accesses_.push_back({SW_NIC_REG_FREE, pointer});
    }
    accesses_.push_front({SW_NIC_REG_BUFFERS, buffers});
    accesses_.push_front({SW_NIC_REG_BUFFER_SIZE, size_bits});
    accesses_.push_back({SW_NIC_REG_FILTER, filter});
    accesses_.push_back({SW_NIC_REG_CONTROL, 7});
  }

  bool is_up() const { return is_up_; }
  // No new frame is sent.
  void stop() { sends_ = false; }

  // Before an edge of the clock.
  void edge() {
    next();
    queues_.drive();
    registers_.drive();
    ask();
    top_.eval();
    queues_.after();
    registers_.after();
    answer();
    uint32_t result;
    if (state_ != kIdle && queues_.take(result)) take(result);
  }

  // The second port.
  AfbPort<Vboard>& registers() { return registers_; }

 private:
  static constexpr unsigned kSizeBits = 4;  // buffers of 2 KiB
  static constexpr unsigned kMemoryBytes = 128 << 10, kBuffersMax = 64;
  static constexpr uint32_t kHeaderBytes = 8;
  static constexpr uint32_t kEmpty = 1;

  struct Access {
    unsigned offset;
    uint32_t value;
  };
  struct Write {
    uint32_t address;
    uint64_t value;
  };
  enum State { kIdle, kSetting, kPopping, kGetting, kPushing };

  static uint64_t dword(const Bytes& frame, size_t at) {
    uint64_t value = 0;
    std::memcpy(&value, &frame[at], std::min(frame.size() - at, size_t(8)));
    return value;
  }

  // What it does next, when it does nothing.
  void next() {
    if (state_ != kIdle || !writes_.empty() || !reads_.empty() || waiting_) return;
    if (!accesses_.empty()) {
      state_ = kSetting;
      queues_.start(false, accesses_.front().offset, accesses_.front().value);
      accesses_.pop_front();
      return;
    }
    is_up_ = true;
    if (top_.irq_o & 1) {
      state_ = kGetting;
      queues_.start(true, SW_NIC_REG_RECEIVE_0, 0);
    } else if (sends_) {
      state_ = kPopping;
      queues_.start(true, SW_NIC_REG_FREE, 0);
    }
  }

  void take(uint32_t result) {
    const State state = state_;
    state_ = kIdle;
    if (state == kSetting || state == kPushing) {
      if (result) fail("a write of the NIC's processor is refused", result);
    } else if (result == kEmpty) {
      return;
    } else if (state == kPopping) {
      push(SW_NIC_REG_TRANSMIT_0, result);
    } else {
      pointer_ = result;
      reads_ = {result};
      frame_.clear();
    }
  }

  void push(unsigned offset, uint32_t pointer) {
    state_ = kPushing;
    queues_.start(false, offset, pointer);
  }

  // A request to memory, of the first port.
  void ask() {
    const bool is_write = !writes_.empty();
    top_.acb_ready_i = 1;
    top_.acb_valid_i = is_write || !reads_.empty();
    if (!top_.acb_valid_i) return;
    const uint32_t address = is_write ? writes_.front().address : reads_.front();
    const uint64_t data = is_write ? writes_.front().value : 0;
    Fields(&top_.acb_i[0]).put(data, 64).put(address, 36).put(0xFF, 8).put(!is_write, 1).put(0, 1);
  }

  void answer() {
    if (top_.acb_valid_o & 1) {
      --waiting_;
      const uint64_t data = top_.acb_o[0] | uint64_t(top_.acb_o[1]) << 32;
      if (top_.acb_o[2] & 1) fail("the NIC's memory answers err");
      if (is_up_) got(data);
    }
    if (!(top_.acb_valid_i && top_.acb_ready_o & 1)) return;
    ++waiting_;
    if (!writes_.empty()) writes_.pop_front();
    else reads_.pop_front();
  }

  // A dword of a received frame, the control word first.
  void got(uint64_t data) {
    if (frame_.empty()) {
      frame_.resize(data >> 16 & 0xFFFF);
      frame_at_ = 0;
      for (uint32_t at = 0; at < frame_.size(); at += 8)
        reads_.push_back(pointer_ + kHeaderBytes + at);
      return;
    }
    std::memcpy(&frame_[frame_at_], &data, std::min(frame_.size() - frame_at_, size_t(8)));
    frame_at_ += 8;
    if (frame_at_ < frame_.size()) return;
    if (on_frame) on_frame(frame_);
    push(SW_NIC_REG_FREE, pointer_);
  }

  Vboard& top_;
  AfbPort<Vboard> queues_{top_, 0}, registers_{top_, 1};
  bool sends_, is_up_ = false;
  State state_ = kIdle;
  std::deque<Access> accesses_;
  std::deque<Write> writes_;
  std::deque<uint32_t> reads_;
  unsigned waiting_ = 0;  // requests to memory without an answer
  uint32_t pointer_ = 0;  // of the frame that is read
  Bytes frame_;
  size_t frame_at_ = 0;
};

}  // namespace sw

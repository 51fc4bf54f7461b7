// The registers of a Verilated NIC with two AFB ports.
#pragma once

#include <cstdint>

#include "fields.hpp"
#include "nic_frames.hpp"

namespace sw {

// Registers through one AFB port, an access at a time with its handshakes.
template <class Model>
class AfbPort {
 public:
  AfbPort(Model& model, unsigned port) : model_(model), port_(port) {}

  void start(bool read, unsigned offset, uint32_t data) {
    if (is_asking_ || is_waiting_) fail("two accesses at once", offset);
    read_ = read;
    address_ = offset;
    data_ = data;
    is_asking_ = true;
    has_result_ = false;
  }

  void drive() {
    // Ports are packed one above the other: 74 bits each.
    bits(model_.afb_valid_i, port_, is_asking_);
    bits(model_.afb_ready_i, port_, true);
    if (!is_asking_) return;
    uint32_t words[3] = {};
    Fields(words).put(data_, 32).put(address_, 36).put(0xF, 4).put(read_, 1).put(0, 1);
    for (unsigned i = 0; i < 74; i++) {
      const unsigned at = 74 * port_ + i;
      const uint32_t bit = 1u << (at % 32);
      uint32_t& word = model_.afb_i[at / 32];
      word = (words[i / 32] >> (i % 32) & 1) ? word | bit : word & ~bit;
    }
  }

  void after() {
    // A response may come in the cycle in which the next request is taken, not in that of its own.
    if (is_waiting_ && (model_.afb_valid_o >> port_ & 1)) {
      is_waiting_ = false;
      has_result_ = true;
      const uint64_t low = model_.afb_o[0] | uint64_t(model_.afb_o[1]) << 32;
      const uint64_t response = port_ ? low >> 33 | uint64_t(model_.afb_o[2]) << 31 : low;
      if (response >> 32 & 1) fail("a register answers err", address_);
      result_ = uint32_t(response);
    }
    if (is_asking_ && (model_.afb_ready_o >> port_ & 1)) {
      is_asking_ = false;
      is_waiting_ = true;
    }
  }

  bool take(uint32_t& result) {
    if (!has_result_) return false;
    result = result_;
    has_result_ = false;
    return true;
  }
  bool is_idle() const { return !is_asking_ && !is_waiting_ && !has_result_; }
  void reset() { is_asking_ = is_waiting_ = has_result_ = false; }

 private:
  template <class Word>
  static void bits(Word& word, unsigned at, bool value) {
    word = Word((word & ~(1u << at)) | unsigned(value) << at);
  }

  Model& model_;
  unsigned port_;
  bool is_asking_ = false, is_waiting_ = false, has_result_ = false, read_ = false;
  uint32_t address_ = 0, data_ = 0, result_ = 0;
};

}  // namespace sw

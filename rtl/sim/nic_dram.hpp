// Memory at the NIC's ACB port dram_*: cycle by cycle as rtl/nic/nic_dram.sv, with a latency that the
// bench chooses, and errors.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "random.hpp"

namespace sw {

template <class Model>
class Dram {
 public:
  Dram(Model& model, uint32_t bytes) : model_(model), dwords_(bytes / 8), random_(7) {}

  unsigned latency = 10;  // cycles from a request to its response, from 1 on
  double errors = 0;      // chance that an access answers err and changes nothing
  uint64_t requests = 0;

  // What is due is dropped; contents stay.
  void reset() { open_.clear(); }

  // A request is shown, or waits for its response.
  bool is_busy() const { return model_.dram_request_valid_o || !open_.empty(); }

  void drive(uint64_t now) {
    model_.dram_request_ready_i = open_.size() < kInFlight;
    const bool is_due = !open_.empty() && open_.front().due <= now;
    model_.dram_response_valid_i = is_due;
    if (!is_due) return;
    model_.dram_response_i[0] = uint32_t(open_.front().data);
    model_.dram_response_i[1] = uint32_t(open_.front().data >> 32);
    model_.dram_response_i[2] = open_.front().is_err;
  }

  void after(uint64_t now) {
    const bool is_taken = model_.dram_request_valid_o && model_.dram_request_ready_i;
    if (model_.dram_response_valid_i && model_.dram_response_ready_o) open_.pop_front();
    if (!is_taken) return;
    // data 63:0, address 99:64, mask 107:100, read 108
    const auto& word = model_.dram_request_o;
    const uint64_t data = word[0] | uint64_t(word[1]) << 32;
    const uint64_t address = word[2] | uint64_t(word[3] & 0xF) << 32;
    const bool is_err = address / 8 >= dwords_.size() || random_.chance(errors);
    requests++;
    uint64_t read = 0;
    if (!is_err) {
      uint64_t& dword = dwords_[address / 8];
      read = dword;
      if (!(word[3] >> 12 & 1))
        for (unsigned i = 0; i < 8; i++)
          if (word[3] >> (4 + i) & 1) dword = (dword & ~(0xFFull << 8 * i)) | (data & 0xFFull << 8 * i);
    }
    open_.push_back({now + latency, read, is_err});
  }

 private:
  struct Access {
    uint64_t due, data;
    bool is_err;
  };

  static constexpr size_t kInFlight = 16;
  Model& model_;
  std::vector<uint64_t> dwords_;
  Random random_;
  std::deque<Access> open_;
};

}  // namespace sw

// Packed structs of SystemVerilog at the ports of a Verilated model.
#pragma once

#include <cstdint>

namespace sw {

// Fills a packed struct, its last field first.
class Fields {
 public:
  explicit Fields(uint32_t* words) : words_(words) {}
  Fields& put(uint64_t value, unsigned bits) {
    for (unsigned i = 0; i < bits; i++, at_++) {
      const uint32_t bit = 1u << (at_ % 32);
      uint32_t& word = words_[at_ / 32];
      word = (value >> i & 1) ? word | bit : word & ~bit;
    }
    return *this;
  }

 private:
  uint32_t* words_;
  unsigned at_ = 0;
};

}  // namespace sw

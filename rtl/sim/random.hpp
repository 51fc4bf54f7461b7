// Random numbers from a seed: SplitMix64 (Steele, Lea, Flood, 2014).
#pragma once

#include <cstdint>

namespace sw {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t draw() {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  // A number in [0, bound).
  uint64_t below(uint64_t bound) { return draw() % bound; }

  bool chance(double p) { return p > 0 && (draw() >> 11) * 0x1p-53 < p; }

 private:
  uint64_t state_;
};

}  // namespace sw

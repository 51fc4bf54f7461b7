// What the lock-steps of RoCEv2 have in common: what is compared, and their options.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>
#include <utility>

#include "samplewire_cosim.h"

namespace sw {

// Of the AETH, IB 9.7.5.1.2, and of roce_pkg::answer_e.
enum Kind { kAck, kRnrNak, kSequenceNak, kFatalNak };
constexpr std::array<uint8_t, 4> kSyndromes = {0x00, 0x20, 0x60, 0x60};
constexpr uint32_t kPsns = 1 << 24;

// Fills send_pkg::rate_cfg_t: congestion control in a mode, without a pace. The parameters are valid
// in every mode: the machine runs in all.
template <class Fields>
void put_rates(Fields rates, const sw_dcqcn_params& p, unsigned mode) {
  rates.put(100, 20).put(0, 24).put(p.line, 24).put(p.first_cut, 24).put(p.start, 24)
      .put(p.minimum, 24).put(p.hyper, 24).put(p.additive, 24).put(p.rise_bytes, 26)
      .put(p.cut_interval_ns, 20).put(p.rise_period_ns, 20).put(p.alpha_period_ns, 20)
      .put(p.recovery_stages, 5).put(p.gain_shift, 5).put(mode, 2);
}

// Of 10 Gb/s; what bounds the byte counter is short.
inline sw_dcqcn_params dcqcn_params() {
  sw_dcqcn_params p{};
  p.gain_shift = 4;
  p.alpha_period_ns = 100'000;
  p.rise_period_ns = 130'000;
  p.cut_interval_ns = 50'000;
  p.rise_bytes = 1 << 16;
  p.recovery_stages = 3;
  p.additive = 41;
  p.hyper = 819;
  p.minimum = 82;
  p.start = p.first_cut = p.line = 81'920;
  return p;
}

using Packet = std::tuple<unsigned, uint32_t, bool>;  // opcode, PSN, AckReq
using Completion = std::pair<uint64_t, uint32_t>;     // id, status

struct LockstepOptions {
  uint64_t seed = 1, steps = 20'000;

  // False, and says why, where an option is wrong.
  bool read(int argc, char** argv) {
    for (int i = 1; i < argc; i += 2) {
      const std::string name = argv[i];
      if (i + 1 == argc || (name != "--seed" && name != "--steps")) {
        std::fprintf(stderr, "%s [--seed N] [--steps N]\n", argv[0]);
        return false;
      }
      (name == "--seed" ? seed : steps) = std::strtoull(argv[i + 1], nullptr, 0);
    }
    return true;
  }
};

}  // namespace sw

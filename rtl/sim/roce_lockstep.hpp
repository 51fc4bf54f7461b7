// What the lock-steps of RoCEv2 have in common: what is compared, and their options.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>
#include <utility>

namespace sw {

// Of the AETH, IB 9.7.5.1.2, and of roce_pkg::answer_e.
enum Kind { kAck, kRnrNak, kSequenceNak, kFatalNak };
constexpr std::array<uint8_t, 4> kSyndromes = {0x00, 0x20, 0x60, 0x60};
constexpr uint32_t kPsns = 1 << 24;

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

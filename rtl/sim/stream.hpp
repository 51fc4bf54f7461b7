// A stream's life in the bench: its world, its opening and its end.
#pragma once

#include "scenarios.hpp"
#include "world.hpp"

namespace sw {

constexpr bool kIsWide = Model::kBeatBytes == 64;
constexpr uint32_t kWindow = kIsWide ? 4096 : 1024;
constexpr uint64_t kSecond = 1'000'000'000;

// The core clock of a MAC of the given rate: 64 bits at 156.25 or 390.625 MHz, 512 at 322.265.
uint64_t cycle_ps(uint64_t line_gbps);

WorldSpec base(const Options& options);

// Opens a stream as `owner` and waits until it is accepted, not until the first REPORT has come;
// takes up a busy board's answer again.
bool start(World& world, uint64_t owner);

// Ends the stream from the board's side and compares both ends' accounts.
void finish(World& world);
// The second half of it, for a stream that has been closed.
void check_finished(World& world);

inline uint32_t source_rate(double bytes_per_ns) { return uint32_t(bytes_per_ns * 65536); }

}  // namespace sw

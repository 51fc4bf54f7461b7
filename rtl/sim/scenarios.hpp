// What the bench can run.
#pragma once

#include <cstdint>
#include <string>

namespace sw {

struct Options {
  uint64_t seed = 1;
  uint64_t packets = 0;  // 0 = as many as the scenario chooses
  uint64_t span_ms = 0;  // of each phase of `marks` and `incast`; 0 = as the scenario chooses
  uint32_t payload_bytes = 0;
  uint64_t core_cycles = 1'000'000;  // between resets of the core, on average; `domains`
  std::string nic_program;  // of the cores of a board that has them (make SOC=1); `throughput`
  uint64_t line_gbps = 0;  // 0 = that of the width: 10 at 64 bits, 100 at 512
};

// Runs; returns what was wrong, or nothing, and how many cycles it took.
using Scenario = std::string (*)(const Options&, uint64_t& cycles);

// Loss, corruption, duplication, reordering, stalls and restarts of both sides; every index is held
// against what departed.
std::string soak(const Options&, uint64_t& cycles);
// Share of the wire's time and idle cycles between frames, over payloads and repeats.
std::string throughput(const Options&, uint64_t& cycles);
// Cycles from sample to header and from REPORT to repeat.
std::string latency(const Options&, uint64_t& cycles);
// A thousand takeovers and resets at awkward moments; no tag comes back within eight.
std::string restarts(const Options&, uint64_t& cycles);
// The core is reset in mid-frame: the MAC sees whole frames or marked ones, and then a stream as any.
std::string resets(const Options&, uint64_t& cycles);
// Each side of the MAC and the core are reset for 1 to 20 cycles, one at a time or together: no frame
// is joined to another or cut without a mark, and every index is delivered or counted.
std::string domains(const Options&, uint64_t& cycles);
// Takeovers and closes in full traffic with repeats requested: nothing of the old stream leaves
// behind the first packet of the next, and all credit and every slot come back.
std::string flushes(const Options&, uint64_t& cycles);
// Frames that no correct peer sends; the stream beside them loses nothing.
std::string hostile(const Options&, uint64_t& cycles);

// One board whose frames are marked: its rate is the Rust machine's, and what leaves keeps to it.
std::string marks(const Options&, uint64_t& cycles);
// Three boards through a switch, 3 -> 2 -> 1: what leaves each keeps to its rate, and they share.
std::string incast(const Options&, uint64_t& cycles);

// A NIC beside the stream (make NIC=1): it is flooded and floods; the stream keeps its part of the
// wire and loses nothing, and each frame that is not the stream's reaches the NIC or is counted.
std::string nic(const Options&, uint64_t& cycles);

}  // namespace sw

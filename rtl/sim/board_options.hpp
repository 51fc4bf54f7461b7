// The command line of the virtual board.
#pragma once

#include <optional>
#include <string>

#include "driver.hpp"

namespace sw {

// 24 bits of the register `source_rate` hold it at 4 bytes a sample.
constexpr uint64_t kSourceRateHzMax = 60'000'000'000;

struct BoardOptions {
  std::string tap, unix_path;
  std::optional<uint16_t> udp_port;
  Setup setup;
  uint64_t rate_hz = 0;  // samples a second; 0 = as fast as the ring takes them
  double loss = 0, corruption = 0;
  uint64_t seed = 1;
  std::optional<uint64_t> boot_id;
  std::string registers_path, trace_path;
  uint64_t seconds = 0;  // of the host; 0 = until a signal
  uint64_t slow = 1;     // so many times slower than the host is the board's clock
};

// Reads the options; on an error, or when help is requested, prints why and how, and sets `status`.
std::optional<BoardOptions> parse_board_options(int argc, char** argv, int& status);

// A rate as the register `source_rate` holds it, and what it holds in samples a second.
uint32_t source_rate_q(uint64_t rate_hz, uint32_t sample_bytes);
uint64_t source_rate_hz(uint32_t rate_q, uint32_t sample_bytes);

}  // namespace sw

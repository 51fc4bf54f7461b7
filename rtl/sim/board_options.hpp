// The command line of the virtual board.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "driver.hpp"

namespace sw {

// 24 bits of the register `source_rate` hold it at 4 bytes a sample.
constexpr uint64_t kSourceRateHzMax = 60'000'000'000;

// Of a board that sends by RoCEv2.
struct RoceOptions {
  std::string peer_path, line_path;
  uint32_t qpn = 17, psn = 0, mtu = 4096, message_bytes = 4096;
  uint32_t messages = 0;  // 0 = without end
  uint64_t region_bytes = 1 << 20;  // of the memory that a peer may write to
  std::string out_path;   // of the file that has it in the end
};

// Of a board whose NIC has soft cores.
struct NicOptions {
  std::string program_path;  // a flat binary for all cores; empty: none
  std::string mode = "normal";
  std::optional<std::array<uint8_t, 6>> mac;  // the register's reset value without
  bool has_ps = true;  // the board's program configures the sender, and not that of the cores
};

struct BoardOptions {
  std::string tap, unix_path;
  std::optional<uint16_t> udp_port;
  Setup setup;
  std::string carriage = "udp";
  RoceOptions roce;
  NicOptions nic;
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

// The values of options, and of lines that peers wrote; an error gives `name` and the text.
uint64_t number(const std::string& name, const std::string& text, uint64_t min, uint64_t max);
uint32_t parse_ip(const std::string& name, const std::string& text);
uint32_t parse_path_mtu(const std::string& name, const std::string& text);

// A rate as the register `source_rate` holds it, and what it holds in samples a second.
uint32_t source_rate_q(uint64_t rate_hz, uint32_t sample_bytes);
uint64_t source_rate_hz(uint32_t rate_q, uint32_t sample_bytes);

}  // namespace sw

// Frames that no correct peer sends, each with the counter that must show it.
#pragma once

#include <functional>
#include <vector>

#include "frame.hpp"
#include "random.hpp"

namespace sw {

struct Attack {
  const char* name;
  unsigned counter;  // of the window `counters`
  double share;      // how many of them it must count; the rest may find no room
  bool is_bad;       // the MAC says so
  // `tag` is the one that the stream's REPORTs carry.
  std::function<Bytes(const Address& board, const Address& host, uint32_t tag, Random&)> frame;
};

const std::vector<Attack>& attacks();

// CRC-32C as docs/protocol.md#2.5 has it.
uint32_t crc32c(const uint8_t* bytes, size_t len);

}  // namespace sw

#include "driver.hpp"

namespace sw {
namespace {

constexpr unsigned kRangesMax = 32;
constexpr unsigned kFormatSc16 = 2;
constexpr unsigned kPayloadOffset = 22;
constexpr unsigned kTlvName = 2;
constexpr uint32_t kGbps = 8192;  // in 2^-16 bytes a ns

// Body of an ACCEPT, docs/protocol.md#2.15, as the words of the window `template`.
std::vector<uint64_t> accept_words(const Setup& setup, uint32_t slots, uint32_t beat_bytes) {
  const uint32_t packet_samples = setup.payload_bytes / (4 * setup.channels);
  std::vector<uint64_t> words = {
      0,  // nonce: the board's
      1,  // tag: the board's; stream 0 of 1
      setup.boot_id,
      setup.rate_hz,
      uint64_t(1) << 32 | kFormatSc16 << 16 | setup.channels,
      uint64_t(packet_samples) << 32 | uint64_t(setup.payload_bytes) << 16 | kPayloadOffset << 8,
      uint64_t(setup.window_packets ? setup.window_packets : slots) << 32 | setup.tolerance_16ns,
      uint64_t(setup.dead_ms) << 48 | uint64_t(setup.idle_ms) << 32 | kRangesMax << 16 | beat_bytes,
      0,  // time of the index: the board's
  };
  const std::string name = setup.name;
  Bytes tlv(4 + name.size());
  put16(&tlv[0], kTlvName);
  put16(&tlv[2], uint16_t(name.size()));
  std::copy(name.begin(), name.end(), tlv.begin() + 4);
  tlv.resize((tlv.size() + 7) / 8 * 8);
  for (size_t i = 0; i < tlv.size(); i += 8)
    words.push_back(uint64_t(get32(&tlv[i])) << 32 | get32(&tlv[i + 4]));
  return words;
}

}  // namespace

void Driver::snapshot() {
  write(SW_REG_COMMAND, SW_REG_COMMAND_SNAPSHOT_MASK << SW_REG_COMMAND_SNAPSHOT_SHIFT);
}

uint64_t Driver::snapshot_value(unsigned number) {
  const uint32_t at = SW_WINDOW_COUNTERS + 8 * number;
  const uint64_t low = read(at);
  return uint64_t(read(at + 4)) << 32 | low;
}

uint64_t Driver::counter(unsigned number) {
  snapshot();
  return snapshot_value(number);
}

void Driver::write_line(uint32_t line_gbps) {
  // docs/congestion.md#the-preset-samplewire: a faster line has what 512 bits begin with.
  const bool is_slow = line_gbps <= 20;
  write(SW_REG_RISE_BYTES, is_slow ? SW_REG_RISE_BYTES_RESET : SW_REG_RISE_BYTES_RESET_WIDE);
  write(SW_REG_RATE_ADDITIVE,
        is_slow ? SW_REG_RATE_ADDITIVE_RESET : SW_REG_RATE_ADDITIVE_RESET_WIDE);
  write(SW_REG_RATE_HYPER, is_slow ? SW_REG_RATE_HYPER_RESET : SW_REG_RATE_HYPER_RESET_WIDE);
  // After each write the others are to be at most `rate_line`.
  const uint32_t rate = line_gbps * kGbps;
  const bool is_faster = rate >= read(SW_REG_RATE_LINE);
  if (is_faster) write(SW_REG_RATE_LINE, rate);
  write(SW_REG_RATE_FIRST_CUT, rate);
  write(SW_REG_RATE_START, rate);
  if (!is_faster) write(SW_REG_RATE_LINE, rate);
}

void Driver::write_tai(const std::optional<TaiClock>& tai) {
  write(SW_REG_TAI_NUMBER, 0);
  if (!tai) return;
  write64(SW_REG_TAI_INDEX_LO, tai->index);
  write64(SW_REG_TAI_TIME_LO, tai->tai_ns);
  write64(SW_REG_TAI_PERIOD_LO, tai->period_q48);
  if (++tai_number_ == 0) ++tai_number_;
  write(SW_REG_TAI_NUMBER, tai_number_);
}

void Driver::configure(const Setup& setup) {
  if (read(SW_REG_ID) != SW_ID_VALUE) throw std::runtime_error("no samplewire board answers");
  const uint32_t geometry = read(SW_REG_GEOMETRY);
  const uint32_t beat_bytes = (geometry & SW_REG_GEOMETRY_WIDTH_MASK) / 8;
  const uint32_t slot_bytes = geometry >> SW_REG_GEOMETRY_SLOT_BYTES_SHIFT;
  if (setup.payload_bytes > slot_bytes || setup.payload_bytes % beat_bytes)
    throw std::runtime_error("a payload of " + std::to_string(setup.payload_bytes) +
                             " bytes: it is to be a multiple of " + std::to_string(beat_bytes) +
                             ", at most " + std::to_string(slot_bytes));
  const uint8_t* mac = setup.self.mac;
  write(SW_REG_MAC_LO, get32(mac + 2));
  write(SW_REG_MAC_HI, get16(mac));
  write(SW_REG_IP, setup.self.ip);
  write(SW_REG_PORT, setup.self.port);
  write(SW_REG_PAYLOAD, setup.payload_bytes);
  write(SW_REG_PACE_RATE, setup.pace_bytes_per_ns_q);
  write_line(setup.line_gbps);
  write(SW_REG_SILENCE, setup.idle_ms << SW_REG_SILENCE_IDLE_MS_SHIFT | setup.dead_ms);
  write64(SW_REG_BOOT_LO, setup.boot_id);
  write64(SW_REG_SECRET_0, setup.secret[0]);
  write64(SW_REG_SECRET_2, setup.secret[1]);
  write(SW_REG_SOURCE_RATE, setup.samples_per_ns_q);
  const std::vector<uint64_t> words = accept_words(setup, read(SW_REG_SLOTS), beat_bytes);
  for (size_t i = 0; i < words.size(); ++i)
    write64(SW_WINDOW_TEMPLATE + 8 * uint32_t(i), words[i]);
  write(SW_REG_TEMPLATE_WORDS, uint32_t(words.size()));
  write_tai(setup.tai);
  write64(SW_REG_SOURCE_COUNT_LO, setup.gate_samples);
  write(SW_REG_COMMAND, SW_REG_COMMAND_GATE_OPEN_MASK << SW_REG_COMMAND_GATE_OPEN_SHIFT);
  write(SW_REG_CONTROL, SW_REG_CONTROL_ENABLE_MASK << SW_REG_CONTROL_ENABLE_SHIFT |
                            3u << SW_REG_CONTROL_SOURCE_SHIFT);
}

void Driver::close() {
  write(SW_REG_COMMAND, SW_REG_COMMAND_CLOSE_MASK << SW_REG_COMMAND_CLOSE_SHIFT);
}

}  // namespace sw

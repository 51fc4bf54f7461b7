// Ethernet, IPv4 and UDP frames, as the host's kernel makes and reads them.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace sw {

using Bytes = std::vector<uint8_t>;

struct Address {
  uint8_t mac[6];
  uint32_t ip;
  uint16_t port;
};

struct Datagram {
  const uint8_t* data;
  size_t len;
};

constexpr size_t kUdpAt = 34;
constexpr size_t kPayloadAt = 42;
constexpr size_t kFrameBytesMin = 60;

inline uint16_t get16(const uint8_t* p) { return uint16_t(p[0] << 8 | p[1]); }
inline uint32_t get32(const uint8_t* p) { return uint32_t(get16(p)) << 16 | get16(p + 2); }
inline void put16(uint8_t* p, uint16_t v) {
  p[0] = uint8_t(v >> 8);
  p[1] = uint8_t(v);
}
inline void put32(uint8_t* p, uint32_t v) {
  put16(p, uint16_t(v >> 16));
  put16(p + 2, uint16_t(v));
}

// The ones' complement sum of big-endian words, not inverted (RFC 1071).
inline uint32_t sum16(const uint8_t* p, size_t len, uint32_t sum = 0) {
  uint64_t wide = sum;
  for (; len > 1; p += 2, len -= 2) wide += get16(p);
  if (len) wide += uint32_t(*p) << 8;
  while (wide >> 16) wide = (wide & 0xFFFF) + (wide >> 16);
  return uint32_t(wide);
}

// The sum over a frame's UDP datagram and pseudo-header: 0xFFFF when its checksum is right.
inline uint32_t udp_sum(const Bytes& frame) {
  const uint16_t udp_len = get16(&frame[kUdpAt + 4]);
  const uint32_t pseudo = sum16(&frame[26], 8, 17u + udp_len);
  return sum16(&frame[kUdpAt], udp_len, pseudo);
}

inline void fill_udp_checksum(Bytes& frame) {
  put16(&frame[kUdpAt + 6], 0);
  const uint16_t sum = uint16_t(~udp_sum(frame));
  put16(&frame[kUdpAt + 6], sum ? sum : 0xFFFF);
}

inline Bytes udp_frame(const Address& from, const Address& to, const uint8_t* payload, size_t len) {
  Bytes frame(kPayloadAt + len, 0);
  std::memcpy(&frame[0], to.mac, 6);
  std::memcpy(&frame[6], from.mac, 6);
  put16(&frame[12], 0x0800);
  frame[14] = 0x45;
  put16(&frame[16], uint16_t(28 + len));
  put16(&frame[20], 0x4000);
  frame[22] = 64;
  frame[23] = 17;
  put32(&frame[26], from.ip);
  put32(&frame[30], to.ip);
  put16(&frame[24], uint16_t(~sum16(&frame[14], 20)));
  put16(&frame[34], from.port);
  put16(&frame[36], to.port);
  put16(&frame[38], uint16_t(8 + len));
  std::memcpy(&frame[kPayloadAt], payload, len);
  fill_udp_checksum(frame);
  if (frame.size() < kFrameBytesMin) frame.resize(kFrameBytesMin, 0);
  return frame;
}

// Marks an IPv4 packet as a switch does: CE (RFC 3168); false where it is not ECN-capable.
inline bool mark_ce(Bytes& frame) {
  if (get16(&frame[12]) != 0x0800 || (frame[15] & 3) == 0) return false;
  frame[15] |= 3;
  put16(&frame[24], 0);
  put16(&frame[24], uint16_t(~sum16(&frame[14], 20)));
  return true;
}

inline bool is_ce(const Bytes& frame) { return (frame[15] & 3) == 3; }

// The datagram of a frame that a kernel would take; none when a checksum or a length is wrong.
inline std::optional<Datagram> parse_udp(const Bytes& frame) {
  if (frame.size() < kPayloadAt || get16(&frame[12]) != 0x0800 || frame[14] != 0x45) return {};
  if (frame[23] != 17 || sum16(&frame[14], 20) != 0xFFFF) return {};
  const size_t ip_len = get16(&frame[16]);
  const size_t udp_len = get16(&frame[38]);
  if (udp_len < 8 || udp_len + 20 != ip_len || 14 + ip_len > frame.size()) return {};
  if (get16(&frame[40]) == 0 || udp_sum(frame) != 0xFFFF) return {};
  return Datagram{&frame[kPayloadAt], udp_len - 8};
}

}  // namespace sw

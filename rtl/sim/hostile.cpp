#include "hostile.hpp"

#include "samplewire_regs.h"

namespace sw {
namespace {

constexpr uint32_t kCrcPoly = 0x82F63B78;
constexpr uint8_t kMark = 1, kReport = 2, kOpen = 3;

void seal(Bytes& packet) {
  const size_t end = packet.size() - 4;
  put32(&packet[end], crc32c(packet.data(), end));
}

Bytes packet(uint8_t type, uint32_t tag, size_t len) {
  Bytes bytes(len, 0);
  bytes[0] = uint8_t(0x10 | type);
  bytes[1] = 0x80;
  put32(&bytes[2], tag);
  seal(bytes);
  return bytes;
}

Bytes wrap(const Address& board, const Address& host, const Bytes& packet) {
  return udp_frame(host, board, packet.data(), packet.size());
}

void fill_ip_checksum(Bytes& frame) {
  put16(&frame[24], 0);
  put16(&frame[24], uint16_t(~sum16(&frame[14], 20)));
}

// A REPORT with the stream's tag; `released` is far beyond what was sent.
Bytes report(uint32_t tag, uint32_t number, uint32_t released, uint32_t limit) {
  Bytes bytes(66, 0);
  bytes[0] = 0x10 | kReport;
  bytes[1] = 0x80;
  put32(&bytes[2], tag);
  put32(&bytes[14], number);
  put32(&bytes[22], released);
  put32(&bytes[26], limit);
  put32(&bytes[34], released);
  seal(bytes);
  return bytes;
}

Bytes arp(const Address& board, const Address& host) {
  Bytes frame(kFrameBytesMin, 0);
  std::memset(&frame[0], 0xFF, 6);
  std::memcpy(&frame[6], host.mac, 6);
  put16(&frame[12], 0x0806);
  const uint8_t head[] = {0, 1, 8, 0, 6, 4, 0, 1};
  std::memcpy(&frame[14], head, sizeof(head));
  std::memcpy(&frame[22], host.mac, 6);
  put32(&frame[28], host.ip);
  put32(&frame[38], board.ip);
  return frame;
}

Bytes echo(const Address& board, const Address& host) {
  Bytes frame = wrap(board, host, Bytes(56, 0x5A));
  frame[23] = 1;
  const size_t len = get16(&frame[16]) - 20u;
  std::memset(&frame[kUdpAt], 0, 8);
  frame[kUdpAt] = 8;
  put16(&frame[kUdpAt + 2], uint16_t(~sum16(&frame[kUdpAt], len)));
  fill_ip_checksum(frame);
  return frame;
}

std::vector<Attack> make() {
  using A = const Address&;
  using T = uint32_t;
  std::vector<Attack> list;
  const auto add = [&list](const char* name, unsigned counter, double share, auto frame,
                           bool is_bad = false) {
    list.push_back(Attack{name, counter, share, is_bad, frame});
  };
  add("frames with a bad FCS", SW_COUNTER_FRAMES_BAD, 1,
      [](A b, A h, T t, Random&) { return wrap(b, h, packet(kMark, t, 58)); }, true);
  add("truncated frames", SW_COUNTER_LENGTHS, 1, [](A b, A h, T t, Random& r) {
    Bytes frame = wrap(b, h, packet(kReport, t, 322));
    frame.resize(64 + r.below(200));
    return frame;
  });
  add("oversize frames", SW_COUNTER_FRAMES_OVERSIZE, 1, [](A b, A h, T t, Random&) {
    return wrap(b, h, packet(kReport, t, 12'000));
  });
  add("fragments", SW_COUNTER_FRAGMENTS, 1, [](A b, A h, T t, Random& r) {
    Bytes frame = wrap(b, h, packet(kReport, t, 66));
    put16(&frame[20], r.below(2) ? 0x2000 : uint16_t(1 + r.below(100)));
    fill_ip_checksum(frame);
    return frame;
  });
  add("wrong IPv4 checksums", SW_COUNTER_IP_CHECKSUM, 1, [](A b, A h, T t, Random& r) {
    Bytes frame = wrap(b, h, packet(kReport, t, 66));
    frame[24 + r.below(2)] ^= uint8_t(1 + r.below(254));
    return frame;
  });
  add("wrong UDP checksums", SW_COUNTER_UDP_CHECKSUM, 1, [](A b, A h, T t, Random& r) {
    Bytes frame = wrap(b, h, packet(kReport, t, 66));
    frame[kPayloadAt + 2 + r.below(60)] ^= uint8_t(1 + r.below(254));
    return frame;
  });
  add("wrong CRCs", SW_COUNTER_CORRUPTED, 0.9, [](A b, A h, T t, Random& r) {
    Bytes bad = packet(kReport, t, 66);
    bad[6 + r.below(60)] ^= uint8_t(1 + r.below(254));
    return wrap(b, h, bad);
  });
  add("UDP lengths that lie", SW_COUNTER_LENGTHS, 1, [](A b, A h, T t, Random& r) {
    Bytes frame = wrap(b, h, packet(kReport, t, 66));
    put16(&frame[38], uint16_t(100 + r.below(1000)));
    return frame;
  });
  add("IPv4 lengths that lie", SW_COUNTER_LENGTHS, 1, [](A b, A h, T t, Random& r) {
    Bytes frame = wrap(b, h, packet(kReport, t, 66));
    put16(&frame[16], uint16_t(200 + r.below(8000)));
    fill_ip_checksum(frame);
    return frame;
  });
  add("reserved types and versions", SW_COUNTER_MALFORMED, 0.9, [](A b, A h, T t, Random& r) {
    Bytes bad = packet(uint8_t(9 + r.below(7)), t, 66);
    if (r.below(2)) bad[0] = uint8_t(0x20 + 16 * r.below(13) + kReport);
    seal(bad);
    return wrap(b, h, bad);
  });
  add("REPORTs that release the future", SW_COUNTER_REPORTS_REFUSED, 0.9,
      [](A b, A h, T t, Random& r) {
        const uint32_t far = uint32_t(0x10000000 + r.below(0x60000000));
        return wrap(b, h, report(t, uint32_t(1'000'000 + r.below(1000)), far, far + 10));
      });
  add("REPORTs that promise too much", SW_COUNTER_REPORTS_REFUSED, 0.9,
      [](A b, A h, T t, Random& r) {
        const uint32_t limit = uint32_t(0x40000000 + r.below(0x20000000));
        return wrap(b, h, report(t, uint32_t(1'000'000 + r.below(1000)), 0, limit));
      });
  add("packets of unknown streams", SW_COUNTER_UNKNOWN, 0.95, [](A b, A h, T t, Random& r) {
    return wrap(b, h, packet(kReport, t ^ uint32_t(1 + r.below(0xFFFFFFFE)), 66));
  });
  add("OPENs without a cookie", SW_COUNTER_OPENS, 0.95, [](A b, A h, T, Random& r) {
    Bytes open = packet(kOpen, 0, 128);
    for (size_t i = 22; i < 26; ++i) open[i] = uint8_t(1 + r.below(255));
    open[26] = 1;
    for (size_t i = 30; i < 46; ++i) open[i] = uint8_t(r.draw());
    put32(&open[62], 64);
    put16(&open[66], 1500);
    seal(open);
    return wrap(b, h, open);
  });
  add("ARP requests", SW_COUNTER_FRAMES_RECEIVED, 1,
      [](A b, A h, T, Random&) { return arp(b, h); });
  add("echo requests", SW_COUNTER_FRAMES_RECEIVED, 1,
      [](A b, A h, T, Random&) { return echo(b, h); });
  add("frames of random bytes", SW_COUNTER_FRAMES_FOREIGN, 0.9, [](A b, A, T, Random& r) {
    Bytes frame(14 + r.below(1500));
    for (uint8_t& byte : frame) byte = uint8_t(r.draw());
    if (r.below(2)) std::memcpy(&frame[0], b.mac, 6);
    return frame;
  });
  return list;
}

}  // namespace

uint32_t crc32c(const uint8_t* bytes, size_t len) {
  uint32_t crc = ~0u;
  for (; len; ++bytes, --len) {
    crc ^= *bytes;
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? kCrcPoly : 0);
  }
  return ~crc;
}

const std::vector<Attack>& attacks() {
  static const std::vector<Attack> list = make();
  return list;
}

}  // namespace sw

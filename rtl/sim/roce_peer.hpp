// Request packets of a peer for lockstep_roce: messages in order for the most part, with gaps,
// duplicates, and packets that break a rule.
#pragma once

#include <cstdint>
#include <vector>

#include "random.hpp"
#include "samplewire_cosim.h"

namespace sw {

// Opcodes of IB 9.2; those of a WRITE are 6 above those of a SEND.
struct Opcode {
  static constexpr unsigned kFirst = 0, kMiddle = 1, kLast = 2, kOnly = 4, kWrite = 6, kRead = 12;

  explicit Opcode(unsigned number) : number(number) {}
  bool is_supported() const { return number < kRead; }
  bool is_write() const { return is_supported() && number >= kWrite; }
  unsigned kind() const { return is_write() ? number - kWrite : number; }
  bool is_first() const { return is_supported() && (kind() == kFirst || kind() >= kOnly); }
  bool is_last() const { return is_supported() && kind() >= kLast; }
  bool has_immediate() const { return is_last() && kind() % 2 != 0; }
  bool has_reth() const { return is_write() && is_first(); }

  unsigned number;
};

struct PeerPacket {
  sw_roce_request request{};
  std::vector<uint8_t> payload;
  bool is_marked = false;  // CE

  Opcode opcode() const { return Opcode(request.opcode); }

  // The frame; what the responder does not look at is 0.
  std::vector<uint8_t> frame() const {
    std::vector<uint8_t> bytes(54);
    if (opcode().has_reth()) {
      put(bytes, request.address, 8);
      put(bytes, request.key, 4);
      put(bytes, request.message_bytes, 4);
    }
    if (opcode().has_immediate()) put(bytes, request.immediate, 4);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    bytes.resize(bytes.size() + (4 - payload.size() % 4) % 4 + 4);
    if (bytes.size() < 60) bytes.resize(60);
    return bytes;
  }

  // roce_pkg::request_t.
  uint64_t packed() const {
    const Opcode it = opcode();
    const unsigned flags = unsigned(it.is_supported()) << 5 | unsigned(it.is_write()) << 4 |
        unsigned(it.is_first()) << 3 | unsigned(it.is_last()) << 2 |
        unsigned(it.has_immediate()) << 1 | request.ack_request;
    return uint64_t(flags) << 39 | uint64_t(is_marked) << 38 | uint64_t(request.psn) << 14 |
        request.len_bytes;
  }

 private:
  static void put(std::vector<uint8_t>& bytes, uint64_t value, unsigned count) {
    for (unsigned i = count; i-- > 0;) bytes.push_back(uint8_t(value >> (8 * i)));
  }
};

class Peer {
 public:
  void begin(const sw_responder_config& config) {
    config_ = config;
    in_message_ = false;
  }

  PeerPacket draw(Random& random, uint32_t expected) const {
    PeerPacket packet = next(random);
    packet.is_marked = random.chance(0.3);
    const uint64_t choice = random.below(100);
    int64_t at = 0;
    if (choice < 10) at = -1 - int64_t(random.below(4));
    else if (choice < 20) at = 1 + int64_t(random.below(4));
    else if (choice < 22) at = int64_t(random.draw() & 0xFFFFFF);
    else if (choice < 23) spoil(random, packet);
    packet.request.psn = uint32_t(expected + at) & 0xFFFFFF;
    if (choice < 22 && random.chance(0.3)) spoil(random, packet);
    return packet;
  }

  // The packet was executed.
  void executed(const PeerPacket& packet) {
    in_message_ = !packet.opcode().is_last();
    is_write_ = packet.opcode().is_write();
    if (packet.opcode().is_first()) left_ = packet.request.message_bytes;
    left_ -= packet.request.len_bytes;
  }

 private:
  // The next one of the message under way, or the first of one.
  PeerPacket next(Random& random) const {
    const uint32_t mtu = 128u << config_.mtu;
    PeerPacket packet;
    sw_roce_request& it = packet.request;
    const bool is_write = in_message_ ? is_write_ : random.chance(0.6);
    const uint32_t left = in_message_ ? left_ : uint32_t(random.below(random.chance(0.3) ? 9
                                                                                         : 4 * mtu));
    const bool is_last = left <= mtu;
    it.len_bytes = uint16_t(is_last ? left : mtu);
    unsigned kind = in_message_ ? (is_last ? Opcode::kLast : Opcode::kMiddle)
                                : (is_last ? Opcode::kOnly : Opcode::kFirst);
    if (is_last && random.chance(0.3)) kind++;
    it.opcode = uint8_t(kind + (is_write ? Opcode::kWrite : 0));
    it.ack_request = random.chance(0.6);
    it.message_bytes = left;
    it.key = config_.key;
    it.address = config_.address + random.below(config_.len_bytes - left + 1);
    it.immediate = uint32_t(random.draw());
    fill(random, packet);
    return packet;
  }

  // One field is another, mostly against a rule.
  void spoil(Random& random, PeerPacket& packet) const {
    sw_roce_request& it = packet.request;
    switch (random.below(6)) {
      case 0: {
        constexpr uint8_t kOthers[] = {0x0C, 0x13, 0x14, 0x15, 0x16, 0x17, 0x1C, 0x1F};
        it.opcode = random.chance(0.3) ? kOthers[random.below(sizeof kOthers)]
                                       : uint8_t(random.below(12));
        break;
      }
      case 1: it.key ^= 1u << random.below(32); break;
      case 2: it.address = random.chance(0.5) ? config_.address + config_.len_bytes -
                                  random.below(2 * (it.message_bytes + 1))
                                              : config_.address - random.below(3);
        break;
      case 3: it.message_bytes += uint32_t(random.below(3)) - 1; break;
      case 4: it.message_bytes = random.chance(0.5) ? 0x80000000u : uint32_t(random.draw()); break;
      default:
        it.len_bytes = uint16_t(it.len_bytes + random.below(3));
        it.len_bytes -= it.len_bytes > 0;
    }
    fill(random, packet);
  }

  static void fill(Random& random, PeerPacket& packet) {
    packet.payload.resize(packet.request.len_bytes);
    for (uint8_t& byte : packet.payload) byte = uint8_t(random.draw());
  }

  sw_responder_config config_{};
  bool in_message_ = false, is_write_ = false;
  uint32_t left_ = 0;  // of the message under way
};

}  // namespace sw

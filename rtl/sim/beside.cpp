// The scenario of a NIC beside the stream.

#include <cinttypes>
#include <cstdio>

#include "nic_port.hpp"
#include "scenarios.hpp"
#include "stream.hpp"

namespace sw {
namespace {

constexpr uint16_t kNicType = 0x88B5;  // local experiments
constexpr double kShareMin = 0.94;     // of the wire, for DATA
constexpr uint64_t kQuietCycles = 2'000;
constexpr unsigned kOwnAddress = 1, kAll = 8;  // filters

Bytes plain_frame(Random& random, const Address& to, size_t len, uint16_t type) {
  Bytes frame(len);
  for (uint8_t& byte : frame) byte = uint8_t(random.draw());
  std::memcpy(&frame[0], to.mac, 6);
  frame[12] = uint8_t(type >> 8);
  frame[13] = uint8_t(type);
  return frame;
}

// The NIC's registers, through the second port while the board runs.
uint32_t access(World& world, NicPort& port, bool read, unsigned offset, uint32_t value = 0) {
  port.registers().start(read, offset, value);
  uint32_t result = 0;
  world.run(world.model().now_ns() + kSecond, [&] { return port.registers().take(result); });
  return result;
}

uint64_t nic_counter(World& world, NicPort& port, unsigned number) {
  const unsigned offset = SW_NIC_WINDOW_COUNTERS + 8 * number;
  access(world, port, false, SW_NIC_REG_COMMAND, 1);
  const uint64_t low = access(world, port, true, offset);
  return low | uint64_t(access(world, port, true, offset + 4)) << 32;
}

bool is_nics(const Bytes& frame) { return get16(&frame[12]) == kNicType; }

// The NIC has always a frame to send. `load` is the samples' part of the wire, 0 = all that goes.
std::string flooded(const Options& options, size_t nic_bytes, double load, uint64_t& cycles) {
  WorldSpec spec = base(options);
  spec.setup.payload_bytes = options.payload_bytes ? options.payload_bytes : 1408;
  spec.down.delay_ns = spec.up.delay_ns = 2'000;
  spec.window_packets = kWindow;
  const double payload = spec.setup.payload_bytes;
  const double line = double(spec.line_bps) / 8e9;
  // A frame is 68 bytes longer than its payload, and takes 24 more of the wire.
  if (load > 0) spec.setup.samples_per_ns_q = source_rate(load * line * payload / (payload + 92));
  World world(spec);
  Model& model = world.model();
  Random random(options.seed);
  const Bytes body = plain_frame(random, world.host_address(), nic_bytes, kNicType);
  NicPort port(model.top(), body, kOwnAddress);
  model.on_edge = [&](const Vboard&) { port.edge(); };
  uint64_t nic_bytes_sent = 0, nic_frames = 0, all_nic_frames = 0;
  const auto watched = model.on_frame;
  model.on_frame = [&](const Bytes& frame) {
    if (is_nics(frame)) {
      ++nic_frames;
      ++all_nic_frames;
      nic_bytes_sent += frame.size() + Model::kOverheadBytes;
      if (frame != body) world.fail("a frame of the NIC was changed");
    }
    watched(frame);
  };
  if (!start(world, 7)) return world.fault();
  const auto after = [&](uint64_t frames) {
    const uint64_t end = model.mac().frames + frames;
    world.run(model.now_ns() + kSecond, [&] { return model.mac().frames >= end; });
  };
  after(2'000);
  model.clear_mac();
  nic_frames = nic_bytes_sent = 0;
  const uint64_t start_ns = model.now_ns();
  after(options.packets ? options.packets : 20'000);
  const MacCounts mac = model.mac();
  const double span = double(model.now_ns() - start_ns) * line;
  const double nic_share = double(nic_bytes_sent) / span;
  const double share = double(mac.wire_ps) / 1e3 * line / span - nic_share;
  const uint64_t gaps = world.truth().gaps();
  // What waits in the NIC's queues leaves behind what is compared.
  port.stop();
  finish(world);
  world.run(model.now_ns() + kSecond, [&] { return model.quiet_cycles() > kQuietCycles; });
  if (nic_counter(world, port, SW_NIC_COUNTER_SENT) != all_nic_frames)
    world.fail("the NIC counts other frames");
  cycles += model.cycles();
  std::printf("  NIC frames of %4zu bytes, samples at %s %.1f %%: DATA %.2f %%, NIC %.2f %% of the wire, %"
              PRIu64 " gaps in the samples\n", nic_bytes, load > 0 ? "" : "most", 100 * load,
              100 * share, 100 * nic_share, gaps);
  if (!nic_frames) world.fail("the NIC sent nothing");
  if (load > 0 && gaps) world.fail("samples were lost below the stream's part of the wire");
  if (load == 0 && share < kShareMin) world.fail("DATA gets less than 94 % of the wire");
  if (mac.gaps) world.fail(std::to_string(mac.gaps) + " idle cycles inside frames");
  return world.fault();
}

// Frames of strangers, mixed with the stream's: each reaches the NIC unchanged and in order. Of the
// frames for the stream's address that it refuses and counts, the NIC gets the fragments.
std::string received(const Options& options, uint64_t& cycles) {
  WorldSpec spec = base(options);
  spec.setup.payload_bytes = 1408;
  World world(spec);
  Model& model = world.model();
  NicPort port(model.top(), {}, kAll);
  std::deque<Bytes> expected;
  uint64_t arrived = 0;
  port.on_frame = [&](const Bytes& frame) {
    if (expected.empty() || frame != expected.front())
      return world.fail("the NIC was given another frame than the next");
    expected.pop_front();
    ++arrived;
  };
  model.on_edge = [&](const Vboard&) { port.edge(); };
  if (!start(world, 7)) return world.fault();
  Random& random = world.random();
  const Address us = spec.setup.self;
  const uint64_t count = options.packets ? options.packets : 3'000;
  const auto counted = [&] {
    return world.driver().counter(SW_COUNTER_FRAGMENTS) +
           world.driver().counter(SW_COUNTER_IP_CHECKSUM);
  };
  const uint64_t before = counted();
  uint64_t refused = 0;
  for (uint64_t i = 0; i < count && world.fault().empty(); ++i) {
    Address to = us;
    const uint64_t kind = random.below(5);
    if (kind == 3) to.port = uint16_t(us.port + 1);
    Bytes payload(20 + random.below(1400));
    for (uint8_t& byte : payload) byte = uint8_t(random.draw());
    Bytes frame = udp_frame(world.host_address(), to, payload.data(), payload.size());
    if (kind < 2) {
      // A fragment, with its sum made right; or the sum of the IP header made wrong.
      if (kind == 0) {
        frame[21] ^= 1;
        const uint16_t sum = uint16_t(get16(&frame[24]));
        const uint32_t less = uint32_t(sum) + 0xFFFEu;
        const uint16_t made = uint16_t(less + (less >> 16));
        frame[24] = uint8_t(made >> 8);
        frame[25] = uint8_t(made);
      } else {
        frame[24] ^= 0x10;
      }
      ++refused;
      if (kind == 0) expected.push_back(frame);
    } else {
      if (kind == 2) frame = plain_frame(random, us, 60 + random.below(1454), kNicType);
      if (kind == 4) std::fill_n(frame.begin(), 6, uint8_t(0xFF));
      expected.push_back(frame);
    }
    world.inject(frame);
    world.run(model.now_ns() + random.below(3'000), [] { return false; });
  }
  world.run(model.now_ns() + kSecond, [&] { return model.has_received_all(); });
  world.run(model.now_ns() + 50'000, [] { return false; });
  const uint64_t found = counted() - before;
  if (!expected.empty()) world.fail("frames did not reach the NIC");
  if (found != refused) world.fail("refused frames were not counted");
  finish(world);
  const auto counted_by_nic = [&](unsigned number) { return nic_counter(world, port, number); };
  const uint64_t marked = counted_by_nic(SW_NIC_COUNTER_BAD);
  std::printf("  %" PRIu64 " frames of strangers: %" PRIu64 " at the NIC, %" PRIu64 " refused and %"
              PRIu64 " counted; %" PRIu64 " given to the NIC with a mark\n", count, arrived, refused,
              found, marked);
  if (counted_by_nic(SW_NIC_COUNTER_RECEIVED) != arrived) world.fail("the NIC counts other frames");
  if (counted_by_nic(SW_NIC_COUNTER_ATTACH_RX) != arrived) world.fail("other frames were given to the NIC");
  if (counted_by_nic(SW_NIC_COUNTER_ATTACH_RX_NO_ROOM)) world.fail("frames found no room");
  if (counted_by_nic(SW_NIC_COUNTER_ATTACH_RX_CUT) != marked) world.fail("other frames were marked");
  cycles += model.cycles();
  return world.fault();
}

}  // namespace

std::string nic(const Options& options, uint64_t& cycles) {
  std::printf("nic:\n");
  std::string fault = received(options, cycles);
  for (const size_t bytes : {60u, 1514u, 9000u}) {
    for (const double load : {0.0, 0.935}) {
      if (fault.empty()) fault = flooded(options, bytes, load, cycles);
    }
  }
  return fault;
}

}  // namespace sw

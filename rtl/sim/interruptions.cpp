// Scenarios that end a stream in the middle of all it does.

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <deque>

#include "stream.hpp"

namespace sw {
namespace {

constexpr uint8_t kTypeMark = 0x11;
constexpr uint32_t kSlotsLeft = 8;
constexpr uint64_t kMacResetCycles = 10'000;  // on average between two of one side of the MAC
constexpr size_t kTagsKept = 8;  // tags are random: all of a long run would hold one twice

// Holds every DATA and MARK against the streams before: one host for a stream, and none comes back.
class Streams {
 public:
  explicit Streams(World& world) : world_(world), next_(world.model().on_frame) {
    world.model().on_frame = [this](const Bytes& frame) {
      take(frame);
      next_(frame);
    };
  }

  uint64_t count() const { return count_; }

 private:
  void take(const Bytes& frame) {
    Data data;
    const bool is_data = parse_data(frame, data);
    const bool is_mark = frame.size() >= 68 && get16(&frame[12]) == 0x0800 &&
                         frame[23] == 17 && frame[42] == kTypeMark;
    if (!is_data && !is_mark) return;
    const uint32_t tag = get32(&frame[44]);
    const uint16_t port = get16(&frame[36]);
    if (tags_.empty() || tag != tags_.back()) {
      if (std::find(tags_.begin(), tags_.end(), tag) != tags_.end())
        world_.fail("a packet of a stream that was left");
      tags_.push_back(tag);
      if (tags_.size() > kTagsKept) tags_.pop_front();
      port_ = port;
      ++count_;
    }
    if (port != port_) world_.fail("a packet for another host than its stream's");
  }

  World& world_;
  std::function<void(const Bytes&)> next_;
  std::deque<uint32_t> tags_;  // of the newest streams, the last one's at the back
  uint64_t count_ = 0;
  uint16_t port_ = 0;
};

void run_for(World& world, uint64_t ns) {
  world.run(world.model().now_ns() + ns, [] { return false; });
}

WorldSpec interrupted(const Options& options) {
  WorldSpec spec = base(options);
  spec.setup.payload_bytes = options.payload_bytes ? options.payload_bytes : 256;
  spec.down.delay_ns = spec.up.delay_ns = 2'000;
  spec.down.loss = 0.05;
  spec.up.loss = 0.01;
  // A repair is requested soon and credit lasts until it comes, so that DATA flows at any moment.
  spec.setup.tolerance_16ns = 125;
  spec.window_packets = kWindow / 4;
  return spec;
}

// The first REPORT brings credit, and may be lost: DATA shows that it has come.
void run_to_data(World& world) {
  const uint64_t until = world.model().now_ns() + kSecond;
  if (!world.run(until, [&] { return world.counts().packets_received != 0; }))
    world.fail("no DATA within 1 s: " + world.host_words());
}

// A board without a host sends what it has credit for and fills its ring, but for the slots that a
// source that can wait leaves: of neither is anything lost.
void check_room(World& world, const WorldSpec& spec) {
  run_to_data(world);
  world.leave();
  Driver& board = world.driver();
  uint32_t next = board.read(SW_REG_NEXT), next_before, sent = board.read(SW_REG_SENT), sent_before;
  do {
    next_before = next;
    sent_before = sent;
    run_for(world, 20'000);
    next = board.read(SW_REG_NEXT);
    sent = board.read(SW_REG_SENT);
  } while ((next != next_before || sent != sent_before) && world.fault().empty());
  const uint32_t oldest = board.read(SW_REG_OLDEST);
  if (sent - oldest != spec.window_packets)
    world.fail("credit for " + std::to_string(sent - oldest) + " packets is left");
  if (next - oldest < board.read(SW_REG_SLOTS) - kSlotsLeft)
    world.fail("slots for " + std::to_string(next - oldest) + " packets are left");
}

// Behind a full ring a source that can wait waits, and no write that would falsify packets is taken
// while their stream is open.
void check_full_ring(World& world) {
  constexpr double kFastest = 255;  // bytes a ns: what came due meanwhile is caught up soon
  constexpr uint64_t kSettle = 2'000;
  Driver& board = world.driver();
  const uint32_t payload = board.read(SW_REG_PAYLOAD), control = board.read(SW_REG_CONTROL);
  const uint32_t slot_bytes = board.read(SW_REG_GEOMETRY) >> SW_REG_GEOMETRY_SLOT_BYTES_SHIFT;
  const uint64_t refused = board.counter(SW_COUNTER_WRITES_REFUSED);
  for (const uint32_t bytes : {payload, 2 * payload, 2 * slot_bytes})
    if (world.model().write(SW_REG_PAYLOAD, bytes)) world.fail("an open stream's payload changes");
  if (world.model().write(SW_REG_CONTROL, control ^ 1u << SW_REG_CONTROL_SOURCE_SHIFT))
    world.fail("an open stream's source changes");
  if (board.counter(SW_COUNTER_WRITES_REFUSED) != refused + 4)
    world.fail("refused writes are not counted");
  if (board.read(SW_REG_PAYLOAD) != payload || board.read(SW_REG_CONTROL) != control)
    world.fail("a refused write is read back");

  board.write(SW_REG_SOURCE_RATE, source_rate(kFastest));
  const auto fill = [&] { return board.read(SW_REG_PEER_PORT) >> SW_REG_PEER_PORT_RING_FILL_SHIFT; };
  for (unsigned i = 0; fill() != board.read(SW_REG_SLOTS); ++i) {
    if (i == 100) return world.fail("the ring does not fill: " + std::to_string(fill()));
    run_for(world, kSettle);
  }
  board.write(SW_REG_SOURCE_RATE, 0);
  run_for(world, kSettle);
  const uint64_t lost = board.counter(SW_COUNTER_SAMPLES_LOST);
  run_for(world, kSettle);
  if (board.counter(SW_COUNTER_SAMPLES_LOST) != lost)
    world.fail("a source that can wait loses samples behind a full ring");
}

}  // namespace

std::string resets(const Options& options, uint64_t& cycles) {
  const uint64_t count = options.packets ? options.packets : 300;
  const WorldSpec spec = interrupted(options);
  World world(spec);
  const Streams streams(world);
  uint64_t finished = 0;
  for (uint64_t i = 0; i < count && world.fault().empty(); ++i) {
    if (!start(world, 7)) break;
    run_for(world, world.random().below(50'000));
    if (world.random().below(8) == 0) {
      run_to_data(world);
      finish(world);
      ++finished;
    }
    world.reset_core();
  }
  if (start(world, 7)) check_room(world, spec);
  cycles = world.model().cycles();
  const MacCounts& mac = world.model().mac();
  std::printf("resets: %" PRIu64 " of the core, %" PRIu64 " frames cut, %" PRIu64
              " streams, %" PRIu64 " finished\n", count, mac.cut, streams.count(), finished);
  if (mac.cut < count / 6) world.fail("too few resets in mid-frame");
  if (mac.cut_short) world.fail("a cut frame below 60 bytes");
  if (mac.gaps) world.fail(std::to_string(mac.gaps) + " idle cycles inside frames");
  return world.fault();
}

std::string domains(const Options& options, uint64_t& cycles) {
  const uint64_t packets = options.packets ? options.packets : 200'000;
  const WorldSpec spec = interrupted(options);
  World world(spec);
  const Streams streams(world);
  world.truth().allow_loss();
  world.model().reset_mac_every(kMacResetCycles, world.random().draw());
  uint64_t received = 0, resets = 0, finished = 0;
  while (received < packets && world.fault().empty()) {
    if (!start(world, 7)) break;
    const uint64_t end_cycle =
        world.model().cycles() + world.random().below(2 * options.core_cycles);
    world.run(world.model().now_ns() + 20 * kSecond, [&] {
      return world.model().cycles() >= end_cycle || world.standing() != SW_STREAMING ||
             received + world.counts().packets_received >= packets;
    });
    received += world.counts().packets_received;
    // Only a stream that ends in order can be compared.
    if (received >= packets || world.random().below(2)) {
      run_to_data(world);
      finish(world);
      ++finished;
    }
    world.reset_core();
    ++resets;
  }
  cycles = world.model().cycles();
  const MacCounts& mac = world.model().mac();
  std::printf("domains: %" PRIu64 " resets of the MAC's transmit side, %" PRIu64
              " of its receive side, %" PRIu64 " of the core; %" PRIu64 " frames cut, %" PRIu64
              " streams, %" PRIu64 " finished, %" PRIu64 " packets received\n", mac.tx_resets,
              mac.rx_resets, resets, mac.cut, streams.count(), finished, received);
  if (mac.gaps) world.fail(std::to_string(mac.gaps) + " idle cycles inside frames");
  if (mac.cut_short) world.fail("a cut frame below 60 bytes");
  if (!finished) world.fail("no stream was compared");
  return world.fault();
}

std::string flushes(const Options& options, uint64_t& cycles) {
  const uint64_t count = options.packets ? options.packets : 300;
  const WorldSpec spec = interrupted(options);
  World world(spec);
  const Streams streams(world);
  uint64_t taken_over = 0, closing = 0, finished = 0, filled = 0, repeats = 0;
  for (uint64_t i = 0; i < count && world.fault().empty(); ++i) {
    if (!start(world, 7)) break;
    run_for(world, 20'000 + world.random().below(100'000));
    repeats += world.truth().repeats();
    switch (world.random().below(4)) {
      case 0:
        ++taken_over;
        break;
      case 1:  // Taken over while it closes.
        ++closing;
        world.driver().close();
        run_for(world, world.random().below(20'000));
        break;
      case 2:
        ++filled;
        check_room(world, spec);
        check_full_ring(world);
        break;
      default:
        ++finished;
        run_to_data(world);
        finish(world);
    }
  }
  cycles = world.model().cycles();
  std::printf("flushes: %" PRIu64 " takeovers, %" PRIu64 " while closing, %" PRIu64
              " with a full ring, %" PRIu64 " finished, %" PRIu64 " repeats\n",
              taken_over, closing, filled, finished, repeats);
  if (repeats < count) world.fail("too few repeats were requested");
  if (world.model().mac().gaps) world.fail("idle cycles inside frames");
  return world.fault();
}

}  // namespace sw

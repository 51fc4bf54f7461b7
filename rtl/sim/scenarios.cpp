#include "scenarios.hpp"

#include <cinttypes>
#include <cstdio>
#include <deque>
#include <optional>

#include "hostile.hpp"
#include "nic_cores.hpp"
#include "stream.hpp"

namespace sw {
namespace {

struct Totals {
  uint64_t packets = 0, repeats = 0, samples = 0, overflow_gaps = 0, lives = 0, finished = 0;
  uint64_t timed = 0;  // streams whose MARKs stated a time
};

// What is wrong with the times that the board stated.
std::string wrong_times(const std::optional<TaiClock>& tai, const sw_host_counts& counts) {
  const auto wrong = [&](uint64_t index, uint64_t tai_ns) {
    return tai_ns != (tai ? tai->time_ns(index) : 0);
  };
  const bool has_mark = counts.timed_index_tai_ns != 0;
  if (has_mark && wrong(counts.timed_index, counts.timed_index_tai_ns))
    return "a MARK states another time of index " + std::to_string(counts.timed_index);
  if (wrong(counts.accept_index, counts.accept_tai_ns))
    return "ACCEPT states another time of index " + std::to_string(counts.accept_index);
  return {};
}

void live(World& world, const WorldSpec& spec, uint64_t packets, Totals& totals) {
  Random& random = world.random();
  // The converter's rate against the line's: below it, or above so that the ring overflows.
  const double line = double(spec.line_bps) / 8e9;
  const double shares[] = {0, 0.3, 0.8, 1.3};
  world.driver().write(SW_REG_SOURCE_RATE, source_rate(line * shares[random.below(4)]));
  std::optional<TaiClock> tai;
  if (random.below(4))
    tai = TaiClock{random.draw() >> 24, random.draw(), random.draw() >> random.below(40)};
  world.driver().write_tai(tai);
  if (!start(world, 7)) return;
  const std::string wrong = wrong_times(tai, world.counts());
  if (!wrong.empty()) world.fail(wrong);
  const uint64_t received = world.counts().packets_received;
  const uint64_t until = world.model().now_ns() + 20 * kSecond;
  world.run(until, [&] {
    return world.counts().packets_received - received >= packets ||
           world.standing() != SW_STREAMING;
  });
  const sw_host_counts counts = world.counts();
  totals.packets += counts.packets_received;
  totals.timed += counts.timed_index_tai_ns != 0;
  if (world.standing() == SW_STREAMING) {
    const std::string wrong_then = wrong_times(tai, counts);
    if (!wrong_then.empty()) world.fail(wrong_then);
  }
  switch (random.below(4)) {
    case 0:  // The host is killed: the next life takes the stream over.
      break;
    case 1:
      world.restart_board();
      break;
    default:
      finish(world);
      ++totals.finished;
  }
  ++totals.lives;
  totals.repeats += world.truth().repeats();
  totals.overflow_gaps += world.truth().gaps();
  totals.samples += world.counts().delivered;
  world.host_words();
}

}  // namespace

std::string soak(const Options& options, uint64_t& cycles) {
  const uint64_t packets = options.packets ? options.packets : 1'000'000;
  WorldSpec spec = base(options);
  spec.down = {15'000, 0.01, 0.001, 0.001, 0.01, 40'000};
  spec.up = {15'000, 0.01, 0.001, 0.001, 0.01, 40'000};
  spec.window_packets = kWindow;
  spec.setup.payload_bytes = options.payload_bytes ? options.payload_bytes : 256;
  spec.stall_ns = options.seed % 2 ? 300'000 : 3'000'000;
  spec.stall_every_ns = 20 * spec.stall_ns;
  World world(spec);
  Totals totals;
  while (totals.packets < packets && world.fault().empty())
    live(world, spec, 1 + world.random().below(packets / 10 + 1), totals);
  cycles = world.model().cycles();
  if (totals.lives > 4 && totals.timed == 0) world.fail("no MARK stated a time");
  std::printf("soak: %" PRIu64 " packets received, %" PRIu64 " repeats, %" PRIu64
              " samples, %" PRIu64 " streams (%" PRIu64 " finished, %" PRIu64 " with times), %" PRIu64
              " overflow gaps, lost %" PRIu64 " down %" PRIu64 " up, %" PRIu64 " socket drops\n",
              totals.packets, totals.repeats, totals.samples, totals.lives, totals.finished, totals.timed,
              totals.overflow_gaps, world.down().counts().lost, world.up().counts().lost,
              world.socket_drops());
  return world.fault();
}

namespace {

struct Case {
  const char* name;
  double loss;
  uint64_t comb_period;
};

constexpr uint64_t kMarks = 16;
constexpr uint32_t kNicEnable = 1;

std::string flow(const Options& options, uint64_t line_gbps, uint32_t payload, const Case& damage,
                 uint64_t& cycles) {
  WorldSpec spec = base(options);
  // A MAC without a rate of its own shows the core's own idle cycles.
  if (line_gbps) spec.cycle_ps = cycle_ps(line_gbps);
  spec.line_bps = line_gbps * 1'000'000'000;
  spec.setup.payload_bytes = payload;
  // The ring covers a round trip, the tolerance and a repair at this rate, or it would be measured.
  spec.down.delay_ns = spec.up.delay_ns = 2'000;
  spec.setup.tolerance_16ns = 125;
  spec.down.loss = damage.loss;
  spec.down.comb_period = damage.comb_period;
  spec.window_packets = kWindow;
  World world(spec);
  std::optional<NicCores> cores;
  if (!options.nic_program.empty()) {
    NicOptions nic;
    nic.program_path = options.nic_program;
    cores.emplace(world.model(), nic).restart();
  }
  if (!start(world, 7)) return world.fault();
  uint64_t marks = 0;
  const auto watched = world.model().on_frame;
  world.model().on_frame = [&](const Bytes& frame) {
    if (frame.size() > 42 && frame[42] == 0x11) ++marks;
    watched(frame);
  };
  const auto after = [&](uint64_t packets, uint64_t marks_min) {
    const uint64_t frames = world.model().mac().frames + packets;
    world.run(world.model().now_ns() + kSecond, [&] {
      return world.model().mac().frames >= frames && marks >= marks_min;
    });
  };
  after(2'000, 0);
  world.model().clear_mac();
  const uint64_t start_ns = world.model().now_ns();
  // Idle cycles are to be seen around MARKs too. One is due in 10 ms: the clock jumps.
  marks = 0;
  for (uint64_t n = 1; n <= kMarks && !line_gbps && world.fault().empty(); ++n) {
    world.model().skip_to(world.model().now_ns() + 10'000'000);
    after(1 + world.random().below(32), n);
  }
  after(options.packets ? options.packets : 20'000, 0);
  const MacCounts mac = world.model().mac();
  const double share = double(mac.wire_ps) / 1e3 / double(world.model().now_ns() - start_ns);
  const uint64_t repeats = world.truth().repeats();
  const uint64_t marks_seen = marks;
  uint32_t control = 0;
  if (cores && !(cores->read("control", control) && control & kNicEnable))
    world.fail("the program of the cores has not started the NIC");
  finish(world);
  cycles += world.model().cycles();
  if (line_gbps) {
    std::printf("  %3" PRIu64 "G, payload %4u, damage %s: %.2f %% of the wire, %" PRIu64 " repeats\n",
                line_gbps, payload, damage.name, 100 * share, repeats);
    if (share < 0.995) world.fail("less than 99.5 % of the wire's time");
  } else {
    std::printf("  payload %4u, damage %s: at most %" PRIu64 " idle cycles between frames, mean %.2f, %"
                PRIu64 " times more than %" PRIu64 ", %" PRIu64 " MARKs\n", payload, damage.name,
                mac.idle_max, double(mac.idle_cycles) / double(mac.frames), mac.idle_long,
                MacCounts::kIdleShort, marks_seen);
    if (marks_seen < kMarks) world.fail("too few MARKs to measure");
    if (mac.idle_long) world.fail("more idle cycles between frames than that");
  }
  if (mac.gaps) world.fail(std::to_string(mac.gaps) + " idle cycles inside frames");
  return world.fault();
}

}  // namespace

std::string throughput(const Options& options, uint64_t& cycles) {
  const Case cases[] = {
      {"none", 0, 0}, {"1e-3", 1e-3, 0}, {"1e-2", 1e-2, 0}, {"32 of 3,200", 0, 3200}};
  const uint64_t lines[] = {0, kIsWide ? 100u : 10u, kIsWide ? 0u : 25u};
  std::printf("throughput:\n");
  for (const uint32_t payload : {256u, 1408u, 8192u}) {
    if (options.payload_bytes && options.payload_bytes != payload) continue;
    for (const Case& damage : cases) {
      for (size_t i = 0; i < (kIsWide ? 2 : 3); ++i) {
        const std::string fault = flow(options, lines[i], payload, damage, cycles);
        if (!fault.empty()) return fault;
      }
    }
  }
  return "";
}

namespace {

// The seqs that a REPORT requests come in turn: the beats of each seq beyond the first are stored
// before it is shown. A seq that has departed since is checked and skipped.
constexpr uint64_t kSeqCycles = 4;

// Seqs that a REPORT lists, docs/protocol.md#2.12.
uint64_t listed_seqs(const Bytes& frame) {
  uint64_t seqs = 0;
  const size_t end = std::min(frame.size(), size_t(104 + 8 * get16(&frame[102])));
  for (size_t at = 104; at + 8 <= end; at += 8) seqs += get32(&frame[at + 4]);
  return seqs;
}

}  // namespace

std::string latency(const Options& options, uint64_t& cycles) {
  WorldSpec spec = base(options);
  spec.line_bps = 0;
  spec.setup.payload_bytes = 256;
  spec.down.loss = 0.05;
  spec.up.delay_ns = spec.down.delay_ns = 2'000;
  // One beat in some hundred cycles: a header that leaves belongs to the newest beat.
  spec.setup.samples_per_ns_q = source_rate(0.01);
  World world(spec);
  uint64_t sample_max = 0, repeat_max = 0, several_max = 0, samples = 0, repeats = 0;
  uint64_t report_cycle = 0, seqs = 0;
  bool has_report = false;
  const auto watched = world.model().on_frame;
  Model& model = world.model();
  model.on_frame = [&](const Bytes& frame) {
    Data data;
    if (parse_data(frame, data)) {
      const uint64_t began = model.frame_cycle();
      if (!(data.flags & kRetransmission)) {
        ++samples;
        sample_max = std::max(sample_max, began - model.samples_cycle());
      } else if (has_report && model.frame_end_cycle() < report_cycle) {
        ++repeats;
        const uint64_t took = began - report_cycle;
        uint64_t& most = seqs > 1 ? several_max : repeat_max;
        most = std::max(most, took);
        if (took > 64 + kSeqCycles * (seqs > 1 ? seqs - 1 : 0))
          world.fail("a repeat " + std::to_string(took) + " cycles behind a REPORT of " +
                     std::to_string(seqs) + " seqs");
      }
      has_report = false;
    }
    watched(frame);
  };
  model.on_received = [&](const Bytes& frame) {
    if (frame.size() > 108 && frame[42] == 0x12) {
      has_report = true;
      report_cycle = model.cycles();
      seqs = listed_seqs(frame);
    }
  };
  if (!start(world, 7)) return world.fault();
  const uint64_t packets = options.packets ? options.packets : 2'000;
  world.run(kSecond, [&] { return samples >= packets; });
  finish(world);
  cycles = model.cycles();
  std::printf("latency: last sample to header at most %" PRIu64 " cycles (%" PRIu64
              " packets), REPORT to repeat at most %" PRIu64 " cycles, %" PRIu64
              " where it lists several (%" PRIu64 " repeats)\n",
              sample_max, samples, repeat_max, several_max, repeats);
  if (sample_max > 48) world.fail("a header later than 48 cycles");
  if (repeats < packets / 100) world.fail("too few repeats to measure");
  return world.fault();
}

std::string restarts(const Options& options, uint64_t& cycles) {
  const uint64_t count = options.packets ? options.packets : 1'000;
  WorldSpec spec = base(options);
  spec.setup.payload_bytes = 256;
  spec.setup.samples_per_ns_q = source_rate(0.1);
  spec.down.loss = spec.up.loss = 0.02;
  spec.window_packets = 256;
  World world(spec);
  std::deque<uint32_t> tags;
  uint64_t resets = 0, killed_opening = 0;
  for (uint64_t i = 0; i < count && world.fault().empty(); ++i) {
    // A program that dies while it opens, then one that gets through.
    if (world.random().below(4) == 0) {
      ++killed_opening;
      world.open(7);
      const uint64_t dies = world.model().now_ns() + world.random().below(80'000);
      world.run(dies, [&] { return false; });
    }
    if (world.random().below(5) == 0) {
      ++resets;
      world.restart_board();
    }
    if (!start(world, 7)) break;
    const uint64_t until = world.model().now_ns() + world.random().below(50'000);
    world.run(until, [&] { return false; });
    if (world.standing() != SW_STREAMING) continue;
    const uint32_t tag = world.counts().board_tag;
    if (std::find(tags.begin(), tags.end(), tag) != tags.end()) world.fail("a tag came back");
    tags.push_back(tag);
    if (tags.size() > 8) tags.pop_front();
  }
  cycles = world.model().cycles();
  std::printf("restarts: %" PRIu64 " openings, %" PRIu64 " resets of the board, %" PRIu64
              " hosts killed while opening\n", count, resets, killed_opening);
  return world.fault();
}

std::string hostile(const Options& options, uint64_t& cycles) {
  WorldSpec spec = base(options);
  spec.setup.payload_bytes = 1408;
  World world(spec);
  if (!start(world, 7)) return world.fault();
  const uint64_t rounds = options.packets ? options.packets : 300;
  const uint32_t tag = world.counts().board_tag;
  std::printf("hostile:\n");
  for (const Attack& attack : attacks()) {
    // One packet at a time is judged; what comes meanwhile finds no room, and is counted as that.
    const auto count = [&] {
      const uint64_t no_room = world.driver().counter(SW_COUNTER_NO_ROOM);
      return world.driver().counter(attack.counter) + no_room;
    };
    const uint64_t before = count();
    const uint64_t delivered = world.counts().delivered;
    for (uint64_t i = 0; i < rounds; ++i) {
      world.inject(attack.frame(spec.setup.self, world.host_address(), tag, world.random()),
                   attack.is_bad);
      world.run(world.model().now_ns() + 1, [] { return false; });
    }
    world.run(world.model().now_ns() + kSecond, [&] { return world.model().has_received_all(); });
    world.run(world.model().now_ns() + 50'000, [] { return false; });
    const uint64_t counted = count() - before;
    std::printf("  %-28s %" PRIu64 " sent, %" PRIu64 " counted\n", attack.name, rounds, counted);
    if (counted < attack.share * double(rounds))
      world.fail(std::string(attack.name) + " was not counted");
    if (world.counts().delivered <= delivered) world.fail(std::string(attack.name) + " stops the stream");
  }
  finish(world);
  cycles = world.model().cycles();
  return world.fault();
}

}  // namespace sw

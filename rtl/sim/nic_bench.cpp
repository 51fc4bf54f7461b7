// The bench of the NIC: latency, line rate, and the account of frames, with a dummy processor.
//
//   nic_bench latency      with its MAC side: nic_bench_mac
//   nic_bench operations
//   nic_bench line-rate [--frames N] [--bytes N]
//   nic_bench rate [--frames N] [--bytes N]
//   nic_bench account [--frames N] [--seed N] [--errors N]
//   nic_bench memories     rows of the table of docs/nic.md
//
// With its memory outside: nic_bench_outside, and behind the L2 cache: nic_bench_l2. These take
// --memory-latency N, in cycles; --errors N: an access in N answers err, not with the cache.
// --buffers N: fewer than fit into memory. With queues in that memory, as in NIC_1.1 of T:
// nic_bench_rings, nic_bench_outside_rings, nic_bench_l2_rings.
//
// Prints figures in cycles and fails where a frame is lost, changed or counted twice.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "nic_model.hpp"

namespace {

using namespace sw;

struct Options {
  uint64_t frames = 10'000, seed = 1;
  unsigned bytes = 0;  // all sizes
  unsigned memory_latency = 10, buffers = 0, errors = 0;
};

constexpr unsigned kSizes[] = {60, 61, 64, 127, 512, 1514, 9000};
enum Mode : unsigned { kNormal, kNicLoopback, kMacLoopback };
constexpr const char* kModes[] = {"processor", "NIC loopback", "MAC loopback"};
constexpr double kGoalMbps = 6'250;  // frames of 1,024 bytes at 100 MHz, each way at once
constexpr unsigned kLatencySizes[] = {32, 64, 128, 256, 512, 1024, 1500};
#ifdef HAS_MAC
constexpr bool kHasMac = true;
#else
constexpr bool kHasMac = false;
#endif

unsigned long long u(uint64_t value) { return value; }

void print_memory(const Options& options) {
  if (kHasRings) std::printf("queues in memory; ");
  if (kMemory == kLocal) {
    if (kHasRings) std::printf("memory local\n");
    return;
  }
  std::printf("memory outside%s, latency %u, 16 requests in flight\n",
              kMemory == kL2 ? " behind an L2 cache of 32 KiB" : "", options.memory_latency);
}

// Buffers that hold a frame, as many as memory and a queue have room for.
void fit(Nic& nic, unsigned bytes, const Options& options) {
  NicConfig& config = nic.config;
  config.buffer_bits = 0;
  while ((128u << config.buffer_bits) < bytes + 8) config.buffer_bits++;
  config.buffers = std::min(kBuffersBytes >> (7 + config.buffer_bits), 64u);
  if (options.buffers) config.buffers = std::min(config.buffers, options.buffers);
  nic.dram.latency = options.memory_latency;
}

// Until the engines have done what they can without a frame.
unsigned rest_cycles(const Options& options) {
  return 50 + (kHasRings ? 20 * (options.memory_latency + 5) : 0);
}

// ------------------------------------------------------------------ latency

uint64_t round_trip(unsigned bytes, unsigned mode, const Options& options) {
  Nic nic(1);
  fit(nic, bytes, options);
  nic.config.mode = mode;
  nic.reset();
  uint64_t worst = 0;
  Frame sent;
  bool is_due = false;
  FrameSource<Model> source(nic.model, [&](Frame& frame) {
    if (!is_due) return false;
    is_due = false;
    frame = sent;
    return true;
  });
  FrameSink<Model> sink(nic.model, [&](Frame& frame) { frame = sent; });
  sink.is_padded = mode != kMacLoopback;
  for (unsigned i = 0; i < 16; i++) {
    sent = {.number = i, .bytes = bytes};
    is_due = true;
    while (sink.frames == i) nic.cycle(source, sink);
    worst = std::max(worst, sink.last_beat - source.first_beat + 1);
    // Begins in every phase of what the processor does, once the engines rest.
    for (unsigned rest = 0; rest < rest_cycles(options) + i; rest++) nic.cycle(source, sink);
  }
  if (sink.gaps) fail("gaps", sink.gaps);
  return worst;
}

int latency(const Options& options) {
  print_memory(options);
  std::printf("round trip in cycles, first beat in to last beat out, %s mac_fifo\n",
              kHasMac ? "with" : "without");
  std::printf("%8s %10s %14s %14s %10s\n", "bytes", "normal", "NIC loopback", "MAC loopback", "goal");
  bool is_met = true;
  for (const unsigned bytes : kLatencySizes) {
    const uint64_t normal = round_trip(bytes, kNormal, options);
    const uint64_t loop = round_trip(bytes, kNicLoopback, options);
    const uint64_t mac = kHasMac ? round_trip(bytes, kMacLoopback, options) : 0;
    const uint64_t beats = (bytes + 7) / 8;
    is_met &= normal <= 3 * beats + 56 && mac <= 2 * beats + 16;
    std::printf("%8u %10llu %14llu %14llu %10llu\n", bytes, u(normal), u(loop), u(mac),
                u(3 * beats + 56));
  }
  // The goals are those of hardware queues and a local memory.
  if (!is_met && kMemory == kLocal && !kHasRings) fail("a round trip is longer than its goal");
  return 0;
}

// ------------------------------------------------------------------ operations

// Cycles of operations at a register, from each request's first to its response's.
struct Operations {
  double mean = 0;
  uint64_t longest = 0;
  uint64_t traversal = 0;  // the longest of 3 pops and 3 pushes
};

// A pointer through a queue of each kind, by a processor's port. Nothing else uses the queues.
Operations time_operations(const Options& options) {
  Nic nic(1);
  fit(nic, 1024, options);
  nic.reset();
  for (unsigned rest = 0; rest < rest_cycles(options); rest++) nic.cycle();
  nic.enable(false);
  nic.finish();
  Operations times;
  uint64_t operations = 0, sum = 0;
  const auto timed = [&](bool is_pop, unsigned offset, uint32_t pointer) {
    const uint64_t begun = nic.now;
    const uint32_t result = nic.access(is_pop, offset, pointer);
    const uint64_t took = nic.now - begun - 1;
    times.longest = std::max(times.longest, took);
    sum += took;
    operations++;
    if (is_pop ? result & 7 : result) fail("an operation is refused", offset, result);
    return result;
  };
  for (unsigned i = 0; i < 100; i++) {
    const uint64_t before = sum;
    const unsigned server = i % kServers;
    uint32_t pointer = timed(true, SW_NIC_REG_FREE, 0);
    for (const unsigned queue : {SW_NIC_REG_RECEIVE_0, SW_NIC_REG_TRANSMIT_0}) {
      timed(false, queue + 8 * server, pointer);
      pointer = timed(true, queue + 8 * server, 0);
    }
    timed(false, SW_NIC_REG_FREE, pointer);
    times.traversal = std::max(times.traversal, sum - before);
    for (unsigned rest = 0; rest < i; rest++) nic.cycle();
  }
  times.mean = double(sum) / double(operations);
  return times;
}

int operations(const Options& options) {
  print_memory(options);
  const Operations times = time_operations(options);
  std::printf("an operation at a register takes %.2f cycles (at most %llu), a traversal of 3 pops and 3 "
              "pushes at most %llu\n",
              times.mean, u(times.longest), u(times.traversal));
  return 0;
}

// ------------------------------------------------------------------ line rate

struct Rate {
  double cycles = 0;  // a frame
  double reads = 0;   // of memory by a processor, a cycle
  uint64_t waited = 0, dropped = 0;
};

// Frames at the wire's pace, or as fast as they are taken. With hardware queues and a local memory
// none is lost or waits; else they come as fast as memory allows. What then finds no room in
// mac_fifo is counted there.
Rate run_frames(unsigned bytes, unsigned mode, bool is_paced, const Options& options) {
  const uint64_t frames = options.frames;
  const bool must_keep_up = kMemory == kLocal && !kHasRings && is_paced;
  Nic nic(1);
  fit(nic, bytes, options);
  nic.config.mode = mode;
  nic.reset();
  std::vector<bool> seen(frames);
  uint64_t next = 0;
  FrameSource<Model> source(nic.model, [&](Frame& frame) {
    if (next == frames) return false;
    frame = {.number = next++, .bytes = bytes};
    return true;
  });
  FrameSink<Model> sink(nic.model, [&](Frame& frame) {
    if (frame.number >= frames || seen[frame.number]) fail("a frame comes twice", frame.number);
    seen[frame.number] = true;
    frame = {.number = frame.number, .bytes = bytes};
  });
  source.is_paced = is_paced;
  sink.is_padded = mode != kMacLoopback;
  // A processor's reads would take turns with the engines at a memory outside.
  MemoryReader reader(nic.model, must_keep_up);
  const uint64_t begun = nic.now;
  // Without a local memory until nothing more comes.
  const uint64_t patience = must_keep_up ? 2'000 : 20'000 + 20 * bytes;
  uint64_t quiet_since = begun;
  while (sink.frames < frames && nic.now - quiet_since < patience) {
    const uint64_t before = sink.frames + source.frames;
    nic.cycle(source, sink, reader);
    if (sink.frames + source.frames != before) quiet_since = nic.now;
  }
  Rate rate{.cycles = double(sink.last_beat - begun) / double(sink.frames),
            .reads = double(reader.reads) / double(nic.now - begun),
            .waited = source.lag_max};
  if (sink.gaps) fail("gaps inside frames", sink.gaps);
  if (sink.frames < frames) {
    while (!nic.processor.is_resting()) nic.cycle(source, sink, reader);
    nic.read_counts();
    rate.dropped = nic.counter(SW_NIC_COUNTER_MAC_RX_DROPPED);
  }
  if (sink.frames + rate.dropped != frames || (must_keep_up && rate.dropped))
    fail("frames are lost", sink.frames, rate.dropped);
  // What waits ahead of the NIC must not grow.
  if (must_keep_up && source.lag_max > 64)
    fail("frames come faster than the NIC takes them", source.lag_max);
  return rate;
}

void line_rate(unsigned bytes, unsigned mode, bool is_paced, const Options& options) {
  const Rate rate = run_frames(bytes, mode, is_paced, options);
  const double wire = double(bytes + kWireBytes) / 8;
  const double mbps = double(bytes) * 800 / rate.cycles;
  std::printf("%6u bytes, %-12s %llu frames, a frame per %.3f cycles (wire %.3f)", bytes,
              kModes[mode], u(options.frames), rate.cycles, wire);
  if (kMemory == kLocal && !kHasRings && is_paced)
    std::printf(", waited at most %llu, %.2f reads of memory a cycle", u(rate.waited), rate.reads);
  if (!is_paced) std::printf(", %.0f Mb/s at 100 MHz", mbps);
  if (rate.dropped) std::printf(", %llu dropped whole by mac_fifo", u(rate.dropped));
  std::printf("\n");
  std::fflush(stdout);
  // The goal is that of hardware queues and a local memory.
  const bool has_goal = bytes == 1024 && !is_paced && kMemory == kLocal && !kHasRings;
  if (has_goal && mbps < kGoalMbps) fail("frames of 1,024 bytes are slower than their goal", uint64_t(mbps));
}

int line_rates(bool is_paced, const Options& options) {
  print_memory(options);
  std::vector<unsigned> sizes(std::begin(kSizes), std::end(kSizes));
  if (!is_paced) sizes = {60, 1024, 1500, 9000};
  if (options.bytes) sizes = {options.bytes};
  for (const unsigned bytes : sizes)
    for (const unsigned mode : {kNicLoopback, kNormal, kMacLoopback})
      if (mode != kMacLoopback || (kHasMac && !is_paced)) line_rate(bytes, mode, is_paced, options);
  return 0;
}

// ------------------------------------------------------------------ memories

// A row for each latency: operation and traversal at a register, and Mb/s of 1,024 bytes at 100 MHz;
// with the MAC side the round trips.
int memories(Options options) {
  constexpr const char* kNames[] = {"local", "outside", "L2"};
  options.frames = std::min<uint64_t>(options.frames, 1'000);
  std::vector<unsigned> latencies{1, 10, 40};
  if (kMemory == kLocal) latencies = {0};
  for (const unsigned latency : latencies) {
    options.memory_latency = latency;
    std::printf("| %s | %s | %s |", kHasRings ? "NIC_1.1" : "NIC_1.2", kNames[kMemory],
                latency ? std::to_string(latency).c_str() : "");
    if (kHasMac) {
      for (const unsigned bytes : kLatencySizes)
        std::printf(" %llu |", u(round_trip(bytes, kNormal, options)));
    } else {
      const Operations times = time_operations(options);
      const double cycles = run_frames(1024, kNormal, false, options).cycles;
      std::printf(" %.0f | %llu | %.0f |", times.mean, u(times.traversal), 1024 * 800 / cycles);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}

// ------------------------------------------------------------------ account

// Frames of random lengths, 10 % of them bad or too long, and what became of them.
class Account {
 public:
  Account(const Options& options)
      : options_(options), random_(options.seed), nic_(options.seed + 1),
        source_(nic_.model, [this](Frame& frame) { return next(frame); }),
        sink_(nic_.model, [this](Frame& frame) { find(frame); }) {
    nic_.processor.behaviour = {.drop = 0.1, .keep = 0.05, .own = kOwn};
    nic_.config.buffer_bits = 2;
    nic_.config.filter = 1;
    nic_.dram.latency = options.memory_latency;
    if (options.errors) nic_.dram.errors = 1. / options.errors;
    sink_.may_cut = options.errors;
    begin();
    sink_.chance = [this](double p) { return random_.chance(p); };
  }

  int run() {
    print_memory(options_);
    while (offered_ < options_.frames) {
      period();
      if (random_.chance(0.3)) reset_in_mid_frame();
    }
    drain();
    std::printf("account: %llu frames in = %llu received, %llu bad, %llu too long, %llu filtered, "
                "%llu queue full, %llu disabled, %llu cut off by a reset\n",
                u(offered_), u(total_[kReceived]), u(total_[kBad]), u(total_[kTooLong]),
                u(total_[kFiltered]), u(total_[kQueueFull]), u(total_[kDisabled]), u(cut_off_));
    std::printf("account: %llu sent, %llu dropped by the processor, seed %llu\n", u(total_[kSent]),
                u(dropped_), u(options_.seed));
    std::printf("account: buffers ran out %llu times, a server was stuck with frames %llu times; of "
                "%llu resets %llu in a frame in, %llu in a frame out; of %llu disables %llu in a frame\n",
                u(exhausted_), u(stuck_), u(resets_), u(resets_in_), u(resets_out_), u(disables_),
                u(disables_in_));
    must_have_happened();
    if (options_.errors)
      std::printf("account: %llu frames in with a failed write, %llu frames out with a failed read\n",
                  u(total_[kWriteFailed]), u(total_[kReadFailed]));
    return 0;
  }

 private:
  // What the account is about has come about, not only been drawn.
  void must_have_happened() const {
    const uint64_t least = options_.frames / kFramesForOne;
    const std::pair<const char*, uint64_t> happened[] = {
        {"buffers ran out", exhausted_},
        {"a server was stuck with frames", stuck_},
        {"resets in a frame that came", resets_in_},
        // Frames leave store and forward from a slow memory, in a small part of the time.
        {"resets in a frame that left", kMemory == kLocal ? resets_out_ : 4 * resets_out_},
        {"disables in a frame", disables_in_},
        {"bad frames", total_[kBad]},
        {"frames that were too long", total_[kTooLong]},
        {"full queues", total_[kQueueFull]},
    };
    for (const auto& [what, times] : happened)
      if (times < least) fail(what, times, least);
  }

  // Each frame's properties follow from its number.
  Frame frame_of(uint64_t number) const {
    Random random(options_.seed ^ (number << 20));
    Frame frame{.number = number, .bytes = unsigned(14 + random.below(random.chance(0.5) ? 60 : 490))};
    if (random.chance(0.05)) frame.is_bad = true;
    if (random.chance(0.05)) frame.bytes = 505 + unsigned(random.below(300));
    if (random.chance(0.05)) frame.is_foreign = true;
    return frame;
  }

  bool next(Frame& frame) {
    if (is_draining_ || offered_ == options_.frames) return false;
    // It ends in exactly one of the counters, or in a reset.
    frame = frame_of(offered_++);
    return true;
  }

  void find(Frame& frame) {
    const uint64_t number = frame.number;
    frame = frame_of(number);
    if (number >= offered_ || frame.is_bad || frame.is_foreign || frame.bytes > 504)
      fail("a frame that must not come", number);
    // Of the last ones the bits say which have come.
    const uint64_t place = number % kWindow;
    if (came_[place] == number + 1) fail("a frame comes twice", number);
    came_[place] = number + 1;
  }

  // From reset on, with buffers of 512 bytes: few enough to run out, or more than a queue has room for.
  void begin() {
    nic_.config.buffers = random_.chance(0.5) ? 24 : 72;
    nic_.reset();
    since();
  }

  void period() {
    source_.is_paced = random_.chance(0.7);
    sink_.ready = random_.chance(0.7) ? 1 : 0.7;
    nic_.config.servers = 1 + unsigned(random_.below(4));
    nic_.processor.stuck = random_.chance(0.3) ? 1u << random_.below(nic_.config.servers) : 0;
    nic_.processor.behaviour.keep = random_.chance(0.2) ? 0.6 : 0.05;
    nic_.config.choice = unsigned(random_.below(3));
    nic_.config.filter = 1;
    nic_.config.mode = random_.chance(0.2);
    nic_.configure();
    const uint64_t cycles = 500 + random_.below(20'000);
    for (uint64_t i = 0; i < cycles && offered_ < options_.frames; i++) {
      if (random_.chance(nic_.config.enable ? 0.0005 : 0.01)) {
        nic_.enable(!nic_.config.enable);
        disables_ += !nic_.config.enable;
      }
      step();
    }
    if (random_.chance(0.3)) drain();
  }

  void step() {
    const bool waits = !source_.is_idle() && source_.beat() == 0 && !nic_.model.s_axis_tready;
    waited_ = waits ? waited_ + 1 : 0;
    exhausted_ += waited_ == kWaitCycles;
    const bool is_stuck = nic_.model.irq_o & nic_.processor.stuck;
    stuck_cycles_ = is_stuck ? stuck_cycles_ + 1 : 0;
    stuck_ += stuck_cycles_ == kWaitCycles;
    const bool was_on = nic_.was_enabled(nic_.now - 1);
    const uint64_t before = source_.frames;
    nic_.cycle(source_, sink_);
    disables_in_ += was_on && !nic_.was_enabled(nic_.now - 1) && !source_.is_idle() && source_.beat() > 0;
    if (source_.frames != before) expected_[cause(source_.frame())]++;
  }

  // What must become of a frame that has ended; of one that may be kept, kCounts.
  unsigned cause(const Frame& frame) const {
    if (!nic_.was_enabled(source_.first_beat)) return kDisabled;
    if (frame.is_bad) return kBad;
    if (frame.bytes > 504) return kTooLong;
    return frame.is_foreign ? kFiltered : kCounts;
  }

  // All that has come leaves; then sums must hold, and each buffer is free.
  void drain() {
    is_draining_ = true;
    nic_.enable(true);
    nic_.processor.stuck = 0;
    nic_.processor.behaviour.keep = nic_.processor.behaviour.own = 0;
    // A full free queue holds the transmit engine back: the processor keeps some.
    nic_.processor.behaviour.reserve = nic_.config.buffers > 64 ? 10 : 0;
    sink_.ready = 1;
    for (uint64_t quiet = 0, before = ~0ull, i = 0; quiet < 4'000; i++) {
      step();
      const uint64_t sum = source_.frames + sink_.frames + nic_.processor.dropped;
      quiet = sum == before && nic_.processor.is_settled() && source_.is_idle() ? quiet + 1 : 0;
      before = sum;
      if (i > 2'000'000) fail("frames are stuck", source_.frames, sink_.frames);
    }
    while (!nic_.processor.is_resting()) step();
    nic_.read_counts();
    check(0);
    const auto& n = nic_.counts;
    for (const Count event : {kDisabled, kBad, kTooLong, kFiltered})
      if (n[event] != expected_[event]) fail("frames of a cause", n[event], expected_[event]);
    if (n[kReceived] != n[kSent] + n[kReadFailed] + nic_.processor.dropped)
      fail("received and sent differ", n[kReceived], n[kSent] + nic_.processor.dropped);
    if (sink_.frames != n[kSent]) fail("sent and seen differ", n[kSent], sink_.frames);
    if (sink_.cut > n[kReadFailed]) fail("frames are cut", sink_.cut, n[kReadFailed]);
    count_buffers();
    begin();
    nic_.processor.behaviour.own = kOwn;
    nic_.processor.behaviour.reserve = 0;
    is_draining_ = false;
  }

  // Frames in are those counted, but for some that a reset cut off.
  void check(uint64_t cut_off_max) {
    const auto& n = nic_.counts;
    const uint64_t counted = n[kReceived] + n[kBad] + n[kTooLong] + n[kFiltered] + n[kQueueFull] +
                             n[kWriteFailed] + n[kDisabled];
    if (counted > source_.frames || counted + cut_off_max < source_.frames)
      fail("frames in and counted differ", source_.frames, counted);
    if (n[kBadLength] || n[kBadPush]) fail("an event that must not come", n[kBadLength], n[kBadPush]);
    if (!options_.errors && (n[kReadFailed] || n[kWriteFailed]))
      fail("memory fails", n[kReadFailed], n[kWriteFailed]);
    cut_off_ += source_.frames - counted;
  }

  // 1, for a buffer that was not there before.
  uint64_t place(uint32_t pointer, std::vector<bool>& seen) const {
    const uint32_t index = pointer >> (7 + nic_.config.buffer_bits);
    if (index >= seen.size() || seen[index]) fail("a buffer is there twice", pointer);
    seen[index] = true;
    return 1;
  }

  // The processor pops them all.
  void count_buffers() {
    std::vector<bool> seen(nic_.config.buffers);
    nic_.enable(false);
    nic_.finish();
    while (!nic_.processor.is_resting()) step();
    uint64_t found = nic_.processor.has();
    for (const uint32_t pointer : nic_.processor.reserve) found += place(pointer, seen);
    // What the engines are about to free comes late.
    for (unsigned empty = 0; empty < 50;) {
      const uint32_t result = nic_.access(true, SW_NIC_REG_FREE);
      if (result == 1) {
        empty++;
        continue;
      }
      if (result == 5) continue;  // memory has failed, and nothing is done
      found += place(result, seen);
    }
    // The receive engine has two, and a third that a full queue or memory refused.
    const uint64_t missing = nic_.config.buffers - found;
    if (missing != 2 &&
        (missing != 3 || nic_.counts[kQueueFull] + nic_.counts[kWriteFailed] == 0))
      fail("buffers are lost", found, nic_.config.buffers);
  }

  void reset_in_mid_frame() {
    for (int i = 0; i < 1000 && source_.beat() == 0; i++) step();
    // One is cut off on its way in; one waits for its control word, one for its push.
    const bool is_inside = !source_.is_idle() && source_.beat() > 0;
    cut_off_ += is_inside;
    resets_in_ += is_inside;
    resets_out_ += sink_.is_inside();
    if (!source_.is_idle() && !is_inside) offered_--;
    resets_++;
    source_.drop();
    sink_.reset();
    // Counts are kept through the reset, but for the event of its last cycle.
    nic_.reset();
    while (!nic_.processor.is_resting()) nic_.cycle();
    nic_.read_counts();
    check(3);
    begin();
  }

  // Counts begin again.
  void since() {
    for (unsigned i = 0; i < kCounts; i++) total_[i] += nic_.counts[i];
    nic_.mark();
    dropped_ += nic_.processor.dropped;
    expected_ = {};
    nic_.processor.dropped = nic_.processor.forwarded = 0;
    source_.frames = sink_.frames = sink_.cut = 0;
  }

  static constexpr double kOwn = 0.01;
  static constexpr uint64_t kWindow = 1 << 16;
  // Longer than anything else holds a frame or a server back.
  static constexpr uint64_t kWaitCycles = 500;
  static constexpr uint64_t kFramesForOne = 10'000;
  Options options_;
  Random random_;
  Nic nic_;
  FrameSource<Model> source_;
  FrameSink<Model> sink_;
  std::vector<uint64_t> came_ = std::vector<uint64_t>(kWindow);
  std::array<uint64_t, kCounts> total_{};
  std::array<uint64_t, kCounts + 1> expected_{};  // by cause, since the reset
  unsigned cause_ = kCounts;
  bool is_draining_ = false;
  uint64_t offered_ = 0, cut_off_ = 0, dropped_ = 0, resets_ = 0, disables_ = 0;
  // How often it came about.
  uint64_t exhausted_ = 0, stuck_ = 0, resets_in_ = 0, resets_out_ = 0, disables_in_ = 0;
  uint64_t waited_ = 0, stuck_cycles_ = 0;
};

int usage() {
  std::fputs("nic_bench latency | operations | line-rate | rate | account | memories\n"
             "  [--frames N] [--bytes N] [--seed N] [--buffers N] [--memory-latency N] [--errors N]\n",
             stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc % 2) return usage();
  Options options;
  for (int i = 2; i < argc; i += 2) {
    const std::string name = argv[i];
    const uint64_t value = std::strtoull(argv[i + 1], nullptr, 0);
    if (name == "--frames") options.frames = value;
    else if (name == "--seed") options.seed = value;
    else if (name == "--bytes") options.bytes = unsigned(value);
    else if (name == "--buffers") options.buffers = unsigned(value);
    else if (name == "--memory-latency" && kMemory != kLocal && value)
      options.memory_latency = unsigned(value);
    else if (name == "--errors" && kMemory == kOutside) options.errors = unsigned(value);
    else return usage();
  }
  const std::string which = argv[1];
  if (which == "latency") return latency(options);
  if (which == "operations") return operations(options);
  if (which == "line-rate") return line_rates(true, options);
  if (which == "rate") return line_rates(false, options);
  if (which == "memories") return memories(options);
  if (which == "account") return Account(options).run();
  return usage();
}

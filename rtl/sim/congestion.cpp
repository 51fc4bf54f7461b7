// Congestion control of the whole board: marks from a link, and boards that share a switch.
#include <array>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <queue>

#include "rate_watch.hpp"
#include "scenarios.hpp"
#include "stream.hpp"

namespace sw {
namespace {

constexpr uint32_t kModeNone = 0, kModeFixed = 1;
// From a notification, or a start, of one flow to its event, where nothing else is due (dcqcn.sv).
constexpr uint64_t kCutCycles = 11, kStartCycles = 6;
// An expiry that falls into the visit of a cut shifts it by that at most.
constexpr uint64_t kVisitNs = 100;

void set_mode(Driver& driver, uint32_t mode) {
  uint32_t word = driver.read(SW_REG_RATE_CONTROL);
  word &= ~(SW_REG_RATE_CONTROL_RATE_MODE_MASK << SW_REG_RATE_CONTROL_RATE_MODE_SHIFT);
  driver.write(SW_REG_RATE_CONTROL, word | mode << SW_REG_RATE_CONTROL_RATE_MODE_SHIFT);
}

sw_dcqcn_params parameters(Driver& driver) {
  const uint32_t control = driver.read(SW_REG_RATE_CONTROL);
  sw_dcqcn_params p{};
  p.gain_shift = control >> SW_REG_RATE_CONTROL_GAIN_SHIFT_SHIFT &
                 SW_REG_RATE_CONTROL_GAIN_SHIFT_MASK;
  p.recovery_stages = control >> SW_REG_RATE_CONTROL_RECOVERY_STAGES_SHIFT &
                      SW_REG_RATE_CONTROL_RECOVERY_STAGES_MASK;
  p.alpha_period_ns = driver.read(SW_REG_ALPHA_PERIOD);
  p.rise_period_ns = driver.read(SW_REG_RISE_PERIOD);
  p.cut_interval_ns = driver.read(SW_REG_CUT_INTERVAL);
  p.rise_bytes = driver.read(SW_REG_RISE_BYTES);
  p.additive = driver.read(SW_REG_RATE_ADDITIVE);
  p.hyper = driver.read(SW_REG_RATE_HYPER);
  p.minimum = driver.read(SW_REG_RATE_MINIMUM);
  p.start = driver.read(SW_REG_RATE_START);
  p.first_cut = driver.read(SW_REG_RATE_FIRST_CUT);
  p.line = driver.read(SW_REG_RATE_LINE);
  return p;
}

// The Rust machine has each event of the board, and the rate that it left. Round trips are shorter
// than D, and the byte counter is longer than the run.
std::string replay(const std::vector<RateEvent>& events, const sw_dcqcn_params& params,
                   uint64_t cycle_ps) {
  sw_dcqcn* flow = nullptr;
  std::string fault;
  for (size_t n = 0; n < events.size() && fault.empty(); ++n) {
    const RateEvent& event = events[n];
    const uint64_t cut_ns = event.at_ns - kCutCycles * cycle_ps / 1000;
    bool is_as_said = true;
    if (event.cause == kRateStart) {
      sw_dcqcn_free(flow);
      flow = sw_dcqcn_new(&params, event.at_ns - kStartCycles * cycle_ps / 1000);
      if (!flow) return "Rust refuses the parameters";
    } else if (event.cause == kRateTimer) {
      sw_dcqcn_time(flow, event.at_ns + kVisitNs);
    } else if (event.cause == kRateBytes) {
      return "the byte counter has expired";
    } else {
      const bool is_cut = sw_dcqcn_notification(flow, cut_ns, 0);
      is_as_said = is_cut == (event.cause == kRateCut);
    }
    const uint32_t wanted = sw_dcqcn_state_get(flow).rate;
    if (!is_as_said || event.rate != wanted)
      fault = "event " + std::to_string(n) + " of cause " + std::to_string(event.cause) +
              ": R_C is " + std::to_string(event.rate) + ", in Rust " + std::to_string(wanted);
  }
  sw_dcqcn_free(flow);
  return fault;
}

uint64_t next_ms(World& world) { return world.model().now_ns() / kMillisecond + 1; }

void run_to_ms(World& world, uint64_t ms, RateWatch* watch = nullptr) {
  while (world.fault().empty() && world.model().now_ns() < ms * kMillisecond) {
    const uint64_t until = std::min(ms * kMillisecond, world.model().now_ns() + kMillisecond);
    world.run(until, [] { return false; });
    if (watch) watch->poll();
  }
}

}  // namespace

std::string marks(const Options& options, uint64_t& cycles) {
  WorldSpec spec = base(options);
  // Repeats too keep to the rate.
  spec.down = {2'000, 1e-3};
  spec.up = {2'000, 0};
  spec.setup.tolerance_16ns = 125;
  spec.window_packets = kWindow;
  spec.setup.payload_bytes = options.payload_bytes ? options.payload_bytes : 1408;
  const uint64_t span_ms = options.span_ms ? options.span_ms : 8;
  double share = 0;  // of the frames that are marked
  uint64_t marked = 0;
  World* at = nullptr;
  spec.to_network = [&](uint64_t now_ns, const Bytes& frame) {
    if (!at || !at->random().chance(share)) return false;
    Bytes copy = frame;
    marked += mark_ce(copy);
    at->from_network(now_ns, std::move(copy));
    return true;
  };
  World world(spec);
  at = &world;
  Driver& driver = world.driver();
  driver.write(SW_REG_RISE_BYTES, (1 << 26) - 1);
  const sw_dcqcn_params params = parameters(driver);

  // No mark: the whole line. Then marks, then none again.
  RateWatch watch(world);
  if (!start(world, 7)) return world.fault();
  const uint64_t begin = next_ms(world);
  run_to_ms(world, begin + 2, &watch);
  if (driver.read(SW_REG_RATE) != params.line) world.fail("a rate below the line's without marks");
  share = 0.01;
  run_to_ms(world, begin + 2 + span_ms, &watch);
  share = 0;
  const uint32_t lowest = driver.read(SW_REG_RATE);
  run_to_ms(world, begin + 2 + 2 * span_ms, &watch);
  const uint32_t recovered = driver.read(SW_REG_RATE);
  std::string wrong = watch.compare(begin, begin + 2 + 2 * span_ms);
  if (wrong.empty()) {
    // The first is what this watch began with: no event of the board's.
    const std::vector<RateEvent> events(watch.events().begin() + 1, watch.events().end());
    wrong = replay(events, params, spec.cycle_ps);
  }
  if (!wrong.empty()) world.fail(wrong);
  const uint64_t cuts = driver.counter(SW_COUNTER_CUTS);
  const uint64_t notifications = driver.counter(SW_COUNTER_CONGESTION);
  std::printf("marks: %" PRIu64 " marks, %" PRIu64 " notifications, %" PRIu64
              " cuts; R_C of the line %.4f, then %.4f; %zu events as in Rust, %" PRIu64
              " repeats\n",
              marked, notifications, cuts, double(lowest) / params.line,
              double(recovered) / params.line, watch.events().size() - 1, world.truth().repeats());
  if (cuts < span_ms || notifications < cuts) world.fail("too few cuts");
  if (lowest > params.line / 2 || recovered < lowest + lowest / 8) world.fail("no recovery");
  finish(world);

  cycles = world.model().cycles();
  if (!world.fault().empty()) return world.fault();

  // Neither `none` nor `fixed` reacts.
  for (const uint32_t mode : {kModeNone, kModeFixed}) {
    World other(spec);
    at = &other;
    set_mode(other.driver(), mode);
    const uint32_t rate = mode == kModeNone ? params.line : params.line / 5;
    other.driver().write(SW_REG_RATE_START, rate);
    RateWatch seen(other);
    if (!start(other, 7)) return other.fault();
    const uint64_t from = next_ms(other);
    share = 0.01;
    run_to_ms(other, from + 4);
    share = 0;
    for (uint64_t ms = from; ms < from + 4; ++ms) {
      const double allowed = double(rate) * kMillisecond / 65536;
      const double sent = double(seen.wire_bytes(ms));
      if (std::fabs(sent - allowed) > 0.01 * allowed + 2000)
        other.fail("mode " + std::to_string(mode) + ": " + std::to_string(uint64_t(sent)) +
                   " wire bytes in a ms, not " + std::to_string(uint64_t(allowed)));
    }
    if (other.driver().counter(SW_COUNTER_CUTS)) other.fail("a cut without control");
    if (!other.driver().counter(SW_COUNTER_CONGESTION)) other.fail("no mark was reported");
    finish(other);
    cycles += other.model().cycles();
    if (!other.fault().empty()) return other.fault();
  }
  return "";
}

namespace {

// Boards behind one switch, whose port leads to the hosts. Frames come in by the time at which
// they leave the boards, at most a slice late: the wires are longer than that.
class Network {
 public:
  explicit Network(const sw_switch_config& config, uint64_t line_bps)
      : switch_(sw_switch_new(&config, line_bps)) {}
  ~Network() { sw_switch_free(switch_); }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  void add(World& world) { worlds_.push_back(&world); }
  void connect() { is_connected_ = true; }

  // Takes a frame of board `from`; false until boards are connected.
  bool take(size_t from, uint64_t now_ns, const Bytes& frame) {
    if (!is_connected_) return false;
    waiting_.push({now_ns + kWireNs, order_++, from, frame});
    return true;
  }

  // Runs all boards to about `until_ns`, or until `is_done` holds.
  template <class Done>
  void run(uint64_t until_ns, Done is_done) {
    uint64_t now = UINT64_MAX;
    for (World* world : worlds_) now = std::min(now, world->model().now_ns());
    while (now < until_ns && !is_done()) {
      now += kSliceNs;
      for (World* world : worlds_) world->run(now, [] { return false; });
      forward(now);
    }
  }

  void run(uint64_t until_ns) {
    run(until_ns, [] { return false; });
  }

  sw_switch_counts counts() const { return sw_switch_counts_get(switch_); }

 private:
  static constexpr uint64_t kWireNs = 1'000, kSliceNs = 400;

  struct Waiting {
    uint64_t at_ns, order;
    size_t from;
    Bytes frame;
    bool operator<(const Waiting& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };

  void forward(uint64_t now_ns) {
    while (!waiting_.empty() && waiting_.top().at_ns <= now_ns) {
      const Waiting& next = waiting_.top();
      drain(next.at_ns);
      const uint64_t cookie = order_++;
      const uint64_t bytes = std::max(next.frame.size(), kFrameBytesMin) + Model::kOverheadBytes;
      const bool is_capable = next.frame[15] & 3;
      if (sw_switch_handle(switch_, next.at_ns, uint32_t(bytes), is_capable, cookie))
        inside_[cookie] = next;
      waiting_.pop();
    }
    drain(now_ns);
  }

  void drain(uint64_t now_ns) {
    sw_switch_frame out;
    while (sw_switch_poll(switch_, now_ns, &out)) {
      auto found = inside_.find(out.cookie);
      if (out.is_marked) mark_ce(found->second.frame);
      worlds_[found->second.from]->from_network(out.at_ns, std::move(found->second.frame));
      inside_.erase(found);
    }
  }

  sw_switch* switch_;
  std::vector<World*> worlds_;
  std::priority_queue<Waiting> waiting_;
  std::map<uint64_t, Waiting> inside_;
  uint64_t order_ = 0;
  bool is_connected_ = false;
};

struct Saw {
  uint64_t cuts = 0;
  double lowest = 0, highest = 0, mean = 0;  // of the line
};

// The rate of a board within some milliseconds.
Saw saw(const RateWatch& watch, uint64_t ms, uint64_t end_ms, uint32_t line) {
  Saw seen;
  seen.lowest = 1;
  for (const RateEvent& event : watch.events()) {
    if (event.at_ns < ms * kMillisecond || event.at_ns >= end_ms * kMillisecond) continue;
    seen.cuts += event.cause == kRateCut;
    seen.lowest = std::min(seen.lowest, double(event.rate) / line);
    seen.highest = std::max(seen.highest, double(event.rate) / line);
  }
  const double line_bytes = double(line) * kMillisecond / 65536;
  for (uint64_t n = ms; n < end_ms; ++n)
    seen.mean += watch.allowed_bytes(n) / line_bytes / double(end_ms - ms);
  if (seen.highest == 0) seen.lowest = seen.highest = seen.mean;  // it stood
  return seen;
}

constexpr size_t kBoards = 3;
constexpr uint64_t kCloseMs = 100;  // a full ring at a tenth of the line's rate takes half of it
// Packets: above what the longest marked queue holds.
constexpr uint32_t kSharedWindow = 256;
// Boards of 100 Gb/s begin at this part of the line's rate: three at the whole of it overflow the
// switch's buffer before the first marks are reported.
constexpr uint32_t kStartDivisor = Model::kBeatBytes == 64 ? 4 : 1;

// What a run changes of the preset.
struct Choice {
  const char* name;
  uint32_t gain_shift, additive_times, hyper_times;
  double used_min, jain_min;  // of the link, with three boards and with two
};

void choose(Driver& driver, const Choice& choice) {
  uint32_t word = driver.read(SW_REG_RATE_CONTROL);
  word &= ~(SW_REG_RATE_CONTROL_GAIN_SHIFT_MASK << SW_REG_RATE_CONTROL_GAIN_SHIFT_SHIFT);
  driver.write(SW_REG_RATE_CONTROL,
               word | choice.gain_shift << SW_REG_RATE_CONTROL_GAIN_SHIFT_SHIFT);
  driver.write(SW_REG_RATE_ADDITIVE, choice.additive_times * driver.read(SW_REG_RATE_ADDITIVE));
  driver.write(SW_REG_RATE_HYPER, choice.hyper_times * driver.read(SW_REG_RATE_HYPER));
  driver.write(SW_REG_RATE_START, driver.read(SW_REG_RATE_LINE) / kStartDivisor);
}

// Phases of `span_ms`: three boards, two, one; what two of them did in the second.
std::string share_of_a_link(const Options& options, const Choice& choice, uint64_t span_ms,
                            std::array<Saw, kBoards>& second, uint64_t& cycles) {
  WorldSpec spec = base(options);
  const sw_switch_config config{2'000'000, 40'000, 400'000, 1.0, options.seed};
  Network network(config, spec.line_bps);
  spec.down.delay_ns = spec.up.delay_ns = 1'000;
  spec.window_packets = kSharedWindow;
  spec.setup.payload_bytes = options.payload_bytes ? options.payload_bytes : 4096;
  std::vector<std::unique_ptr<World>> worlds;
  std::vector<std::unique_ptr<RateWatch>> watches;
  for (size_t n = 0; n < kBoards; ++n) {
    spec.seed = options.seed + 100 * n;
    spec.to_network = [&network, n](uint64_t now_ns, const Bytes& frame) {
      return network.take(n, now_ns, frame);
    };
    worlds.push_back(std::make_unique<World>(spec));
    World& world = *worlds.back();
    choose(world.driver(), choice);
    watches.push_back(std::make_unique<RateWatch>(world));
    if (!start(world, 7)) return world.fault();
    network.add(world);
  }
  const uint32_t line = worlds[0]->driver().read(SW_REG_RATE_LINE);
  network.connect();
  uint64_t ms = 0;
  for (auto& world : worlds) ms = std::max(ms, next_ms(*world) + 1);
  network.run(ms * kMillisecond);
  std::string fault;
  for (size_t sending = kBoards; sending > 0 && fault.empty(); --sending) {
    const uint64_t begin = ms;
    for (; ms < begin + span_ms; ++ms) {
      network.run((ms + 1) * kMillisecond);
      for (auto& watch : watches) watch->poll();
    }
    double sum = 0, squares = 0;
    std::printf("  %s, %zu boards:", choice.name, sending);
    for (auto& world : worlds) {
      if (world->host()) world->host_words();
      if (fault.empty()) fault = world->fault();
    }
    for (size_t n = 0; n < sending; ++n) {
      const Saw seen = saw(*watches[n], begin + span_ms / 2, ms, line);
      if (sending == 2) second[n] = seen;
      std::printf(" R_C %.3f (%.3f to %.3f, %" PRIu64 " cuts)", seen.mean, seen.lowest,
                  seen.highest, seen.cuts);
      double sent = 0;
      for (uint64_t at = begin + span_ms / 2; at < ms; ++at)
        sent += double(watches[n]->wire_bytes(at));
      sum += sent;
      squares += sent * sent;
      const std::string wrong = watches[n]->compare(begin, ms);
      if (!wrong.empty()) fault = "board " + std::to_string(n) + ": " + wrong;
    }
    const double used = sum / (double(line) * kMillisecond / 65536 * double(span_ms - span_ms / 2));
    const double jain = sum * sum / (double(sending) * squares);
    std::printf("; %.4f of the link, Jain %.4f\n", used, jain);
    if (fault.empty() && sending > 1 && (used < choice.used_min || jain < choice.jain_min))
      fault = "the boards used too little of the link, or shared it unevenly";
    // Its board sends what it has credit for, some milliseconds at most. What its ring holds besides
    // would take longer than a phase: a close in order is for the last board alone.
    if (sending > 1) worlds[sending - 1]->leave();
  }
  World& last = *worlds[0];
  last.driver().close();
  network.run((ms + kCloseMs) * kMillisecond, [&] { return last.standing() != SW_STREAMING; });
  check_finished(last);
  if (fault.empty()) fault = last.fault();
  for (auto& world : worlds) cycles += world->model().cycles();
  const sw_switch_counts counts = network.counts();
  std::printf("  switch: %" PRIu64 " frames, %" PRIu64 " marked, %" PRIu64 " dropped\n",
              counts.forwarded, counts.marked, counts.dropped);
  if (counts.dropped && fault.empty()) fault = "the switch dropped frames";
  return fault;
}

}  // namespace

std::string incast(const Options& options, uint64_t& cycles) {
  const uint64_t span_ms = options.span_ms ? options.span_ms : 10;
  std::printf("incast: three boards through a switch, %" PRIu64 " ms each\n", span_ms);
  // The preset takes tenths of a second to share: longer than a simulation of hardware lasts.
  const Choice preset{"preset", 8, 1, 1, 0.3, 0.8}, steep{"steep", 4, 40, 10, 0.9, 0.98};
  std::array<Saw, kBoards> second;
  std::string fault = share_of_a_link(options, preset, span_ms, second, cycles);
  if (!fault.empty()) return fault;
  fault = share_of_a_link(options, steep, span_ms, second, cycles);
  if (!fault.empty()) return fault;
  // A saw-tooth: R_C rises, and cuts end that.
  for (size_t n = 0; n < 2; ++n) {
    if (second[n].cuts < 2 || second[n].highest < 1.2 * second[n].lowest)
      fault = "board " + std::to_string(n) + " shows no saw-tooth";
  }
  return fault;
}

}  // namespace sw

// rtl/send/dcqcn.sv in lock-step with samplewire_proto::rate::Dcqcn: random parameters, random
// events, every state compared after every visit.
//
//   lockstep [--seed N] [--events N]
//
// Counts as events the expiries of both timers too, and the cycles that each takes: at most 16. Of
// several flows the cycles of the visit before do not count.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "Vdcqcn.h"
#include "Vdcqcn___024root.h"
#include "random.hpp"
#include "samplewire_cosim.h"

namespace {

constexpr unsigned kFlows = FLOWS;
constexpr unsigned kCyclesMax = 16;
constexpr uint64_t kSpanMax = (1 << 20) - 1;
// The steps of the clock, and the rounds of expiries within one of its jumps.
constexpr uint64_t kCycleNsMax = 8;
constexpr uint64_t kRoundsMax = 100;

// Of the module, by their places in phase_e, kind_e and the list of causes.
enum Phase { kPick = 0, kCheckAlpha = 2, kExpireAlpha = 5, kCount = 6, kRise = 11 };
enum Kind { kTime, kStart, kNotification, kDeparture };
enum Cause { kCauseCut = 3, kCauseIgnored = 4 };

struct Figures {
  uint64_t events = 0, expiries = 0, departures = 0, cuts = 0, ignored = 0, starts = 0, cycles = 0;
  unsigned cycles_max = 0;
};

// A number such that each power of two is as likely as the next.
uint64_t spread(sw::Random& random, uint64_t low, uint64_t high) {
  const uint64_t power = random.below(64 - unsigned(__builtin_clzll(high)));
  const uint64_t drawn = (uint64_t(1) << power) + random.below(uint64_t(1) << power);
  return std::clamp(drawn, low, high);
}

sw_dcqcn_params parameters(sw::Random& random) {
  const uint64_t period_min = 200 * kFlows;
  sw_dcqcn_params p{};
  p.gain_shift = uint32_t(1 + random.below(16));
  p.alpha_period_ns = uint32_t(spread(random, period_min, kSpanMax));
  p.rise_period_ns = random.chance(0.3) ? p.alpha_period_ns
                                        : uint32_t(spread(random, period_min, kSpanMax));
  p.cut_interval_ns = uint32_t(spread(random, 1, kSpanMax)) - random.chance(0.1);
  p.rise_bytes = uint32_t(spread(random, 1 << 16, (1 << 26) - 1));
  if (random.chance(0.5)) p.rise_bytes = uint32_t((1 << 16) + random.below(1 << 10));
  p.recovery_stages = uint32_t(1 + (random.chance(0.5) ? random.below(3) : random.below(31)));
  p.line = uint32_t(spread(random, 1, (1 << 24) - 1));
  p.minimum = uint32_t(spread(random, 1, p.line));
  p.start = uint32_t(p.minimum + random.below(p.line - p.minimum + 1));
  p.first_cut = uint32_t(p.minimum + random.below(p.line - p.minimum + 1));
  p.additive = uint32_t(random.chance(0.1) ? 0 : spread(random, 1, p.line));
  p.hyper = uint32_t(random.chance(0.1) ? (1 << 24) - 1 : spread(random, 1, p.line));
  return p;
}

class Lockstep {
 public:
  Lockstep(uint64_t seed, Figures& figures) : random_(seed), figures_(figures) {}
  ~Lockstep() {
    for (sw_dcqcn* flow : flows_) sw_dcqcn_free(flow);
  }
  Lockstep(const Lockstep&) = delete;
  Lockstep& operator=(const Lockstep&) = delete;

  // One history with parameters of its own; a fault, or nothing.
  std::string run(uint64_t events) {
    params_ = parameters(random_);
    const uint64_t period = std::min(params_.alpha_period_ns, params_.rise_period_ns);
    jump_max_ = std::min<uint64_t>(kRoundsMax * period, kSpanMax / 2);
    marks_ = random_.chance(0.5) ? 0.3 : 0.02;
    set_parameters();
    // Near a wrap of what is kept of the time, or anywhere.
    now_ = random_.draw() >> 2;
    if (random_.chance(0.5)) now_ = (now_ | kSpanMax) - random_.below(2000);
    if (random_.chance(0.3)) now_ = (now_ | 0x1FFFFFFFF) - random_.below(2000);
    for (int n = 0; n < 3; n++) {
      model_.rst_i = 1;
      clock();
    }
    model_.rst_i = 0;
    cycles_ = 0;
    const uint64_t end = figures_.events + events;
    while (figures_.events < end && fault_.empty()) cycle();
    return fault_;
  }

 private:
  void set_parameters() {
    model_.gain_shift_i = params_.gain_shift & 31;
    model_.alpha_period_i = params_.alpha_period_ns;
    model_.rise_period_i = params_.rise_period_ns;
    model_.cut_interval_i = params_.cut_interval_ns;
    model_.rise_bytes_i = params_.rise_bytes;
    model_.recovery_stages_i = params_.recovery_stages & 31;
    model_.additive_i = params_.additive;
    model_.hyper_i = params_.hyper;
    model_.minimum_i = params_.minimum;
    model_.start_i = params_.start;
    model_.first_cut_i = params_.first_cut;
    model_.line_i = params_.line;
    model_.start_valid_i = model_.note_valid_i = model_.dep_valid_i = 0;
  }

  unsigned phase() const { return model_.rootp->dcqcn__DOT__phase_q; }

  void clock() {
    model_.time_ns_i = now_;
    model_.clk_i = 0;
    model_.eval();
    model_.clk_i = 1;
    model_.eval();
  }

  void offer() {
    if (!model_.start_valid_i && random_.chance(0.0005)) {
      model_.start_valid_i = 1;
      model_.start_flow_i = random_.below(kFlows) & 0xF;
    }
    if (!model_.note_valid_i && random_.chance(marks_)) {
      model_.note_valid_i = 1;
      model_.note_flow_i = random_.below(kFlows) & 0xF;
      const uint64_t rtt = spread(random_, 1, random_.chance(0.01) ? 0xFFFFFFFF : kSpanMax);
      model_.note_rtt_ns_i = uint32_t(random_.chance(0.1) ? 0 : rtt);
    }
    if (!model_.dep_valid_i && random_.chance(0.1)) {
      constexpr std::array<uint16_t, 4> kBytes = {64, 1500, 9042, 65535};
      model_.dep_valid_i = 1;
      model_.dep_flow_i = random_.below(kFlows) & 0xF;
      model_.dep_bytes_i = kBytes.at(random_.below(kBytes.size()));
    }
  }

  void cycle() {
    if (settled_ > kFlows && random_.chance(0.05)) {
      now_ += spread(random_, 1, jump_max_);
      settled_ = 0;
    }
    now_ += random_.below(kCycleNsMax + 1);
    offer();
    const unsigned before = phase();
    model_.clk_i = 0;
    model_.time_ns_i = now_;
    model_.eval();
    const bool start = model_.start_ready_o, note = model_.note_ready_o, dep = model_.dep_ready_o;
    model_.clk_i = 1;
    model_.eval();
    figures_.cycles++;
    if (before == kPick) begin_visit();
    cycles_++;
    const unsigned at = phase();
    if (at == kExpireAlpha || (at == kCount && !model_.rootp->dcqcn__DOT__by_bytes_q)) expiries_++;
    // An expiry is over where the check begins again, an event where the visit ends.
    const bool is_over = at == kPick || (at == kCheckAlpha && before >= kExpireAlpha);
    if (is_over) {
      figures_.cycles_max = std::max(figures_.cycles_max, cycles_);
      if (cycles_ > kCyclesMax) fault_ = "an event takes " + std::to_string(cycles_) + " cycles";
      cycles_ = 0;
    }
    if (start) model_.start_valid_i = 0;
    if (note) rtt_ = model_.note_rtt_ns_i, model_.note_valid_i = 0;
    if (dep) bytes_ = model_.dep_bytes_i, model_.dep_valid_i = 0;
    was_taken_ = was_taken_ || start || note || dep;
    if (at == kPick) end_visit();
  }

  void begin_visit() {
    kind_ = model_.rootp->dcqcn__DOT__kind_q;
    flow_ = model_.flow_o;
    at_ns_ = now_;
    cycles_ = 0;
    expiries_ = 0;
    was_taken_ = false;
  }

  void end_visit() {
    sw_dcqcn*& flow = flows_.at(flow_);
    settled_ = expiries_ ? 0 : settled_ + 1;
    figures_.events += expiries_ + (kind_ != kTime);
    figures_.expiries += expiries_;
    switch (kind_) {
      case kStart:
        sw_dcqcn_free(flow);
        flow = sw_dcqcn_new(&params_, at_ns_);
        if (!flow) fault_ = "Rust refuses the parameters";
        figures_.starts++;
        break;
      case kNotification: {
        const bool is_cut = sw_dcqcn_notification(flow, at_ns_, rtt_);
        (is_cut ? figures_.cuts : figures_.ignored)++;
        if (!model_.ev_o || model_.cause_o != (is_cut ? kCauseCut : kCauseIgnored))
          fault_ = is_cut ? "a cut is missing" : "a cut came too early";
        break;
      }
      case kDeparture:
        sw_dcqcn_departure(flow, at_ns_, bytes_);
        figures_.departures++;
        break;
      default:
        sw_dcqcn_time(flow, at_ns_);
    }
    if ((kind_ == kNotification || kind_ == kDeparture) && !was_taken_)
      fault_ = "an event was not taken in its visit";
    if (fault_.empty()) compare(sw_dcqcn_state_get(flow));
  }

  void compare(const sw_dcqcn_state& wanted) {
    const auto& root = *model_.rootp;
    const sw_dcqcn_state is = {model_.rate_o, model_.target_o, model_.alpha_o,
                               root.dcqcn__DOT__timer_count_q, root.dcqcn__DOT__byte_count_q,
                               params_.rise_bytes - root.dcqcn__DOT__sent_q};
    const auto word = [](const sw_dcqcn_state& s) {
      return std::array{s.rate, s.target, s.alpha, s.timer_count, s.byte_count, s.bytes_left};
    };
    if (word(is) == word(wanted)) return;
    fault_ = "flow " + std::to_string(flow_) + ", kind " + std::to_string(kind_) +
             ": rate, target, alpha, counts, bytes left are";
    for (uint32_t value : word(is)) fault_ += " " + std::to_string(value);
    fault_ += ", not";
    for (uint32_t value : word(wanted)) fault_ += " " + std::to_string(value);
  }

  Vdcqcn model_;
  sw::Random random_;
  Figures& figures_;
  sw_dcqcn_params params_{};
  std::array<sw_dcqcn*, kFlows> flows_{};
  std::string fault_;
  double marks_ = 0;
  uint64_t now_ = 0, at_ns_ = 0, jump_max_ = 0, rtt_ = 0;
  unsigned cycles_ = 0, expiries_ = 0, kind_ = 0, flow_ = 0;
  unsigned settled_ = 0;  // visits in which nothing was due
  uint16_t bytes_ = 0;
  bool was_taken_ = false;
};

int usage() {
  std::fputs("lockstep [--seed N] [--events N]\n", stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 1, events = 1'000'000;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) return usage();
    const uint64_t value = std::strtoull(argv[i + 1], nullptr, 0);
    if (name == "--seed") seed = value;
    else if (name == "--events") events = value;
    else return usage();
  }
  Figures figures;
  sw::Random seeds(seed);
  while (figures.events < events) {
    const uint64_t own = seeds.draw();
    Lockstep lockstep(own, figures);
    const std::string fault = lockstep.run(std::min<uint64_t>(5'000, events - figures.events));
    if (fault.empty()) continue;
    std::printf("FAILED after %llu events: %s\n  replay: %s --seed %llu --events %llu\n",
                static_cast<unsigned long long>(figures.events), fault.c_str(), argv[0],
                static_cast<unsigned long long>(seed), static_cast<unsigned long long>(events));
    return 1;
  }
  std::printf("%llu events of %u flows in %.1f Mcycles: %llu expiries, %llu departures, %llu cuts, "
              "%llu ignored, %llu starts; at most %u cycles each\n",
              static_cast<unsigned long long>(figures.events), kFlows, double(figures.cycles) / 1e6,
              static_cast<unsigned long long>(figures.expiries),
              static_cast<unsigned long long>(figures.departures),
              static_cast<unsigned long long>(figures.cuts),
              static_cast<unsigned long long>(figures.ignored),
              static_cast<unsigned long long>(figures.starts), figures.cycles_max);
  return 0;
}

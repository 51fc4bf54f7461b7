// rtl/roce/roce_requester.sv with QPS queue pairs in lock-step with as many Requesters of
// samplewire_roce: random messages, acknowledgements, NAKs, silence, failures, and QPs that end and
// begin again with other numbers; the packets that leave and the completions of every QP are compared
// after every step. The second half of the steps has congestion notifications too, and as many machines
// of samplewire_proto::rate::Dcqcn, whose state is compared; its timers are short, as a machine wants it.
//
//   lockstep_qps_N [--seed N] [--steps N]
//
// Time stands still within a step, and a step ends when the hardware rests: the software sends all
// that may leave at once. So the rate of the machines is kept from the pacer here.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "Vroce_requester.h"
#include "Vroce_requester___024root.h"
#include "fields.hpp"
#include "random.hpp"
#include "roce_lockstep.hpp"
#include "samplewire_cosim.h"

namespace {

using namespace sw;

constexpr unsigned kQps = QPS, kSlots = 128, kQueue = 16;  // of the module
// More than from an answer to a frame's first beat; each QP's timer is looked at in it.
constexpr unsigned kRestCycles = 64 + 20 * kQps;
constexpr uint32_t kRemote = 0x100;
enum Command { kBegin, kEnd, kAbort };
constexpr unsigned kDcqcn = 2, kCnp = 4;  // rate_mode; roce_pkg::answer_e

struct Figures {
  uint64_t steps = 0, connections = 0, packets = 0, repeats = 0, timeouts = 0, failures = 0;
  uint64_t completions = 0;
  uint64_t notifications = 0, cuts = 0;
  std::array<uint64_t, 4> answers{};
};

// One QP in software, and what the hardware did with its own since the step began.
struct Pair {
  sw_requester* software = nullptr;
  sw_requester_config config{};
  uint32_t sent = 0, oldest = 0;  // packets since the connection began
  bool has_failed = false;
  std::vector<Packet> packets;
  std::vector<Completion> completions;
  sw_dcqcn* flow = nullptr;
  ~Pair() {
    sw_requester_free(software);
    sw_dcqcn_free(flow);
  }
};

// Headers (IB 9.2: RETH of a WRITE's first packet, ImmDt), ICRC, preamble, gap, Ethernet's checksum.
uint16_t wire_bytes(const sw_roce_packet& packet) {
  const unsigned opcode = packet.opcode;
  const bool has_reth = opcode == 6 || opcode == 10 || opcode == 11;
  const bool has_immediate = opcode == 3 || opcode == 5 || opcode == 9 || opcode == 11;
  const unsigned payload = (packet.len_bytes + 3) / 4 * 4;
  return uint16_t(payload + 14 + 20 + 8 + 12 + 4 + 24 + 16 * has_reth + 4 * has_immediate);
}

class Lockstep {
 public:
  Lockstep(uint64_t seed, bool has_rates, Figures& figures)
      : random_(seed), figures_(figures), has_rates_(has_rates) {
    model_.rst_i = 1;
    model_.m_axis_tready = model_.rd_ready_i = 1;
    put_rates(Fields(model_.rate_cfg_i.data()), params_, has_rates_ ? kDcqcn : 0);
    Fields(model_.self_i.data()).put(0xC123, 16).put(0xC0A80A02, 32).put(0x02A1B2C3D4E5, 48);
    for (int n = 0; n < 40; n++) cycle();
    model_.rst_i = 0;
    for (int n = 0; n < 40; n++) cycle();
    for (unsigned qp = 0; qp < kQps; qp++) begin(qp);
  }

  std::string run(uint64_t steps) {
    for (uint64_t n = 0; n < steps && fault_.empty(); n++) {
      step();
      figures_.steps++;
    }
    return fault_;
  }

 private:
  void command(Command command, unsigned qp) {
    model_.cmd_valid_i = 1;
    model_.cmd_i = command;
    model_.cmd_qp_i = qp;
    bool is_done = false;
    for (unsigned n = 0; n < kRestCycles && !is_done; n++) {
      model_.clk_i = 0;
      model_.eval();
      is_done = model_.cmd_ready_o;
      if (is_done && model_.refused_o) fault_ = "a connection is refused";
      cycle();
    }
    model_.cmd_valid_i = 0;
    if (!is_done) fault_ = "a command is not taken";
  }

  void begin(unsigned qp) {
    Pair& pair = pairs_.at(qp);
    sw_requester_config& c = pair.config;
    c.first_psn = uint32_t(random_.chance(0.5) ? kPsns - 1 - random_.below(60)
                                               : random_.below(kPsns));
    c.mtu = uint32_t(1 + random_.below(2));
    c.window = uint32_t(1 + random_.below(random_.chance(0.5) ? 8 : kSlots));
    c.ack_every = uint32_t(1 + random_.below(c.window));
    c.timeout = uint32_t(random_.below(has_rates_ ? 8 : 32));
    c.retries = uint32_t(random_.below(8));
    c.rnr_retries = uint32_t(random_.below(8));
    sw_requester_free(pair.software);
    pair.software = sw_requester_new(&c, kQueue);
    sw_dcqcn_free(pair.flow);
    pair.flow = sw_dcqcn_new(&params_, now_);
    pair.sent = pair.oldest = 0;
    pair.has_failed = false;
    if (random_.chance(0.5)) command(kEnd, qp);
    Fields(model_.cfg_i.data()).put(c.rnr_retries, 3).put(c.retries, 3).put(c.timeout, 5)
        .put(c.ack_every, 16).put(c.window, 16).put(c.mtu, 3).put(c.first_psn, 24)
        .put(kRemote + qp, 24).put(0x11 + qp, 24);
    Fields(model_.peer_i.data()).put(4791, 16).put(0xC0A80A63 + qp, 32).put(0x98F2B3010203, 48);
    command(kBegin, qp);
    figures_.connections++;
  }

  void step() {
    for (Pair& pair : pairs_) {
      pair.packets.clear();
      pair.completions.clear();
    }
    // Several QPs in a step, each at most once but for time, which is of all.
    for (unsigned n = unsigned(1 + random_.below(kQps > 1 ? 4 : 1)); n > 0 && fault_.empty(); n--) {
      const auto qp = unsigned(random_.below(kQps));
      const uint64_t choice = random_.below(100);
      if (!touched_.at(qp)) {
        touched_.at(qp) = true;
        if (choice < 40) post(qp);
        else if (choice < 80) answer(qp);
        else if (choice < 84 || (pairs_.at(qp).has_failed && choice < 90)) begin(qp);
        else if (choice == 84) abort(qp);
      }
    }
    if (random_.chance(0.25)) {
      rest();
      settle();
      silence(unsigned(random_.below(kQps)));
    }
    touched_.fill(false);
    rest();
    for (unsigned qp = 0; qp < kQps; qp++) compare(qp);
    if (has_rates_ && fault_.empty()) notify();
  }

  // CNPs for several QPs, one behind the other; then the state of one machine.
  void notify() {
    for (uint64_t n = random_.below(4); n > 0; n--) {
      const auto qp = unsigned(random_.below(kQps));
      figures_.notifications++;
      figures_.cuts += sw_dcqcn_notification(pairs_.at(qp).flow, now_, 0);
      model_.answer_i = uint64_t(kCnp) << 30;
      model_.answer_qp_i = qp;
      model_.answer_valid_i = 1;
      cycle();
      model_.answer_valid_i = 0;
      if (random_.chance(0.5)) cycle();
    }
    const auto qp = unsigned(random_.below(kQps));
    model_.rate_qp_i = qp;
    rest();
    settle();
    sw_dcqcn_time(pairs_.at(qp).flow, now_);
    const sw_dcqcn_state wanted = sw_dcqcn_state_get(pairs_.at(qp).flow);
    // rate_status_t ends with 32 + 45 + 3 + 24 bits.
    const uint32_t* words = model_.rate_o.data();
    const auto field = [words](unsigned at, unsigned bits) {
      uint32_t value = 0;
      for (unsigned i = 0; i < bits; i++) value |= (words[(at + i) / 32] >> ((at + i) % 32) & 1) << i;
      return value;
    };
    if (field(145, 24) != wanted.rate || field(121, 24) != wanted.target ||
        field(104, 17) != wanted.alpha)
      fault_ = "QP " + std::to_string(qp) + ": R_C is " + std::to_string(field(145, 24)) +
               ", in Rust " + std::to_string(wanted.rate);
  }

  void post(unsigned qp) {
    Pair& pair = pairs_.at(qp);
    for (uint64_t n = 1 + random_.below(3); n > 0 && fault_.empty(); n--) {
      const uint32_t mtu = 128u << pair.config.mtu;
      sw_work_request request{};
      request.id = random_.below(1 << 16);
      request.len_bytes = uint32_t(8 * random_.below(random_.chance(0.5) ? mtu / 8 + 2 : mtu));
      request.is_write = random_.chance(0.5);
      request.has_immediate = random_.chance(0.5);
      const bool is_taken = sw_requester_post(pair.software, &request);
      Fields(model_.post_i.data()).put(request.len_bytes, 32).put(0, 40).put(0, 32).put(0, 64)
          .put(0, 32).put(uint64_t(request.has_immediate), 1).put(0, 1)
          .put(uint64_t(request.is_write), 1).put(request.id, 16);
      model_.post_qp_i = qp;
      model_.post_valid_i = 1;
      bool is_ready = false;
      for (unsigned k = 0; k < kRestCycles && !is_ready; k++) {
        model_.clk_i = 0;
        model_.eval();
        is_ready = model_.post_ready_o;
        cycle();
      }
      model_.post_valid_i = 0;
      if (is_ready != is_taken)
        fault_ = is_taken ? "a request is not taken" : "a request is taken beyond the queue";
    }
  }

  void answer(unsigned qp) {
    Pair& pair = pairs_.at(qp);
    const auto kind = Kind(random_.below(10) < 5 ? 0 : random_.chance(0.02) ? 3
                                                       : 1 + random_.below(2));
    const uint32_t code = kind == kSequenceNak ? 0
        : kind == kFatalNak ? uint32_t(1 + random_.below(3))
        : has_rates_ ? uint32_t(1 + random_.below(12)) : uint32_t(random_.below(32));
    // From the oldest to the last that was sent, and around; seldom anywhere.
    uint32_t seq = pair.oldest + uint32_t(random_.below(pair.sent - pair.oldest + 3)) - 1;
    if (random_.chance(0.05)) seq = uint32_t(random_.draw());
    const uint32_t psn = (pair.config.first_psn + seq) % kPsns;
    sw_requester_answer(pair.software, now_, psn, uint8_t(kSyndromes.at(kind) | code));
    model_.answer_i = uint64_t(kind) << 30 | uint64_t(code) << 25 | uint64_t(psn) << 1;  // no CE
    model_.answer_qp_i = qp;
    model_.answer_valid_i = 1;
    cycle();
    model_.answer_valid_i = 0;
    figures_.answers.at(kind)++;
    const uint32_t behind = (seq - pair.oldest) % kPsns;
    if (!pair.has_failed && behind < pair.sent - pair.oldest) pair.oldest += behind + (kind == kAck);
  }

  // Up to the deadline of a QP, or not quite; others may be due on the way.
  void silence(unsigned qp) {
    for (unsigned k = 0; k < kQps; k++) poll(k);
    const uint64_t deadline = sw_requester_timeout(pairs_.at(qp).software);
    if (deadline == UINT64_MAX) {
      now_ += random_.below(10'000);
    } else {
      const uint64_t left = deadline > now_ ? deadline - now_ : 0;
      if (random_.chance(0.6)) now_ += left + random_.below(3);
      else if (left > 0) now_ += random_.chance(0.5) ? left - 1 : random_.below(left);
      figures_.timeouts += now_ >= deadline;
    }
    for (Pair& pair : pairs_) sw_requester_run(pair.software, now_);
  }

  void abort(unsigned qp) {
    sw_requester_flush(pairs_.at(qp).software);
    pairs_.at(qp).has_failed = true;
    command(kAbort, qp);
  }

  // Until nothing has left or been completed for a while.
  void rest() {
    for (quiet_ = 0; quiet_ < kRestCycles;) cycle();
  }

  // Until each machine has done what was due since the last time, and its departures.
  void settle() {
    if (!has_rates_) return;
    const uint64_t rounds = 2 + (now_ - settled_) / params_.alpha_period_ns;
    for (uint64_t n = 0; n < 2 * 22 * kQps * rounds; n++) cycle();
    settled_ = now_;
  }

  void cycle() {
    model_.time_ns_i = now_;
    model_.rd_valid_i = reads_;
    model_.clk_i = 0;
    model_.eval();
    quiet_++;
    if (model_.m_axis_tvalid) {
      quiet_ = 0;
      for (unsigned i = 0; i < 8 && at_ + i < head_.size(); i++)
        head_[at_ + i] = uint8_t(model_.m_axis_tdata >> (8 * i));
      at_ += 8;
      if (model_.m_axis_tlast) {
        at_ = 0;
        // The BTH, IB 9.2, from frame byte 42 on.
        const uint32_t qp = number(47) - kRemote;
        if (qp >= kQps || head_[33] != uint8_t(0x63 + qp)) fault_ = "a frame is for another peer";
        else pairs_.at(qp).packets.emplace_back(head_[42], number(51), head_[50] >> 7);
      }
    }
    if (model_.completion_valid_o) {
      quiet_ = 0;
      pairs_.at(model_.completion_qp_o)
          .completions.emplace_back(model_.completion_o >> 3, model_.completion_o & 7);
    }
    reads_ = model_.rd_valid_o;
    model_.clk_i = 1;
    model_.eval();
    model_.rootp->roce_requester__DOT__u_rate__DOT__pace_q = 0;
  }

  uint32_t number(size_t at) const {
    return uint32_t(head_[at]) << 16 | uint32_t(head_[at + 1]) << 8 | head_[at + 2];
  }

  // What the software does, against the begin of what the hardware did.
  void poll(unsigned qp) {
    Pair& pair = pairs_.at(qp);
    sw_roce_packet packet;
    while (sw_requester_transmit(pair.software, now_, &packet)) {
      const uint32_t seq = (packet.psn - pair.config.first_psn) % kPsns;
      figures_.packets++;
      figures_.repeats += seq < pair.sent;
      pair.sent = std::max(pair.sent, seq + 1);
      sw_dcqcn_departure(pair.flow, now_, wire_bytes(packet));
      take(pair.packets, Packet(packet.opcode, packet.psn, packet.ack_request), qp);
    }
    uint64_t id = 0;
    uint32_t status = 0;
    while (sw_requester_completion(pair.software, &id, &status)) {
      figures_.completions++;
      figures_.failures += status != 0 && !pair.has_failed;
      pair.has_failed |= status != 0;
      take(pair.completions, Completion(id, status), qp);
    }
  }

  template <class T>
  void take(std::vector<T>& found, const T& wanted, unsigned qp) {
    if (!fault_.empty()) return;
    if (found.empty() || found.front() != wanted)
      fault_ = "QP " + std::to_string(qp) + (found.empty() ? ": nothing" : ": something else") +
               " in place of (" + std::to_string(std::get<0>(wanted)) + ", " +
               std::to_string(std::get<1>(wanted)) + ")";
    else found.erase(found.begin());
  }

  void compare(unsigned qp) {
    poll(qp);
    const Pair& pair = pairs_.at(qp);
    if (fault_.empty() && !(pair.packets.empty() && pair.completions.empty()))
      fault_ = "QP " + std::to_string(qp) + ": the hardware does more";
  }

  Vroce_requester model_;
  std::array<Pair, kQps> pairs_;
  std::array<bool, kQps> touched_{};     // in this step
  sw::Random random_;
  Figures& figures_;
  std::string fault_;
  uint64_t now_ = 1'000'000, settled_ = now_;
  std::array<uint8_t, 58> head_{};       // of the frame that leaves
  unsigned at_ = 0, quiet_ = 0;
  bool reads_ = false;
  const bool has_rates_;
  const sw_dcqcn_params params_ = dcqcn_params();
};

}  // namespace

int main(int argc, char** argv) {
  sw::LockstepOptions options;
  if (!options.read(argc, argv)) return 2;
  const auto [seed, steps] = options;
  Figures f;
  Lockstep packets(seed, false, f);
  std::string fault = packets.run(steps / 2);
  if (fault.empty()) {
    Lockstep rates(seed, true, f);
    fault = rates.run(steps - steps / 2);
  }
  if (!fault.empty()) {
    std::printf("step %llu of seed %llu: %s\n", static_cast<unsigned long long>(f.steps),
                static_cast<unsigned long long>(seed), fault.c_str());
    return 1;
  }
  std::printf("%u QPs, %llu steps, %llu connections: %llu packets, %llu of them repeats; %llu ACKs, "
              "%llu RNR NAKs, %llu sequence NAKs, %llu fatal NAKs, %llu timers, %llu failures, "
              "%llu completions; %llu CNPs, %llu cuts\n", kQps,
              static_cast<unsigned long long>(f.steps),
              static_cast<unsigned long long>(f.connections),
              static_cast<unsigned long long>(f.packets),
              static_cast<unsigned long long>(f.repeats),
              static_cast<unsigned long long>(f.answers[kAck]),
              static_cast<unsigned long long>(f.answers[kRnrNak]),
              static_cast<unsigned long long>(f.answers[kSequenceNak]),
              static_cast<unsigned long long>(f.answers[kFatalNak]),
              static_cast<unsigned long long>(f.timeouts),
              static_cast<unsigned long long>(f.failures),
              static_cast<unsigned long long>(f.completions),
              static_cast<unsigned long long>(f.notifications),
              static_cast<unsigned long long>(f.cuts));
  return 0;
}

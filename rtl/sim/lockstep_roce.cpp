// rtl/roce/roce_requester.sv in lock-step with samplewire_roce::requester::Requester: random
// messages, acknowledgements, NAKs and silence; the packets that leave and the completions are
// compared after every step.
//
//   lockstep_roce [--seed N] [--steps N]
//
// Time stands still within a step, and a step ends when the hardware rests: the software sends all
// that may leave at once. So a second answer never comes in the midst of a repeat here; the tests
// of roce_qp have such.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "Vroce_requester.h"
#include "random.hpp"
#include "samplewire_cosim.h"

namespace {

constexpr unsigned kSlots = 128, kQueue = 16;  // of the module
constexpr unsigned kRestCycles = 64;           // more than from an answer to a frame's first beat
constexpr uint32_t kPsns = 1 << 24;

// Of the AETH, IB 9.7.5.1.2, and of roce_pkg::answer_e.
enum Kind { kAck, kRnrNak, kSequenceNak, kFatalNak };
constexpr std::array<uint8_t, 4> kSyndromes = {0x00, 0x20, 0x60, 0x60};

using Packet = std::tuple<unsigned, uint32_t, bool>;  // opcode, PSN, AckReq
using Completion = std::pair<uint64_t, uint32_t>;     // id, status

struct Figures {
  uint64_t steps = 0, connections = 0, packets = 0, repeats = 0, timeouts = 0, failures = 0;
  std::array<uint64_t, 4> answers{};
};

// Fills a packed struct, its last field first.
class Fields {
 public:
  explicit Fields(uint32_t* words) : words_(words) {}
  Fields& put(uint64_t value, unsigned bits) {
    for (unsigned i = 0; i < bits; i++, at_++) {
      const uint32_t bit = 1u << (at_ % 32);
      uint32_t& word = words_[at_ / 32];
      word = (value >> i & 1) ? word | bit : word & ~bit;
    }
    return *this;
  }

 private:
  uint32_t* words_;
  unsigned at_ = 0;
};

class Lockstep {
 public:
  Lockstep(uint64_t seed, Figures& figures) : random_(seed), figures_(figures) {
    model_.rst_i = 1;
    model_.m_axis_tready = model_.rd_ready_i = 1;
    model_.burst_ns_i = 100;
    Fields(model_.self_i.data()).put(0xC123, 16).put(0xC0A80A02, 32).put(0x02A1B2C3D4E5, 48);
    Fields(model_.peer_i.data()).put(4791, 16).put(0xC0A80A63, 32).put(0x98F2B3010203, 48);
    for (int n = 0; n < 40; n++) cycle();
    model_.rst_i = 0;
    for (int n = 0; n < 40; n++) cycle();
  }
  ~Lockstep() { sw_requester_free(software_); }
  Lockstep(const Lockstep&) = delete;
  Lockstep& operator=(const Lockstep&) = delete;

  // One connection; a fault, or nothing.
  std::string run(uint64_t steps) {
    connect();
    figures_.connections++;
    for (uint64_t n = 0; n < steps && fault_.empty(); n++) {
      step();
      figures_.steps++;
    }
    return fault_;
  }

 private:
  void connect() {
    sw_requester_config& c = config_;
    c.first_psn = uint32_t(random_.chance(0.5) ? kPsns - 1 - random_.below(60)
                                               : random_.below(kPsns));
    c.mtu = uint32_t(1 + random_.below(2));
    c.window = uint32_t(1 + random_.below(random_.chance(0.5) ? 8 : kSlots));
    c.ack_every = uint32_t(1 + random_.below(c.window));
    c.timeout = uint32_t(random_.below(32));
    c.retries = uint32_t(random_.below(8));
    c.rnr_retries = uint32_t(random_.below(8));
    sw_requester_free(software_);
    software_ = sw_requester_new(&c, kQueue);
    model_.run_i = 0;
    for (int n = 0; n < 8; n++) cycle();
    Fields(model_.cfg_i.data()).put(c.rnr_retries, 3).put(c.retries, 3).put(c.timeout, 5)
        .put(c.ack_every, 16).put(c.window, 16).put(c.mtu, 3).put(c.first_psn, 24)
        .put(0x22, 24).put(0x11, 24);
    model_.run_i = 1;
    for (int n = 0; n < 30; n++) cycle();
    sent_ = oldest_ = 0;
    has_failed_ = false;
    if (!software_ || model_.refused_o || !model_.is_running_o) fault_ = "no connection begins";
  }

  void step() {
    packets_.clear();
    completions_.clear();
    const uint64_t choice = random_.below(100);
    if (choice < 35) post();
    else if (choice < 75) answer();
    else if (choice < 99 || !random_.chance(0.1)) silence();
    else abort();
    rest();
    compare();
  }

  void post() {
    for (uint64_t n = 1 + random_.below(3); n > 0 && fault_.empty(); n--) {
      const uint32_t mtu = 128u << config_.mtu;
      sw_work_request request{};
      request.id = random_.below(1 << 16);
      request.len_bytes = uint32_t(8 * random_.below(random_.chance(0.5) ? mtu / 8 + 2 : mtu));
      request.is_write = random_.chance(0.5);
      request.has_immediate = random_.chance(0.5);
      const bool is_taken = sw_requester_post(software_, &request);
      Fields(model_.post_i.data()).put(request.len_bytes, 32).put(0, 40).put(0, 32).put(0, 64)
          .put(0, 32).put(uint64_t(request.has_immediate), 1).put(0, 1)
          .put(uint64_t(request.is_write), 1).put(request.id, 16);
      model_.post_valid_i = 1;
      model_.clk_i = 0;
      model_.eval();
      if (bool(model_.post_ready_o) != is_taken)
        fault_ = is_taken ? "a request is not taken" : "a request is taken beyond the queue";
      cycle();
      model_.post_valid_i = 0;
    }
  }

  void answer() {
    const auto kind = Kind(random_.below(10) < 5 ? 0 : random_.chance(0.02) ? 3
                                                       : 1 + random_.below(2));
    const uint32_t code = kind == kSequenceNak ? 0
        : kind == kFatalNak ? uint32_t(1 + random_.below(3)) : uint32_t(random_.below(32));
    // From the oldest to the last that was sent, and around; seldom anywhere.
    uint32_t seq = oldest_ + uint32_t(random_.below(sent_ - oldest_ + 3)) - 1;
    if (random_.chance(0.05)) seq = uint32_t(random_.draw());
    const uint32_t psn = (config_.first_psn + seq) % kPsns;
    sw_requester_answer(software_, now_, psn, uint8_t(kSyndromes.at(kind) | code));
    model_.answer_i = uint64_t(kind) << 30 | uint64_t(code) << 25 | uint64_t(psn) << 1;  // no CE
    model_.answer_valid_i = 1;
    cycle();
    model_.answer_valid_i = 0;
    figures_.answers.at(kind)++;
    const uint32_t behind = (seq - oldest_) % kPsns;
    if (!has_failed_ && behind < sent_ - oldest_) oldest_ += behind + (kind == kAck);
  }

  // Up to the deadline, or not quite.
  void silence() {
    const uint64_t deadline = sw_requester_timeout(software_);
    if (deadline == UINT64_MAX) {
      now_ += random_.below(1'000'000);
    } else {
      const uint64_t left = deadline > now_ ? deadline - now_ : 0;
      if (random_.chance(0.6)) now_ += left + random_.below(3);
      else if (left > 0) now_ += random_.chance(0.5) ? left - 1 : random_.below(left);
      figures_.timeouts += now_ >= deadline;
    }
    sw_requester_run(software_, now_);
  }

  void abort() {
    sw_requester_flush(software_);
    model_.abort_i = 1;
    cycle();
    model_.abort_i = 0;
  }

  // Until nothing has left or been completed for a while.
  void rest() {
    for (quiet_ = 0; quiet_ < kRestCycles;) cycle();
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
        const uint32_t psn = uint32_t(head_[51]) << 16 | uint32_t(head_[52]) << 8 | head_[53];
        packets_.emplace_back(head_[42], psn, head_[50] >> 7);
      }
    }
    if (model_.completion_valid_o) {
      quiet_ = 0;
      completions_.emplace_back(model_.completion_o >> 3, model_.completion_o & 7);
    }
    reads_ = model_.rd_valid_o;
    model_.clk_i = 1;
    model_.eval();
  }

  void compare() {
    std::vector<Packet> packets;
    std::vector<Completion> completions;
    sw_roce_packet packet;
    while (sw_requester_transmit(software_, now_, &packet))
      packets.emplace_back(packet.opcode, packet.psn, packet.ack_request);
    uint64_t id = 0;
    uint32_t status = 0;
    while (sw_requester_completion(software_, &id, &status)) {
      completions.emplace_back(id, status);
      if (status == 0) continue;
      figures_.failures += !has_failed_;
      has_failed_ = true;
    }
    for (const Packet& it : packets) {
      const uint32_t seq = (std::get<1>(it) - config_.first_psn) % kPsns;
      figures_.packets++;
      figures_.repeats += seq < sent_;
      sent_ = std::max(sent_, seq + 1);
    }
    if (!fault_.empty()) return;
    if (packets != packets_) fault_ = "packets (opcode, PSN, AckReq) are" + words(packets_) +
                                      ", not" + words(packets);
    else if (completions != completions_)
      fault_ = std::to_string(completions_.size()) + " completions, not " +
               std::to_string(completions.size()) + ", or others";
  }

  static std::string words(const std::vector<Packet>& packets) {
    std::string text;
    for (const auto& [opcode, psn, requests] : packets)
      text += " (" + std::to_string(opcode) + ", " + std::to_string(psn) + ", " +
              std::to_string(requests) + ")";
    return text.empty() ? " none" : text;
  }

  Vroce_requester model_;
  sw_requester* software_ = nullptr;
  sw_requester_config config_{};
  sw::Random random_;
  Figures& figures_;
  std::string fault_;
  uint64_t now_ = 1'000'000;
  std::vector<Packet> packets_;          // of the hardware, in this step
  std::vector<Completion> completions_;
  std::array<uint8_t, 54> head_{};       // of the frame that leaves
  unsigned at_ = 0, quiet_ = 0;
  uint32_t sent_ = 0, oldest_ = 0;       // packets since the connection began
  bool reads_ = false, has_failed_ = false;
};

int usage() {
  std::fputs("lockstep_roce [--seed N] [--steps N]\n", stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 1, steps = 20'000;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) return usage();
    const uint64_t value = std::strtoull(argv[i + 1], nullptr, 0);
    if (name == "--seed") seed = value;
    else if (name == "--steps") steps = value;
    else return usage();
  }
  Figures f;
  Lockstep lockstep(seed, f);
  while (f.steps < steps) {
    const std::string fault = lockstep.run(std::min<uint64_t>(100, steps - f.steps));
    if (fault.empty()) continue;
    std::printf("FAILED after %llu steps: %s\n  replay: %s --seed %llu --steps %llu\n",
                static_cast<unsigned long long>(f.steps), fault.c_str(), argv[0],
                static_cast<unsigned long long>(seed), static_cast<unsigned long long>(steps));
    return 1;
  }
  std::printf("%llu steps of %llu connections: %llu packets, %llu of them repeats; %llu ACKs, "
              "%llu RNR NAKs, %llu sequence NAKs, %llu fatal NAKs, %llu timers, %llu failures\n",
              static_cast<unsigned long long>(f.steps),
              static_cast<unsigned long long>(f.connections),
              static_cast<unsigned long long>(f.packets),
              static_cast<unsigned long long>(f.repeats),
              static_cast<unsigned long long>(f.answers[kAck]),
              static_cast<unsigned long long>(f.answers[kRnrNak]),
              static_cast<unsigned long long>(f.answers[kSequenceNak]),
              static_cast<unsigned long long>(f.answers[kFatalNak]),
              static_cast<unsigned long long>(f.timeouts),
              static_cast<unsigned long long>(f.failures));
  return 0;
}

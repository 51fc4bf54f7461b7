// rtl/roce/roce_endpoint.sv in lock-step with the Requester, the Responder and the NotificationPoint of
// samplewire_roce: random messages, acknowledgements, NAKs and silence, and a peer's requests, right
// and wrong, some of them marked; the packets, answers and CNPs that leave, the memory that is written and the completions are compared after
// every step. If one half fails, so does the other. Of several QPs (QPS) each has such a pair; their events
// come interleaved, and each begins again while others run.
//
//   lockstep_roce [--seed N] [--steps N]
//
// Time stands still within a step, and a step ends when the hardware rests: the software sends all
// that may leave at once, and the hardware's pacer, which would need time to pass, is held open. So a second answer never comes in the midst of a repeat here, and no two
// answers to the peer wait; the tests of roce_qp and roce_responder have such.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <tuple>
#include <vector>

#include "Vroce_endpoint.h"
#include "Vroce_endpoint___024root.h"
#include "fields.hpp"
#include "random.hpp"
#include "roce_lockstep.hpp"
#include "roce_peer.hpp"
#include "samplewire_cosim.h"

namespace {

using namespace sw;

constexpr unsigned kQps = QPS, kSlots = 128, kQueue = 16;  // of the module
// More than from an answer to a frame's first beat; each QP's timer is scanned in it.
constexpr unsigned kRestCycles = 64 + (kQps > 1 ? 20 * kQps : 0);
constexpr uint32_t kLocal = 0x11, kRemote = 0x100;  // numbers of the first QP
constexpr uint8_t kAcknowledge = 0x11, kCnp = 0x81;
constexpr unsigned kReceives = 64;             // of the software's queue
constexpr uint64_t kReceiveMemory = 1ull << 40;  // each receive request has 64 KiB from there on

using Answer = std::tuple<uint32_t, unsigned, uint32_t>;  // PSN, syndrome, MSN
// A CNP among them: PSN 0, its opcode, DSCP 48 without ECN, BECN.
const Answer kNotification = {0, kCnp, 0xC040};
// Id, status, whether it has an immediate, the immediate, bytes.
using Received = std::tuple<uint64_t, uint32_t, bool, uint32_t, uint32_t>;
// What one packet writes: the address and the bytes.
using Write = std::pair<uint64_t, std::vector<uint8_t>>;

struct Figures {
  uint64_t steps = 0, connections = 0, packets = 0, repeats = 0, timeouts = 0, failures = 0;
  std::array<uint64_t, 4> answers{};
  uint64_t requests = 0, executed = 0, faults = 0, received = 0;
  std::array<uint64_t, 4> given{};  // answers to the peer, by kind
  uint64_t marks = 0, cnps = 0;
};

// One QP in software, and what the hardware did with its own in this step.
struct Pair {
  sw_requester* software = nullptr;
  sw_requester_config config{};
  uint32_t sent = 0, oldest = 0;  // packets since the connection began
  bool has_failed = false;
  bool is_over = false;           // one of the halves has failed
  unsigned rest = 0;              // steps since then
  sw_responder* responder = nullptr;
  sw_responder_config receiver{};
  sw_notification* point = nullptr;  // none where no CNPs are sent
  sw::Peer peer;
  std::deque<std::pair<uint64_t, uint32_t>> receives;  // id, bytes; the hardware takes them
  unsigned posted = 0;            // of the software, and not done
  std::vector<Packet> packets;
  std::vector<Completion> completions;
  std::vector<Answer> given;
  std::vector<Received> received;
  ~Pair() {
    sw_requester_free(software);
    sw_responder_free(responder);
    sw_notification_free(point);
  }
};

class Lockstep {
 public:
  Lockstep(uint64_t seed, Figures& figures) : random_(seed), figures_(figures) {
    model_.rst_i = 1;
    model_.m_axis_tready = model_.rd_ready_i = model_.wr_ready_i = model_.received_ready_i = 1;
    put_rates(Fields(model_.rate_cfg_i.data()), dcqcn_params(), 0);
    Fields(model_.self_i.data()).put(0xC123, 16).put(0xC0A80A02, 32).put(0x02A1B2C3D4E5, 48);
    for (int n = 0; n < 40; n++) cycle();
    model_.rst_i = 0;
    for (int n = 0; n < 40; n++) cycle();
    for (unsigned qp = 0; qp < kQps; qp++) begin(qp);
  }

  // A fault, or nothing.
  std::string run(uint64_t steps) {
    for (uint64_t n = 0; n < steps && fault_.empty(); n++) {
      step();
      figures_.steps++;
    }
    return fault_;
  }

 private:
  void begin(unsigned qp) {
    figures_.connections++;
    Pair& pair = pairs_.at(qp);
    sw_requester_config& c = pair.config;
    c.first_psn = uint32_t(random_.chance(0.5) ? kPsns - 1 - random_.below(60)
                                               : random_.below(kPsns));
    c.mtu = uint32_t(1 + random_.below(2));
    c.window = uint32_t(1 + random_.below(random_.chance(0.5) ? 8 : kSlots));
    c.ack_every = uint32_t(1 + random_.below(c.window));
    c.timeout = uint32_t(random_.below(32));
    c.retries = uint32_t(random_.below(8));
    c.rnr_retries = uint32_t(random_.below(8));
    sw_requester_free(pair.software);
    pair.software = sw_requester_new(&c, kQueue);
    sw_responder_config& r = pair.receiver;
    r.first_psn = uint32_t(random_.chance(0.5) ? kPsns - 1 - random_.below(30)
                                               : random_.below(kPsns));
    r.mtu = c.mtu;
    r.rnr_timer = uint32_t(random_.below(32));
    r.key = uint32_t(random_.draw());
    r.len_bytes = 4096 + random_.below(100'000);
    r.address = random_.chance(0.2) ? UINT64_MAX - r.len_bytes : random_.draw() >> 8;
    r.may_write = !random_.chance(0.05);
    sw_responder_free(pair.responder);
    pair.responder = sw_responder_new(&r, kReceives);
    sw_notification_free(pair.point);
    const uint64_t interval_ns = random_.chance(0.2) ? 0
        : 1 + random_.below(random_.chance(0.5) ? 10'000 : 0xFFFFF);
    pair.point = interval_ns ? sw_notification_new(interval_ns) : nullptr;
    pair.peer.begin(r);
    pair.receives.clear();
    pair.posted = 0;
    // What is of the QP that begins stands until it has.
    Fields(model_.peer_i.data()).put(4791, 16).put(0xC0A80A63 + qp, 32).put(0x98F2B3010203, 48);
    model_.peer_psn_i = r.first_psn;
    model_.rnr_timer_i = r.rnr_timer;
    model_.cnp_interval_ns_i = uint32_t(interval_ns);
    Fields(model_.region_i.data()).put(r.len_bytes, 64).put(r.address, 64)
        .put(r.key, 32);
    set(model_.may_write_i, qp, r.may_write);
    set(model_.run_i, qp, false);
    for (unsigned n = 0; n < 20 + kRestCycles; n++) cycle();
    Fields(model_.cfg_i.data()).put(c.rnr_retries, 3).put(c.retries, 3).put(c.timeout, 5)
        .put(c.ack_every, 16).put(c.window, 16).put(c.mtu, 3).put(c.first_psn, 24)
        .put(kRemote + qp, 24).put(kLocal, 24);
    set(model_.run_i, qp, true);
    for (unsigned n = 0; n < 40 + kRestCycles; n++) cycle();
    pair.sent = pair.oldest = 0;
    pair.has_failed = pair.is_over = false;
    pair.rest = 0;
    if (!pair.software || !pair.responder || (model_.refused_o >> qp & 1) || !(model_.is_running_o >> qp & 1))
      fault_ = "no connection begins";
  }

  template <class Bits>
  static void set(Bits& bits, unsigned qp, bool is_set) {
    bits = Bits((bits & ~(1u << qp)) | unsigned(is_set) << qp);
  }

  // Events of several QPs, each at most once, or time, which is of all.
  void step() {
    for (Pair& pair : pairs_) forget(pair);
    writes_.clear();
    wanted_.clear();
    std::array<bool, kQps> touched{};
    bool has_time = false;
    for (uint64_t n = 1 + random_.below(kQps > 1 ? 6 : 1); n > 0 && fault_.empty() && !has_time; n--) {
      const auto qp = unsigned(random_.below(kQps));
      if (touched.at(qp)) continue;
      touched.at(qp) = true;
      Pair& pair = pairs_.at(qp);
      // A connection that has failed does not do much.
      pair.rest += pair.is_over;
      const uint64_t choice = random_.below(100);
      if (pair.rest >= 15 || random_.chance(0.01)) begin(qp);
      else if (random_.chance(0.5)) random_.chance(0.25) ? post_receive(pair) : request(qp);
      else if (choice < 35) post(qp);
      else if (choice < 75) answer(qp);
      else if (choice == 99 && random_.chance(0.1)) abort(qp);
      else has_time = true;
    }
    // The software sends what may leave before time goes on.
    if (has_time) {
      if (kQps > 1) {
        rest();
        for (Pair& pair : pairs_) compare(pair);
        for (Pair& pair : pairs_) forget(pair);
      }
      silence();
    }
    rest();
    for (Pair& pair : pairs_) compare(pair);
    if (fault_.empty() && writes_ != wanted_) fault_ = "other bytes are written";
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
        : kind == kFatalNak ? uint32_t(1 + random_.below(3)) : uint32_t(random_.below(32));
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

  // Up to the first deadline, or not quite.
  void silence() {
    uint64_t deadline = UINT64_MAX;
    for (const Pair& it : pairs_) deadline = std::min(deadline, sw_requester_timeout(it.software));
    uint64_t until = now_;
    if (deadline == UINT64_MAX) {
      until += random_.below(1'000'000);
    } else {
      const uint64_t left = deadline > now_ ? deadline - now_ : 0;
      if (random_.chance(0.6)) until += left + random_.below(3);
      else if (left > 0) until += random_.chance(0.5) ? left - 1 : random_.below(left);
    }
    // A CNP that is due before has a step of its own, and none is due when a QP may fail.
    uint64_t due = UINT64_MAX;
    for (const Pair& it : pairs_)
      if (it.point && !it.is_over) due = std::min(due, sw_notification_timeout(it.point));
    if (due > now_ && due <= until)
      until = due >= deadline || random_.chance(0.3) ? due - 1 : due;
    figures_.timeouts += until >= deadline;
    now_ = until;
    for (Pair& it : pairs_) sw_requester_run(it.software, now_);
  }

  void post_receive(Pair& pair) {
    if (pair.posted >= kReceives) return;
    const uint64_t id = random_.below(1 << 16);
    const auto len_bytes = uint32_t(random_.below(random_.chance(0.3) ? 300 : 5000));
    if (!sw_responder_post(pair.responder, id, len_bytes)) fault_ = "no room for a receive request";
    pair.posted++;
    pair.receives.emplace_back(id, len_bytes);
  }

  // A packet of the peer's, as eth_ip_check and roce_rx show it.
  void request(unsigned qp) {
    Pair& pair = pairs_.at(qp);
    const uint32_t expected = sw_responder_expected(pair.responder);
    const sw::PeerPacket packet = pair.peer.draw(random_, expected);
    if (packet.is_marked && !pair.is_over) {
      if (pair.point) sw_notification_mark(pair.point);
      figures_.marks++;
    }
    sw_roce_place place{};
    if (sw_responder_handle(pair.responder, &packet.request, packet.payload.data(), &place))
      wanted_.emplace_back(place.is_receive ? kReceiveMemory + (place.id << 16) + place.offset
                                            : pair.receiver.address + place.offset, packet.payload);
    figures_.requests++;
    if (sw_responder_expected(pair.responder) != expected) {
      pair.peer.executed(packet);
      figures_.executed++;
    }
    if (sw_responder_has_failed(pair.responder) && !pair.is_over) {
      figures_.faults++;
      fail(pair);
    }
    const std::vector<uint8_t> frame = packet.frame();
    for (size_t at = 0; at < frame.size(); at += 8) {
      uint64_t beat = 0;
      for (size_t i = 0; i < 8 && at + i < frame.size(); i++)
        beat |= uint64_t(frame[at + i]) << (8 * i);
      model_.valid_i = 1;
      model_.last_i = at + 8 >= frame.size();
      model_.data_i = beat;
      cycle();
    }
    model_.valid_i = 0;
    model_.answer_qp_i = qp;
    model_.request_i = packet.packed();
    model_.request_valid_i = 1;
    cycle();
    model_.request_valid_i = 0;
  }

  void fail(Pair& pair) {
    pair.is_over = true;
    sw_requester_flush(pair.software);
    sw_responder_flush(pair.responder);
  }

  void abort(unsigned qp) {
    fail(pairs_.at(qp));
    set(model_.abort_i, qp, true);
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
    offered_ = (offered_ + 1) % kQps;
    auto& receives = pairs_.at(offered_).receives;
    model_.receive_qp_i = offered_;
    model_.receive_valid_i = !receives.empty();
    if (!receives.empty()) {
      const auto& [id, len_bytes] = receives.front();
      Fields(model_.receive_i.data()).put(len_bytes, 32).put(kReceiveMemory + (id << 16), 64)
          .put(id, 16);
    }
    model_.clk_i = 0;
    model_.eval();
    quiet_++;
    if (model_.receive_valid_i && model_.receive_ready_o) receives.pop_front();
    if (model_.wr_valid_o) take_write();
    if (model_.received_valid_o) {
      quiet_ = 0;
      const uint32_t* words = model_.received_o.data();  // 83 bits
      const bool has_immediate = words[2] & 1;
      pairs_.at(model_.received_qp_o).received.emplace_back(words[2] >> 3, (words[2] >> 1) & 3,
                             has_immediate, has_immediate ? words[1] : 0, words[0]);
    }
    if (model_.m_axis_tvalid) {
      quiet_ = 0;
      for (unsigned i = 0; i < 8 && at_ + i < head_.size(); i++)
        head_[at_ + i] = uint8_t(model_.m_axis_tdata >> (8 * i));
      at_ += 8;
      if (model_.m_axis_tlast) {
        at_ = 0;
        // The BTH, IB 9.2, from frame byte 42 on; the AETH behind it.
        const uint32_t qp = number(47) - kRemote;
        if (qp >= kQps || head_[33] != uint8_t(0x63 + qp)) fault_ = "a frame is for another peer";
        Pair& pair = pairs_.at(qp < kQps ? qp : 0);
        if (head_[42] == kAcknowledge) pair.given.emplace_back(number(51), head_[54], number(55));
        else if (head_[42] == kCnp)
          pair.given.emplace_back(number(51), head_[42], uint32_t(head_[15]) << 8 | head_[46]);
        else pair.packets.emplace_back(head_[42], number(51), head_[50] >> 7);
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
    if (kQps > 1) model_.rootp->roce_endpoint__DOT__u_requester__DOT__u_rate__DOT__pace_q = 0;
  }

  uint32_t number(size_t at) const {
    return uint32_t(head_[at]) << 16 | uint32_t(head_[at + 1]) << 8 | head_[at + 2];
  }

  void take_write() {
    quiet_ = 0;
    if (!writing_) writes_.emplace_back(model_.wr_addr_o, std::vector<uint8_t>());
    Write& write = writes_.back();
    if (write.first + write.second.size() != model_.wr_addr_o) fault_ = "an address is left out";
    for (unsigned i = 0; i < 8; i++)
      if (model_.wr_keep_o >> i & 1) write.second.push_back(uint8_t(model_.wr_data_o >> (8 * i)));
    writing_ = !model_.wr_last_o;
  }

  void compare_receiver(Pair& pair) {
    std::vector<Answer> answers;
    std::vector<Received> received;
    if (pair.point && !pair.is_over && sw_notification_poll(pair.point, now_)) {
      answers.push_back(kNotification);
      figures_.cnps++;
    }
    sw_roce_response response;
    while (sw_responder_transmit(pair.responder, &response)) {
      answers.emplace_back(response.psn, response.syndrome, response.msn);
      const unsigned kind = response.syndrome >> 5;
      figures_.given.at(kind < 3 ? kind : kind - 1 + ((response.syndrome & 31) != 0))++;
    }
    sw_received done;
    while (sw_responder_completion(pair.responder, &done)) {
      received.emplace_back(done.id, done.status, done.has_immediate, done.immediate,
                            done.len_bytes);
      pair.posted--;
      figures_.received++;
    }
    if (!fault_.empty()) return;
    if (answers != pair.given) fault_ = "answers (PSN, syndrome, MSN) are" + words(pair.given) + ", not" +
                                    words(answers);
    else if (received != pair.received)
      fault_ = "receive requests (id, status, bytes) are" + words(pair.received) + ", not" +
               words(received);
  }

  // What was compared.
  static void forget(Pair& pair) {
    pair.packets.clear();
    pair.completions.clear();
    pair.given.clear();
    pair.received.clear();
  }

  void compare(Pair& pair) {
    std::vector<Packet> packets;
    std::vector<Completion> completions;
    sw_roce_packet packet;
    while (sw_requester_transmit(pair.software, now_, &packet))
      packets.emplace_back(packet.opcode, packet.psn, packet.ack_request);
    uint64_t id = 0;
    uint32_t status = 0;
    while (sw_requester_completion(pair.software, &id, &status)) {
      completions.emplace_back(id, status);
      if (status == 0) continue;
      if (!pair.has_failed) fail(pair);
      figures_.failures += !pair.has_failed;
      pair.has_failed = true;
    }
    for (const Packet& it : packets) {
      const uint32_t seq = (std::get<1>(it) - pair.config.first_psn) % kPsns;
      figures_.packets++;
      figures_.repeats += seq < pair.sent;
      pair.sent = std::max(pair.sent, seq + 1);
    }
    if (!fault_.empty()) return;
    if (packets != pair.packets) fault_ = "packets (opcode, PSN, AckReq) are" + words(pair.packets) +
                                      ", not" + words(packets);
    else if (completions != pair.completions)
      fault_ = std::to_string(pair.completions.size()) + " completions, not " +
               std::to_string(completions.size()) + ", or others";
    compare_receiver(pair);
  }

  static std::string words(const std::vector<Received>& received) {
    std::string text;
    for (const auto& [id, status, has_immediate, immediate, len_bytes] : received)
      text += " (" + std::to_string(id) + ", " + std::to_string(status) + ", " +
              std::to_string(len_bytes) + ")";
    return text.empty() ? " none" : text;
  }

  template <class Three>
  static std::string words(const std::vector<Three>& found) {
    std::string text;
    for (const auto& [first, second, third] : found)
      text += " (" + std::to_string(first) + ", " + std::to_string(second) + ", " +
              std::to_string(third) + ")";
    return text.empty() ? " none" : text;
  }

  Vroce_endpoint model_;
  std::array<Pair, kQps> pairs_;
  sw::Random random_;
  Figures& figures_;
  std::string fault_;
  uint64_t now_ = 1'000'000;
  std::array<uint8_t, 58> head_{};      // of the frame that leaves
  unsigned at_ = 0, quiet_ = 0;
  unsigned offered_ = 0;                // the QP whose receive request is offered
  bool reads_ = false, writing_ = false;
  std::vector<Write> writes_, wanted_;  // of the hardware, of the software, in this step
};

}  // namespace

int main(int argc, char** argv) {
  sw::LockstepOptions options;
  if (!options.read(argc, argv)) return 2;
  const auto [seed, steps] = options;
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
              "%llu RNR NAKs, %llu sequence NAKs, %llu fatal NAKs, %llu timers, %llu failures\n"
              "%llu requests of the peer: %llu executed, %llu break a rule; answered by %llu ACKs, "
              "%llu RNR NAKs, %llu sequence NAKs, %llu fatal NAKs; %llu receive requests done; "
              "%llu are marked, %llu CNPs\n",
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
              static_cast<unsigned long long>(f.requests),
              static_cast<unsigned long long>(f.executed),
              static_cast<unsigned long long>(f.faults),
              static_cast<unsigned long long>(f.given[kAck]),
              static_cast<unsigned long long>(f.given[kRnrNak]),
              static_cast<unsigned long long>(f.given[kSequenceNak]),
              static_cast<unsigned long long>(f.given[kFatalNak]),
              static_cast<unsigned long long>(f.received),
              static_cast<unsigned long long>(f.marks),
              static_cast<unsigned long long>(f.cnps));
  return 0;
}

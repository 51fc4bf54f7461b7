// The board, one host at a time, and the wire between them, in simulated time.
#pragma once

#include <algorithm>
#include <cstdio>
#include <memory>

#include "driver.hpp"
#include "link.hpp"
#include "truth.hpp"

namespace sw {

struct WorldSpec {
  uint64_t seed = 1;
  uint64_t cycle_ps = 6400;
  uint64_t line_bps = 10'000'000'000;
  LinkSpec down;  // board to host
  LinkSpec up;    // host to board
  uint32_t window_packets = 1024;
  uint32_t packet_bytes_max = 9000;
  uint64_t deadline_us = 0;
  // A host that is not on the processor reads nothing for so long, so often on average.
  uint64_t stall_ns = 0;
  uint64_t stall_every_ns = 0;
  size_t socket_bytes = 8 << 20;
  Setup setup;
  std::function<void(const Vboard&)> on_edge;  // before each edge of the clock
  // A network in place of the wire to the host: takes a frame of the board, or returns false.
  std::function<bool(uint64_t now_ns, const Bytes&)> to_network;
};

class World {
 public:
  explicit World(const WorldSpec& spec)
      : spec_(spec),
        random_(spec.seed),
        model_(spec.cycle_ps, spec.line_bps),
        driver_(model_),
        down_(spec.down, random_.draw()),
        up_(spec.up, random_.draw()),
        truth_(4 * spec.setup.channels) {
    model_.on_frame = [this](const Bytes& frame) { take_frame(frame); };
    model_.on_edge = spec.on_edge;
    if (spec.stall_every_ns) next_stall_ns_ = random_.below(2 * spec.stall_every_ns);
    model_.reset();
    driver_.configure(spec_.setup);
  }

  ~World() { sw_host_free(host_); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Model& model() { return model_; }
  Driver& driver() { return driver_; }
  Truth& truth() { return truth_; }
  const Link& down() const { return down_; }
  const Link& up() const { return up_; }
  sw_host* host() { return host_; }
  const std::string& fault() const { return fault_; }
  uint64_t socket_drops() const { return socket_drops_; }
  void fail(const std::string& words) {
    if (fault_.empty()) fault_ = words + " at " + std::to_string(model_.now_ns()) + " ns";
  }

  sw_host_counts counts() {
    sw_host_counts counts{};
    if (host_) sw_host_counts_get(host_, &counts);
    return counts;
  }

  // The host vanishes without a word.
  void leave() {
    sw_host_free(host_);
    host_ = nullptr;
    socket_.clear();
    socket_used_ = 0;
  }

  // Starts a host; the one before it vanishes without a word, as a killed program does.
  void open(uint64_t owner) {
    leave();
    host_address_.port = uint16_t(20'000 + random_.below(40'000));
    const sw_host_config config{owner,           random_.draw(),         spec_.deadline_us,
                                spec_.window_packets, spec_.packet_bytes_max, 3'000'000'000};
    host_ = sw_host_new(&config, model_.now_ns());
    host_due_ns_ = 0;
  }

  // The board loses its state, as after a reload of its bit stream, and is another run.
  void restart_board() {
    model_.reset();
    ++spec_.setup.boot_id;
    driver_.configure(spec_.setup);
  }

  // The board's core alone is reset, between any two beats of what it sends and receives.
  void reset_core() {
    for (uint64_t i = random_.below(kCyclesAtOnce); i > 0; --i) {
      step();
      model_.tick();
    }
    model_.reset_core(1 + unsigned(random_.below(20)));
    ++spec_.setup.boot_id;
    driver_.configure(spec_.setup);
  }

  // What the network hands on to the host.
  void from_network(uint64_t now_ns, Bytes frame) { down_.send(now_ns, std::move(frame)); }

  // Hands a frame to the board past the host, as a stranger would.
  void inject(Bytes frame, bool is_bad = false) { model_.receive(std::move(frame), is_bad); }

  // Runs until `is_done` holds or `until_ns` has come; checks what the host says as it goes.
  template <class Done>
  bool run(uint64_t until_ns, Done is_done) {
    while (fault_.empty() && model_.now_ns() < until_ns) {
      if (is_done()) return true;
      skip(until_ns);
      for (unsigned i = 0; i < kCyclesAtOnce; ++i) {
        step();
        model_.tick();
      }
    }
    return is_done();
  }

  enum sw_standing standing() const { return host_ ? sw_host_standing(host_) : SW_REFUSED; }

  std::string host_words() {
    char words[256];
    if (!host_) return "no host";
    if (sw_host_words(host_, words, sizeof(words))) fail(words);
    return words;
  }

  const Address& host_address() const { return host_address_; }
  Random& random() { return random_; }

 private:
  // Between two looks at whether a run is over.
  static constexpr unsigned kCyclesAtOnce = 64;
  // The longest that the board works on an answer: an ACCEPT of 8,192 bytes, with its cookie.
  static constexpr unsigned kQuietCycles = 16'000;
  static constexpr size_t kPaddedBytes = 64;

  void take_frame(const Bytes& frame) {
    const std::string wrong = truth_.departs(frame);
    if (!wrong.empty()) fail(wrong);
    Data data;
    if (!parse_data(frame, data) && frame[42] >> 4 != 1 && get16(&frame[12]) == 0x0800 &&
        frame[23] == 17)
      fail("a frame of another version");
    // A frame is as long as its IP header says, but for padding: two were not joined.
    const size_t bytes = get16(&frame[12]) == 0x0800 ? 14u + get16(&frame[16]) : frame.size();
    if (frame.size() != bytes && (frame.size() < bytes || frame.size() > kPaddedBytes))
      fail("a frame of " + std::to_string(frame.size()) + " bytes: " + hex(frame));
    if (get16(&frame[12]) == 0x0800 && frame[23] == 17 && !parse_udp(frame))
      fail("a frame that no kernel takes: " + hex(frame));
    if (!spec_.to_network || !spec_.to_network(model_.now_ns(), frame))
      down_.send(model_.now_ns(), frame);
  }

  static std::string hex(const Bytes& frame) {
    std::string words;
    char byte[4];
    for (size_t i = 0; i < frame.size(); ++i) {
      std::snprintf(byte, sizeof(byte), "%02x", frame[i]);
      words += byte;
    }
    return words;
  }

  // A host that waits for an answer that was lost waits 100 ms and longer: millions of cycles in
  // which nothing is to be seen.
  void skip(uint64_t until_ns) {
    if (standing() != SW_OPENING || model_.quiet_cycles() < kQuietCycles) return;
    if (!model_.has_received_all()) return;
    model_.skip_to(std::min({until_ns, host_due_ns_, down_.next_at(), up_.next_at()}));
  }

  void step() {
    const uint64_t now = model_.now_ns();
    while (down_.next_at() <= now) to_socket(down_.take());
    while (up_.next_at() <= now) model_.receive(up_.take());
    if (!host_ || is_stalled(now)) return;
    if (socket_.empty() && now < host_due_ns_) return;
    for (const Bytes& frame : socket_) {
      const auto datagram = parse_udp(frame);
      if (datagram && get16(&frame[36]) == host_address_.port)
        sw_host_handle(host_, now, datagram->data, datagram->len, is_ce(frame));
    }
    socket_.clear();
    socket_used_ = 0;
    sw_host_run(host_, now);
    uint8_t packet[9000];
    while (const size_t len = sw_host_transmit(host_, now, packet, sizeof(packet)))
      up_.send(now, udp_frame(host_address_, spec_.setup.self, packet, len));
    host_due_ns_ = sw_host_timeout(host_, now);
    // A machine that is due at once runs in the next microsecond.
    host_due_ns_ = std::max(host_due_ns_, now + 1000);
  }

  void to_socket(Bytes frame) {
    // The kernel accounts a little more than twice the packet.
    const size_t cost = 2 * frame.size() + 512;
    if (socket_used_ + cost > spec_.socket_bytes) {
      ++socket_drops_;
      return;
    }
    socket_used_ += cost;
    socket_.push_back(std::move(frame));
  }

  bool is_stalled(uint64_t now) {
    if (spec_.stall_every_ns == 0) return false;
    if (now >= next_stall_ns_) {
      stalled_until_ns_ = now + spec_.stall_ns;
      next_stall_ns_ = stalled_until_ns_ + random_.below(2 * spec_.stall_every_ns);
    }
    return now < stalled_until_ns_;
  }

  WorldSpec spec_;
  Random random_;
  Model model_;
  Driver driver_;
  Link down_, up_;
  Truth truth_;
  sw_host* host_ = nullptr;
  Address host_address_{{0x02, 0, 0, 0, 0, 2}, 0x0A400001, 20'000};
  std::vector<Bytes> socket_;
  size_t socket_used_ = 0;
  uint64_t socket_drops_ = 0;
  uint64_t host_due_ns_ = 0, next_stall_ns_ = UINT64_MAX, stalled_until_ns_ = 0;
  std::string fault_;
};

}  // namespace sw

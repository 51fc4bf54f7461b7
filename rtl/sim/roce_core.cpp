// The program of a board whose core writes into a peer's memory by RoCEv2, and with the receiving half
// has memory that the peer writes to (docs/roce.md#a-board).
//
// The connection is exchanged by lines of JSON in files (docs/roce.md#the-exchange-of-connections):
// this board's is printed at the start, the peer's is read when it is there. The peer's Ethernet
// address comes from its ARP requests.

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <optional>

#include "core.hpp"
#include "roce_regs.h"

namespace sw {
namespace {

constexpr uint32_t kCore = 2;
constexpr uint64_t kStepNsMax = 1'000'000;
constexpr size_t kStationsMax = 64;
constexpr unsigned kLooksPerFile = 20;
constexpr uint32_t kQpnMin = 2, kNumberMax = (1 << 24) - 1;
constexpr uint64_t kLineBytesMax = 65'536;
constexpr uint32_t kAckEvery = 16;
constexpr uint32_t kRegionKey = 0x5357'0001;
constexpr uint64_t kRegionAddress = 0x10'0000'0000;

#define SW_NAME(number, name) {number, name},
constexpr Name kRegisters[] = {SW_ROCE_REG_EACH(SW_NAME)};
constexpr Name kCounters[] = {SW_ROCE_COUNTER_EACH(SW_NAME)};
#undef SW_NAME

// What the peer states of itself.
struct Line {
  uint32_t ip, qpn, psn, mtu, rkey;
  uint64_t region_address, region_bytes;
};

// The value of a field of a flat JSON object, without quotes.
std::string field(const std::string& object, const std::string& name) {
  const size_t key = object.find('"' + name + '"');
  size_t at = key == object.npos ? key : object.find_first_not_of(" \t", key + name.size() + 2);
  if (at == object.npos || object[at] != ':')
    throw std::runtime_error("--peer: the line has no field `" + name + "`");
  at = object.find_first_not_of(" \t", at + 1);
  const size_t end = object.find_first_of(",}", at);
  std::string text = object.substr(at, end - at);
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    text = text.substr(1, text.size() - 2);
  return text;
}

uint64_t field_number(const std::string& object, const std::string& name, uint64_t min,
                      uint64_t max) {
  return number("--peer: `" + name + "`", field(object, name), min, max);
}

Line parse_line(const std::string& object) {
  Line line;
  line.ip = parse_ip("--peer", field(object, "address"));
  line.qpn = uint32_t(field_number(object, "qpn", kQpnMin, kNumberMax));
  line.psn = uint32_t(field_number(object, "psn", 0, kNumberMax));
  line.mtu = parse_path_mtu("--peer", field(object, "mtu"));
  line.rkey = uint32_t(field_number(object, "rkey", 0, UINT32_MAX));
  line.region_address = field_number(object, "region_address", 0, UINT64_MAX);
  line.region_bytes = field_number(object, "region_bytes", 0, UINT64_MAX);
  return line;
}

class RoceCore : public Core {
 public:
  RoceCore(Model& model, BoardOptions& options)
      : options_(options), model_(model), driver_(model) {
    if (options.rate_hz) throw std::runtime_error("--rate: the source of --carriage rdma waits");
    if (options.udp_port) throw std::runtime_error("--udp: RoCEv2 needs Ethernet");
    if (options.roce.peer_path.empty())
      throw std::runtime_error("--carriage rdma needs --peer, the file of the peer's line");
    is_full_ = driver_.read(SW_ROCE_REG_RECEIVER) & 1u << SW_ROCE_REG_RECEIVER_IS_FULL_SHIFT;
    if (!is_full_ && !options.roce.out_path.empty())
      throw std::runtime_error("--out: this board was built without the receiving half (FULL=1)");
    if (is_full_) {
      memory_.resize(options.roce.region_bytes);
      model.on_edge = [this](const Vboard&) { receive(); };
    }
    if (!options.roce.line_path.empty()) {
      std::ofstream file(options.roce.line_path);
      if (!(file << own_line() << '\n').flush())
        throw std::runtime_error("--line: cannot write " + options.roce.line_path);
    }
  }

  std::span<const Name> registers() const override { return kRegisters; }
  std::span<const Name> counters() const override { return kCounters; }

  void restart() override {
    if (driver_.read(SW_ROCE_REG_ID) != SW_ROCE_ID_VALUE ||
        driver_.read(SW_ROCE_REG_CORE) != kCore)
      throw std::runtime_error("no samplewire board of RoCEv2 answers");
    const RoceOptions& roce = options_.roce;
    const uint32_t bytes_max = driver_.read(SW_ROCE_REG_MEMORY);
    if (roce.message_bytes == 0 || roce.message_bytes % 8 || roce.message_bytes > bytes_max)
      throw std::runtime_error("--message: " + std::to_string(roce.message_bytes) +
                               " is no multiple of 8 from 8 to " + std::to_string(bytes_max));
    const uint8_t* mac = options_.setup.self.mac;
    driver_.write(SW_ROCE_REG_MAC_LO, get32(mac + 2));
    driver_.write(SW_ROCE_REG_MAC_HI, get16(mac));
    driver_.write(SW_ROCE_REG_IP, options_.setup.self.ip);
    driver_.write_line(options_.setup.line_gbps);
    // The source begins with the connection.
    model_.top().source_beats_i = 0;
    received_ = next_ = 0;
    is_posted_ = false;
    phase_ = Phase::Waiting;
  }

  void look() override {
    if (phase_ == Phase::Waiting) {
      if (looks_++ % kLooksPerFile == 0) read_peer();
      if (peer_) connect();
      return;
    }
    if (phase_ == Phase::Ended) return;
    const uint32_t state = driver_.read(SW_ROCE_REG_STATE);
    if (state & 1u << SW_ROCE_REG_STATE_HAS_FAILED_SHIFT) {
      std::printf("the connection has failed: status %u of the register `state`\n",
                  state >> SW_ROCE_REG_STATE_STATUS_SHIFT & SW_ROCE_REG_STATE_STATUS_MASK);
      end();
      return;
    }
    const uint32_t completed = driver_.read(SW_ROCE_REG_COMPLETED);
    const bool is_done = options_.roce.messages && completed == options_.roce.messages;
    if (is_done || (is_closing_ && completed == driver_.read(SW_ROCE_REG_POSTED))) {
      std::printf("%" PRIu32 " messages written\n", completed);
      if (is_full_) std::printf("%" PRIu64 " messages received\n", received_);
      end();
    }
  }

  void see(const Bytes& frame) override {
    if (frame.size() < 42 || get16(&frame[12]) != 0x0806) return;
    Station station{get32(&frame[28]), {}};
    std::copy(&frame[22], &frame[28], station.mac);
    std::erase_if(stations_, [&](const Station& s) { return s.ip == station.ip; });
    stations_.push_front(station);
    if (stations_.size() > kStationsMax) stations_.pop_back();
  }

  void say_end() override {
    if (options_.roce.out_path.empty()) return;
    std::ofstream file(options_.roce.out_path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(memory_.data()), std::streamsize(memory_.size()));
    if (!file.flush())
      throw std::runtime_error("--out: cannot write " + options_.roce.out_path);
  }

  bool is_open() const override { return phase_ == Phase::Running; }

  const char* state() const override {
    return phase_ == Phase::Waiting ? "waiting" : phase_ == Phase::Running ? "running" : "ended";
  }

  void close() override {
    is_closing_ = true;
    model_.top().source_beats_i = 0;
  }

  void say_start(const Port& port) const override {
    const RoceOptions& roce = options_.roce;
    const char* given = std::getenv("SAMPLEWIRE_BOARD_COMMAND");
    const char* command = given && *given ? given : "samplewire";
    std::printf("board: RoCEv2, %zu bits wide, %s\nline:    %s\n", 8 * Model::kBeatBytes,
                port.words().c_str(), own_line().c_str());
    if (!options_.tap.empty())
      std::printf("receive: %s roce listen --interface %s --ip %s --mtu %u --receives 256 "
                  "--peer %s 2>%s\n", command,
                  options_.tap.c_str(), dotted((options_.setup.self.ip & ~255u) | 1).c_str(), roce.mtu,
                  roce.line_path.empty() ? "FILE" : roce.line_path.c_str(), roce.peer_path.c_str());
  }

  uint64_t step_ns_max() const override { return kStepNsMax; }

 private:
  enum class Phase { Waiting, Running, Ended };
  static constexpr unsigned kReceiveSend = 0, kReceiveWrite = 1;  // roce_pkg::receive_status_e

  struct Station {
    uint32_t ip;
    uint8_t mac[6];
  };

  std::string own_line() const {
    const RoceOptions& roce = options_.roce;
    return "{\"address\":\"" + dotted(options_.setup.self.ip) + "\",\"qpn\":" +
           std::to_string(roce.qpn) + ",\"psn\":" + std::to_string(roce.psn) + ",\"mtu\":" +
           std::to_string(roce.mtu) + ",\"rkey\":" + std::to_string(is_full_ ? kRegionKey : 0) +
           ",\"region_address\":" + std::to_string(is_full_ ? kRegionAddress : 0) +
           ",\"region_bytes\":" + std::to_string(memory_.size()) + "}";
  }

  // The file may hold other text around the object.
  void read_peer() {
    std::ifstream file(options_.roce.peer_path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.size() > kLineBytesMax) throw std::runtime_error("--peer: the file is too long");
    const size_t begin = text.find('{'), end = text.find('}', begin);
    if (begin == text.npos || end == text.npos) return;
    peer_ = parse_line(text.substr(begin, end - begin + 1));
    if (is_full_ && peer_->region_bytes == 0) return;
    if (peer_->region_bytes < options_.roce.message_bytes)
      throw std::runtime_error("--peer: `region_bytes` " + std::to_string(peer_->region_bytes) +
                               " holds no message of " +
                               std::to_string(options_.roce.message_bytes));
  }

  void connect() {
    const auto station = std::find_if(stations_.begin(), stations_.end(),
                                      [&](const Station& s) { return s.ip == peer_->ip; });
    if (station == stations_.end()) return;
    const RoceOptions& roce = options_.roce;
    const uint32_t mtu = std::min(roce.mtu, peer_->mtu);
    const uint32_t mtu_code = uint32_t(__builtin_ctz(mtu)) - 7;
    const uint32_t retry = driver_.read(SW_ROCE_REG_RETRY) & ~SW_ROCE_REG_RETRY_MTU_MASK;
    driver_.write(SW_ROCE_REG_PEER_MAC_LO, get32(station->mac + 2));
    driver_.write(SW_ROCE_REG_PEER_MAC_HI, get16(station->mac));
    driver_.write(SW_ROCE_REG_PEER_IP, peer_->ip);
    driver_.write(SW_ROCE_REG_LOCAL_QP, roce.qpn);
    driver_.write(SW_ROCE_REG_REMOTE_QP, peer_->qpn);
    driver_.write(SW_ROCE_REG_FIRST_PSN, roce.psn);
    driver_.write(SW_ROCE_REG_RETRY, retry | mtu_code);
    driver_.write(SW_ROCE_REG_WINDOW, driver_.read(SW_ROCE_REG_SLOTS) |
                                          kAckEvery << SW_ROCE_REG_WINDOW_ACK_EVERY_SHIFT);
    driver_.write(SW_ROCE_REG_RKEY, peer_->rkey);
    driver_.write64(SW_ROCE_REG_REGION_LO, peer_->region_address);
    driver_.write(SW_ROCE_REG_MESSAGE, roce.message_bytes);
    const uint64_t slots = peer_->region_bytes / roce.message_bytes;
    driver_.write(SW_ROCE_REG_REGION_SLOTS,
                  uint32_t(std::clamp<uint64_t>(slots, 1, UINT32_MAX)));
    if (is_full_) open_region();
    const uint64_t words = roce.message_bytes / 8;
    if (slots) model_.top().source_beats_i = roce.messages ? roce.messages * words : UINT64_MAX;
    driver_.write(SW_ROCE_REG_CONTROL, 1);
    std::printf("connected to %s, queue pair %u, path MTU %u; %" PRIu64 " slots of %u bytes\n",
                dotted(peer_->ip).c_str(), peer_->qpn, mtu, slots, roce.message_bytes);
    std::fflush(stdout);
    phase_ = Phase::Running;
  }

  void open_region() {
    const uint32_t receive = driver_.read(SW_ROCE_REG_RECEIVE) & ~SW_ROCE_REG_RECEIVE_PEER_PSN_MASK;
    driver_.write(SW_ROCE_REG_RECEIVE, receive | peer_->psn);
    driver_.write(SW_ROCE_REG_LOCAL_KEY, kRegionKey);
    driver_.write64(SW_ROCE_REG_LOCAL_REGION_LO, kRegionAddress);
    driver_.write64(SW_ROCE_REG_LOCAL_BYTES_LO, memory_.size());
    driver_.write(SW_ROCE_REG_LOCAL_RIGHTS, 1);
  }

  // Before each edge of the clock: what is written goes to memory; while there is room there, a receive
  // request of one message waits. A SEND uses it up, a WRITE with immediate leaves its memory to the next.
  // So the next request waits for the completion: only then is it known where its memory begins.
  void receive() {
    Vboard& top = model_.top();
    if (top.wr_valid_o) {
      for (unsigned i = 0; i < sizeof(top.wr_data_o); ++i) {
        if (top.wr_keep_o >> i & 1)
          memory_.at(top.wr_addr_o - kRegionAddress + i) = uint8_t(top.wr_data_o >> (8 * i));
      }
    }
    if (top.received_valid_o && top.received_status_o <= kReceiveWrite) {
      ++received_;
      if (top.received_status_o == kReceiveSend) next_ += top.received_bytes_o;
    }
    if (top.received_valid_o) is_posted_ = false;
    top.receive_valid_i = next_ < memory_.size() && !is_posted_;
    if (top.receive_valid_i && top.receive_ready_o) is_posted_ = true;
    top.receive_id_i = uint16_t(received_);
    top.receive_address_i = kRegionAddress + next_;
    top.receive_bytes_i =
        uint32_t(std::min<uint64_t>(options_.roce.message_bytes, memory_.size() - next_));
  }

  void end() {
    std::fflush(stdout);
    phase_ = Phase::Ended;
  }

  BoardOptions& options_;
  Model& model_;
  Driver driver_;
  Phase phase_ = Phase::Waiting;
  bool is_closing_ = false;
  unsigned looks_ = 0;
  bool is_full_ = false;
  Bytes memory_;                        // that the peer may write to
  uint64_t received_ = 0, next_ = 0;    // messages; where the next one's memory begins
  bool is_posted_ = false;              // a receive request is not completed
  std::optional<Line> peer_;
  std::deque<Station> stations_;
};

}  // namespace

std::unique_ptr<Core> make_core(Model& model, BoardOptions& options) {
  if (options.carriage != "rdma")
    throw std::runtime_error("--carriage " + options.carriage + ": this board sends over rdma");
  return std::make_unique<RoceCore>(model, options);
}

}  // namespace sw

// The virtual board: a Verilated sender, its Ethernet on a TAP device, its time the wall's or,
// in slow motion, a fraction of it. What people watch goes by the wall's time.
//
//   board --tap NAME | --unix PATH | --udp PORT [options]; --help lists them

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <ctime>

#include "console.hpp"
#include "core.hpp"
#include "link.hpp"
#include "port.hpp"

namespace sw {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kSecond = 1'000'000'000;
// The clock is read once in so many cycles, the port once in so many of those.
constexpr unsigned kCyclesPerLook = 16;
constexpr unsigned kLooksPerRound = 4;
constexpr size_t kFramesPerRound = 64;
// An idle board sleeps when nothing has moved for so long, at most kSleepMs at a time: timers of the
// program on its cores may be as late.
constexpr uint64_t kQuietNs = 2 * kMillisecond;
constexpr int kSleepMs = 4;
// How long a stream may take to end when the board is asked to.
constexpr uint64_t kPatienceNs = 5 * kSecond;
constexpr int kMtu = 9000;
constexpr std::string_view kNicPrefix = "nic.", kSenderPrefix = "sender.";
constexpr uint64_t kCyclePs = 6400;  // between looks at the clock, where registers are used

volatile sig_atomic_t signals = 0;

uint64_t clock_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * kSecond + uint64_t(time.tv_nsec);
}

LinkSpec faults(const BoardOptions& options) {
  LinkSpec spec;
  spec.delay_ns = 0;
  spec.loss = options.loss;
  spec.corruption = options.corruption;
  spec.mends_all = true;
  return spec;
}

std::unique_ptr<Port> open_port(const BoardOptions& options) {
  if (options.udp_port) return open_udp(*options.udp_port, options.setup.self);
  if (!options.unix_path.empty()) return open_unix(options.unix_path);
  return open_tap(options.tap, kMtu);
}

class Board {
 public:
  explicit Board(const BoardOptions& options)
      : options_(options),
        port_(open_port(options)),
        model_(kCyclePs, 0),
        driver_(model_),
        core_(make_core(model_, options_)),
        down_(faults(options), options.seed),
        up_(faults(options), ~options.seed),
        start_ns_(clock_ns()) {
    if (!options.trace_path.empty() && !model_.trace(options.trace_path))
      throw std::runtime_error("--trace: this board was built without (make -C rtl/sim trace)");
    if (!options.registers_path.empty())
      console_.emplace(options.registers_path, [this](const std::string& line) {
        return answer(line) + "\n";
      });
    model_.on_received = [this](const Bytes&) { received_cycle_ = model_.cycles(); };
    model_.on_frame = [this](const Bytes& frame) {
      moved_ns_ = now_ns_;
      sent_cycle_ = model_.frame_cycle();
      down_.send(model_.now_ns(), frame);
    };
    now_ns_ = moved_ns_ = wall_ns();
    restart();
  }

  void run() {
    core_->say_start(*port_);
    std::fflush(stdout);
    const uint64_t end_ns = options_.seconds ? of_host(options_.seconds * kSecond) : UINT64_MAX;
    while (!is_over(end_ns)) {
      round();
      if (now_ns_ >= look_ns_) look();
      if (is_quiet()) sleep();
    }
    say_end();
  }

 private:
  // By the board's clock, like all times here.
  uint64_t wall_ns() const { return of_host(clock_ns() - start_ns_); }

  // What the board's clock counts in a span of the host's.
  uint64_t of_host(uint64_t span_ns) const { return span_ns / options_.slow; }

  double host_seconds(uint64_t span_ns) const { return double(span_ns * options_.slow) / 1e9; }

  // A simulation that the machine did not run makes up for the time in steps: a converter would
  // have given its samples one by one in between, and in a leap most would find no room.
  void advance() {
    const uint64_t wall = wall_ns();
    now_ns_ = core_->is_open() ? std::min(wall, now_ns_ + core_->step_ns_max()) : wall;
  }

  void restart() {
    model_.reset();
    core_->restart();
  }

  void round() {
    Bytes frame;
    for (size_t i = 0; i < kFramesPerRound && port_->receive(frame); ++i) {
      // As on a wire: there are no shorter frames.
      if (frame.size() < kFrameBytesMin) frame.resize(kFrameBytesMin, 0);
      moved_ns_ = now_ns_;
      core_->see(frame);
      up_.send(now_ns_, std::move(frame));
    }
    while (up_.next_at() <= now_ns_) model_.receive(up_.take());
    for (unsigned i = 0; i < kLooksPerRound; ++i) {
      advance();
      for (unsigned cycle = 0; cycle < kCyclesPerLook; ++cycle) model_.tick_at(now_ns_);
      while (down_.next_at() != UINT64_MAX) port_->send(down_.take());
    }
  }

  // Once a millisecond of the host: state, registers, figures.
  void look() {
    look_ns_ = now_ns_ + of_host(kMillisecond);
    core_->look();
    if (console_) console_->serve();
    if (now_ns_ >= figures_ns_) say_figures();
  }

  // Ends what is open in order before the board goes, unless it is asked twice.
  bool is_over(uint64_t end_ns) {
    if (signals == 0 && now_ns_ < end_ns) return false;
    if (asked_ns_ == 0) {
      asked_ns_ = now_ns_;
      core_->close();
    }
    return !core_->is_open() || signals > 1 || now_ns_ - asked_ns_ > of_host(kPatienceNs);
  }

  bool is_quiet() const {
    return !core_->is_open() && !core_->is_awake() && now_ns_ - moved_ns_ > of_host(kQuietNs) &&
           model_.has_received_all();
  }

  void sleep() {
    std::vector<pollfd> files = {{port_->fd(), POLLIN, 0}};
    if (console_) console_->add_to(files);
    poll(files.data(), nfds_t(files.size()), kSleepMs);
    look_ns_ = 0;
  }

  // Of the core: NAME, sender.NAME or a number.
  uint32_t offset(std::string text) const {
    if (text.starts_with(kSenderPrefix)) text.erase(0, kSenderPrefix.size());
    for (const Name& reg : core_->registers())
      if (text == reg.name) return reg.number;
    return value(text);
  }

  static uint32_t value(const std::string& text) {
    size_t end = 0;
    unsigned long long number = 0;
    try {
      if (text.find('-') == text.npos) number = std::stoull(text, &end, 0);
    } catch (const std::logic_error&) {
      end = 0;
    }
    if (end == 0 || end != text.size() || number > UINT32_MAX)
      throw std::runtime_error("`" + text + "` is no register and no 32-bit number");
    return uint32_t(number);
  }

  // The registers of the NIC have names alone: nic.NAME.
  static bool is_of_nic(const std::string& name) { return name.starts_with(kNicPrefix); }

  [[noreturn]] static void fail_nic(const std::string& name) {
    throw std::runtime_error("`" + name + "` is no register of this board's NIC that may be accessed");
  }

  uint32_t read(const std::string& name) {
    if (!is_of_nic(name)) return driver_.read(offset(name));
    uint32_t value = 0;
    if (!core_->read_nic(name.substr(kNicPrefix.size()), value)) fail_nic(name);
    return value;
  }

  void write(const std::string& name, uint32_t value) {
    if (!is_of_nic(name)) return driver_.write(offset(name), value);
    if (!core_->write_nic(name.substr(kNicPrefix.size()), value)) fail_nic(name);
  }

  // What the console says to a line.
  std::string answer(const std::string& line) {
    char verb[16], first[32], second[32], rest[2];
    const int words = std::sscanf(line.c_str(), "%15s %31s %31s %1s", verb, first, second, rest);
    const std::string name = words > 0 ? verb : "";
    try {
      if (name == "read" && words == 2) {
        char text[16];
        std::snprintf(text, sizeof(text), "0x%08" PRIx32, read(first));
        return text;
      }
      if (name == "write" && words == 3) write(first, value(second));
      else if (name == "counters" && words == 1) return counters("") + core_->nic_counters() + "ok";
      else if (name == "cycles" && words == 1)
        return "received " + std::to_string(received_cycle_) + "\nsent " + std::to_string(sent_cycle_) + "\nok";
      else if (name == "reset" && words == 1) restart();
      else if (name == "close" && words == 1) core_->close();
      else return "error: say read OFFSET, write OFFSET VALUE, counters, cycles, reset or close";
      return "ok";
    } catch (const std::runtime_error& error) {
      return std::string("error: ") + error.what();
    }
  }

  // One line for each counter.
  std::string counters(const char* indent) {
    std::string text;
    driver_.snapshot();
    for (const Name& counter : core_->counters())
      text += std::string(indent) + counter.name + " " +
              std::to_string(driver_.snapshot_value(counter.number)) + "\n";
    return text;
  }

  void say_figures() {
    const double seconds = host_seconds(now_ns_ - figures_start_ns_);
    const MacCounts& mac = model_.mac();
    const bool is_idle = mac.bytes == bytes_;
    if (isatty(STDERR_FILENO) && seconds > 0 && !is_idle) {
      std::fprintf(stderr, "%8.1f s  %5.2f Mcycles/s  %-7s  %8.0f frames/s  %7.2f MB/s\n",
                   host_seconds(now_ns_), double(model_.cycles() - cycles_) / seconds / 1e6,
                   core_->state(), double(mac.frames - frames_) / seconds,
                   double(mac.bytes - bytes_) / seconds / 1e6);
    }
    cycles_ = model_.cycles();
    frames_ = model_.mac().frames;
    bytes_ = model_.mac().bytes;
    figures_start_ns_ = now_ns_;
    figures_ns_ = now_ns_ + of_host(kSecond);
  }

  void say_end() {
    const double seconds = host_seconds(now_ns_);
    std::printf("board: %.1f s, %.1f Mcycles; frames lost %" PRIu64 " down, %" PRIu64
                " up, corrupted %" PRIu64 " down, %" PRIu64 " up\n",
                seconds, double(model_.cycles()) / 1e6, down_.counts().lost, up_.counts().lost,
                down_.counts().corrupted, up_.counts().corrupted);
    std::fputs(counters("  ").c_str(), stdout);
    core_->say_end();
  }

  BoardOptions options_;
  std::unique_ptr<Port> port_;
  Model model_;
  Driver driver_;
  std::unique_ptr<Core> core_;
  Link down_, up_;
  std::optional<Console> console_;
  uint64_t start_ns_, now_ns_ = 0, moved_ns_ = 0, look_ns_ = 0, asked_ns_ = 0;
  // Of the last beat of the frame that came last, and of the first beat of the one that left last.
  uint64_t received_cycle_ = 0, sent_cycle_ = 0;
  uint64_t figures_ns_ = 0, figures_start_ns_ = 0, cycles_ = 0, frames_ = 0, bytes_ = 0;
};

void take_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { signals = signals + 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

std::string dotted(uint32_t ip) {
  char text[16];
  std::snprintf(text, sizeof(text), "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255,
                ip & 255);
  return text;
}

}  // namespace sw

int main(int argc, char** argv) {
  int status = 0;
  const auto options = sw::parse_board_options(argc, argv, status);
  if (!options) return status;
  try {
    sw::take_signals();
    sw::Board(*options).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "board: %s\n", error.what());
    return 2;
  }
  return 0;
}

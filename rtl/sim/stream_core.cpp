// The program of a board whose core sends streams (docs/protocol.md).

#include <sys/random.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "core.hpp"
#include "nic_cores.hpp"

namespace sw {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kSecond = 1'000'000'000;
// Of a source with a rate, in the cycles between two looks at the clock.
constexpr uint64_t kBeatsPerLook = 8;
constexpr uint64_t kStepNsMin = 2'000;
constexpr uint32_t kSampleBytes = 4;
constexpr const char* kStates[] = {"idle", "opening", "flowing", "closing", "ended"};
constexpr uint32_t kFarLoopback = 2;
constexpr unsigned kIdle = 0, kFlowing = 2, kEnded = 4;

#define SW_NAME(number, name) {number, name},
constexpr Name kRegisters[] = {SW_REG_EACH(SW_NAME)};
constexpr Name kCounters[] = {SW_COUNTER_EACH(SW_NAME)};
#undef SW_NAME

uint64_t drawn() {
  uint64_t value = 0;
  if (getrandom(&value, sizeof(value), 0) != sizeof(value))
    throw std::runtime_error("no random numbers");
  return value;
}

constexpr uint64_t kTaiAheadS = 37;  // of UTC, since 2017

uint64_t clock_ns(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return uint64_t(time.tv_sec) * kSecond + uint64_t(time.tv_nsec);
}

// TAI of the host: its kernel's, or UTC + 37 s where that has no offset.
uint64_t host_tai_ns() {
  const uint64_t utc = clock_ns(CLOCK_REALTIME), tai = clock_ns(CLOCK_TAI);
  return tai > utc + kSecond ? tai : utc + kTaiAheadS * kSecond;
}

class StreamCore : public Core {
 public:
  StreamCore(Model& model, BoardOptions& options)
      : options_(options), model_(model), driver_(model) {
    if (!options.nic.program_path.empty()) nic_.emplace(model, options.nic);
    Setup& setup = options_.setup;
    setup.samples_per_ns_q = source_rate_q(options.rate_hz, kSampleBytes);
    setup.rate_hz = source_rate_hz(setup.samples_per_ns_q, kSampleBytes);
    if (setup.rate_hz) {
      const uint64_t beat_ns = Model::kBeatBytes * kSecond / (setup.rate_hz * kSampleBytes);
      step_ns_max_ = std::max(kBeatsPerLook * beat_ns, kStepNsMin);
    }
  }

  std::span<const Name> registers() const override { return kRegisters; }
  std::span<const Name> counters() const override { return kCounters; }

  void restart() override {
    Setup& setup = options_.setup;
    setup.boot_id = options_.boot_id ? *options_.boot_id : drawn();
    setup.secret[0] = drawn();
    setup.secret[1] = drawn();
    if (!nic_ || options_.nic.has_ps) {
      const uint64_t start_ns = model_.now_ns(), tai_ns = host_tai_ns();
      driver_.configure(setup);
      // The source has begun with index 0.
      write_time(tai_ns + options_.slow * (model_.now_ns() - start_ns));
    }
    if (!nic_) return;
    nic_->restart();
    if (options_.nic.mode == "mac")
      driver_.write(SW_REG_CONTROL, driver_.read(SW_REG_CONTROL) |
                                        kFarLoopback << SW_REG_CONTROL_LOOPBACK_SHIFT);
  }

  void look() override { state_ = driver_.read(SW_REG_STATE) & SW_REG_STATE_STATE_MASK; }

  void see(const Bytes&) override {}

  bool is_open() const override { return state_ != kIdle && state_ != kEnded; }

  const char* state() const override { return state_ < 5 ? kStates[state_] : "?"; }

  bool is_awake() const override { return nic_ && nic_->is_awake(); }

  bool read_nic(const std::string& name, uint32_t& value) override {
    return nic_ && nic_->read(name, value);
  }

  bool write_nic(const std::string& name, uint32_t value) override {
    return nic_ && nic_->write(name, value);
  }

  std::string nic_counters() override { return nic_ ? nic_->counters() : std::string(); }

  void close() override {
    if (state_ == kFlowing) driver_.close();
  }

  void say_end() override {
    if (nic_) nic_->say_end();
  }

  void say_start(const Port& port) const override {
    const Setup& setup = options_.setup;
    std::string to = dotted(setup.self.ip) + ":" + std::to_string(setup.self.port);
    if (options_.udp_port) to = "127.0.0.1:" + std::to_string(*options_.udp_port);
    std::printf("board: %zu bits wide, %s, boot id %016" PRIx64 "; ", 8 * Model::kBeatBytes,
                port.words().c_str(), setup.boot_id);
    if (setup.rate_hz)
      std::printf("%" PRIu64 " samples/s\n", setup.rate_hz);
    else
      std::printf("as many samples as there is room for\n");
    // tools/board.sh knows how a program gets to the board's network.
    const char* given = std::getenv("SAMPLEWIRE_BOARD_COMMAND");
    const char* command = given && *given ? given : "samplewire";
    const std::string slow = options_.slow > 1 ? " --slow " + std::to_string(options_.slow) : "";
    if (options_.unix_path.empty())
      std::printf("describe it: %s probe %s\nreceive:     %s record %s%s board.sigmf-data\n",
                  command, to.c_str(), command, to.c_str(), slow.c_str());
    else
      std::printf("the board is %s\n", to.c_str());
  }

  uint64_t step_ns_max() const override { return step_ns_max_; }

 private:
  // Of index 0. Samples that wait for the ring have none.
  void write_time(uint64_t tai_ns) {
    const uint32_t rate_q = options_.setup.samples_per_ns_q;  // 2^-16 bytes a ns
    if (rate_q == 0) return;
    const __int128 period_q48 = (__int128(kSampleBytes * options_.slow) << 64) / rate_q;
    if (period_q48 <= UINT64_MAX) driver_.write_tai(TaiClock{0, tai_ns, uint64_t(period_q48)});
  }

  BoardOptions& options_;
  Model& model_;
  Driver driver_;
  std::optional<NicCores> nic_;
  uint64_t step_ns_max_ = kMillisecond;
  unsigned state_ = kIdle;
};

}  // namespace

std::unique_ptr<Core> make_core(Model& model, BoardOptions& options) {
  if (options.carriage != "udp")
    throw std::runtime_error("--carriage " + options.carriage + ": this board sends over UDP");
  return std::make_unique<StreamCore>(model, options);
}

}  // namespace sw

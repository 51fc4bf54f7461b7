// Runs a program on the soft cores of a simulated board with a NIC, at a wire.
//
//   nic_soc_bench run  IMAGE [--cycles N] [--input TEXT]
//   nic_soc_bench rate IMAGE [--payload N] [--frames N] [--swap 0|1] [--mode 0|1|2]
//   nic_soc_bench rtt  IMAGE [--payload N] [--frames N] [--swap 0|1] [--mode 0|1|2]
//   nic_soc_bench picture IMAGE [--bytes N] [--scheme 3|4] [--burst N] [--gap CYCLES] [--rounds N]
//   nic_soc_bench flood IMAGE --probe swap|block|arp [--ms N] [--seed N]
//
// IMAGE is a flat binary for address 0. Its consoles are printed; its exit code is that of `run`. The
// other commands begin once the program has enabled the MAC. `rate`: an ideal host sends frames as
// fast as the wire allows; the rate is of payload (a frame without its header of 14 bytes) in the
// frames that came back, over the time that they took. `rtt`: a frame at a time, from its first beat
// in to its last beat out; --mode: the NIC's register, 0 through the cores, 1 and 2 its loop-backs.
// `picture`: nic_soc_picture.hpp; by default the host of scheme 4 sends without a gap. `flood`:
// garbage at the wire's rate for so many milliseconds, and then what the program answers, `swap` and
// `block` as the images of these names (nic_soc_flood.hpp).
//
// Time is cycles of the clock: 125 MHz at 1G (a byte a cycle), 156.25 MHz at 10G (8 bytes). Where the
// cores have a clock of their own (CPU_CLOCK=1) it has --cpu-mhz.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "nic_soc_flood.hpp"
#include "nic_soc_model.hpp"
#include "nic_soc_picture.hpp"
#include "nic_soc_wire.hpp"

namespace {

using namespace sw;

struct Options {
  std::vector<uint8_t> program;
  std::vector<unsigned> payloads{64, 128, 256, 512, 1024, 1486};
  uint64_t frames = 0, cycles = 1'000'000;
  unsigned mode = 0, scheme = 3, burst = 16, rounds = 1;
  uint64_t gap = 0;
  size_t bytes = 355'840;
  bool swaps = false;
  std::string probe;
  uint64_t ms = 10, seed = 1;
  double cpu_mhz = 100;
  std::string input;
};

constexpr uint64_t kPatience = 100'000;  // cycles without a frame after which none comes any more
constexpr uint64_t kStart = 10'000'000;

using Source = WireSource<Vsoc, kBeatBytes>;
using Sink = WireSink<Vsoc, kBeatBytes>;

unsigned long long u(uint64_t value) { return value; }

void begin(Soc& soc) {
  if (!soc.starts(kStart)) fail("the program does not enable the MAC", soc.cores.exit_code);
}

int run(const Options& options) {
  Soc soc(options.program, options.cpu_mhz);
  soc.cores.input.assign(options.input.begin(), options.input.end());
  while (!soc.cores.has_ended && soc.now < options.cycles) soc.cycle();
  for (unsigned n = 0; n < kCores; n++)
    std::printf("core %u: %llu of %llu cycles asleep\n", n, u(soc.cores.asleep[n]), u(soc.now));
  if (!soc.cores.has_ended) std::printf("the program has not ended in %llu cycles\n", u(soc.now));
  return soc.cores.has_ended ? int(soc.cores.exit_code) : 124;
}

void rate(const Options& options, unsigned payload) {
  Soc soc(options.program, options.cpu_mhz);
  begin(soc);
  if (options.mode) soc.access(false, SW_NIC_REG_MODE, options.mode);
  const uint64_t count = options.frames ? options.frames : 5'000;
  WireFrames frames;
  frames.bytes = payload + kHeaderBytes;
  frames.swaps = options.swaps && !options.mode;
  Source source(soc.model, frames, [&] { return source.begun < count; });
  Sink sink(soc.model, frames);
  std::vector<bool> seen(count);
  sink.on_frame = [&](uint64_t number) {
    if (number >= count || seen[number]) fail("a frame comes twice", number);
    seen[number] = true;
  };
  uint64_t quiet = 0;
  while (sink.frames < count && quiet < kPatience && !soc.cores.has_ended) {
    const uint64_t before = source.begun + sink.frames;
    soc.cycle(source, sink);
    quiet = source.begun + sink.frames == before ? quiet + 1 : 0;
  }
  if (sink.frames < 2) fail("no frames come back", sink.frames);
  if (sink.gaps) fail("gaps inside frames", sink.gaps);
  const double cycles = double(sink.last_end - sink.first_end) / double(sink.frames - 1);
  const double mbps = payload * 8 * kClockMHz / cycles;
  const double wire_cycles = double(frames.bytes + kWireBytes) / kBeatBytes;
  const double wire = payload * 8 * kClockMHz / wire_cycles;
  const uint64_t dropped = soc.counter(SW_NIC_COUNTER_MAC_RX_DROPPED) + soc.counter(SW_NIC_COUNTER_QUEUE_FULL);
  std::printf("%6u bytes: %8.1f Mb/s of %8.1f (%6.2f %%), a frame per %.2f cycles (wire %.2f); "
              "%llu of %llu frames came back, %llu dropped for lack of room\n",
              payload, mbps, wire, 100 * mbps / wire, cycles, wire_cycles, u(sink.frames), u(count),
              u(dropped));
  std::fflush(stdout);
}

void rtt(const Options& options, unsigned payload) {
  Soc soc(options.program, options.cpu_mhz);
  begin(soc);
  if (options.mode) soc.access(false, SW_NIC_REG_MODE, options.mode);
  const uint64_t count = options.frames ? options.frames : 16;
  WireFrames frames;
  frames.bytes = payload + kHeaderBytes;
  frames.swaps = options.swaps && !options.mode;
  uint64_t allowed = 0, least = ~0ull, most = 0, sum = 0;
  Source source(soc.model, frames, [&] { return source.begun < allowed; });
  Sink sink(soc.model, frames);
  for (uint64_t i = 0; i < count; i++) {
    // Each begins in another phase of what the program does.
    for (uint64_t rest = 0; rest < 2'000 + 7 * i; rest++) soc.cycle(source, sink);
    allowed++;
    for (uint64_t quiet = 0; sink.frames <= i; quiet++) {
      if (quiet > kPatience) fail("a frame does not come back", i);
      soc.cycle(source, sink);
    }
    const uint64_t trip = sink.last_end - source.first_beat + 1;
    least = std::min(least, trip);
    most = std::max(most, trip);
    sum += trip;
  }
  std::printf("%6u bytes: round trip %llu to %llu cycles, mean %.1f = %.3f us\n", payload, u(least),
              u(most), double(sum) / double(count), double(sum) / double(count) / kClockMHz);
  std::fflush(stdout);
}

void picture(const Options& options) {
  Soc soc(options.program, options.cpu_mhz);
  begin(soc);
  PictureHost host(soc, options.bytes, options.burst, options.gap);
  double send = 0, receive = 0, send_least = 1e300, receive_least = 1e300;
  for (unsigned round = 0; round < options.rounds; round++) {
    host.transfer(options.scheme);
    send += double(host.send_cycles) / options.rounds;
    receive += double(host.receive_cycles) / options.rounds;
    send_least = std::min(send_least, double(host.send_cycles));
    receive_least = std::min(receive_least, double(host.receive_cycles));
  }
  const auto mbps = [&](double cycles) { return double(options.bytes) * 8 * kClockMHz / cycles; };
  std::printf("%zu bytes, scheme %u: %.2f/%.2f Mb/s, %.2f pictures/s, most %.2f/%.2f; %llu repeated, "
              "%llu dropped for lack of room\n",
              options.bytes, options.scheme, mbps(send), mbps(receive), 1e6 * kClockMHz / (send + receive),
              mbps(send_least), mbps(receive_least), u(host.repeats),
              u(soc.counter(SW_NIC_COUNTER_MAC_RX_DROPPED) + soc.counter(SW_NIC_COUNTER_QUEUE_FULL)));
}

void flood(const Options& options, Probe probe) {
  Soc soc(options.program, options.cpu_mhz);
  begin(soc);
  FloodHost host(soc, probe, options.seed);
  const double cycles_per_ms = 1'000 * kClockMHz;
  host.flood(uint64_t(double(options.ms) * cycles_per_ms));
  std::printf("%llu ms of garbage, %llu frames, %llu bytes: an answer %.3f ms behind it (%llu sent), all %u "
              "buffers free at %.3f ms; frames: %llu received, %llu filtered, %llu too long, %llu bad, %llu "
              "dropped for lack of room\n",
              u(options.ms), u(host.frames), u(host.bytes), double(host.answer_cycles) / cycles_per_ms,
              u(host.probes), host.free, double(host.buffers_cycles) / cycles_per_ms,
              u(soc.counter(SW_NIC_COUNTER_RECEIVED)), u(soc.counter(SW_NIC_COUNTER_FILTERED)),
              u(soc.counter(SW_NIC_COUNTER_TOO_LONG)),
              u(soc.counter(SW_NIC_COUNTER_BAD) + soc.counter(SW_NIC_COUNTER_MAC_RX_BAD)),
              u(soc.counter(SW_NIC_COUNTER_MAC_RX_DROPPED) + soc.counter(SW_NIC_COUNTER_QUEUE_FULL)));
}

int usage() {
  std::fputs("nic_soc_bench run|rate|rtt|picture|flood IMAGE [--payload N] [--frames N] [--swap 0|1] [--mode 0|1|2]\n"
             "  [--cycles N] [--input TEXT] [--cpu-mhz N] [--bytes N] [--scheme 3|4] [--burst N] [--gap CYCLES]\n"
             "  [--rounds N] [--probe swap|block|arp] [--ms N] [--seed N]\n",
             stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc % 2 == 0) return usage();
  Options options;
  try {
    options.program = read_program(argv[2]);
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "nic_soc_bench: %s\n", error.what());
    return 2;
  }
  for (int i = 3; i < argc; i += 2) {
    const std::string name = argv[i];
    const uint64_t value = std::strtoull(argv[i + 1], nullptr, 0);
    if (name == "--payload") options.payloads = {unsigned(value)};
    else if (name == "--frames") options.frames = value;
    else if (name == "--swap") options.swaps = value;
    else if (name == "--mode") options.mode = unsigned(value);
    else if (name == "--cycles") options.cycles = value;
    else if (name == "--cpu-mhz") options.cpu_mhz = double(value);
    else if (name == "--bytes") options.bytes = value;
    else if (name == "--scheme") options.scheme = unsigned(value);
    else if (name == "--burst") options.burst = unsigned(value);
    else if (name == "--gap") options.gap = value;
    else if (name == "--rounds") options.rounds = unsigned(value);
    else if (name == "--probe") options.probe = argv[i + 1];
    else if (name == "--ms") options.ms = value;
    else if (name == "--seed") options.seed = value;
    else if (name == "--input") options.input = argv[i + 1];
    else return usage();
  }
  const std::string which = argv[1];
  if (which == "run") return run(options);
  if (which != "rate" && which != "rtt" && which != "picture" && which != "flood") return usage();
  if (options.scheme < 3 || options.scheme > 4 || !options.bytes || !options.burst || !options.rounds)
    return usage();
  const char* const probes[] = {"swap", "block", "arp"};
  const auto probe = std::find(std::begin(probes), std::end(probes), options.probe);
  if (which == "flood" && probe == std::end(probes)) return usage();
  std::printf("%u core%s, %s: a clock of %.2f MHz\n", kCores, kCores > 1 ? "s" : "",
              kBeatBytes == 1 ? "1G" : "10G", kClockMHz);
  if (which == "picture") {
    picture(options);
    return 0;
  }
  if (which == "flood") {
    flood(options, Probe(probe - std::begin(probes)));
    return 0;
  }
  for (const unsigned payload : options.payloads)
    which == "rate" ? rate(options, payload) : rtt(options, payload);
  return 0;
}

// The bench of the sender in hardware: scenarios against the Rust receiver, in simulated time.
//
//   bench SCENARIO [--seed N] [--packets N] [--ms N] [--payload BYTES] ...
//
// With --nic, for a board with soft cores (make SOC=1 bench), these run that program beside `throughput`.
// Prints one line of figures a scenario and fails with the seed that replays it.

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <stdexcept>
#include <string>

#include "scenarios.hpp"

namespace {

using sw::Options;

int usage() {
  std::fputs("bench soak|throughput|latency|restarts|resets|domains|flushes|hostile|marks|incast|nic "
             "[--seed N] [--packets N] [--ms N] [--payload BYTES] [--line-gbps N] "
             "[--core-cycles N] [--nic IMAGE]\n", stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, sw::Scenario> scenarios = {
      {"soak", sw::soak},         {"throughput", sw::throughput}, {"latency", sw::latency},
      {"restarts", sw::restarts}, {"hostile", sw::hostile},
      {"resets", sw::resets},     {"flushes", sw::flushes},
      {"domains", sw::domains},   {"marks", sw::marks},         {"incast", sw::incast},
      {"nic", sw::nic},
  };
  if (argc < 2 || !scenarios.count(argv[1])) return usage();
  Options options;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const uint64_t value = std::strtoull(argv[i + 1], nullptr, 0);
    if (name == "--seed") options.seed = value;
    else if (name == "--packets") options.packets = value;
    else if (name == "--ms") options.span_ms = value;
    else if (name == "--payload") options.payload_bytes = uint32_t(value);
    else if (name == "--line-gbps") options.line_gbps = value;
    else if (name == "--nic") options.nic_program = argv[i + 1];
    else if (name == "--core-cycles") options.core_cycles = value;
    else return usage();
  }
  // Of the processor's time, which others on the machine take less of than of the wall's.
  const std::clock_t start = std::clock();
  uint64_t cycles = 0;
  std::string fault;
  try {
    fault = scenarios.at(argv[1])(options, cycles);
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 2;
  }
  const double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  std::printf("  %.1f Mcycles in %.1f s of processor time: %.2f Mcycles/s\n", double(cycles) / 1e6,
              seconds, double(cycles) / 1e6 / seconds);
  if (fault.empty()) return 0;
  std::printf("FAILED: %s\n  replay: %s %s --seed %llu", fault.c_str(), argv[0], argv[1],
              static_cast<unsigned long long>(options.seed));
  for (int i = 2; i + 1 < argc; i += 2)
    if (std::string(argv[i]) != "--seed") std::printf(" %s %s", argv[i], argv[i + 1]);
  std::printf("\n");
  return 1;
}

// Gives a program on the soft cores of a simulated board frames, and prints those that it sends.
//
//   nic_soc_frames IMAGE [sender]
//
// A line of standard input is `HEX CYCLES`: a frame without FCS, or `-` for none, and how long to wait
// for a frame at most. The answer is a line `HEX IN OUT WHOLE`: the frame that left; cycles from the
// first beat in to the last one, from there to the first beat out, and from the first beat in to the
// last one out; or `- NOW` after so many cycles without one. A frame that leaves before it is asked for waits.
// With `sender` the place of the sender's registers has memory in which a sender seems to be; the line
// `sender 0` is answered by its words that are not 0, as `OFFSET:VALUE`. The program's console goes to standard error, and its exit ends the run with its code.

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <string>
#include <vector>

#include "nic_soc_model.hpp"
#include "samplewire_regs.h"

namespace {

using namespace sw;
using Frame = std::vector<uint8_t>;

// Gives a frame to the MAC, a beat a cycle.
struct Source {
  Vsoc& model;
  Frame frame;
  size_t at = 0;
  uint64_t first = 0, last = 0;

  void begin(const Frame& next, uint64_t now) {
    frame = next;
    at = 0;
    first = now;
  }
  void drive(uint64_t now) {
    model.s_axis_tvalid = at < frame.size();
    model.s_axis_tuser = 0;
    if (at >= frame.size()) return;
    const size_t count = std::min<size_t>(kBeatBytes, frame.size() - at);
    uint64_t data = 0;
    for (size_t i = 0; i < count; i++) data |= uint64_t(frame[at + i]) << 8 * i;
    model.s_axis_tdata = data;
    model.s_axis_tkeep = (1u << count) - 1;
    model.s_axis_tlast = at + count == frame.size();
    at += count;
    last = now;
  }
  void after(uint64_t) {}
};

struct Sent {
  Frame frame;
  uint64_t first = 0, last = 0;
};

// Takes what leaves, always ready.
struct Sink {
  Vsoc& model;
  std::deque<Sent> sent;
  Sent open;

  void drive(uint64_t) { model.m_axis_tready = 1; }
  void after(uint64_t now) {
    if (!model.m_axis_tvalid) return;
    if (open.frame.empty()) open.first = now;
    const unsigned count = unsigned(__builtin_popcount(model.m_axis_tkeep));
    for (unsigned i = 0; i < count; i++) open.frame.push_back(uint8_t(uint64_t(model.m_axis_tdata) >> 8 * i));
    if (!model.m_axis_tlast) return;
    open.last = now;
    if (model.m_axis_tuser) fail("a frame is cut", now);
    sent.push_back(std::move(open));
    open = Sent{};
  }
};

Frame parsed(const std::string& hex) {
  Frame frame;
  if (hex == "-") return frame;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    frame.push_back(uint8_t(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return frame;
}

}  // namespace

int main(int argc, char** argv) {
  const bool has_sender = argc == 3 && std::string(argv[2]) == "sender";
  if (argc != 2 && !has_sender) {
    std::fputs("nic_soc_frames IMAGE [sender]\n", stderr);
    return 2;
  }
  std::vector<uint8_t> program;
  try {
    program = read_program(argv[1]);
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "nic_soc_frames: %s\n", error.what());
    return 2;
  }
  Soc soc(program);
  soc.cores.is_quiet = true;
  if (has_sender) {
    soc.sender[SW_REG_ID] = SW_ID_VALUE;
    soc.sender[SW_REG_GEOMETRY] = 8192u << SW_REG_GEOMETRY_SLOT_BYTES_SHIFT | 64;
    soc.sender[SW_REG_SLOTS] = 256;
  }
  if (!soc.starts(10'000'000)) fail("the program does not enable the MAC", soc.cores.exit_code);
  Source source{soc.model, {}};
  Sink sink{soc.model, {}, {}};
  std::string hex;
  for (uint64_t wait; std::cin >> hex >> wait;) {
    if (hex == "sender") {
      for (const auto& [at, word] : soc.sender)
        if (word) std::printf("%x:%x ", at, word);
      std::printf("\n");
      std::fflush(stdout);
      continue;
    }
    if (hex != "-") source.begin(parsed(hex), soc.now);
    for (const uint64_t end = soc.now + wait; sink.sent.empty() && soc.now < end && !soc.cores.has_ended;)
      soc.cycle(source, sink);
    if (soc.cores.has_ended) {
      for (const std::string& text : soc.cores.output) std::fprintf(stderr, "%s\n", text.c_str());
      return int(soc.cores.exit_code);
    }
    if (sink.sent.empty()) {
      std::printf("- %llu\n", static_cast<unsigned long long>(soc.now));
    } else {
      const Sent& out = sink.sent.front();
      for (const uint8_t byte : out.frame) std::printf("%02x", byte);
      std::printf(" %lld %lld %lld\n", static_cast<long long>(source.last - source.first + 1),
                  static_cast<long long>(out.first - source.last),
                  static_cast<long long>(out.last - source.first + 1));
      sink.sent.pop_front();
    }
    std::fflush(stdout);
  }
  return 0;
}

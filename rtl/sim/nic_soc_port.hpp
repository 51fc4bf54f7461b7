// The soft cores of a Verilated board: their program, their consoles and their ends.
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace sw {

constexpr size_t kProgramBytes = 128 << 10;

// Reads a flat binary that starts at address 0.
inline std::vector<uint8_t> read_program(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read the program " + path);
  std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.empty() || bytes.size() > kProgramBytes)
    throw std::runtime_error("the program " + path + " has " + std::to_string(bytes.size()) +
                             " bytes, a core has room for 1 to " + std::to_string(kProgramBytes));
  return bytes;
}

template <class Model>
class SocPort {
 public:
  std::deque<uint8_t> input;  // for the console of core 0
  // What each core has written to its console; lines are printed as they end, unless it is quiet.
  std::vector<std::string> output;
  bool is_quiet = false;
  bool has_ended = false;
  uint32_t exit_code = 0;
  std::vector<uint64_t> asleep;  // cycles that each core slept

  SocPort(Model& model, unsigned cores) : output(cores), asleep(cores), model_(model) {
    model_.run_i = 0;
  }

  // The cores are held in reset, until `run`; `tick` is one cycle.
  template <class Tick>
  void load(const std::vector<uint8_t>& program, Tick tick) {
    model_.run_i = 0;
    tick();
    for (size_t at = 0; at < program.size(); at += 4) {
      uint32_t word = 0;
      for (size_t i = 0; i < 4 && at + i < program.size(); i++)
        word |= uint32_t(program[at + i]) << 8 * i;
      model_.load_i = 1;
      model_.load_word_i = uint32_t(at / 4);
      model_.load_data_i = word;
      tick();
    }
    model_.load_i = 0;
    has_ended = false;
    input.clear();
  }

  void run() { model_.run_i = 1; }

  bool is_asleep() const { return model_.asleep_o == (1u << asleep.size()) - 1; }

  // Before an edge of the clock, behind `after`.
  void drive() {
    model_.console_valid_i = !input.empty();
    model_.console_i = input.empty() ? 0 : input.front();
  }

  // Before an edge of the clock, with the outputs that lead to it.
  void after() {
    if (model_.console_ready_o & model_.console_valid_i & 1) input.pop_front();
    for (unsigned n = 0; n < asleep.size(); n++) {
      asleep[n] += model_.asleep_o >> n & 1;
      if (model_.console_valid_o >> n & 1) print(n, char(uint64_t(model_.console_o) >> 8 * n));
      if (!(model_.exit_valid_o >> n & 1) || has_ended) continue;
      has_ended = true;
      exit_code = word(model_.exit_code_o, n);
    }
  }

 private:
  static constexpr size_t kLineBytesMax = 200;

  void print(unsigned core, char byte) {
    std::string& line = output[core];
    if (byte != '\n' && line.size() < kLineBytesMax) {
      line += byte;
      return;
    }
    if (!is_quiet) std::printf("core %u: %s\n", core, line.c_str());
    std::fflush(stdout);
    line.clear();
  }

  static uint32_t word(uint32_t port, unsigned) { return port; }
  static uint32_t word(uint64_t port, unsigned n) { return uint32_t(port >> 32 * n); }
  template <class Wide>
  static uint32_t word(const Wide& port, unsigned n) { return port[n]; }

  Model& model_;
};

}  // namespace sw

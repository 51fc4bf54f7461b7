// Records a short stream of the board for rtl/legal/replay.sv: a line a cycle, inputs and outputs.
//
//   record FILE
//
// The stream opens, loses packets on the wire, repeats them, gets REPORTs with wrong checksums and
// CRCs, and is closed; then all counters are read. A slow clock keeps the host's timers short in
// cycles.

#include <cstdio>

#include "stream.hpp"

namespace sw {
namespace {

constexpr uint64_t kPackets = 60;
constexpr uint64_t kCyclePs = 64'000;

class Recorder {
 public:
  explicit Recorder(const char* path) : file_(std::fopen(path, "w")) {
    if (!file_) throw std::runtime_error(std::string("cannot write ") + path);
  }
  ~Recorder() { std::fclose(file_); }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Fields in the order of replay.sv, from the highest.
  void write(const Vboard& top) {
    bits(top.time_ns_i, 64);
    bits(top.rst_i << 3 | top.adc_rst_i << 2 | top.mac_tx_rst_i << 1 | top.mac_rx_rst_i, 4);
    bits(top.s_axis_rx_tvalid << 3 | top.s_axis_rx_tlast << 2 | top.s_axis_rx_tuser << 1 |
             top.m_axis_tx_tready, 4);
    beat(top.s_axis_rx_tdata);
    bits(top.s_axis_rx_tkeep, Model::kBeatBytes);
    bits(top.s_axil_awaddr, 12);
    bits(top.s_axil_araddr, 12);
    bits(top.s_axil_wdata, 32);
    bits(top.s_axil_wstrb, 4);
    bits(top.s_axil_awvalid << 4 | top.s_axil_wvalid << 3 | top.s_axil_bready << 2 |
             top.s_axil_arvalid << 1 | top.s_axil_rready, 8);
    // Outputs.
    bits(top.m_axis_tx_tvalid << 1 | top.m_axis_tx_tlast, 4);
    beat(top.m_axis_tx_tdata);
    bits(top.m_axis_tx_tkeep, Model::kBeatBytes);
    bits(top.s_axil_rvalid, 4);
    bits(top.s_axil_rdata, 32);
    std::fputc('\n', file_);
  }

 private:
  void bits(uint64_t value, unsigned count) {
    std::fprintf(file_, "%0*llx_", int(count / 4), static_cast<unsigned long long>(value));
  }

  template <class Port>
  void beat(const Port& port) {
    uint8_t bytes[Model::kBeatBytes];
    get_beat(port, bytes);
    for (size_t i = Model::kBeatBytes; i-- > 0;) std::fprintf(file_, "%02x", bytes[i]);
    std::fputc('_', file_);
  }

  std::FILE* file_;
};

std::string record(const char* path) {
  Recorder recorder(path);
  WorldSpec spec = base(Options{});
  spec.cycle_ps = kCyclePs;
  spec.line_bps = 1'000'000'000;
  spec.down.delay_ns = spec.up.delay_ns = 2'000;
  spec.down.loss = 0.1;
  spec.up.corruption = 0.2;
  spec.setup.tolerance_16ns = 125;
  spec.setup.payload_bytes = 256;
  spec.window_packets = 64;
  spec.on_edge = [&](const Vboard& top) { recorder.write(top); };
  World world(spec);
  if (!start(world, 7)) return world.fault();
  world.run(world.model().now_ns() + kSecond,
            [&] { return world.counts().packets_received >= kPackets; });
  finish(world);
  world.driver().snapshot();
// Not the sync values, of a converter's clock that stands, nor the time, of a cycle of the round.
#define SW_READ(number, name) \
  if ((number) > SW_COUNTER_TIME) world.driver().snapshot_value(number);
  SW_COUNTER_EACH(SW_READ)
#undef SW_READ
  std::printf("recorded: %llu cycles, %llu frames, %llu repeats\n",
              static_cast<unsigned long long>(world.model().cycles()),
              static_cast<unsigned long long>(world.model().mac().frames),
              static_cast<unsigned long long>(world.truth().repeats()));
  if (world.fault().empty() && world.truth().repeats() == 0) return "no packet was repeated";
  if (world.fault().empty() && world.up().counts().corrupted < 2) return "too few wrong REPORTs";
  return world.fault();
}

}  // namespace
}  // namespace sw

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("record FILE\n", stderr), 2;
  const std::string fault = sw::record(argv[1]);
  if (fault.empty()) return 0;
  std::fprintf(stderr, "FAILED: %s\n", fault.c_str());
  return 1;
}

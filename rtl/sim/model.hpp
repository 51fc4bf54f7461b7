// The Verilated board with a MAC model on its Ethernet side and a master on its registers.
//
// All clocks run together (`one_clock.sv`): what is measured in cycles holds for a core clock as
// fast as the MAC's.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "Vboard.h"
#include "frame.hpp"
#include "random.hpp"
#include "verilated.h"
#if VM_TRACE_FST
#include "verilated_fst_c.h"
#endif

namespace sw {

// Wide ports are arrays of 32-bit words, narrow ones are integers.
template <class Port>
void put_beat(Port& port, const uint8_t* bytes, size_t len) {
  std::memset(&port, 0, sizeof(port));
  std::memcpy(&port, bytes, len);
}

template <class Port>
void put_number(Port& port, uint64_t value) {
  port = Port(value);
}

template <class Port>
void get_beat(const Port& port, uint8_t* bytes) {
  std::memcpy(bytes, &port, sizeof(port));
}

// What the transmit side of the MAC saw.
struct MacCounts {
  static constexpr uint64_t kIdleShort = 2;

  uint64_t frames = 0;
  uint64_t bytes = 0;        // of frames, without preamble, gap and FCS
  uint64_t gaps = 0;         // cycles without a beat inside a frame: an underrun of a real MAC
  uint64_t cut = 0;          // frames that ended with tuser
  uint64_t cut_short = 0;    // of these, below 60 bytes
  uint64_t tx_resets = 0, rx_resets = 0;
  uint64_t idle_cycles = 0;  // between frames while the wire was free
  uint64_t idle_max = 0;     // the most between two frames
  uint64_t idle_long = 0;    // how often more than kIdleShort
  uint64_t wire_ps = 0;      // time that the frames took on the wire
};

class Model {
 public:
  static constexpr size_t kBeatBytes = sizeof(Vboard::m_axis_tx_tdata);
  static constexpr uint64_t kOverheadBytes = 24;

  // `cycle_ps` is the clock's period, `line_bps` the MAC's rate; 0 = as fast as the beats come.
  Model(uint64_t cycle_ps, uint64_t line_bps) : cycle_ps_(cycle_ps), line_bps_(line_bps) {
    context_ = std::make_unique<VerilatedContext>();
    top_ = std::make_unique<Vboard>(context_.get());
  }

  ~Model() {
#if VM_TRACE_FST
    if (trace_) trace_->close();
#endif
    top_->final();
  }

  // Writes every signal of every cycle from here on into an FST file; false when it was built without.
  bool trace(const std::string& path) {
#if VM_TRACE_FST
    context_->traceEverOn(true);
    trace_ = std::make_unique<VerilatedFstC>();
    top_->trace(trace_.get(), 99);
    trace_->open(path.c_str());
    return true;
#else
    (void)path;
    return false;
#endif
  }

  void reset(unsigned cycles = 16) {
    // What leaves a board in reset is not a frame.
    auto on_frame_saved = std::move(on_frame);
    on_frame = nullptr;
    set_reset(1);
    for (unsigned i = 0; i < cycles; ++i) tick();
    set_reset(0);
    rx_.clear();
    rx_at_ = 0;
    for (unsigned i = 0; i < cycles; ++i) tick();
    frame_.clear();
    on_frame = std::move(on_frame_saved);
  }

  // The core and the source alone: the MAC goes on, and sees what they leave behind.
  void reset_core(unsigned cycles) {
    set_core_reset(1);
    for (unsigned i = 0; i < cycles; ++i) tick();
    set_core_reset(0);
    for (unsigned i = 0; i < kRestCycles; ++i) tick();
  }

  // Resets each side of the MAC alone from here on, for 1 to 20 cycles, about so often.
  void reset_mac_every(uint64_t cycles, uint64_t seed) {
    resets_random_ = Random(seed);
    tx_reset_.every = rx_reset_.every = cycles;
    tx_reset_.next = resets_random_.below(2 * cycles);
    rx_reset_.next = resets_random_.below(2 * cycles);
  }

  // One cycle, `cycle_ps` long.
  void tick() {
    time_ps_ += cycle_ps_;
    tick_at(time_ps_ / 1000);
  }

  // One cycle at a given time, or as late as the cycle before: for a board whose clock is the wall's.
  void tick_at(uint64_t time_ns) {
    ++cycles_;
    if (time_ns * 1000 > time_ps_) time_ps_ = time_ns * 1000;
    now_ns_ = time_ps_ / 1000;
    top_->time_ns_i = (time_ps_ + cycle_ps_) / 1000;
    drive_resets();
    drive_rx();
    const bool is_ready = !is_tx_reset_ && (line_bps_ == 0 || !frame_.empty() ||
                                            now_ps() >= wire_free_ps_);
    top_->m_axis_tx_tready = is_ready;
    // Only the registers' ports answer within a cycle, and traces show it.
    if (axil_ != Axil::Idle || is_traced()) top_->eval();
    take_tx(is_ready);
    if (top_->samples_taken_o) samples_cycle_ = cycles_;
    dump();
    if (axil_ == Axil::Idle) {
      edge();
    } else {
      take_axil();
    }
    dump();
  }

  // Lets time pass without cycles: the board's timers go by time alone.
  void skip_to(uint64_t time_ns) {
    if (time_ns * 1000 > time_ps_) time_ps_ = time_ns * 1000;
  }

  // Cycles since a frame went either way.
  uint64_t quiet_cycles() const { return cycles_ - std::max(end_cycle_, received_cycle_); }

  uint64_t now_ns() const { return now_ns_; }
  uint64_t cycles() const { return cycles_; }
  const MacCounts& mac() const { return mac_; }
  void clear_mac() { mac_ = MacCounts{}; has_last_ = false; }
  bool has_received_all() const { return rx_.empty(); }
  Vboard& top() { return *top_; }

  // Frames that the board is to receive, in order; bad ones end with tuser.
  void receive(Bytes frame, bool is_bad = false) { rx_.push_back({std::move(frame), is_bad}); }

  // Called with each frame that the board has sent, FCS and padding left out.
  std::function<void(const Bytes&)> on_frame;
  // Called before each edge of the clock, with the inputs that it takes.
  std::function<void(const Vboard&)> on_edge;
  // Called as the last beat of a received frame is handed to the board.
  std::function<void(const Bytes&)> on_received;
  // The cycle of the first beat of the frame that leaves, or left last; of the newest beat of samples.
  uint64_t frame_cycle() const { return frame_cycle_; }
  uint64_t samples_cycle() const { return samples_cycle_; }
  // The last beat of the frame before.
  uint64_t frame_end_cycle() const { return frame_end_cycle_; }

  // Runs cycles until the write is done; false when the answer is an error.
  bool write(uint32_t offset, uint32_t value) {
    start_write(offset, value);
    for (unsigned i = 0; axil_ != Axil::Idle && i < kAxilCyclesMax; ++i) tick();
    return finish();
  }

  bool read(uint32_t offset, uint32_t& value) {
    start_read(offset);
    for (unsigned i = 0; axil_ != Axil::Idle && i < kAxilCyclesMax; ++i) tick();
    value = axil_data_;
    return finish();
  }

 private:
  enum class Axil { Idle, Write, Read };
  static constexpr unsigned kAxilCyclesMax = 100'000;
  // Of a MAC behind its reset, before a frame: more than a gap inside a frame (frame_gate.sv).
  static constexpr unsigned kRestCycles = 16;
  static constexpr uint64_t kCutBytesMin = 60;

  struct Rx {
    Bytes frame;
    bool is_bad;
  };

  uint64_t now_ps() const { return time_ps_; }

  void set_core_reset(int value) {
    top_->rst_i = value;
    top_->adc_rst_i = value;
  }

  void set_reset(int value) {
    set_core_reset(value);
    top_->mac_tx_rst_i = value;
    top_->mac_rx_rst_i = value;
  }

  // A side of the MAC that is reset now and then.
  struct SideReset {
    uint64_t every = 0, next = 0, left = 0;
  };

  // The new level of a side's reset.
  bool drive_reset(SideReset& side, uint64_t& count) {
    if (side.left) --side.left;
    if (side.left == 0 && side.next-- == 0) {
      side.left = 1 + resets_random_.below(20);
      side.next = resets_random_.below(2 * side.every);
      ++count;
    }
    return side.left != 0;
  }

  // The board takes resets a cycle late (one_clock.sv).
  void drive_resets() {
    is_tx_reset_ = top_->mac_tx_rst_i;
    is_rx_reset_ = top_->mac_rx_rst_i;
    if (!tx_reset_.every) return;
    top_->mac_tx_rst_i = drive_reset(tx_reset_, mac_.tx_resets);
    top_->mac_rx_rst_i = drive_reset(rx_reset_, mac_.rx_resets);
  }

  void edge() {
    if (on_edge) on_edge(*top_);
    top_->tick_i = !top_->tick_i;
    top_->eval();
  }

  void drive_rx() {
    // A frame that comes in a reset of the MAC's receive side is lost.
    if (is_rx_reset_) {
      if (rx_at_) rx_.pop_front();
      rx_at_ = 0;
      rx_rest_ = kRestCycles;
    }
    if (rx_.empty() || rx_rest_) {
      if (rx_rest_) --rx_rest_;
      top_->s_axis_rx_tvalid = 0;
      return;
    }
    const Rx& rx = rx_.front();
    const size_t left = rx.frame.size() - rx_at_;
    const size_t len = left < kBeatBytes ? left : kBeatBytes;
    put_beat(top_->s_axis_rx_tdata, &rx.frame[rx_at_], len);
    put_number(top_->s_axis_rx_tkeep, len == 64 ? ~0ull : (1ull << len) - 1);
    top_->s_axis_rx_tvalid = 1;
    top_->s_axis_rx_tlast = left <= kBeatBytes;
    top_->s_axis_rx_tuser = rx.is_bad && left <= kBeatBytes;
    rx_at_ += len;
    if (left <= kBeatBytes) {
      received_cycle_ = cycles_;
      if (on_received) on_received(rx.frame);
      rx_.pop_front();
      rx_at_ = 0;
    }
  }

  void take_tx(bool is_ready) {
    // The MAC forgets the frame that it was given when it is reset.
    if (is_tx_reset_) {
      frame_.clear();
      return;
    }
    if (!top_->m_axis_tx_tvalid) {
      if (!frame_.empty()) {
        ++mac_.gaps;
      } else if (is_ready) {
        ++idle_;
      }
      return;
    }
    if (!is_ready) return;
    if (frame_.empty()) {
      start_ps_ = now_ps();
      if (has_last_) {
        mac_.idle_cycles += idle_;
        if (idle_ > mac_.idle_max) mac_.idle_max = idle_;
        if (idle_ > MacCounts::kIdleShort) ++mac_.idle_long;
      }
      idle_ = 0;
      frame_end_cycle_ = end_cycle_;
      frame_cycle_ = cycles_;
    }
    const uint64_t keep = top_->m_axis_tx_tkeep;
    const size_t len = size_t(__builtin_popcountll(keep));
    uint8_t beat[kBeatBytes];
    get_beat(top_->m_axis_tx_tdata, beat);
    frame_.insert(frame_.end(), beat, beat + len);
    if (top_->m_axis_tx_tlast) end_frame();
  }

  void end_frame() {
    ++mac_.frames;
    mac_.bytes += frame_.size();
    const size_t on_wire = (frame_.size() < kFrameBytesMin ? kFrameBytesMin : frame_.size());
    if (line_bps_) {
      const uint64_t wire_ps = (on_wire + kOverheadBytes) * 8'000'000'000'000ull / line_bps_;
      mac_.wire_ps += wire_ps;
      // A MAC holds a few beats: the wire starts where it left off unless it ran dry.
      wire_free_ps_ = (start_ps_ > wire_free_ps_ + cycle_ps_ ? start_ps_ : wire_free_ps_) + wire_ps;
    }
    has_last_ = true;
    end_cycle_ = cycles_;
    if (top_->m_axis_tx_tuser) {
      ++mac_.cut;
      mac_.cut_short += frame_.size() < kCutBytesMin;
    } else if (on_frame) {
      on_frame(frame_);
    }
    frame_.clear();
  }

  void start_write(uint32_t offset, uint32_t value) {
    axil_ = Axil::Write;
    axil_resp_ = 0;
    put_number(top_->s_axil_awaddr, offset);
    top_->s_axil_awvalid = 1;
    top_->s_axil_wdata = value;
    top_->s_axil_wstrb = 0xF;
    top_->s_axil_wvalid = 1;
    top_->s_axil_bready = 1;
  }

  void start_read(uint32_t offset) {
    axil_ = Axil::Read;
    axil_resp_ = 0;
    put_number(top_->s_axil_araddr, offset);
    top_->s_axil_arvalid = 1;
    top_->s_axil_rready = 1;
  }

  // What is handed over in this cycle, and its edge. The inputs change after that.
  void take_axil() {
    const bool aw = top_->s_axil_awvalid && top_->s_axil_awready;
    const bool w = top_->s_axil_wvalid && top_->s_axil_wready;
    const bool ar = top_->s_axil_arvalid && top_->s_axil_arready;
    const bool b = top_->s_axil_bvalid && top_->s_axil_bready;
    const bool r = top_->s_axil_rvalid && top_->s_axil_rready;
    if (b) axil_resp_ = top_->s_axil_bresp;
    if (r) {
      axil_resp_ = top_->s_axil_rresp;
      axil_data_ = top_->s_axil_rdata;
    }
    edge();
    if (aw) top_->s_axil_awvalid = 0;
    if (w) top_->s_axil_wvalid = 0;
    if (ar) top_->s_axil_arvalid = 0;
    if (b) top_->s_axil_bready = 0;
    if (r) top_->s_axil_rready = 0;
    if (b || r) axil_ = Axil::Idle;
  }

  bool finish() {
    const bool is_done = axil_ == Axil::Idle && axil_resp_ == 0;
    axil_ = Axil::Idle;
    return is_done;
  }

  bool is_traced() const {
#if VM_TRACE_FST
    return trace_ != nullptr;
#else
    return false;
#endif
  }

  void dump() {
#if VM_TRACE_FST
    if (trace_) trace_->dump(trace_at_ += 500);
#endif
  }

  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Vboard> top_;
#if VM_TRACE_FST
  std::unique_ptr<VerilatedFstC> trace_;
  uint64_t trace_at_ = 0;
#endif
  uint64_t cycle_ps_, line_bps_;
  uint64_t time_ps_ = 0, now_ns_ = 0, cycles_ = 0;
  std::deque<Rx> rx_;
  size_t rx_at_ = 0;
  Bytes frame_;
  uint64_t start_ps_ = 0, wire_free_ps_ = 0, idle_ = 0;
  uint64_t frame_cycle_ = 0, frame_end_cycle_ = 0, end_cycle_ = 0, samples_cycle_ = 0,
           received_cycle_ = 0;
  bool has_last_ = false, is_tx_reset_ = false, is_rx_reset_ = false;
  SideReset tx_reset_, rx_reset_;
  unsigned rx_rest_ = 0;
  Random resets_random_{0};
  MacCounts mac_;
  Axil axil_ = Axil::Idle;
  uint32_t axil_data_ = 0, axil_resp_ = 0;
};

}  // namespace sw

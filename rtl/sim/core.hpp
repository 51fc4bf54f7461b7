// What a virtual board's program does with the registers of its core: a sender of streams
// (stream_core.cpp) or of RoCEv2 (roce_core.cpp). One of them is linked into a board.
#pragma once

#include <memory>
#include <span>

#include "board_options.hpp"
#include "driver.hpp"
#include "port.hpp"

namespace sw {

// A register with its offset, or a counter with its entry.
struct Name {
  uint32_t number;
  const char* name;
};

class Core {
 public:
  virtual ~Core() = default;
  virtual std::span<const Name> registers() const = 0;
  virtual std::span<const Name> counters() const = 0;
  // Writes the registers, behind each reset of the model.
  virtual void restart() = 0;
  // Called once a millisecond of the host.
  virtual void look() = 0;
  // Sees each frame that comes to the board.
  virtual void see(const Bytes& frame) = 0;
  // Samples are sent, or wait to be.
  virtual bool is_open() const = 0;
  virtual const char* state() const = 0;
  // Ends what is open, in order.
  virtual void close() = 0;
  virtual void say_start(const Port& port) const = 0;
  // What is left to do in the end.
  virtual void say_end() {}
  // A program runs that the board's cycles may not wait for.
  virtual bool is_awake() const { return false; }
  // A register of the NIC by its name; false where the board has no NIC with cores.
  virtual bool read_nic(const std::string&, uint32_t&) { return false; }
  virtual bool write_nic(const std::string&, uint32_t) { return false; }
  // A line for each counter of that NIC.
  virtual std::string nic_counters() { return {}; }
  // The longest step of the board's clock while it is open.
  virtual uint64_t step_ns_max() const = 0;
};

// Throws std::runtime_error where the options do not fit.
std::unique_ptr<Core> make_core(Model& model, BoardOptions& options);

// An address in dotted form.
std::string dotted(uint32_t ip);

}  // namespace sw

// A dummy processor at the NIC: it fills the free queue, and forwards, drops or keeps what its servers
// receive. It does one thing at a time, each over a port with its handshake.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "nic_frames.hpp"
#include "random.hpp"

namespace sw {

enum Kind : unsigned { kFree, kReceive, kTransmit };
constexpr unsigned kServers = 4;

struct Behaviour {
  double drop = 0;   // chance that a received frame goes to the free queue
  double keep = 0;   // .. stays for a while
  double own = 0;    // chance, in an idle cycle, that it asks for a buffer and gives it back
  uint64_t keep_cycles = 2'000;
  unsigned reserve = 0;  // buffers that it takes out of the free queue
};

template <class Port>
class Processor {
 public:
  Processor(Port& port, uint64_t seed) : random_(seed), port_(port) {}

  Behaviour behaviour;
  unsigned stuck = 0;  // servers that it does not serve, a bit each
  uint64_t forwarded = 0, dropped = 0;
  std::vector<uint32_t> reserve;

  // Buffers to push to the free queue before anything else.
  void give(uint32_t pointer) { fresh_.push_back(pointer); }
  bool is_ready() const { return fresh_.empty() && state_ == kIdle; }
  bool is_resting() const { return state_ == kIdle; }
  // Nothing that it received is left with it.
  bool is_settled() const {
    for (const Kept& kept : kept_)
      if (!kept.is_fresh) return false;
    return fresh_.empty() && (state_ == kIdle || is_fresh_);
  }
  // What found no room in the free queue, or waits to go there.
  uint64_t has() const { return kept_.size(); }
  void forget() {
    fresh_.clear();
    kept_.clear();
    reserve.clear();
    state_ = kIdle;
  }

  void drive(uint64_t now) {
    if (state_ == kIdle) next(now);
    port_.drive();
  }

  void after(uint64_t now) {
    port_.after();
    uint32_t result;
    if (state_ == kIdle || !port_.take(result)) return;
    if (state_ == kPopping) {
      state_ = kIdle;
      if (result & 7) return;  // empty, or memory has failed
      pointer_ = result;
      if (kind_ == kFree && reserve.size() < behaviour.reserve) {
        reserve.push_back(pointer_);
      } else if (random_.chance(behaviour.keep)) {
        kept_.push_back({now + behaviour.keep_cycles, pointer_, is_fresh_});
      } else {
        push(kind_ == kFree || random_.chance(behaviour.drop) ? kFree : kTransmit);
      }
      return;
    }
    if (result != 0 && result != kFull && result != kMemoryFailed)
      fail("a push is refused", result, pointer_);
    (kind_ == kTransmit ? forwarded : dropped) += !is_fresh_;
    // Its queue is full, or memory has failed: to the free queue, after a while.
    if (result != 0) {
      forwarded -= kind_ == kTransmit;
      dropped += kind_ == kTransmit;
      kept_.push_back({now + 100, pointer_, true});
    }
    state_ = kIdle;
  }

 private:
  static constexpr uint32_t kFull = 2, kMemoryFailed = 5;  // results

  enum State { kIdle, kPopping, kPushing };
  struct Kept {
    uint64_t until;
    uint32_t pointer;
    bool is_fresh;
  };

  void next(uint64_t now) {
    is_fresh_ = false;
    if (!fresh_.empty()) {
      pointer_ = fresh_.front();
      fresh_.pop_front();
      is_fresh_ = true;
      return push(kFree);
    }
    if (!kept_.empty() && now >= kept_.front().until) {
      pointer_ = kept_.front().pointer;
      is_fresh_ = kept_.front().is_fresh;
      kept_.pop_front();
      return push(kFree);
    }
    const unsigned waits = port_.interrupts() & ~stuck;
    for (unsigned i = 1; i <= kServers && waits; i++) {
      const unsigned server = (server_ + i) % kServers;
      if (!(waits >> server & 1)) continue;
      server_ = server;
      kind_ = kReceive;
      state_ = kPopping;
      return port_.start(false, kReceive, server, 0);
    }
    if (reserve.size() < behaviour.reserve || random_.chance(behaviour.own)) {
      kind_ = kFree;
      state_ = kPopping;
      is_fresh_ = true;
      port_.start(false, kFree, 0, 0);
    }
  }

  void push(Kind kind) {
    kind_ = kind;
    state_ = kPushing;
    port_.start(true, kind, kind == kFree ? 0 : server_, pointer_);
  }

  Random random_;
  Port& port_;
  State state_ = kIdle;
  Kind kind_ = kFree;
  unsigned server_ = kServers - 1;
  bool is_fresh_ = false;  // its buffer comes from the free queue, or from the program
  uint32_t pointer_ = 0;
  std::deque<uint32_t> fresh_;
  std::deque<Kept> kept_;
};

}  // namespace sw

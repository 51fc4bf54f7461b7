// One call at a time in a stream, whatever threads they come from.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace soapy_samplewire {

using Steady = std::chrono::steady_clock;

/// Serialises calls. Calls that begin or end a stream have priority over those that wait for
/// samples or room: the waiting ones check `is_wanted()`, and give way.
class Turns {
  public:
    /// Returns false if `until` came first.
    bool enter(Steady::time_point until) {
        std::unique_lock<std::mutex> lock(mutex_);
        if (!changed_.wait_until(lock, until, [&] { return !is_taken_ && wanted_ == 0; })) {
            return false;
        }
        is_taken_ = true;
        return true;
    }

    void enter_first() {
        std::unique_lock<std::mutex> lock(mutex_);
        wanted_++;
        changed_.notify_all();
        changed_.wait(lock, [&] { return !is_taken_; });
        wanted_--;
        is_taken_ = is_first_ = true;
    }

    void leave() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            is_taken_ = is_first_ = false;
        }
        changed_.notify_all();
    }

    /// Whether the current call must give way.
    bool is_wanted() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return wanted_ > 0 && !is_first_;
    }

    /// For a call that has nothing to do: until its time is over, or it has to give way.
    void rest(Steady::time_point until) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait_until(lock, until, [&] { return wanted_ > 0; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    unsigned wanted_ = 0;
    bool is_taken_ = false;
    bool is_first_ = false;
};

/// A turn, given back when this is destroyed.
class Turn {
  public:
    /// Of a call that begins or ends the stream.
    explicit Turn(Turns &turns) : turns_(turns), is_had_(true) { turns_.enter_first(); }
    /// Of one that gives way; false when `until` came first.
    Turn(Turns &turns, Steady::time_point until) : turns_(turns), is_had_(turns_.enter(until)) {}
    ~Turn() {
        if (is_had_) {
            turns_.leave();
        }
    }
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;

    explicit operator bool() const { return is_had_; }

  private:
    Turns &turns_;
    bool is_had_;
};

} // namespace soapy_samplewire

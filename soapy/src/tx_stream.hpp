// Transmitting: writes and direct buffers of Soapy into rooms of Samplewire.
#pragma once

#include "stream.hpp"
#include "tx_events.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <optional>

namespace soapy_samplewire {

/// Index is time. A burst begins at the time of its first write, or of the activation, or `lead_ms`
/// after the device's position. Samples without a time follow without a gap; a later time begins a
/// burst there. A burst without a time that is too late begins again `lead_ms` ahead. A burst with
/// a time keeps it, and the device drops late samples.
class TxStream : public Stream {
  public:
    using Stream::Stream;
    ~TxStream() override { close(); }

    int activate(int flags, long long time_ns, std::size_t count) override;
    int deactivate(int flags, long long time_ns) override;
    Readings sensors() const override;
    int write(const void *const *buffers, std::size_t count, int &flags, long long time_ns,
              long timeout_us) override;
    int status(std::size_t &channel_mask, int &flags, long long &time_ns, long timeout_us) override;
    int acquire_write(std::size_t &handle, void **buffers, long timeout_us) override;
    void release_write(std::size_t handle, std::size_t count, int &flags,
                       long long time_ns) override;

  private:
    /// A room that is filled, and how far.
    struct Filling {
        samplewire::room room;
        std::size_t count = 0;
    };

    int place(int flags, long long time_ns, Steady::time_point until);
    int begin_burst(std::optional<std::uint64_t> start, Steady::time_point until);
    std::optional<std::uint64_t> position(Steady::time_point until) const;
    int end_burst(Steady::time_point until);
    int need_room(Steady::time_point until);
    int borrow(std::optional<samplewire::room> &room, Steady::time_point until);
    int send(samplewire::room &room, std::size_t count, int flags, long long time_ns);
    void commit(samplewire::room &room, std::size_t count, bool ends_burst);
    bool is_behind();
    int time_error();
    int broke(const char *what, const std::exception &error);
    void close();
    std::shared_ptr<samplewire::transmitter> transmitter() const;

    /// The lock is for status() and sensors(), which wait for no turn.
    mutable std::mutex mutex_;
    std::shared_ptr<samplewire::transmitter> transmitter_;
    Readings last_;
    TxEvents events_;

    std::optional<Filling> filling_;
    std::array<std::optional<samplewire::room>, DIRECT_BUFFERS> direct_;
    /// The index of the next sample to come, and of the first that was not committed.
    std::uint64_t next_index_ = 0;
    std::uint64_t committed_ = 0;
    std::uint64_t packet_samples_ = 1;
    bool is_in_burst_ = false;
    bool is_timed_ = false;
    /// The next commit begins a burst.
    bool is_start_ = false;
    /// Of the activation, for the first burst.
    std::optional<std::uint64_t> start_index_;
    std::optional<std::uint64_t> left_;
    bool is_broken_ = false;
};

} // namespace soapy_samplewire

// Receiving: blocks of Samplewire as reads and direct buffers of Soapy.
#pragma once

#include "stream.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <optional>

namespace soapy_samplewire {

/// Samples are returned in the order of their indexes. A gap is an OVERFLOW with the time of its
/// first index; the samples after it come with the next call. The samples of one call never span a
/// gap, a jump of the index or the end of a burst.
class RxStream : public Stream {
  public:
    using Stream::Stream;
    ~RxStream() override { close(); }

    int activate(int flags, long long time_ns, std::size_t count) override;
    int deactivate(int flags, long long time_ns) override;
    Readings sensors() const override;
    std::optional<sw_carriage> carriage() const override;
    int read(void *const *buffers, std::size_t count, int &flags, long long &time_ns,
             long timeout_us) override;
    int acquire_read(std::size_t &handle, const void **buffers, int &flags, long long &time_ns,
                     long timeout_us) override;
    void release_read(std::size_t handle) override;

  private:
    /// A block, and its users: this stream, and direct buffers.
    struct Place {
        std::optional<samplewire::block> block;
        unsigned users = 0;
    };
    /// Samples that can be returned.
    struct Run {
        const std::byte *samples;
        std::size_t count;
        std::uint64_t index;
        bool ends_burst;
    };

    int open(std::uint64_t start_index);
    void close();
    void finish();
    int fetch(Steady::time_point until);
    int ready(Steady::time_point until, int &flags, long long &time_ns);
    int report_gap(int &flags, long long &time_ns);
    Run run(std::size_t count_max) const;
    void take(const Run &run);
    void let_go(std::size_t place);
    int give_time(std::uint64_t index, int &flags, long long &time_ns) const;

    const samplewire::block &current() const { return *places_[*current_].block; }
    std::uint64_t next_index() const { return current().index() + position_; }

    /// The lock is for sensors() and carriage(), which wait for no turn.
    mutable std::mutex mutex_;
    std::shared_ptr<samplewire::receiver> receiver_;
    Readings last_;

    std::array<Place, DIRECT_BUFFERS> places_;
    /// The current block, and how many of its samples and gaps were returned.
    std::optional<std::size_t> current_;
    std::size_t position_ = 0;
    std::size_t gaps_reported_ = 0;
    /// The first index to give, and the one after the last.
    std::uint64_t start_index_ = 0;
    std::optional<std::uint64_t> end_index_;
    /// The stream broke, and a call has reported it.
    bool is_broken_ = false;
    bool is_over_ = false;
};

} // namespace soapy_samplewire

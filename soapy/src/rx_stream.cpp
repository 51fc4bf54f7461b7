#include "rx_stream.hpp"

#include <algorithm>

namespace soapy_samplewire {

int RxStream::activate(int flags, long long time_ns, std::size_t count) {
    if ((flags & ~(SOAPY_SDR_HAS_TIME | SOAPY_SDR_END_BURST)) != 0) {
        return SOAPY_SDR_NOT_SUPPORTED;
    }
    const bool has_time = (flags & SOAPY_SDR_HAS_TIME) != 0;
    if (has_time && !terms_.clock.is_known()) {
        return SOAPY_SDR_NOT_SUPPORTED;
    }
    const auto start = terms_.clock.index(time_ns);
    if (has_time && !start) {
        return SOAPY_SDR_TIME_ERROR;
    }
    const Turn turn(turns_);
    close();
    const int opened = open(has_time ? *start : 0);
    if (opened != 0) {
        return opened;
    }
    const std::uint64_t first = receiver_->info().first_index;
    if (has_time && first > *start) {
        failed("activation", "the time has passed, or lies too far ahead");
        close();
        return SOAPY_SDR_TIME_ERROR;
    }
    start_index_ = has_time ? *start : first;
    if (count > 0) {
        end_index_ = start_index_ + std::min<std::uint64_t>(count, SampleClock::INDEX_MAX);
    }
    return 0;
}

/// A device that can only begin now is opened now, and earlier samples are skipped.
int RxStream::open(std::uint64_t start_index) {
    try {
        auto options = terms_.settings.for_receiver(terms_.stream.info.stream);
        options.blocks_max = DIRECT_BUFFERS + 2;
        options.start_index = start_index;
        std::shared_ptr<samplewire::receiver> opened;
        const std::string address = terms_.stream.info.address;
        try {
            opened = std::make_shared<samplewire::receiver>(address, options);
        } catch (const samplewire::error &refusal) {
            if (start_index == 0 || refusal.result() != SW_RESULT_REFUSED_START_INDEX) {
                throw;
            }
            options.start_index = 0;
            opened = std::make_shared<samplewire::receiver>(address, options);
        }
        check_is_as_described(opened->info());
        const std::lock_guard<std::mutex> lock(mutex_);
        receiver_ = std::move(opened);
        return 0;
    } catch (const std::exception &error) {
        return failed("activation", error.what());
    }
}

int RxStream::deactivate(int flags, long long time_ns) {
    if ((flags & ~SOAPY_SDR_HAS_TIME) != 0) {
        return SOAPY_SDR_NOT_SUPPORTED;
    }
    const Turn turn(turns_);
    if (receiver_ && (flags & SOAPY_SDR_HAS_TIME) != 0) {
        const auto end = terms_.clock.index(time_ns);
        if (!end) {
            return SOAPY_SDR_TIME_ERROR;
        }
        end_index_ = end;
        return 0;
    }
    close();
    return 0;
}

void RxStream::close() {
    if (current_) {
        let_go(*std::exchange(current_, std::nullopt));
    }
    end_index_.reset();
    is_broken_ = is_over_ = false;
    if (!receiver_) {
        return;
    }
    // Without its end the last counters are those of some milliseconds ago.
    sw_receiver_close(receiver_->get());
    Readings last = sensors();
    const std::lock_guard<std::mutex> lock(mutex_);
    last_ = std::move(last);
    receiver_.reset();
}

/// Returns no more samples. The stream itself is closed later, when waiting is possible.
void RxStream::finish() {
    if (current_) {
        let_go(*std::exchange(current_, std::nullopt));
    }
    is_over_ = true;
    sw_receiver_cancel(receiver_->get());
}

Readings RxStream::sensors() const {
    std::shared_ptr<samplewire::receiver> receiver;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!receiver_) {
            return last_;
        }
        receiver = receiver_;
    }
    return readings(receiver->stats());
}

std::optional<sw_carriage> RxStream::carriage() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!receiver_) {
        return std::nullopt;
    }
    return static_cast<sw_carriage>(receiver_->info().carriage);
}

/// Makes the next block the current one; there must be none.
int RxStream::fetch(Steady::time_point until) {
    std::size_t place = 0;
    while (place < places_.size() && places_[place].users > 0) {
        place++;
    }
    if (place == places_.size()) {
        return failed("receiving", "all direct buffers are on loan: release some");
    }
    try {
        std::optional<samplewire::block> block;
        do {
            block = receiver_->next(std::min(left(until), PATIENCE));
        } while (!block && receiver_->last() == SW_RESULT_TIMEOUT && !must_return(until));
        if (block) {
            places_[place].block.emplace(std::move(*block));
            places_[place].users = 1;
            current_ = place;
            position_ = gaps_reported_ = 0;
            return 0;
        }
        if (receiver_->last() == SW_RESULT_TIMEOUT) {
            return SOAPY_SDR_TIMEOUT;
        }
        is_over_ = true;
        SoapySDR::logf(SOAPY_SDR_INFO, "Samplewire %s stream %u: the device ended the stream",
                       terms_.stream.info.address, terms_.stream.info.stream);
        return SOAPY_SDR_TIMEOUT;
    } catch (const std::exception &error) {
        is_broken_ = true;
        return failed("receiving", error.what());
    }
}

/// Makes a sample available, or returns a gap, a timeout or an error.
int RxStream::ready(Steady::time_point until, int &flags, long long &time_ns) {
    for (;;) {
        if (!receiver_ || is_over_) {
            return wait(until, SOAPY_SDR_TIMEOUT);
        }
        if (is_broken_) {
            return wait(until, SOAPY_SDR_STREAM_ERROR);
        }
        if (!current_) {
            const int fetched = fetch(until);
            if (fetched != 0) {
                return is_over_ ? wait(until, fetched) : fetched;
            }
        }
        if (gaps_reported_ < current().gaps().size()) {
            const int result = report_gap(flags, time_ns);
            if (result != 0) {
                return result;
            }
            continue;
        }
        const std::uint64_t early = start_index_ - std::min(start_index_, next_index());
        position_ += std::min(early, current().count() - position_);
        if (position_ == current().count()) {
            let_go(*std::exchange(current_, std::nullopt));
        } else if (end_index_ && next_index() >= *end_index_) {
            finish();
        } else {
            return 0;
        }
    }
}

/// Reports the next gap, if it is within the requested range.
int RxStream::report_gap(int &flags, long long &time_ns) {
    const sw_gap &gap = current().gaps()[gaps_reported_++];
    const std::uint64_t first = std::max(gap.first, start_index_);
    const std::uint64_t end = gap.first + gap.count;
    if (end <= first || (end_index_ && first >= *end_index_)) {
        return 0;
    }
    SoapySDR::log(SOAPY_SDR_SSI, "O");
    give_time(first, flags, time_ns);
    if (end_index_ && end >= *end_index_) {
        flags |= SOAPY_SDR_END_BURST;
        finish();
    }
    return SOAPY_SDR_OVERFLOW;
}

/// The next samples of the current block, up to the end of a burst.
RxStream::Run RxStream::run(std::size_t count_max) const {
    const samplewire::block &block = current();
    const std::uint64_t index = next_index();
    std::uint64_t end = block.index() + block.count();
    bool ends_burst = false;
    for (const sw_tag &tag : block.tags()) {
        if (tag.kind == SW_TAG_KIND_END_OF_BURST && tag.index > index && tag.index <= end) {
            end = tag.index;
            ends_burst = true;
        }
    }
    if (end_index_ && *end_index_ <= end) {
        end = *end_index_;
        ends_burst = true;
    }
    const std::size_t count = std::min<std::uint64_t>(count_max, end - index);
    const std::byte *samples =
        block.bytes().data() + position_ * terms_.stream.info.sample_bytes;
    return {samples, count, index, ends_burst && index + count == end};
}

/// Removes returned samples.
void RxStream::take(const Run &run) {
    position_ += run.count;
    if (end_index_ && run.index + run.count >= *end_index_) {
        finish();
    } else if (position_ == current().count()) {
        let_go(*std::exchange(current_, std::nullopt));
    }
}

void RxStream::let_go(std::size_t place) {
    if (--places_[place].users == 0) {
        places_[place].block.reset();
    }
}

int RxStream::give_time(std::uint64_t index, int &flags, long long &time_ns) const {
    time_ns = terms_.clock.time_ns(index);
    flags = terms_.clock.is_known() ? SOAPY_SDR_HAS_TIME : 0;
    return 0;
}

int RxStream::read(void *const *buffers, std::size_t count, int &flags, long long &time_ns,
                   long timeout_us) {
    const bool is_one_packet = (flags & SOAPY_SDR_ONE_PACKET) != 0;
    const auto end = until(timeout_us);
    flags = 0;
    if (are_missing(buffers)) {
        return failed("readStream", "a buffer is missing: give one for each channel");
    }
    if (count == 0) {
        return 0;
    }
    const Turn turn(turns_, end);
    if (!turn) {
        return SOAPY_SDR_TIMEOUT;
    }
    const int is_ready = ready(end, flags, time_ns);
    if (is_ready != 0) {
        return is_ready;
    }
    std::size_t done = 0;
    std::uint64_t index = next_index();
    give_time(index, flags, time_ns);
    for (;;) {
        const Run next = run(std::min<std::size_t>(count, INT32_MAX) - done);
        shuffle_.apart(next.samples, next.count, buffers, done);
        done += next.count;
        index = next.index + next.count;
        flags |= next.ends_burst ? SOAPY_SDR_END_BURST : 0;
        take(next);
        if (is_one_packet && current_) {
            flags |= SOAPY_SDR_MORE_FRAGMENTS;
        }
        if (done == count || next.ends_burst || is_one_packet) {
            return static_cast<int>(done);
        }
        // A result instead of a block is reported again, or stored for the next call.
        if (!current_ && fetch(Steady::now()) != 0) {
            return static_cast<int>(done);
        }
        if (current().count() == 0 || !current().gaps().empty() || current().index() != index) {
            return static_cast<int>(done);
        }
    }
}

int RxStream::acquire_read(std::size_t &handle, const void **buffers, int &flags,
                           long long &time_ns, long timeout_us) {
    if (direct_buffers() == 0) {
        return SOAPY_SDR_NOT_SUPPORTED;
    }
    flags = 0;
    if (buffers == nullptr) {
        return failed("acquireReadBuffer", "the place for the buffer is missing");
    }
    const auto end = until(timeout_us);
    const Turn turn(turns_, end);
    if (!turn) {
        return SOAPY_SDR_TIMEOUT;
    }
    const int is_ready = ready(end, flags, time_ns);
    if (is_ready != 0) {
        return is_ready;
    }
    const Run next = run(INT32_MAX);
    give_time(next.index, flags, time_ns);
    flags |= next.ends_burst ? SOAPY_SDR_END_BURST : 0;
    buffers[0] = next.samples;
    handle = *current_;
    places_[handle].users++;
    take(next);
    return static_cast<int>(next.count);
}

void RxStream::release_read(std::size_t handle) {
    const Turn turn(turns_);
    const bool is_lent = handle < places_.size() &&
                         places_[handle].users > (current_ == handle ? 1U : 0U);
    if (!is_lent) {
        failed("releaseReadBuffer", "this handle is not on loan");
        return;
    }
    let_go(handle);
}

} // namespace soapy_samplewire

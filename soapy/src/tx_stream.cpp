#include "tx_stream.hpp"

#include <algorithm>

namespace soapy_samplewire {

namespace {

/// How long releaseWriteBuffer(), which has no timeout, waits for room to end a burst.
constexpr long END_PATIENCE_US = 1'000'000;

} // namespace

int TxStream::activate(int flags, long long time_ns, std::size_t count) {
    if ((flags & ~(SOAPY_SDR_HAS_TIME | SOAPY_SDR_END_BURST)) != 0) {
        return SOAPY_SDR_NOT_SUPPORTED;
    }
    const bool has_time = (flags & SOAPY_SDR_HAS_TIME) != 0;
    const auto start = terms_.clock.index(time_ns);
    if (has_time && !start) {
        return terms_.clock.is_known() ? SOAPY_SDR_TIME_ERROR : SOAPY_SDR_NOT_SUPPORTED;
    }
    const Turn turn(turns_);
    close();
    try {
        auto opened = std::make_shared<samplewire::transmitter>(
            terms_.stream.info.address,
            terms_.settings.for_transmitter(terms_.stream.info.stream));
        const sw_stream_info info = opened->info();
        check_is_as_described(info);
        events_.begin();
        next_index_ = committed_ = info.first_index;
        packet_samples_ = info.packet_samples;
        const std::lock_guard<std::mutex> lock(mutex_);
        transmitter_ = std::move(opened);
    } catch (const std::exception &error) {
        return failed("activation", error.what());
    }
    if (has_time && *start < next_index_) {
        failed("activation", "the time has passed");
        close();
        return SOAPY_SDR_TIME_ERROR;
    }
    start_index_ = has_time ? start : std::nullopt;
    left_ = count > 0 ? std::optional<std::uint64_t>(count) : std::nullopt;
    return 0;
}

/// Ends the burst that goes on, and waits until the device has played all, `finish_ms` at most.
int TxStream::deactivate(int flags, long long) {
    if (flags != 0) {
        return SOAPY_SDR_NOT_SUPPORTED;
    }
    const Turn turn(turns_);
    if (!transmitter_ || is_broken_) {
        close();
        return 0;
    }
    int result = 0;
    try {
        // The end of the burst may need the rooms of direct buffers.
        for (auto &room : direct_) {
            room.reset();
        }
        const auto end = Steady::now() + std::chrono::nanoseconds(terms_.settings.finish_ns());
        result = end_burst(end);
        // Only then it knows how it went (docs/protocol.md#6.10).
        if (result == 0 && !transmitter_->wait_played(SW_INDEX_NEXT, left(end)) &&
            transmitter_->last() == SW_RESULT_TIMEOUT) {
            result = SOAPY_SDR_TIMEOUT;
        }
        if (result == 0) {
            transmitter_->finish();
            events_.finish(*transmitter_, terms_.clock);
        } else if (result == SOAPY_SDR_TIMEOUT) {
            failed("deactivation", "the device has not played all after finish_ms: the rest is "
                                   "dropped; a longer finish_ms waits for it");
            transmitter_->cancel();
        }
    } catch (const std::exception &error) {
        result = broke("deactivation", error);
    }
    close();
    return result;
}

void TxStream::close() {
    filling_.reset();
    for (auto &room : direct_) {
        room.reset();
    }
    is_in_burst_ = is_timed_ = is_start_ = is_broken_ = false;
    start_index_.reset();
    left_.reset();
    if (!transmitter_) {
        return;
    }
    Readings last = sensors();
    const std::lock_guard<std::mutex> lock(mutex_);
    last_ = std::move(last);
    transmitter_.reset();
}

std::shared_ptr<samplewire::transmitter> TxStream::transmitter() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return transmitter_;
}

Readings TxStream::sensors() const {
    const auto transmitter = this->transmitter();
    if (!transmitter) {
        const std::lock_guard<std::mutex> lock(mutex_);
        return last_;
    }
    return readings(transmitter->stats());
}

int TxStream::broke(const char *what, const std::exception &error) {
    is_broken_ = true;
    return failed(what, error.what());
}

/// The time of samples has passed, or lies before what was sent.
int TxStream::time_error() {
    SoapySDR::log(SOAPY_SDR_SSI, "L");
    events_.push({SOAPY_SDR_TIME_ERROR, SOAPY_SDR_HAS_TIME, terms_.clock.time_ns(next_index_)});
    return SOAPY_SDR_TIME_ERROR;
}

bool TxStream::is_behind() { return events_.look(*transmitter_, terms_.clock); }

/// Places the next sample in a burst, at its time.
int TxStream::place(int flags, long long time_ns, Steady::time_point until) {
    std::optional<std::uint64_t> index;
    if ((flags & SOAPY_SDR_HAS_TIME) != 0) {
        index = terms_.clock.index(time_ns);
        if (!index) {
            return terms_.clock.is_known() ? time_error() : SOAPY_SDR_NOT_SUPPORTED;
        }
        if (*index < next_index_) {
            return time_error();
        }
    }
    const bool is_too_late = is_behind() && is_in_burst_ && !is_timed_;
    if (is_in_burst_ && (is_too_late || (index && *index != next_index_))) {
        const int ended = end_burst(until);
        if (ended != 0) {
            return ended;
        }
    }
    if (is_in_burst_) {
        return 0;
    }
    return begin_burst(index ? index : std::exchange(start_index_, std::nullopt), until);
}

/// The index that the device plays; nothing until it has reported one.
std::optional<std::uint64_t> TxStream::position(Steady::time_point until) const {
    const auto patience = std::min<std::chrono::nanoseconds>(
        left(until), std::chrono::nanoseconds(terms_.settings.timeout_ns()));
    try {
        return index_now(terms_.stream, static_cast<std::uint64_t>(patience.count()));
    } catch (const samplewire::error &) {
        // While nothing comes a device reports every 100 ms (docs/protocol.md#4.5).
        const std::uint64_t reported = transmitter_->stats().position_of_peer;
        return reported == 0 ? std::nullopt
                             : std::make_optional(reported + terms_.clock.samples_in(100'000'000));
    }
}

int TxStream::begin_burst(std::optional<std::uint64_t> start, Steady::time_point until) {
    is_timed_ = start.has_value();
    if (!start) {
        const auto now = position(until);
        if (!now) {
            return SOAPY_SDR_TIMEOUT;
        }
        // A device has to have two packets before it can play the first.
        const std::uint64_t lead = std::max<std::uint64_t>(
            terms_.clock.samples_in(terms_.settings.lead_ns()), 2 * packet_samples_);
        start = *now + lead;
    }
    next_index_ = committed_ = std::max(*start, next_index_);
    events_.burst_begins(next_index_);
    is_in_burst_ = is_start_ = true;
    return 0;
}

/// `SOAPY_SDR_TIMEOUT` when there is no room to say so.
int TxStream::end_burst(Steady::time_point until) {
    if (!is_in_burst_) {
        return 0;
    }
    // Nothing was sent of it since it was begun, or begun again.
    if (!filling_ && is_start_) {
        is_in_burst_ = is_start_ = false;
        events_.burst_ends(committed_);
        return 0;
    }
    const int has_room = need_room(until);
    if (has_room == 0) {
        commit(filling_->room, filling_->count, true);
        filling_.reset();
    }
    return has_room;
}

int TxStream::need_room(Steady::time_point until) {
    if (filling_) {
        return 0;
    }
    std::optional<samplewire::room> room;
    const int result = borrow(room, until);
    if (result == 0) {
        filling_.emplace(Filling{std::move(*room)});
    }
    return result;
}

int TxStream::borrow(std::optional<samplewire::room> &room, Steady::time_point until) {
    do {
        room = transmitter_->begin(std::min(left(until), PATIENCE));
        if (room) {
            return 0;
        }
        if (transmitter_->last() != SW_RESULT_TIMEOUT) {
            is_broken_ = true;
            return failed("transmission", "the device ended the stream");
        }
    } while (!must_return(until));
    return SOAPY_SDR_TIMEOUT;
}

/// A partial packet ends a burst on the wire; the next samples continue at the next index.
void TxStream::commit(samplewire::room &room, std::size_t count, bool ends_burst) {
    const std::uint32_t flags = (is_start_ ? SW_SEND_START : 0) |
                                (ends_burst ? SW_SEND_END_OF_BURST : 0);
    room.commit(count, committed_, flags);
    committed_ += count;
    is_start_ = false;
    if (ends_burst) {
        is_in_burst_ = false;
        events_.burst_ends(committed_);
    }
}

int TxStream::write(const void *const *buffers, std::size_t count, int &flags, long long time_ns,
                    long timeout_us) {
    const auto end = until(timeout_us);
    const Turn turn(turns_, end);
    if (!turn) {
        return SOAPY_SDR_TIMEOUT;
    }
    if (!transmitter_) {
        return wait(end, SOAPY_SDR_TIMEOUT);
    }
    if (is_broken_) {
        return wait(end, SOAPY_SDR_STREAM_ERROR);
    }
    if (left_ == 0U) {
        return wait(end, SOAPY_SDR_TIMEOUT);
    }
    if (count > 0 && are_missing(buffers)) {
        return failed("writeStream", "a buffer is missing: give one for each channel");
    }
    std::size_t done = 0;
    try {
        count = std::min<std::size_t>(count, INT32_MAX);
        bool ends_burst = (flags & SOAPY_SDR_END_BURST) != 0;
        if (left_ && *left_ <= count) {
            count = *left_;
            ends_burst = true;
        }
        if (count == 0) {
            return ends_burst ? end_burst(end) : 0;
        }
        const int placed = place(flags, time_ns, end);
        if (placed != 0) {
            return placed;
        }
        while (done < count) {
            const int has_room = need_room(end);
            if (has_room != 0) {
                return done > 0 ? static_cast<int>(done) : has_room;
            }
            const std::size_t room_count = filling_->room.count_max();
            const std::size_t now = std::min(count - done, room_count - filling_->count);
            std::byte *to = filling_->room.samples<std::byte>().data() +
                            filling_->count * terms_.stream.info.sample_bytes;
            shuffle_.together(buffers, done, now, to);
            filling_->count += now;
            done += now;
            next_index_ += now;
            if (left_) {
                *left_ -= now;
            }
            const bool is_last = ends_burst && done == count;
            if (filling_->count == room_count || is_last) {
                commit(filling_->room, filling_->count, is_last);
                filling_.reset();
            }
        }
        return static_cast<int>(done);
    } catch (const std::exception &error) {
        const int result = broke("transmission", error);
        return done > 0 ? static_cast<int>(done) : result;
    }
}

int TxStream::status(std::size_t &channel_mask, int &flags, long long &time_ns, long timeout_us) {
    const auto end = until(timeout_us);
    channel_mask = (std::size_t(1) << terms_.picked.size()) - 1;
    for (;;) {
        const auto transmitter = this->transmitter();
        if (transmitter) {
            events_.look(*transmitter, terms_.clock);
        }
        // The end of a burst is seen in the counters, which are as of some milliseconds ago.
        const auto patience = std::min<std::chrono::nanoseconds>(left(end), std::chrono::milliseconds(2));
        if (const auto event = events_.next(patience)) {
            flags = event->flags;
            time_ns = event->time_ns;
            return event->result;
        }
        if (left(end).count() == 0) {
            return SOAPY_SDR_TIMEOUT;
        }
    }
}

int TxStream::acquire_write(std::size_t &handle, void **buffers, long timeout_us) {
    if (direct_buffers() == 0) {
        return SOAPY_SDR_NOT_SUPPORTED;
    }
    const auto end = until(timeout_us);
    const Turn turn(turns_, end);
    if (!turn) {
        return SOAPY_SDR_TIMEOUT;
    }
    if (!transmitter_) {
        return wait(end, SOAPY_SDR_TIMEOUT);
    }
    if (is_broken_) {
        return wait(end, SOAPY_SDR_STREAM_ERROR);
    }
    if (buffers == nullptr) {
        return failed("acquireWriteBuffer", "the place for the buffer is missing");
    }
    const auto free = std::find(direct_.begin(), direct_.end(), std::nullopt);
    if (free == direct_.end()) {
        return failed("acquireWriteBuffer", "all direct buffers are on loan: release some");
    }
    try {
        const int result = borrow(*free, end);
        if (result != 0) {
            return result;
        }
    } catch (const std::exception &error) {
        return broke("transmission", error);
    }
    handle = static_cast<std::size_t>(free - direct_.begin());
    buffers[0] = (*free)->samples<std::byte>().data();
    return static_cast<int>((*free)->count_max());
}

void TxStream::release_write(std::size_t handle, std::size_t count, int &flags, long long time_ns) {
    const Turn turn(turns_);
    if (handle >= direct_.size() || !direct_[handle]) {
        failed("releaseWriteBuffer", "this handle is not on loan");
        return;
    }
    auto room = *std::exchange(direct_[handle], std::nullopt);
    int result = 0;
    try {
        result = send(room, count, flags, time_ns);
    } catch (const std::exception &error) {
        result = broke("transmission", error);
    }
    // This call returns nothing, so the events carry the result; a time error is there already.
    if (result != 0 && result != SOAPY_SDR_TIME_ERROR) {
        events_.push({SOAPY_SDR_STREAM_ERROR, 0, 0});
    }
}

/// A direct buffer, filled.
int TxStream::send(samplewire::room &room, std::size_t count, int flags, long long time_ns) {
    const auto end = until(END_PATIENCE_US);
    bool ends_burst = (flags & SOAPY_SDR_END_BURST) != 0;
    if (count > room.count_max() || (left_ && count > *left_)) {
        return failed("releaseWriteBuffer", "there are more samples than the buffer has room for, or "
                                            "than the activation was for: none is sent");
    }
    if (count == 0) {
        return ends_burst ? end_burst(end) : 0;
    }
    // Samples that were written before come first.
    if (filling_) {
        commit(filling_->room, filling_->count, false);
        filling_.reset();
    }
    const int placed = place(flags, time_ns, end);
    if (placed == SOAPY_SDR_TIMEOUT || placed == SOAPY_SDR_NOT_SUPPORTED) {
        failed("releaseWriteBuffer", placed == SOAPY_SDR_TIMEOUT
                                         ? "no room to end the burst before: none is sent"
                                         : "the device has no rate, so no times: none is sent");
    }
    if (placed != 0) {
        return placed;
    }
    if (left_) {
        *left_ -= count;
        ends_burst |= *left_ == 0;
    }
    next_index_ += count;
    commit(room, count, ends_burst);
    return 0;
}

} // namespace soapy_samplewire

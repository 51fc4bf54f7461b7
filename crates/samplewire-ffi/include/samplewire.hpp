// Samplewire for C++17: what samplewire.h has, owned by objects that free it.
//
// A failure is thrown as samplewire::error. What belongs to the life of a stream is not one: a wait
// that is over gives nothing, and so does a stream that has ended or was cancelled. docs/c.md says how
// it is used.
#ifndef SAMPLEWIRE_HPP
#define SAMPLEWIRE_HPP

#include "samplewire.h"

#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace samplewire {

using nanoseconds = std::chrono::nanoseconds;

/// No timeout.
inline constexpr nanoseconds forever = nanoseconds::max();

/// A call that failed: its number, and a text with the values and what to do next.
class error : public std::runtime_error {
  public:
    error(sw_result result, const std::string &text)
        : std::runtime_error(std::string(sw_result_str(result)) + ": " + text), result_(result) {}

    sw_result result() const noexcept { return result_; }

  private:
    sw_result result_;
};

namespace detail {

inline bool is_failure(sw_result result) noexcept {
    return result != SW_RESULT_OK && result != SW_RESULT_TIMEOUT && result != SW_RESULT_END &&
           result != SW_RESULT_CANCELLED;
}

/// Throws a failure; returns any other result.
inline sw_result checked(sw_result result) {
    if (is_failure(result)) {
        throw error(result, sw_last_error());
    }
    return result;
}

inline std::uint64_t timeout_ns(nanoseconds timeout) noexcept {
    if (timeout == forever) {
        return SW_FOREVER;
    }
    return timeout.count() < 0 ? 0 : static_cast<std::uint64_t>(timeout.count());
}

/// A struct of the library that contains its size.
template <class T> T sized() noexcept {
    T value{};
    value.struct_size = sizeof(T);
    return value;
}

/// A name that is freed once.
template <class T, sw_result (*Free)(T *)> class handle {
  public:
    handle() noexcept = default;
    handle(handle &&other) noexcept : name_(std::exchange(other.name_, nullptr)) {}
    handle &operator=(handle &&other) noexcept {
        std::swap(name_, other.name_);
        return *this;
    }
    handle(const handle &) = delete;
    handle &operator=(const handle &) = delete;
    ~handle() { Free(name_); }

    T *get() const noexcept { return name_; }
    T **out() noexcept { return &name_; }

  private:
    T *name_ = nullptr;
};

} // namespace detail

/// Consecutive values that another object owns; std::span of C++20 accepts it.
template <class T> class view {
  public:
    constexpr view() noexcept = default;
    constexpr view(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t position) const noexcept { return data_[position]; }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/// Borrowed samples, which are returned on destruction or release, in any thread and in any order.
class block {
  public:
    explicit block(const sw_block &loan) noexcept : loan_(loan) {}
    block(block &&other) noexcept : loan_(other.loan_) { other.loan_.handle = 0; }
    block &operator=(block &&other) noexcept {
        std::swap(loan_, other.loan_);
        return *this;
    }
    block(const block &) = delete;
    block &operator=(const block &) = delete;
    ~block() {
        if (loan_.handle != 0) {
            sw_block_release(&loan_);
        }
    }

    /// Returns the samples; gaps and tags stay.
    void release() {
        loan_.samples = nullptr;
        loan_.len_bytes = 0;
        loan_.count = 0;
        if (loan_.handle != 0) {
            sw_block going = std::exchange(loan_, without_loan());
            detail::checked(sw_block_release(&going));
        }
    }

    /// The samples as `T`: `std::complex<std::int16_t>` for sc16 and so on.
    template <class T> view<const T> samples() const {
        static_assert(std::is_trivially_copyable_v<T>);
        if (loan_.len_bytes % sizeof(T) != 0) {
            throw error(SW_RESULT_ARGUMENT, "the block is no whole number of such samples");
        }
        return {static_cast<const T *>(loan_.samples), loan_.len_bytes / sizeof(T)};
    }

    view<const std::byte> bytes() const noexcept {
        return {static_cast<const std::byte *>(loan_.samples), loan_.len_bytes};
    }
    std::uint64_t index() const noexcept { return loan_.index; }
    std::uint64_t count() const noexcept { return loan_.count; }
    view<const sw_gap> gaps() const noexcept { return {loan_.gaps, loan_.gaps_len}; }
    view<const sw_tag> tags() const noexcept { return {loan_.tags, loan_.tags_len}; }

  private:
    sw_block without_loan() const noexcept {
        sw_block rest = loan_;
        rest.handle = 0;
        return rest;
    }

    sw_block loan_;
};

struct receiver_options : sw_receiver_options {
    receiver_options() { detail::checked(sw_receiver_options_init(this, sizeof *this)); }
};

struct transmitter_options : sw_transmitter_options {
    transmitter_options() { detail::checked(sw_transmitter_options_init(this, sizeof *this)); }
};

struct device_options : sw_device_options {
    device_options() { detail::checked(sw_device_options_init(this, sizeof *this)); }
};

/// The receiving end of a stream.
class receiver {
  public:
    explicit receiver(const std::string &address, const receiver_options &options = {}) {
        detail::checked(sw_receiver_open(address.c_str(), &options, name_.out()));
    }

    /// The next block; nothing after `timeout`, or at the end of the stream: `last()` says which.
    std::optional<block> next(nanoseconds timeout = forever) {
        sw_block loan = detail::sized<sw_block>();
        last_ = detail::checked(sw_receiver_next(name_.get(), detail::timeout_ns(timeout), &loan));
        return last_ == SW_RESULT_OK ? std::optional<block>(loan) : std::nullopt;
    }

    /// Copies into a buffer of `T`s; see sw_receiver_read.
    template <class T>
    std::optional<block> read(view<T> buffer, sw_format format = SW_FORMAT_AS_SENT,
                              nanoseconds timeout = forever) {
        static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>);
        sw_block filled = detail::sized<sw_block>();
        last_ = detail::checked(sw_receiver_read(name_.get(), buffer.data(),
                                                 buffer.size() * sizeof(T), format,
                                                 detail::timeout_ns(timeout), &filled));
        return last_ == SW_RESULT_OK ? std::optional<block>(filled) : std::nullopt;
    }

    /// The result of the last `next` or `read`: SW_RESULT_OK, _TIMEOUT, _END or _CANCELLED.
    sw_result last() const noexcept { return last_; }
    /// Whether the stream has ended.
    bool is_over() const noexcept {
        return last_ == SW_RESULT_END || last_ == SW_RESULT_CANCELLED;
    }

    sw_stream_info info() const {
        auto info = detail::sized<sw_stream_info>();
        detail::checked(sw_receiver_get_info(name_.get(), &info));
        return info;
    }
    sw_receiver_stats stats() const {
        auto stats = detail::sized<sw_receiver_stats>();
        detail::checked(sw_receiver_get_stats(name_.get(), &stats));
        return stats;
    }
    sw_end end() const {
        auto end = detail::sized<sw_end>();
        detail::checked(sw_receiver_get_end(name_.get(), &end));
        return end;
    }
    /// The granted real-time options.
    std::string granted() const {
        char text[1024];
        detail::checked(sw_receiver_get_granted(name_.get(), text, sizeof text));
        return text;
    }

    /// Works in any thread, but not in a signal handler.
    void cancel() { detail::checked(sw_receiver_cancel(name_.get())); }
    /// Ends the stream; the counters are then final.
    void close() { detail::checked(sw_receiver_close(name_.get())); }
    sw_receiver *get() const noexcept { return name_.get(); }

  private:
    detail::handle<sw_receiver, sw_receiver_free> name_;
    sw_result last_ = SW_RESULT_OK;
};

/// The same indexes of several streams, or a gap of one of them. It points into its `aligned`, and
/// is valid until the next call that receives.
class aligned_block {
  public:
    explicit aligned_block(const sw_aligned_block &block) noexcept : block_(block) {}

    /// Whether this is a gap: then there are no samples, and `gap` names the missing ones.
    bool is_gap() const noexcept { return block_.count == 0; }
    const sw_gap &gap() const noexcept { return block_.gap; }
    /// The number of the stream with the gap.
    std::uint32_t gap_stream() const noexcept { return block_.gap_stream; }

    std::uint64_t index() const noexcept { return block_.index; }
    std::uint64_t count() const noexcept { return block_.count; }
    /// Number of streams with samples.
    std::size_t size() const noexcept { return is_gap() ? 0 : block_.streams_len; }

    /// The samples of the stream at `position`, in the order of the opening.
    template <class T> view<const T> samples(std::size_t position) const {
        static_assert(std::is_trivially_copyable_v<T>);
        const sw_stream_samples &stream = at(position);
        if (stream.len_bytes % sizeof(T) != 0) {
            throw error(SW_RESULT_ARGUMENT, "the block is no whole number of such samples");
        }
        return {static_cast<const T *>(stream.samples), stream.len_bytes / sizeof(T)};
    }
    view<const sw_tag> tags(std::size_t position) const {
        const sw_stream_samples &stream = at(position);
        return {stream.tags, stream.tags_len};
    }

  private:
    const sw_stream_samples &at(std::size_t position) const {
        if (position >= size()) {
            throw error(SW_RESULT_ARGUMENT, "the block has no stream at this position");
        }
        return block_.streams[position];
    }

    sw_aligned_block block_;
};

/// The receiving end of several streams of one device that begin at one index.
class aligned {
  public:
    aligned(const std::string &address, const std::vector<std::uint16_t> &streams,
            const receiver_options &options = {}) {
        detail::checked(sw_aligned_open(address.c_str(), streams.data(), streams.size(), &options,
                                        name_.out()));
    }

    /// The next samples or gap; nothing after `timeout`, or at the end of the streams: `last()`
    /// says which.
    std::optional<aligned_block> next(nanoseconds timeout = forever) {
        auto block = detail::sized<sw_aligned_block>();
        last_ = detail::checked(sw_aligned_next(name_.get(), detail::timeout_ns(timeout), &block));
        return last_ == SW_RESULT_OK ? std::make_optional<aligned_block>(block) : std::nullopt;
    }

    /// The result of the last `next`: SW_RESULT_OK, _TIMEOUT, _END or _CANCELLED.
    sw_result last() const noexcept { return last_; }
    /// Whether the streams have ended.
    bool is_over() const noexcept {
        return last_ == SW_RESULT_END || last_ == SW_RESULT_CANCELLED;
    }

    sw_stream_info info(std::size_t position) const {
        auto info = detail::sized<sw_stream_info>();
        detail::checked(sw_aligned_get_info(name_.get(), position, &info));
        return info;
    }
    sw_receiver_stats stats(std::size_t position) const {
        auto stats = detail::sized<sw_receiver_stats>();
        detail::checked(sw_aligned_get_stats(name_.get(), position, &stats));
        return stats;
    }
    sw_end end() const {
        auto end = detail::sized<sw_end>();
        detail::checked(sw_aligned_get_end(name_.get(), &end, nullptr));
        return end;
    }
    /// The granted real-time options.
    std::string granted() const {
        char text[1024];
        detail::checked(sw_aligned_get_granted(name_.get(), text, sizeof text));
        return text;
    }

    /// Works in any thread, but not in a signal handler.
    void cancel() { detail::checked(sw_aligned_cancel(name_.get())); }
    /// Ends the streams; the counters are then final.
    void close() { detail::checked(sw_aligned_close(name_.get())); }
    sw_aligned *get() const noexcept { return name_.get(); }

  private:
    detail::handle<sw_aligned, sw_aligned_free> name_;
    sw_result last_ = SW_RESULT_OK;
};

/// Memory to fill with samples, borrowed from a transmitter, which must outlive it. Uncommitted
/// memory is discarded.
class room {
  public:
    room(sw_transmitter *owner, const sw_room &loan) noexcept : owner_(owner), loan_(loan) {}
    room(room &&other) noexcept : owner_(other.owner_), loan_(other.loan_) {
        other.loan_.handle = 0;
    }
    room &operator=(room &&other) noexcept {
        std::swap(owner_, other.owner_);
        std::swap(loan_, other.loan_);
        return *this;
    }
    room(const room &) = delete;
    room &operator=(const room &) = delete;
    ~room() {
        if (loan_.handle != 0) {
            sw_transmitter_discard(owner_, &loan_);
        }
    }

    template <class T> view<T> samples() const noexcept {
        static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>);
        return {static_cast<T *>(loan_.samples), loan_.len_bytes / sizeof(T)};
    }
    /// Number of samples, each with all channels.
    std::uint64_t count_max() const noexcept { return loan_.count_max; }

    /// Sends the first `count`; `flags` combine SW_SEND_START and SW_SEND_END_OF_BURST.
    void commit(std::uint64_t count, std::uint64_t index = SW_INDEX_NEXT, std::uint32_t flags = 0) {
        detail::checked(sw_transmitter_commit(owner_, &loan_, count, index, flags));
    }

  private:
    sw_transmitter *owner_;
    sw_room loan_;
};

/// The sending end of a stream to a device that plays.
class transmitter {
  public:
    explicit transmitter(const std::string &address, const transmitter_options &options = {}) {
        detail::checked(sw_transmitter_open(address.c_str(), &options, name_.out()));
    }

    /// A room to fill; nothing after `timeout`, or at the end of the stream: `last()` says which.
    std::optional<room> begin(nanoseconds timeout = forever) {
        sw_room loan = detail::sized<sw_room>();
        last_ =
            detail::checked(sw_transmitter_begin(name_.get(), detail::timeout_ns(timeout), &loan));
        return last_ == SW_RESULT_OK ? std::make_optional<room>(name_.get(), loan) : std::nullopt;
    }

    /// Copies `count` samples, each with all channels; returns how many were accepted in time.
    std::uint64_t write(const void *samples, std::uint64_t count,
                        std::uint64_t index = SW_INDEX_NEXT, std::uint32_t flags = 0,
                        nanoseconds timeout = forever) {
        std::uint64_t written = 0;
        last_ = detail::checked(sw_transmitter_write(name_.get(), samples, count, index, flags,
                                                     detail::timeout_ns(timeout), &written));
        return written;
    }

    /// Waits until the device has played everything before `index`; returns whether it did in time.
    bool wait_played(std::uint64_t index = SW_INDEX_NEXT, nanoseconds timeout = forever) {
        last_ = detail::checked(
            sw_transmitter_wait_played(name_.get(), index, detail::timeout_ns(timeout)));
        return last_ == SW_RESULT_OK;
    }
    /// Waits until the device has acknowledged everything; returns whether it did in time.
    bool wait_acknowledged(nanoseconds timeout = forever) {
        last_ = detail::checked(
            sw_transmitter_wait_acknowledged(name_.get(), detail::timeout_ns(timeout)));
        return last_ == SW_RESULT_OK;
    }
    /// The next late packets or underflow of the device; nothing after `timeout`, or at the end of
    /// the stream. Unlike the other calls, it works in any thread while another one sends. So it
    /// does not change `last()`.
    std::optional<sw_play_event> next_event(nanoseconds timeout = nanoseconds(0)) const {
        auto event = detail::sized<sw_play_event>();
        auto result = detail::checked(
            sw_transmitter_next_event(name_.get(), detail::timeout_ns(timeout), &event));
        return result == SW_RESULT_OK ? std::make_optional(event) : std::nullopt;
    }
    /// Ends the stream after all sent samples, and waits until the device has them.
    void finish() { last_ = detail::checked(sw_transmitter_finish(name_.get())); }

    /// The result of the last call that waits: SW_RESULT_OK, _TIMEOUT, _END or _CANCELLED.
    sw_result last() const noexcept { return last_; }

    sw_stream_info info() const {
        auto info = detail::sized<sw_stream_info>();
        detail::checked(sw_transmitter_get_info(name_.get(), &info));
        return info;
    }
    sw_transmitter_stats stats() const {
        auto stats = detail::sized<sw_transmitter_stats>();
        detail::checked(sw_transmitter_get_stats(name_.get(), &stats));
        return stats;
    }
    sw_end end() const {
        auto end = detail::sized<sw_end>();
        detail::checked(sw_transmitter_get_end(name_.get(), &end));
        return end;
    }
    /// The granted real-time options.
    std::string granted() const {
        char text[1024];
        detail::checked(sw_transmitter_get_granted(name_.get(), text, sizeof text));
        return text;
    }

    /// Works in any thread, but not in a signal handler.
    void cancel() { detail::checked(sw_transmitter_cancel(name_.get())); }
    sw_transmitter *get() const noexcept { return name_.get(); }

  private:
    detail::handle<sw_transmitter, sw_transmitter_free> name_;
    sw_result last_ = SW_RESULT_OK;
};

/// A device in software, for tests.
class device {
  public:
    explicit device(const device_options &options = {}) {
        detail::checked(sw_device_new(&options, name_.out()));
    }

    std::string address() const {
        char address[SW_TEXT_BYTES];
        detail::checked(sw_device_get_address(name_.get(), address, sizeof address));
        return address;
    }

  private:
    detail::handle<sw_device, sw_device_free> name_;
};

/// The devices on the local networks; see sw_find.
inline std::vector<sw_stream_info> find(std::uint16_t port = 0,
                                        nanoseconds patience = std::chrono::milliseconds(500)) {
    detail::handle<sw_devices, sw_devices_free> list;
    detail::checked(sw_find(port, detail::timeout_ns(patience), list.out()));
    std::size_t len = 0;
    detail::checked(sw_devices_len(list.get(), &len));
    std::vector<sw_stream_info> devices(len, detail::sized<sw_stream_info>());
    for (std::size_t position = 0; position < len; position++) {
        detail::checked(sw_devices_get(list.get(), position, &devices[position]));
    }
    return devices;
}

/// A device's description of a stream; see sw_probe.
inline sw_stream_info probe(const std::string &address, std::uint16_t stream = 0,
                            nanoseconds timeout = std::chrono::seconds(3)) {
    auto info = detail::sized<sw_stream_info>();
    detail::checked(sw_probe(address.c_str(), stream, detail::timeout_ns(timeout), &info));
    return info;
}

/// A device's stream as it would be over RDMA; see sw_probe_rdma.
struct rdma_probe {
    sw_stream_info info;
    sw_rdma_probe rdma;
};

inline rdma_probe probe_rdma(const std::string &address, std::uint16_t stream = 0,
                             nanoseconds timeout = std::chrono::seconds(3)) {
    rdma_probe probe{detail::sized<sw_stream_info>(), detail::sized<sw_rdma_probe>()};
    detail::checked(sw_probe_rdma(address.c_str(), stream, detail::timeout_ns(timeout), &probe.info,
                                  &probe.rdma));
    return probe;
}

} // namespace samplewire

#endif

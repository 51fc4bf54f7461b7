// Samplewire's C interface; docs/c.md says how it is used.
//
// Written by cbindgen from crates/samplewire-ffi: change it there.
//
// Every function but those that give a text or a version returns a sw_result. A pointer argument
// must not be NULL where it is not said, and is then SW_RESULT_NULL. A struct begins with
// struct_size, which the caller sets to its sizeof, so that structs can grow. No function may be
// called from a signal handler. What takes more than its size is SW_RESULT_ROOM; where nothing
// comes within timeout_ns it is SW_RESULT_TIMEOUT. To free NULL is allowed; what was freed before is
// SW_RESULT_STALE.

#ifndef SAMPLEWIRE_H
#define SAMPLEWIRE_H

#include <stddef.h>
#include <stdint.h>

// Wait without an end: a timeout in nanoseconds.
#define SW_FOREVER UINT64_MAX

// Gaps of one block at most; more come with a block of their own.
#define SW_GAPS_MAX 4

// Tags of one block at most.
#define SW_TAGS_MAX 8

// Bytes of a text in a struct, its zero byte included. Longer ones are cut.
#define SW_TEXT_BYTES 64

// The index after that of the last sample.
#define SW_INDEX_NEXT UINT64_MAX

// The index is set on purpose: a burst begins. Without this an index has to follow the last.
#define SW_SEND_START 1

// The last of these samples ends a burst. Less than a whole room does so too.
#define SW_SEND_END_OF_BURST 2

// What a call came to. Numbers are never reused; later versions may add some.
typedef enum sw_result {
    // It did what it says.
    SW_RESULT_OK = 0,
    // The time that was given is over, and nothing came. Not an error.
    SW_RESULT_TIMEOUT = 1,
    // The stream has ended and everything before its end has been given. Not an error.
    SW_RESULT_END = 2,
    // The object was cancelled from another thread. Not an error.
    SW_RESULT_CANCELLED = 3,
    // A pointer that must not be NULL is.
    SW_RESULT_NULL = 10,
    // A struct's `struct_size` is not one that this version can use.
    SW_RESULT_STRUCT_SIZE = 11,
    // An argument is out of range; the text names it.
    SW_RESULT_ARGUMENT = 12,
    // The object was freed, the block released, the room committed, or it never was one.
    SW_RESULT_STALE = 13,
    // Another thread is in a call on this object that only one thread at a time may be in.
    SW_RESULT_BUSY = 14,
    // As many blocks, or rooms, as there are places for are on loan: give some back.
    SW_RESULT_TOO_MANY_LOANS = 15,
    // The buffer is too small; the text says how much is needed.
    SW_RESULT_ROOM = 16,
    // It has not happened yet: the stream is open.
    SW_RESULT_STILL_OPEN = 17,
    // The library is at fault: a panic was caught. The object it was in cannot be used any more.
    SW_RESULT_PANIC = 18,
    // An error that this version of the interface has no number for; the text says more.
    SW_RESULT_OTHER = 19,
    // The device's address does not resolve.
    SW_RESULT_RESOLVE = 100,
    // The link failed.
    SW_RESULT_LINK = 101,
    // Nothing answered.
    SW_RESULT_NO_ANSWER = 102,
    // The device sends a format that this version does not know.
    SW_RESULT_FORMAT = 103,
    // The device's terms contradict each other.
    SW_RESULT_OFFER = 104,
    // Streams that were to be read in line are not of one clock, or of one kind.
    SW_RESULT_APART = 105,
    // A stream does not begin at the index at which it was asked to.
    SW_RESULT_START = 106,
    // A term is out of range.
    SW_RESULT_TERMS = 107,
    // An option is out of range.
    SW_RESULT_OPTION_RANGE = 108,
    // Real-time options are out of range, or contradict each other.
    SW_RESULT_REAL_TIME = 109,
    // The memory cannot be had.
    SW_RESULT_POOL = 110,
    // The port has room for no more streams.
    SW_RESULT_PORT_FULL = 111,
    // The port has failed, or was closed.
    SW_RESULT_PORT_GONE = 112,
    // The operating system refused a thread or randomness.
    SW_RESULT_SYSTEM = 113,
    // Two choices exclude each other; the text says which, and what to do instead.
    SW_RESULT_CONTRADICTION = 114,
    // A stream was named more than once.
    SW_RESULT_STREAM_TWICE = 115,
    // The device refused: another owner has the stream.
    SW_RESULT_REFUSED_BUSY = 121,
    // The device refused: it has no stream of that number.
    SW_RESULT_REFUSED_NO_SUCH_STREAM = 122,
    // The device refused: the stream goes the other way.
    SW_RESULT_REFUSED_ROLE = 123,
    // The device refused: the samples of a packet do not fit the size that the path carries.
    SW_RESULT_REFUSED_PACKET_SIZE = 124,
    // The device refused: it does not speak the version.
    SW_RESULT_REFUSED_VERSION = 125,
    // The device refused: the window is too small.
    SW_RESULT_REFUSED_WINDOW = 126,
    // The device refused: it cannot give the samples as wished.
    SW_RESULT_REFUSED_FORMAT = 127,
    // The device refused: the delivery is not offered.
    SW_RESULT_REFUSED_DELIVERY = 128,
    // The device refused: the trailer is not offered.
    SW_RESULT_REFUSED_TRAILER = 129,
    // The device refused: the start index has passed or is too far away.
    SW_RESULT_REFUSED_START_INDEX = 130,
    // The device refused for a reason of a later version.
    SW_RESULT_REFUSED = 131,
    // The stream broke: the peer closed it before it was over; see `sw_end.close_reason`.
    SW_RESULT_CLOSED_BY_PEER = 141,
    // The stream broke: the peer restarted, or gave the stream to another.
    SW_RESULT_PEER_RESTARTED = 142,
    // The stream broke: nothing was heard for the time after which a peer is dead.
    SW_RESULT_PEER_SILENT = 143,
    // The stream broke: more than half of all departures were repeats for too long.
    SW_RESULT_CIRCUIT_BREAKER = 144,
    // The stream broke: the peer broke a rule without which samples cannot be placed.
    SW_RESULT_VIOLATION = 145,
    // The I/O thread broke; the text says why.
    SW_RESULT_PORT = 146,
    // A stream of several aligned ones broke off: it set its index on purpose, apart from the others.
    SW_RESULT_STREAMS_APART = 147,
} sw_result;

// Why samples were not delivered.
typedef enum sw_cause {
    // The source lost them before they became packets.
    SW_CAUSE_SOURCE_OVERFLOW = 0,
    // They were not repaired within the deadline.
    SW_CAUSE_DEADLINE = 1,
    // The sender no longer holds them.
    SW_CAUSE_GONE_AT_SENDER = 2,
    // Best effort: nobody asked for them.
    SW_CAUSE_NEVER_ASKED = 3,
    // This host did not take them from its socket in time.
    SW_CAUSE_RECEIVER_BEHIND = 4,
} sw_cause;

// How complete the delivery is.
typedef enum sw_delivery {
    // Nothing is skipped that the sender still holds.
    SW_DELIVERY_COMPLETE = 0,
    // A packet is given up when it has been missing for `deadline_ns`.
    SW_DELIVERY_DEADLINE = 1,
    // Nothing is asked for again.
    SW_DELIVERY_BEST_EFFORT = 2,
} sw_delivery;

// Sample formats. Integers and floats are little-endian; of a complex sample I comes first.
typedef enum sw_format {
    // As the device sends it.
    SW_FORMAT_AS_SENT = 0,
    // Complex, signed 8 bits each.
    SW_FORMAT_SC8 = 1,
    // Complex, signed 16 bits each.
    SW_FORMAT_SC16 = 2,
    // Complex, 32-bit floats.
    SW_FORMAT_FC32 = 3,
    // Real, signed 8 bits.
    SW_FORMAT_R8 = 4,
    // Real, signed 16 bits.
    SW_FORMAT_R16 = 5,
    // Real, 32-bit floats.
    SW_FORMAT_RF32 = 6,
    // Complex, unsigned 8 bits each with the zero at 127.5.
    SW_FORMAT_UC8 = 7,
} sw_format;

// What happened to samples that a device was to play.
typedef enum sw_play_event_kind {
    // Of a later version.
    SW_PLAY_EVENT_KIND_UNKNOWN = 0,
    // Packets came after their time, and were not played.
    SW_PLAY_EVENT_KIND_LATE = 1,
    // Samples were not there at their time, and zeros were played, or the stream ended.
    SW_PLAY_EVENT_KIND_UNDERFLOW = 2,
} sw_play_event_kind;

// What a tag says.
typedef enum sw_tag_kind {
    // Of a later version.
    SW_TAG_KIND_UNKNOWN = 0,
    // The index was set on purpose: a stream or a burst begins.
    SW_TAG_KIND_START = 1,
    // The sample before the tag's index is the last of a burst.
    SW_TAG_KIND_END_OF_BURST = 2,
    // The source lost samples just before the tag's index: `value` says how many.
    SW_TAG_KIND_OVERFLOW = 3,
    // The centre frequency changed: `value` is in hertz.
    SW_TAG_KIND_FREQUENCY = 4,
    // The gain changed: `value` is in decibels.
    SW_TAG_KIND_GAIN = 5,
    // The sample rate changed: `value` is in hertz.
    SW_TAG_KIND_RATE = 6,
    // A block of a circuit did not pass on samples just before the tag's index: `value` says how
    // many.
    SW_TAG_KIND_GAP = 7,
    // A sync word ends in the byte at the tag's index: `value` is the bit, from the highest, 0, to
    // the lowest, 7.
    SW_TAG_KIND_SYNC = 8,
} sw_tag_kind;

// What a device that plays does when samples are not there in time.
typedef enum sw_underflow {
    // It plays zeros, keeps the grid, and drops what comes late.
    SW_UNDERFLOW_ZEROS = 0,
    // It ends the stream.
    SW_UNDERFLOW_STOP = 1,
} sw_underflow;

// How the I/O thread and the program wait for what comes.
typedef enum sw_waits {
    // Both sleep until there is something.
    SW_WAITS_ASLEEP = 0,
    // The I/O thread looks without a pause, and takes a CPU for itself.
    SW_WAITS_SPINNING = 1,
    // The program's thread does so too, while it waits.
    SW_WAITS_BOTH_SPINNING = 2,
    // There is no I/O thread: the program's calls send, receive and repair.
    SW_WAITS_INLINE = 3,
} sw_waits;

// Several streams of one device that begin at one index. One thread at a time may be in
// `sw_aligned_next`.
typedef struct sw_aligned sw_aligned;

// A device in software: it sends a counter, or plays into a file. Any thread may use it.
typedef struct sw_device sw_device;

// The devices that were found. Any thread may read it.
typedef struct sw_devices sw_devices;

// The receiving end of a stream. One thread at a time may be in `sw_receiver_next` or `_read`.
typedef struct sw_receiver sw_receiver;

// The sending end of a stream. One thread at a time may be in the functions that send or wait.
typedef struct sw_transmitter sw_transmitter;

// Options of a receiver. `sw_receiver_options_init` sets all of them to their defaults.
typedef struct sw_receiver_options {
    // `sizeof(sw_receiver_options)`; `sw_receiver_options_init` sets it.
    size_t struct_size;
    // A `sw_delivery`; default complete.
    uint32_t delivery;
    // Packets that may be on the way or wait for a repair, 1 to 2^24; default 1024.
    uint32_t window;
    // With `SW_DELIVERY_DEADLINE`: how long a packet may be missing.
    uint64_t deadline_ns;
    // The device's stream; default -1: its first that sends.
    int32_t stream;
    // The largest IP packet to ask for, 576 to 9000; default 9000, or what the first hop takes.
    uint32_t mtu_bytes;
    // The index of the first sample to come; default 0: that of now.
    uint64_t start_index;
    // Names this program: the same owner takes a stream over at once. Default 0: one is drawn.
    uint64_t owner;
    // How long to try to open, 1 ms to 1 h; default 3 s.
    uint64_t timeout_ns;
    // The socket's receive buffer in bytes; default 0: what the window takes.
    uint64_t receive_buffer_bytes;
    // The CPU that the I/O thread stays on; default -1: where the system puts it.
    int32_t cpu;
    // Its priority under SCHED_FIFO, 1 to 99; default 0: as any other thread.
    uint32_t priority;
    // 1 keeps the memory of the process in memory; default 0.
    uint32_t lock_memory;
    // 1 asks for huge pages; default 0.
    uint32_t huge_pages;
    // How late timers of the I/O thread may end, up to 1 s; default 0: as the system sets it.
    uint64_t timer_slack_ns;
    // A `sw_waits`; default asleep.
    uint32_t waits;
    // Blocks that may be on loan at once, 1 to 65536; default 1024. The window bounds their memory.
    uint32_t blocks_max;
    // How long an idle I/O thread rests, up to 10 ms; default 0: the next packet wakes it.
    uint64_t coalesce_ns;
} sw_receiver_options;

// A stream of a device.
typedef struct sw_stream_info {
    // Set it to `sizeof(sw_stream_info)` before the call.
    size_t struct_size;
    // The device's address, as `sw_receiver_open` takes it.
    char address[SW_TEXT_BYTES];
    // The stream's name, possibly empty.
    char name[SW_TEXT_BYTES];
    // The stream's number.
    uint32_t stream;
    // How many streams the device has.
    uint32_t streams;
    // Names the device's run: indexes are comparable within one.
    uint64_t boot_id;
    // A `sw_format`.
    uint32_t format;
    // Channels, interleaved sample by sample.
    uint32_t channels;
    // Sample rate in hertz; 0 when the device does not know it.
    double rate_hz;
    // The same exactly: this over `rate_denominator`.
    uint64_t rate_numerator;
    // See `rate_numerator`.
    uint32_t rate_denominator;
    // Whether the device stated `centre_frequency_hz`: 0 or 1.
    uint32_t has_centre_frequency;
    // Centre frequency in hertz.
    double centre_frequency_hz;
    // The value of a part of a sample that counts as 1.0.
    double full_scale;
    // Bytes of one sample of all channels.
    uint32_t sample_bytes;
    // Samples (of all channels each) in a packet.
    uint32_t packet_samples;
    // Payload of a packet in bytes.
    uint32_t payload_bytes;
    // Packets that the device holds for repair.
    uint32_t window;
    // The index of the first sample to come.
    uint64_t first_index;
    // The largest IP packet that was shown to arrive, headers included, in bytes.
    uint32_t path_mtu_bytes;
    // The version of the protocol.
    uint32_t protocol_version;
    // Round-trip time of the opening in nanoseconds.
    uint64_t rtt_ns;
    // Memory that this end took for the stream in bytes; 0 where it was not opened.
    uint64_t memory_bytes;
} sw_stream_info;

// Counters of a receiver, as of some milliseconds ago; after the end, the final ones.
typedef struct sw_receiver_stats {
    // Set it to `sizeof(sw_receiver_stats)` before the call.
    size_t struct_size;
    // DATA packets of this stream with a right CRC, duplicates included.
    uint64_t received;
    // DATA packets delivered in order.
    uint64_t delivered;
    // Samples delivered.
    uint64_t samples_delivered;
    // Samples missing, of every cause.
    uint64_t samples_missing;
    // Samples missing by `sw_cause`; those lost at the source count as source overflow.
    uint64_t gap_samples[5];
    // Gap events.
    uint64_t gaps;
    // Packets that were missing and came as a retransmission.
    uint64_t repaired;
    // Packets that were missing and came by themselves.
    uint64_t reordered;
    // Packets that were there already.
    uint64_t duplicates;
    // Packets that came after they had been given up.
    uint64_t late;
    // Packets given up.
    uint64_t skipped;
    // Packets beyond the credit granted, dropped.
    uint64_t beyond_credit;
    // DATA that arrived with congestion experienced.
    uint64_t marked;
    // REPORTs sent.
    uint64_t reports;
    // Ranges listed in them: packets that were asked for again.
    uint64_t ranges;
    // Samples that the sender counted as lost at its source.
    uint64_t source_lost;
    // Packets whose CRC was wrong.
    uint64_t corrupted;
    // Packets that were not of the protocol, or not of this stream.
    uint64_t foreign;
    // Packets that this host's socket dropped.
    uint64_t socket_dropped;
    // Times the sender had no credit left because the program held all memory.
    uint64_t starved;
    // Smoothed round-trip time in nanoseconds.
    uint64_t rtt_ns;
    // Packets that the sender may still send before it is granted more.
    uint64_t credit;
    // Packets that may be on their way or await repair.
    uint64_t window;
} sw_receiver_stats;

// An event at one sample index.
typedef struct sw_tag {
    // The sample index from which it holds.
    uint64_t index;
    // See `kind`.
    double value;
    // A `sw_tag_kind`.
    uint32_t kind;
    // 0.
    uint32_t reserved;
} sw_tag;

// The samples of one stream.
typedef struct sw_stream_samples {
    // Little-endian, channels interleaved, aligned for their format.
    const void *samples;
    // Their length in bytes.
    size_t len_bytes;
    // What changed at which of these samples, and at the index after the last.
    const struct sw_tag *tags;
    // How many tags there are.
    size_t tags_len;
} sw_stream_samples;

// A range of sample indexes that was not delivered.
typedef struct sw_gap {
    // The first index that is missing.
    uint64_t first;
    // How many are.
    uint64_t count;
    // How many of these were sent and not repaired.
    uint64_t not_repaired;
    // How many of these were lost at the source.
    uint64_t source_lost;
    // A `sw_cause`.
    uint32_t cause;
    // 0.
    uint32_t reserved;
} sw_gap;

// The same indexes of all streams, without a gap inside; or a gap of one of them, which is one for
// all. Pointers are good until the next call of `sw_aligned_next`, `_close` or `_free`.
typedef struct sw_aligned_block {
    // Set it to `sizeof(sw_aligned_block)` before the call.
    size_t struct_size;
    // The samples of each stream, in the order in which they were named; NULL with a gap.
    const struct sw_stream_samples *streams;
    // How many streams there are.
    size_t streams_len;
    // How many samples of each, of all its channels each; 0 with a gap.
    uint64_t count;
    // The index of the first; of a gap, the index after it.
    uint64_t index;
    // The gap, where `count` is 0.
    struct sw_gap gap;
    // The number of the stream that has the gap.
    uint32_t gap_stream;
    // 0.
    uint32_t reserved;
} sw_aligned_block;

// How a stream ended.
typedef struct sw_end {
    // Set it to `sizeof(sw_end)` before the call.
    size_t struct_size;
    // `SW_RESULT_END`: all is accounted for; `SW_RESULT_CANCELLED`: by this program; or why it broke.
    uint32_t result;
    // Where the peer closed it: 0 finished, 1 cancelled, 2 taken over, 3 the device's source or sink
    // failed, 4 it heard nothing for too long, 5 this end broke the protocol, 6 underflow.
    uint32_t close_reason;
    // The index after the last sample, where the end is `SW_RESULT_END`; of a transmitter always.
    uint64_t final_index;
} sw_end;

// A run of samples without a gap inside, on loan: release it, in any order and from any thread, also
// after the receiver was freed. The samples must not be looked at afterwards; gaps and tags are a
// copy. While a program holds all memory, the sender has to wait.
typedef struct sw_block {
    // Set it to `sizeof(sw_block)` before the call.
    size_t struct_size;
    // Of the library: whose it is.
    void *owner;
    // Of the library: which loan. 0 where there is nothing to release.
    uint64_t handle;
    // Little-endian, channels interleaved, aligned for their format; NULL with gaps or tags alone.
    const void *samples;
    // Their length in bytes.
    size_t len_bytes;
    // How many samples, of all channels each.
    uint64_t count;
    // The index of the first; of a block without samples, the index after its gaps.
    uint64_t index;
    // How many of `gaps` are there.
    uint32_t gaps_len;
    // How many of `tags` are there.
    uint32_t tags_len;
    // The gaps just before the first sample, in order.
    struct sw_gap gaps[SW_GAPS_MAX];
    // What changed at which of these samples, and at the index after the last.
    struct sw_tag tags[SW_TAGS_MAX];
} sw_block;

// Options of a device in software. `sw_device_options_init` sets all of them to their defaults.
typedef struct sw_device_options {
    // `sizeof(sw_device_options)`; `sw_device_options_init` sets it.
    size_t struct_size;
    // Where it listens; default NULL: 127.0.0.1 and a free port.
    const char *address;
    // A file that it plays sc16 into, whose name ends with `.raw`; default NULL: it sends.
    const char *plays_into;
    // Faults as of `samplewire emulate --fault`, with blanks between; default NULL: nothing goes wrong.
    const char *faults;
    // Samples a second; default 1e6.
    double rate_hz;
    // How many samples it sends to each peer; default 0: without an end.
    uint64_t samples;
    // Channels; default 1. Sample `i` of a channel that it sends is the low 32 bits of `i`, plus
    // 0x9E3779B9 times the channel's number; as sc16, I is the low half.
    uint32_t channels;
    // Packets held for repair, or that may wait to be played; default 1024.
    uint32_t window;
    // Default 1: it has a clock, and loses samples that find no room. 0: it waits, or plays at once.
    uint32_t has_clock;
    // How many streams it sends, 1 to 1024, each a counter; default 1, and 0 is 1 too.
    uint32_t streams;
} sw_device_options;

// Samples that a device did not have at their time. An underflow is told at once, and exactly, where
// samples of an open burst were not sent, a long one in pieces. What lacked for other reasons, as a
// repair that came too late, is one event at the end of the stream.
typedef struct sw_play_event {
    // Set it to `sizeof(sw_play_event)` before the call.
    size_t struct_size;
    // It happened to samples of this index or later ones.
    uint64_t index;
    // And to samples before this index: what the device played when it said so, or that after the
    // last. What is late is so by about `end_index - index` samples at most.
    uint64_t end_index;
    // How many packets were late, or samples lacked.
    uint64_t count;
    // Events after this one that were lost, since 256 waited for the program.
    uint64_t lost;
    // A `sw_play_event_kind`.
    uint32_t kind;
    // 0.
    uint32_t reserved;
} sw_play_event;

// Options of a transmitter. `sw_transmitter_options_init` sets all of them to their defaults.
typedef struct sw_transmitter_options {
    // `sizeof(sw_transmitter_options)`; `sw_transmitter_options_init` sets it.
    size_t struct_size;
    // What the device does about a lost packet: a `sw_delivery`; default complete.
    uint32_t delivery;
    // Packets held for repair, 1 to 2^24; default 1024.
    uint32_t window;
    // With `SW_DELIVERY_DEADLINE`: how long a packet may be missing.
    uint64_t deadline_ns;
    // The device's stream; default -1: its first that takes samples.
    int32_t stream;
    // The largest IP packet to send, 576 to 9000; default 9000, or what the first hop takes.
    uint32_t mtu_bytes;
    // The index of the first sample; default 0: what the device plays when it is opened.
    uint64_t start_index;
    // Names this program: the same owner takes a stream over at once. Default 0: one is drawn.
    uint64_t owner;
    // How long to try to open, 1 ms to 1 h; default 3 s.
    uint64_t timeout_ns;
    // Paces departures to this many bits a second of wire time, 10^4 to 10^13; default 0: no pace.
    uint64_t link_bps;
    // The socket's send buffer in bytes; default 0: 8 MiB.
    uint64_t send_buffer_bytes;
    // What the device does when samples are not there in time: a `sw_underflow`; default zeros.
    uint32_t underflow;
    // A `sw_waits`; default asleep.
    uint32_t waits;
    // The CPU that the I/O thread stays on; default -1: where the system puts it.
    int32_t cpu;
    // Its priority under SCHED_FIFO, 1 to 99; default 0: as any other thread.
    uint32_t priority;
    // 1 keeps the memory of the process in memory; default 0.
    uint32_t lock_memory;
    // 1 asks for huge pages; default 0.
    uint32_t huge_pages;
    // How late timers of the I/O thread may end, up to 1 s; default 0: as the system sets it.
    uint64_t timer_slack_ns;
    // How long an idle I/O thread rests, up to 10 ms; default 0: the next packet wakes it.
    uint64_t coalesce_ns;
} sw_transmitter_options;

// Counters of a transmitter, as of some milliseconds ago; after the end, the final ones.
typedef struct sw_transmitter_stats {
    // Set it to `sizeof(sw_transmitter_stats)` before the call.
    size_t struct_size;
    // DATA packets that departed for the first time.
    uint64_t packets;
    // DATA packets that departed again.
    uint64_t retransmissions;
    // Bytes of UDP payload in DATA.
    uint64_t bytes;
    // REPORTs acted on.
    uint64_t reports;
    // Times that data waited for credit.
    uint64_t credit_stalls;
    // Times a repeat waited for its budget.
    uint64_t budget_stalls;
    // Congestion notifications.
    uint64_t congestion;
    // The receiver's own count of DATA received, modulo 2^32.
    uint64_t received_by_peer;
    // The receiver's own count of packets given up, modulo 2^32.
    uint64_t skipped_by_peer;
    // The receiver's own count of packets that came late to be played, modulo 2^16.
    uint64_t late_at_peer;
    // The index that the receiver's program has come to, or that a device plays, as it last said.
    uint64_t position_of_peer;
    // Samples that were not there when the device was to play them; it says so at the end.
    uint64_t underflow_at_peer;
    // Packets whose CRC was wrong.
    uint64_t corrupted;
    // Packets that were not of the protocol.
    uint64_t foreign;
    // Smoothed round-trip time in nanoseconds.
    uint64_t rtt_ns;
    // Packets that the receiver lets depart at present.
    uint64_t credit;
    // Packets held until the receiver has accounted for them.
    uint64_t held;
    // The most that may be held.
    uint64_t window;
} sw_transmitter_stats;

// Memory for samples, on loan from the transmitter: fill it from the front, and commit it.
typedef struct sw_room {
    // Set it to `sizeof(sw_room)` before the call.
    size_t struct_size;
    // Of the library: which loan. 0 where there is nothing to commit.
    uint64_t handle;
    // Where the samples go: little-endian, channels interleaved.
    void *samples;
    // Its length in bytes.
    size_t len_bytes;
    // How many samples, of all channels each, have room.
    uint64_t count_max;
} sw_room;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The library's version, e.g. `0.1.0`. Never NULL, and good for ever.
const char *sw_version(void);

// The library's version as a number that grows: major * 1000000 + minor * 1000 + patch.
uint32_t sw_version_number(void);

// Opens `streams_len` streams of the device at `address`, over one socket and in one I/O thread, at
// one index, and waits until they are open. `options` may be NULL: the defaults. They leave `stream`
// and `start_index` at their defaults; `blocks_max` has no effect.
enum sw_result sw_aligned_open(const char *address,
                               const uint16_t *streams,
                               size_t streams_len,
                               const struct sw_receiver_options *options,
                               struct sw_aligned **aligned);

// What the device said of the stream at `position`, counted from 0 in the order in which they were
// named; `memory_bytes` is that of all of them.
enum sw_result sw_aligned_get_info(const struct sw_aligned *aligned,
                                   size_t position,
                                   struct sw_stream_info *info);

// Counters of the stream at `position` as of some milliseconds ago; after the end, the final ones.
enum sw_result sw_aligned_get_stats(const struct sw_aligned *aligned,
                                    size_t position,
                                    struct sw_receiver_stats *stats);

// What was granted of the real-time options, and what not and why, as a text for people.
enum sw_result sw_aligned_get_granted(const struct sw_aligned *aligned,
                                      char *text,
                                      size_t size_bytes);

// What all streams have next, or one of them misses. `SW_RESULT_END` after the last of the stream
// that ends first, `SW_RESULT_CANCELLED` after `sw_aligned_cancel`, an error when a stream broke: its
// text names the stream.
enum sw_result sw_aligned_next(struct sw_aligned *aligned,
                               uint64_t timeout_ns,
                               struct sw_aligned_block *block);

// How the streams ended; `SW_RESULT_STILL_OPEN` before a call has come to their end. `stream` may be
// NULL, else it is set to the number of the stream that ended first.
enum sw_result sw_aligned_get_end(const struct sw_aligned *aligned,
                                  struct sw_end *end,
                                  uint16_t *stream);

// Makes a thread that waits for samples, within 50 ms, and all later calls return
// `SW_RESULT_CANCELLED`.
enum sw_result sw_aligned_cancel(struct sw_aligned *aligned);

// Ends the streams; waits about a second for the device to know. Counters are final then.
enum sw_result sw_aligned_close(struct sw_aligned *aligned);

// Closes the streams where they are open, and frees them with the memory of the last block.
enum sw_result sw_aligned_free(struct sw_aligned *aligned);

// Gives a block back, and clears it; `SW_RESULT_STALE` when it was, also through a copy.
enum sw_result sw_block_release(struct sw_block *block);

// A cause in words, e.g. `never asked`; "unknown cause" for a number that is none. Never NULL.
const char *sw_cause_str(uint32_t cause);

// Writes `count` samples of one channel each, or of `count / n` times `n` channels, in another format
// (both are a `sw_format`, neither 0): to the front of `to`, which must not overlap `from`. Complex
// stays complex, real real; values that do not fit are clipped. `SW_RESULT_ROOM` writes nothing.
enum sw_result sw_convert(const void *from,
                          uint32_t from_format,
                          size_t count,
                          void *to,
                          size_t to_size_bytes,
                          uint32_t to_format);

// Sets `options` to the defaults; `struct_size` is `sizeof *options`.
enum sw_result sw_device_options_init(struct sw_device_options *options, size_t struct_size);

// Starts a device in software. `options` may be NULL: the defaults. Free it with `sw_device_free`.
enum sw_result sw_device_new(const struct sw_device_options *options, struct sw_device **device);

// Where the device listens, as the functions that open take it; `SW_TEXT_BYTES` are enough.
enum sw_result sw_device_get_address(const struct sw_device *device,
                                     char *address,
                                     size_t size_bytes);

// Stops the device and frees it; what it plays into is complete. What a receiver lacks is sent, for
// 2 s. Waits until the peer knows, or is dead: after 15 s without a word.
enum sw_result sw_device_free(struct sw_device *device);

// The next event, in the order in which they became known; any thread may ask while another sends.
// `SW_RESULT_END` or `SW_RESULT_CANCELLED` when the stream has ended and all were taken.
enum sw_result sw_transmitter_next_event(const struct sw_transmitter *transmitter,
                                         uint64_t timeout_ns,
                                         struct sw_play_event *event);

// Asks all devices on the local networks that listen on `port` (0: the usual one) what they stream, for
// about twice `patience_ns`; 500000000 is a good value. Free the list with `sw_devices_free`.
enum sw_result sw_find(uint16_t port,
                       uint64_t patience_ns,
                       struct sw_devices **devices);

// How many devices there are.
enum sw_result sw_devices_len(const struct sw_devices *devices, size_t *len);

// The device at `position`, from 0: its first stream, and how many it has.
enum sw_result sw_devices_get(const struct sw_devices *devices,
                              size_t position,
                              struct sw_stream_info *info);

// Frees the list. NULL is allowed; a list that was freed before is `SW_RESULT_STALE`.
enum sw_result sw_devices_free(struct sw_devices *devices);

// Asks the device at `address` (`HOST` or `HOST:PORT`) of a stream, by number, without opening it.
enum sw_result sw_probe(const char *address,
                        uint16_t stream,
                        uint64_t timeout_ns,
                        struct sw_stream_info *info);

// A format's name, e.g. `sc16`; "unknown format" for a number that is none. Never NULL.
const char *sw_format_str(uint32_t format);

// Writes the format of a name to `format` (a `sw_format`): the library's name, SigMF's or SoapySDR's, in
// any case, e.g. `sc16`, `ci16_le` or `CS16`.
enum sw_result sw_format_parse(const char *name,
                               uint32_t *format);

// Writes the time in `text` to `time_ns`: a number with ns, us, ms, s or min behind it, e.g. `5ms`; a bare
// number is in seconds. The time is above 0.
enum sw_result sw_time_parse(const char *time,
                             uint64_t *time_ns);

// Sets `options` to the defaults; `struct_size` is `sizeof *options`.
enum sw_result sw_receiver_options_init(struct sw_receiver_options *options, size_t struct_size);

// Sets `options` to the defaults; `struct_size` is `sizeof *options`.
enum sw_result sw_transmitter_options_init(struct sw_transmitter_options *options,
                                           size_t struct_size);

// Opens a stream of the device at `address` (`HOST` or `HOST:PORT`) and waits until it is open, at
// most for the time that the options set (NULL: the defaults).
enum sw_result sw_receiver_open(const char *address,
                                const struct sw_receiver_options *options,
                                struct sw_receiver **receiver);

// What the device said of the stream.
enum sw_result sw_receiver_get_info(const struct sw_receiver *receiver,
                                    struct sw_stream_info *info);

// Counters as of some milliseconds ago; after the end, the final ones.
enum sw_result sw_receiver_get_stats(const struct sw_receiver *receiver,
                                     struct sw_receiver_stats *stats);

// What was had of the real-time options, and what not and why, as a text for people.
enum sw_result sw_receiver_get_granted(const struct sw_receiver *receiver,
                                       char *text,
                                       size_t size_bytes);

// The next block, on loan until `sw_block_release`; `SW_RESULT_END` after the last,
// `SW_RESULT_CANCELLED` after `sw_receiver_cancel`, an error when the stream broke.
enum sw_result sw_receiver_next(struct sw_receiver *receiver,
                                uint64_t timeout_ns,
                                struct sw_block *block);

// Copies samples into `buffer`, in `format` (0: as sent; complex stays complex, real stays real),
// until `len_bytes` are filled, a gap or a tag comes, or `timeout_ns` is over. `block` then tells
// of what is in the buffer as of any block, and needs no release.
// Returns as `sw_receiver_next` does; with `SW_RESULT_OK` there are samples, or gaps or tags alone.
enum sw_result sw_receiver_read(struct sw_receiver *receiver,
                                void *buffer,
                                size_t len_bytes,
                                uint32_t format,
                                uint64_t timeout_ns,
                                struct sw_block *block);

// How the stream ended; `SW_RESULT_STILL_OPEN` before a call has come to its end.
enum sw_result sw_receiver_get_end(const struct sw_receiver *receiver, struct sw_end *end);

// Makes a thread that waits to receive, and all later calls, return `SW_RESULT_CANCELLED`.
enum sw_result sw_receiver_cancel(struct sw_receiver *receiver);

// Ends the stream; waits about a second for the device to know. Counters are final then.
enum sw_result sw_receiver_close(struct sw_receiver *receiver);

// Closes the stream where it is open, and frees the receiver. Blocks on loan stay good.
enum sw_result sw_receiver_free(struct sw_receiver *receiver);

// A name for a result, e.g. `timeout`; "unknown result" for a number that is none. Never NULL.
const char *sw_result_str(uint32_t result);

// The text of the last call of this thread that failed, with the values concerned and what to do
// next; empty when none has. It is good until the next such call; other results leave it as it was.
const char *sw_last_error(void);

// Opens a stream of the device at `address` that plays, and waits until it has said how much it takes,
// at most twice the time that the options set (NULL: the defaults).
enum sw_result sw_transmitter_open(const char *address,
                                   const struct sw_transmitter_options *options,
                                   struct sw_transmitter **transmitter);

// What the device said of the stream.
enum sw_result sw_transmitter_get_info(const struct sw_transmitter *transmitter,
                                       struct sw_stream_info *info);

// Counters as of some milliseconds ago; after the end, the final ones.
enum sw_result sw_transmitter_get_stats(const struct sw_transmitter *transmitter,
                                        struct sw_transmitter_stats *stats);

// What was had of the real-time options, and what not and why, as a text for people.
enum sw_result sw_transmitter_get_granted(const struct sw_transmitter *transmitter,
                                          char *text,
                                          size_t size_bytes);

// Room to fill; `SW_RESULT_TIMEOUT` while the device takes no more. At most 64 are on loan at once.
enum sw_result sw_transmitter_begin(struct sw_transmitter *transmitter,
                                    uint64_t timeout_ns,
                                    struct sw_room *room);

// Sends the first `count` samples of a room and takes it back; `index` is that of the first, or
// `SW_INDEX_NEXT`. `flags` are 0 or of `SW_SEND_START`, `SW_SEND_END_OF_BURST`.
// `SW_RESULT_STALE` for a room that was committed before. An error leaves the room on loan.
enum sw_result sw_transmitter_commit(struct sw_transmitter *transmitter,
                                     struct sw_room *room,
                                     uint64_t count,
                                     uint64_t index,
                                     uint32_t flags);

// Takes a room back without sending anything.
enum sw_result sw_transmitter_discard(struct sw_transmitter *transmitter, struct sw_room *room);

// Copies `count` samples and sends them; `index` and `flags` as in `sw_transmitter_commit`. Samples
// that are no whole number of rooms end a burst. `written` may be NULL, else it says how many samples
// were taken, also where the call fails or `timeout_ns` is over (`SW_RESULT_TIMEOUT`).
enum sw_result sw_transmitter_write(struct sw_transmitter *transmitter,
                                    const void *samples,
                                    uint64_t count,
                                    uint64_t index,
                                    uint32_t flags,
                                    uint64_t timeout_ns,
                                    uint64_t *written);

// Waits until the device has all that was committed and has played what lies before `index`.
enum sw_result sw_transmitter_wait_played(struct sw_transmitter *transmitter,
                                          uint64_t index,
                                          uint64_t timeout_ns);

// Waits until the device has acknowledged all that was committed, which a room on loan is not.
enum sw_result sw_transmitter_wait_acknowledged(struct sw_transmitter *transmitter,
                                                uint64_t timeout_ns);

// Ends the stream after all that was committed; waits until the device has it, or is dead (15 s).
enum sw_result sw_transmitter_finish(struct sw_transmitter *transmitter);

// How the stream ended; `SW_RESULT_STILL_OPEN` before a call has come to its end.
enum sw_result sw_transmitter_get_end(const struct sw_transmitter *transmitter, struct sw_end *end);

// Ends the stream with what has departed; a thread that waits returns `SW_RESULT_CANCELLED`.
enum sw_result sw_transmitter_cancel(struct sw_transmitter *transmitter);

// Cancels the stream where it is open, and frees the transmitter, its rooms among it.
enum sw_result sw_transmitter_free(struct sw_transmitter *transmitter);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SAMPLEWIRE_H */

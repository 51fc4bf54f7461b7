// The C++ wrapper: it owns the objects that it opens, throws on errors, and returns views of samples.
// Its argument is a folder for files.
#include <samplewire.hpp>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <thread>

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            std::cerr << __FILE__ << ":" << __LINE__ << ": " << #condition << "\n"; \
            std::exit(1);                                                           \
        }                                                                           \
    } while (0)

namespace sw = samplewire;
using namespace std::chrono_literals;
using sc16 = std::complex<std::int16_t>;

constexpr std::uint64_t samples = 60000;

static sc16 counted(std::uint64_t index) {
    auto value = static_cast<std::uint32_t>(index);
    return {static_cast<std::int16_t>(value), static_cast<std::int16_t>(value >> 16)};
}

static void receives() {
    sw::device_options options;
    options.samples = samples;
    options.has_clock = 0;
    options.faults = "data:loss=0.02,seed=1";
    sw::device device(options);
    sw::receiver first(device.address());
    sw::receiver receiver = std::move(first);
    CHECK(receiver.info().format == SW_FORMAT_SC16 && !receiver.granted().empty());
    std::uint64_t next = 0;
    std::vector<sw::block> held;
    while (auto block = receiver.next(10s)) {
        CHECK(block->gaps().empty() && block->index() == next);
        for (sc16 sample : block->samples<sc16>()) {
            CHECK(sample == counted(next++));
        }
        held.push_back(std::move(*block));
        if (held.size() == 4) {
            std::thread([going = std::move(held)] {}).join();
            held.clear();
        }
    }
    CHECK(receiver.last() == SW_RESULT_END && receiver.is_over() && next == samples);
    CHECK(receiver.end().final_index == samples && receiver.stats().repaired > 0);
    CHECK(sw::probe(device.address()).stream == 0);
    auto probe = sw::probe_rdma(device.address());
    CHECK(probe.info.carriage == SW_CARRIAGE_DATA && probe.rdma.device_path_mtu_bytes == 0);
    for (auto &block : held) {
        block.release();
        CHECK(block.samples<sc16>().empty());
    }
}

static void copies() {
    sw::device_options options;
    options.samples = 10000;
    sw::device device(options);
    sw::receiver receiver(device.address());
    std::vector<std::complex<float>> buffer(1000);
    std::uint64_t next = 0;
    while (auto got = receiver.read(sw::view(buffer.data(), buffer.size()), SW_FORMAT_FC32, 10s)) {
        for (auto sample : got->samples<std::complex<float>>()) {
            auto whole = counted(next++);
            CHECK(sample == std::complex<float>(whole.real() / 32768.0f, whole.imag() / 32768.0f));
        }
    }
    CHECK(receiver.last() == SW_RESULT_END && next == 10000);
}

static void receives_aligned() {
    sw::device_options options;
    options.samples = samples;
    options.has_clock = 0;
    options.streams = 2;
    options.faults = "data:loss=0.02,seed=1";
    sw::device device(options);
    sw::aligned aligned(device.address(), {1, 0});
    CHECK(aligned.info(0).stream == 1 && aligned.info(1).stream == 0 && !aligned.granted().empty());
    std::uint64_t next = 0;
    while (auto block = aligned.next(10s)) {
        if (next == 0) {
            next = block->index();
        }
        CHECK(!block->is_gap() && block->index() == next && block->size() == 2);
        for (std::size_t position = 0; position < block->size(); position++) {
            std::uint64_t index = block->index();
            for (sc16 sample : block->samples<sc16>(position)) {
                CHECK(sample == counted(index++));
            }
            CHECK(index == block->index() + block->count());
        }
        next += block->count();
    }
    CHECK(aligned.last() == SW_RESULT_END && aligned.is_over());
    CHECK(aligned.end().final_index == next);
    CHECK(aligned.stats(0).repaired + aligned.stats(1).repaired > 0);
    try {
        sw::aligned twice(device.address(), {1, 1});
        CHECK(false);
    } catch (const sw::error &error) {
        CHECK(error.result() == SW_RESULT_STREAM_TWICE);
    }
}

static void throws_and_cancels() {
    try {
        sw::receiver_options options;
        options.window = 0;
        sw::receiver receiver("127.0.0.1:9", options);
        CHECK(false);
    } catch (const sw::error &error) {
        CHECK(error.result() == SW_RESULT_OPTION_RANGE);
        CHECK(std::string(error.what()).find("window") != std::string::npos);
    }
    try {
        sw::receiver_options options;
        options.verbs = "none0";
        sw::receiver receiver("127.0.0.1:9", options);
        CHECK(false);
    } catch (const sw::error &error) {
        CHECK(error.result() == SW_RESULT_CONTRADICTION);
        CHECK(std::string(error.what()).find("verbs of none0") != std::string::npos);
    }
    sw::device_options options;
    options.rate_hz = 1;
    sw::device device(options);
    sw::receiver receiver(device.address());
    CHECK(!receiver.next(20ms) && receiver.last() == SW_RESULT_TIMEOUT && !receiver.is_over());
    std::thread canceller([&] {
        std::this_thread::sleep_for(50ms);
        receiver.cancel();
    });
    CHECK(!receiver.next() && receiver.last() == SW_RESULT_CANCELLED);
    canceller.join();
}

static void transmits(const std::string &folder) {
    std::string path = folder + "/wrapped.raw";
    std::vector<std::uint32_t> sent(samples);
    std::iota(sent.begin(), sent.end(), 5u);
    {
        sw::device_options options;
        options.plays_into = path.c_str();
        options.has_clock = 0;
        sw::device device(options);
        sw::transmitter_options sends;
        sends.control = SW_CONTROL_NONE;
        sw::transmitter transmitter(device.address(), sends);
        auto room = transmitter.begin(10s);
        CHECK(room && room->count_max() > 0);
        auto first = room->samples<std::uint32_t>();
        std::copy_n(sent.begin(), room->count_max(), first.begin());
        std::uint64_t count = room->count_max();
        room->commit(count);
        { auto unused = transmitter.begin(10s); }
        CHECK(transmitter.write(sent.data() + count, samples - count, SW_INDEX_NEXT,
                                SW_SEND_END_OF_BURST, 10s) == samples - count);
        CHECK(transmitter.wait_acknowledged(10s));
        CHECK(!transmitter.next_event());
        transmitter.finish();
        CHECK(!transmitter.next_event(10s));
        CHECK(transmitter.end().result == SW_RESULT_END && transmitter.stats().packets > 0);
    }
    std::ifstream file(path, std::ios::binary);
    std::string played{std::istreambuf_iterator<char>(file), {}};
    CHECK(played.size() == samples * 4);
    CHECK(std::equal(played.begin(), played.end(), reinterpret_cast<const char *>(sent.data())));
}

static std::uint64_t processed;

static void process(sc16 sample) {
    CHECK(sample == counted(processed++));
}

// The code of docs/c.md, as it stands there; tools/check_examples.py compares them.
static void receive(const std::string &address) {
    samplewire::receiver receiver(address);
    while (auto block = receiver.next()) {
        for (auto sample : block->samples<std::complex<std::int16_t>>()) {
            process(sample);
        }
    }
}

static void manual() {
    sw::device_options options;
    options.samples = samples;
    options.has_clock = 0;
    sw::device device(options);
    receive(device.address());
    CHECK(processed == samples);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    manual();
    receives();
    copies();
    receives_aligned();
    throws_and_cancels();
    transmits(argv[1]);
    return 0;
}

// A chain of saxpy kernels in GNU Radio 3.10: a source that writes nothing, M blocks of
// y = a x + b, a sink that reads nothing.
//
//     g++ -O3 -march=native -ffp-contract=off -std=c++17 saxpy.cc -o saxpy
//         $(pkg-config --cflags --libs gnuradio-blocks) -lspdlog -lfmt
//     ./saxpy [--kernels M] [--floats N] [--buffers Q] [--cores C]
//             [--schedule free|stage] [--blocks one|two] [--seconds S]
//
// N floats are handed over at a time, and a buffer between two blocks holds Q times as many, or GNU
// Radio's default with --buffers 0. Every block has a thread, as GNU Radio has it: `free`, all of
// them may run on the first C cores; `stage`, each core has a stretch of the chain.
// `two` makes each kernel of GNU Radio's own multiply_const_ff and add_const_ff. The last
// line that it prints is a JSON object; the rate is of samples that came to the sink.

#include <gnuradio/blocks/add_const_ff.h>
#include <gnuradio/blocks/multiply_const.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr float A = 0.75F;
constexpr float B = 0.25F;

// Some milliseconds between two looks at the clock, which is slower than a short buffer.
constexpr std::uint64_t LOOK_FLOATS = 1 << 22;

struct Arguments {
    long kernels = 1;
    long floats = 4096;
    long buffers = 0;
    long cores = 1;
    double seconds = 1.0;
    bool is_stage = false;
    bool has_two = false;
};

gr::io_signature::sptr none() { return gr::io_signature::make(0, 0, 0); }
gr::io_signature::sptr floats() { return gr::io_signature::make(1, 1, sizeof(float)); }

// Hands on what lies in its buffer.
class Source : public gr::sync_block {
public:
    Source() : sync_block("source", none(), floats()) {}

    int work(int len, gr_vector_const_void_star&, gr_vector_void_star&) override { return len; }
};

__attribute__((noinline)) void saxpy(const float* __restrict in, float* __restrict out, int len,
                                     float a, float b) {
    for (int i = 0; i < len; ++i) {
        out[i] = a * in[i] + b;
    }
}

class Saxpy : public gr::sync_block {
public:
    Saxpy() : sync_block("saxpy", floats(), floats()) {}

    int work(int len, gr_vector_const_void_star& in, gr_vector_void_star& out) override {
        saxpy(static_cast<const float*>(in[0]), static_cast<float*>(out[0]), len, A, B);
        return len;
    }
};

// Counts from its first look at the clock, and ends it all when the time is over.
class Sink : public gr::sync_block {
public:
    Sink(double seconds, double expected)
        : sync_block("sink", floats(), none()), d_seconds(seconds), d_expected(expected) {}

    int work(int len, gr_vector_const_void_star& in, gr_vector_void_star&) override {
        samples += len;
        calls += 1;
        if (samples >= d_look) {
            d_look = samples + LOOK_FLOATS;
            if (look(static_cast<const float*>(in[0]), len)) {
                return WORK_DONE;
            }
        }
        return len;
    }

    std::uint64_t samples = 0;
    std::uint64_t calls = 0;
    double elapsed_s = 0.0;
    bool have_run = true;

private:
    bool look(const float* in, int len) {
        const auto now = std::chrono::steady_clock::now();
        if (!d_is_started) {
            d_is_started = true;
            d_start = now;
            samples = calls = 0;
            d_look = LOOK_FLOATS;
            return false;
        }
        elapsed_s = std::chrono::duration<double>(now - d_start).count();
        if (elapsed_s < d_seconds) {
            return false;
        }
        // A throw would end this block's thread alone.
        for (int i = 0; i < len; ++i) {
            have_run = have_run && std::abs(in[i] - d_expected) < 1e-5;
        }
        return true;
    }

    double d_seconds;
    double d_expected;
    bool d_is_started = false;
    std::uint64_t d_look = LOOK_FLOATS;
    std::chrono::steady_clock::time_point d_start;
};

long number(const std::string& word, const std::string& value, long least) {
    std::size_t used = 0;
    long parsed = 0;
    try {
        parsed = std::stol(value, &used);
    } catch (const std::logic_error&) {
        used = 0;
    }
    if (used != value.size() || value.empty() || parsed < least || parsed > (1L << 24)) {
        throw std::invalid_argument(word + " " + value + ": not understood");
    }
    return parsed;
}

Arguments parse(int argc, char** argv) {
    Arguments arguments;
    for (int at = 1; at < argc; at += 2) {
        const std::string word = argv[at];
        if (at + 1 == argc) {
            throw std::invalid_argument(word + " takes a value");
        }
        const std::string value = argv[at + 1];
        if (word == "--kernels") {
            arguments.kernels = number(word, value, 1);
        } else if (word == "--floats") {
            arguments.floats = number(word, value, 1);
        } else if (word == "--buffers") {
            arguments.buffers = number(word, value, 0);
        } else if (word == "--cores") {
            arguments.cores = number(word, value, 1);
        } else if (word == "--seconds") {
            arguments.seconds = std::stod(value);
        } else if (word == "--schedule" && (value == "free" || value == "stage")) {
            arguments.is_stage = value == "stage";
        } else if (word == "--blocks" && (value == "one" || value == "two")) {
            arguments.has_two = value == "two";
        } else {
            throw std::invalid_argument(word + " " + value + ": not understood");
        }
    }
    return arguments;
}

// Source, kernels and sink in the order of the chain; `stage_of` says whose core each is on.
void run(const Arguments& arguments) {
    // The source's buffer is zero, and nothing writes to it.
    const double expected = 1.0 - std::pow(A, arguments.kernels);
    const auto sink = std::make_shared<Sink>(arguments.seconds, expected);
    std::vector<gr::block_sptr> chain{std::make_shared<Source>()};
    std::vector<long> stages{0};
    for (long kernel = 0; kernel < arguments.kernels; ++kernel) {
        if (arguments.has_two) {
            chain.push_back(gr::blocks::multiply_const_ff::make(A));
            chain.push_back(gr::blocks::add_const_ff::make(B));
        } else {
            chain.push_back(std::make_shared<Saxpy>());
        }
        stages.resize(chain.size(), kernel * arguments.cores / arguments.kernels);
    }
    chain.push_back(sink);
    stages.push_back(arguments.cores - 1);

    std::vector<int> all_cores;
    for (int core = 0; core < arguments.cores; ++core) {
        all_cores.push_back(core);
    }
    const auto top = gr::make_top_block("saxpy");
    for (std::size_t place = 0; place < chain.size(); ++place) {
        const auto& block = chain[place];
        const std::vector<int> one{static_cast<int>(stages[place])};
        block->set_processor_affinity(arguments.is_stage ? one : all_cores);
        if (place + 1 < chain.size()) {
            block->set_max_noutput_items(static_cast<int>(arguments.floats));
            if (arguments.buffers > 0) {
                block->set_output_multiple(static_cast<int>(arguments.floats));
                block->set_min_output_buffer(arguments.buffers * arguments.floats);
                block->set_max_output_buffer(arguments.buffers * arguments.floats);
            }
        }
        if (place > 0) {
            top->connect(chain[place - 1], 0, block, 0);
        }
    }
    top->run();
    if (!sink->have_run) {
        throw std::runtime_error("the kernels have not run");
    }
    std::printf("{\"samples_per_s\":%.0f,\"seconds\":%.6f,\"samples\":%llu,\"mean_floats\":%.0f}\n",
                static_cast<double>(sink->samples) / sink->elapsed_s, sink->elapsed_s,
                static_cast<unsigned long long>(sink->samples),
                static_cast<double>(sink->samples) / static_cast<double>(sink->calls));
}

} // namespace

int main(int argc, char** argv) {
    try {
        run(parse(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "saxpy: %s\n", error.what());
        return 1;
    }
    return 0;
}

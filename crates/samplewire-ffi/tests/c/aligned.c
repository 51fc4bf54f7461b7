// Several streams of one device are received at the same indexes, and what one misses is named.
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <pthread.h>

enum { SAMPLES = 150000 };

static const uint16_t BOTH[] = {1, 0};

static sw_device *counters(sw_device_options options, char *address) {
    options.streams = 2;
    return start_device(&options, address);
}

static sw_device_options device_options(void) {
    sw_device_options options;
    EXPECT(SW_RESULT_OK, sw_device_options_init(&options, sizeof options));
    CHECK(options.streams == 1);
    return options;
}

static sw_receiver_options receiver_options(void) {
    sw_receiver_options options;
    EXPECT(SW_RESULT_OK, sw_receiver_options_init(&options, sizeof options));
    return options;
}

// Every index of both streams, in spite of a bad wire.
static void complete(void) {
    char address[SW_TEXT_BYTES];
    sw_device_options lossy = device_options();
    lossy.samples = SAMPLES;
    lossy.has_clock = 0;
    lossy.faults = "data:loss=0.02,seed=3 feedback:loss=0.01,seed=4";
    sw_device *device = counters(lossy, address);
    sw_aligned *aligned = NULL;
    EXPECT(SW_RESULT_OK, sw_aligned_open(address, BOTH, 2, NULL, &aligned));
    sw_stream_info info = {.struct_size = sizeof info};
    for (size_t i = 0; i < 2; i++) {
        EXPECT(SW_RESULT_OK, sw_aligned_get_info(aligned, i, &info));
        CHECK(info.stream == BOTH[i] && info.streams == 2 && info.sample_bytes == 4);
    }
    EXPECT(SW_RESULT_ARGUMENT, sw_aligned_get_info(aligned, 2, &info));
    char granted[256];
    EXPECT(SW_RESULT_OK, sw_aligned_get_granted(aligned, granted, sizeof granted));
    CHECK(strcmp(granted, "as any other thread") == 0);
    sw_end end = {.struct_size = sizeof end};
    EXPECT(SW_RESULT_STILL_OPEN, sw_aligned_get_end(aligned, &end, NULL));

    uint64_t next = info.first_index;
    uint64_t ends_of_bursts = 0;
    for (;;) {
        sw_aligned_block block = {.struct_size = sizeof block};
        sw_result result = sw_aligned_next(aligned, 10 * SECOND, &block);
        if (result == SW_RESULT_END) {
            break;
        }
        EXPECT(SW_RESULT_OK, result);
        CHECK(block.index == next && block.count > 0 && block.streams_len == 2);
        for (size_t i = 0; i < 2; i++) {
            const sw_stream_samples *stream = &block.streams[i];
            CHECK(stream->len_bytes == block.count * 4 && (uintptr_t)stream->samples % 4 == 0);
            CHECK(counts_from(stream->samples, block.index, block.count));
            for (size_t j = 0; j < stream->tags_len; j++) {
                ends_of_bursts += stream->tags[j].kind == SW_TAG_KIND_END_OF_BURST;
                CHECK(stream->tags[j].index <= block.index + block.count);
            }
        }
        next += block.count;
    }
    CHECK(next == info.first_index + SAMPLES && ends_of_bursts == 2);
    uint16_t stream = 9;
    EXPECT(SW_RESULT_OK, sw_aligned_get_end(aligned, &end, &stream));
    CHECK(end.result == SW_RESULT_END && end.final_index == next && stream < 2);
    EXPECT(SW_RESULT_OK, sw_aligned_close(aligned));
    uint64_t repaired = 0;
    for (size_t i = 0; i < 2; i++) {
        sw_receiver_stats stats = {.struct_size = sizeof stats};
        EXPECT(SW_RESULT_OK, sw_aligned_get_stats(aligned, i, &stats));
        CHECK(stats.samples_delivered == SAMPLES && stats.samples_missing == 0);
        repaired += stats.repaired;
    }
    CHECK(repaired > 0);
    sw_aligned_block block = {.struct_size = sizeof block};
    EXPECT(SW_RESULT_CANCELLED, sw_aligned_next(aligned, 0, &block));
    EXPECT(SW_RESULT_OK, sw_aligned_free(aligned));
    EXPECT(SW_RESULT_STALE, sw_aligned_free(aligned));
    EXPECT(SW_RESULT_OK, sw_device_free(device));
}

// What one stream misses is a gap for both, with its number.
static void with_gaps(void) {
    char address[SW_TEXT_BYTES];
    sw_device_options lossy = device_options();
    lossy.rate_hz = 5e6;
    lossy.faults = "data:loss=0.05,seed=7";
    sw_device *device = counters(lossy, address);
    sw_receiver_options options = receiver_options();
    options.delivery = SW_DELIVERY_BEST_EFFORT;
    sw_aligned *aligned = NULL;
    EXPECT(SW_RESULT_OK, sw_aligned_open(address, BOTH, 2, &options, &aligned));
    sw_stream_info info = {.struct_size = sizeof info};
    EXPECT(SW_RESULT_OK, sw_aligned_get_info(aligned, 0, &info));
    uint64_t next = info.first_index, missing[2] = {0, 0};
    while (next < info.first_index + 1000000) {
        sw_aligned_block block = {.struct_size = sizeof block};
        EXPECT(SW_RESULT_OK, sw_aligned_next(aligned, 10 * SECOND, &block));
        if (block.count == 0) {
            CHECK(block.streams == NULL && block.gap.first == next && block.gap.count > 0);
            CHECK(block.gap.cause == SW_CAUSE_NEVER_ASKED && block.gap_stream < 2);
            missing[block.gap_stream] += block.gap.count;
            next += block.gap.count;
            CHECK(block.index == next);
            continue;
        }
        CHECK(block.index == next && block.gap.count == 0);
        for (size_t i = 0; i < 2; i++) {
            CHECK(counts_from(block.streams[i].samples, block.index, block.count));
        }
        next += block.count;
    }
    CHECK(missing[0] > 0 && missing[1] > 0);
    EXPECT(SW_RESULT_OK, sw_aligned_free(aligned));
    EXPECT(SW_RESULT_OK, sw_device_free(device));
}

// Packets whose tag is damaged belong to no stream: each shows the counters of the port.
static void counters_of_the_port(void) {
    char address[SW_TEXT_BYTES];
    sw_device_options noisy = device_options();
    noisy.rate_hz = 5e6;
    noisy.faults = "data:corrupt=0.2,seed=4";
    sw_device *device = counters(noisy, address);
    sw_receiver_options options = receiver_options();
    options.mtu_bytes = 576;
    sw_aligned *aligned = NULL;
    EXPECT(SW_RESULT_OK, sw_aligned_open(address, BOTH, 2, &options, &aligned));
    sw_receiver_stats stats = {.struct_size = sizeof stats};
    for (int i = 0; i < 100000 && stats.port_corrupted + stats.port_foreign == 0; i++) {
        sw_aligned_block block = {.struct_size = sizeof block};
        EXPECT(SW_RESULT_OK, sw_aligned_next(aligned, 10 * SECOND, &block));
        EXPECT(SW_RESULT_OK, sw_aligned_get_stats(aligned, 1, &stats));
    }
    CHECK(stats.port_corrupted + stats.port_foreign > 0);
    EXPECT(SW_RESULT_OK, sw_aligned_free(aligned));
    EXPECT(SW_RESULT_OK, sw_device_free(device));
}

static void *wait_for_samples(void *aligned) {
    sw_aligned_block block = {.struct_size = sizeof block};
    EXPECT(SW_RESULT_CANCELLED, sw_aligned_next(aligned, SW_FOREVER, &block));
    return NULL;
}

static void cancelled(void) {
    char address[SW_TEXT_BYTES];
    sw_device_options slow = device_options();
    slow.rate_hz = 1;
    sw_device *device = counters(slow, address);
    sw_aligned *aligned = NULL;
    EXPECT(SW_RESULT_OK, sw_aligned_open(address, BOTH, 2, NULL, &aligned));
    sw_aligned_block block = {.struct_size = sizeof block};
    EXPECT(SW_RESULT_TIMEOUT, sw_aligned_next(aligned, 20 * MS, &block));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, wait_for_samples, aligned) == 0);
    EXPECT(SW_RESULT_OK, sw_aligned_cancel(aligned));
    CHECK(pthread_join(thread, NULL) == 0);
    EXPECT(SW_RESULT_OK, sw_aligned_close(aligned));
    sw_end end = {.struct_size = sizeof end};
    EXPECT(SW_RESULT_OK, sw_aligned_get_end(aligned, &end, NULL));
    CHECK(end.result == SW_RESULT_CANCELLED);
    EXPECT(SW_RESULT_OK, sw_aligned_free(aligned));
    EXPECT(SW_RESULT_OK, sw_device_free(device));
}

// The same owner takes stream 1 over, and the first receiver loses it.
static void broken(void) {
    char address[SW_TEXT_BYTES];
    sw_device *device = counters(device_options(), address);
    sw_receiver_options options = receiver_options();
    options.owner = 7;
    sw_aligned *aligned = NULL;
    EXPECT(SW_RESULT_OK, sw_aligned_open(address, BOTH, 2, &options, &aligned));
    sw_aligned_block block = {.struct_size = sizeof block};
    EXPECT(SW_RESULT_OK, sw_aligned_next(aligned, 10 * SECOND, &block));
    options.stream = 1;
    sw_receiver *receiver = NULL;
    EXPECT(SW_RESULT_OK, sw_receiver_open(address, &options, &receiver));
    sw_result result;
    do {
        result = sw_aligned_next(aligned, 30 * SECOND, &block);
    } while (result == SW_RESULT_OK);
    CHECK(result == SW_RESULT_PEER_RESTARTED || result == SW_RESULT_CLOSED_BY_PEER);
    CHECK(strncmp(sw_last_error(), "stream 1: ", 10) == 0);
    sw_end end = {.struct_size = sizeof end};
    uint16_t stream = 9;
    EXPECT(SW_RESULT_OK, sw_aligned_get_end(aligned, &end, &stream));
    CHECK(end.result == (uint32_t)result && stream == 1);
    EXPECT(SW_RESULT_OK, sw_receiver_free(receiver));
    EXPECT(SW_RESULT_OK, sw_aligned_free(aligned));
    EXPECT(SW_RESULT_OK, sw_device_free(device));
}

static void wrong_arguments(void) {
    char address[SW_TEXT_BYTES];
    sw_device *device = counters(device_options(), address);
    sw_aligned *aligned = NULL;
    const uint16_t twice[] = {1, 0, 1}, none_such[] = {0, 5};
    EXPECT(SW_RESULT_NULL, sw_aligned_open(address, NULL, 2, NULL, &aligned));
    EXPECT(SW_RESULT_NULL, sw_aligned_open(address, BOTH, 2, NULL, NULL));
    EXPECT(SW_RESULT_ARGUMENT, sw_aligned_open(address, BOTH, 0, NULL, &aligned));
    EXPECT(SW_RESULT_STREAM_TWICE, sw_aligned_open(address, twice, 3, NULL, &aligned));
    CHECK(strstr(sw_last_error(), "stream 1 is named twice") != NULL);
    EXPECT(SW_RESULT_REFUSED_NO_SUCH_STREAM, sw_aligned_open(address, none_such, 2, NULL, &aligned));
    sw_receiver_options options = receiver_options();
    options.start_index = 5;
    EXPECT(SW_RESULT_CONTRADICTION, sw_aligned_open(address, BOTH, 2, &options, &aligned));
    CHECK(strstr(sw_last_error(), "start_index of 5") != NULL);
    options.start_index = 0;
    options.stream = 0;
    EXPECT(SW_RESULT_CONTRADICTION, sw_aligned_open(address, BOTH, 2, &options, &aligned));
    EXPECT(SW_RESULT_OK, sw_aligned_free(NULL));
    sw_aligned_block block = {.struct_size = 3};
    EXPECT(SW_RESULT_NULL, sw_aligned_next(NULL, 0, &block));
    EXPECT(SW_RESULT_OK, sw_aligned_open(address, BOTH, 1, NULL, &aligned));
    EXPECT(SW_RESULT_STRUCT_SIZE, sw_aligned_next(aligned, 0, &block));
    EXPECT(SW_RESULT_NULL, sw_aligned_next(aligned, 0, NULL));
    EXPECT(SW_RESULT_OK, sw_aligned_free(aligned));
    EXPECT(SW_RESULT_OK, sw_device_free(device));
}

int main(void) {
    complete();
    with_gaps();
    counters_of_the_port();
    cancelled();
    broken();
    wrong_arguments();
    return 0;
}

// Receives from a device that loses packets, in each of the ways there are, and checks every sample.
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <pthread.h>

enum { SAMPLES = 150000, HELD = 5 };

static sw_device_options lossy(void) {
    sw_device_options options;
    EXPECT(SW_RESULT_OK, sw_device_options_init(&options, sizeof options));
    options.samples = SAMPLES;
    options.has_clock = 0;
    options.faults = "data:loss=0.02,corrupt=0.005,seed=3 feedback:loss=0.01,seed=4";
    return options;
}

static void *release(void *blocks) {
    for (int i = HELD; i-- > 0;) {
        EXPECT(SW_RESULT_OK, sw_block_release((sw_block *)blocks + i));
    }
    return NULL;
}

// Blocks are held, and given back in another order by another thread.
static void in_place(const char *address) {
    sw_receiver *receiver = NULL;
    EXPECT(SW_RESULT_OK, sw_receiver_open(address, NULL, &receiver));
    sw_stream_info info = {.struct_size = sizeof info};
    EXPECT(SW_RESULT_OK, sw_receiver_get_info(receiver, &info));
    CHECK(strcmp(info.name, "counter") == 0 && strcmp(info.address, address) == 0);
    CHECK(info.format == SW_FORMAT_SC16 && info.channels == 1 && info.sample_bytes == 4);
    CHECK(info.rate_hz == 1e6 && info.full_scale == 32768.0 && !info.has_centre_frequency);
    char granted[256];
    EXPECT(SW_RESULT_OK, sw_receiver_get_granted(receiver, granted, sizeof granted));
    CHECK(strlen(granted) > 0);
    sw_end end = {.struct_size = sizeof end};
    EXPECT(SW_RESULT_STILL_OPEN, sw_receiver_get_end(receiver, &end));

    sw_block held[HELD] = {{0}};
    uint64_t next = info.first_index;
    int len = 0;
    for (;;) {
        sw_block *block = &held[len];
        block->struct_size = sizeof *block;
        sw_result result = sw_receiver_next(receiver, 10 * SECOND, block);
        if (result == SW_RESULT_END) {
            break;
        }
        EXPECT(SW_RESULT_OK, result);
        CHECK(block->gaps_len == 0 && block->index == next);
        CHECK(block->len_bytes == block->count * info.sample_bytes);
        CHECK((uintptr_t)block->samples % info.sample_bytes == 0);
        next += block->count;
        if (++len == HELD) {
            for (int i = 0; i < HELD; i++) {
                CHECK(counts_from(held[i].samples, held[i].index, held[i].count));
            }
            pthread_t thread;
            CHECK(pthread_create(&thread, NULL, release, held) == 0);
            CHECK(pthread_join(thread, NULL) == 0);
            len = 0;
        }
    }
    CHECK(next == info.first_index + SAMPLES);
    EXPECT(SW_RESULT_OK, sw_receiver_get_end(receiver, &end));
    CHECK(end.result == SW_RESULT_END && end.final_index == next);
    EXPECT(SW_RESULT_OK, sw_receiver_close(receiver));
    sw_receiver_stats stats = {.struct_size = sizeof stats};
    EXPECT(SW_RESULT_OK, sw_receiver_get_stats(receiver, &stats));
    CHECK(stats.samples_delivered == SAMPLES && stats.samples_missing == 0);
    CHECK(stats.repaired > 0 && stats.ranges > 0);
    uint64_t repaired = 0;
    for (size_t i = 0; i < sizeof stats.repair_latency / sizeof stats.repair_latency[0]; i++) {
        repaired += stats.repair_latency[i];
    }
    CHECK(repaired == stats.repaired && stats.repair_latency_ns > 0);
    EXPECT(SW_RESULT_OK, sw_receiver_free(receiver));
    // What is still on loan outlives the receiver; and comes back once, whichever copy is used.
    for (int i = 0; i < len; i++) {
        sw_block copy = held[i];
        CHECK(counts_from(held[i].samples, held[i].index, held[i].count));
        EXPECT(SW_RESULT_OK, sw_block_release(&held[i]));
        EXPECT(SW_RESULT_STALE, sw_block_release(&held[i]));
        EXPECT(SW_RESULT_STALE, sw_block_release(&copy));
    }
}

// Copies in buffers that do not divide blocks, and takes the rest of one in place.
static void copies(const char *address, uint32_t format) {
    sw_receiver *receiver = NULL;
    EXPECT(SW_RESULT_OK, sw_receiver_open(address, NULL, &receiver));
    sw_block block = {.struct_size = sizeof block};
    enum { COUNT = 1001 };
    static float buffer[2 * COUNT];
    size_t sample_bytes = format == SW_FORMAT_FC32 ? 8 : 4;
    uint64_t next = 0;
    for (int i = 0;; i++) {
        sw_result result;
        if (i == 7) {
            result = sw_receiver_next(receiver, 10 * SECOND, &block);
        } else {
            size_t len = COUNT * sample_bytes + sample_bytes / 2;
            result = sw_receiver_read(receiver, buffer, len, format, 10 * SECOND, &block);
        }
        if (result == SW_RESULT_END) {
            break;
        }
        EXPECT(SW_RESULT_OK, result);
        CHECK(block.gaps_len == 0 && block.index == next && block.count > 0);
        next += block.count;
        if (i == 7) {
            CHECK(counts_from(block.samples, block.index, block.count));
            EXPECT(SW_RESULT_OK, sw_block_release(&block));
            continue;
        }
        CHECK(block.samples == buffer && block.len_bytes == block.count * sample_bytes);
        // The last block has a tag, and begins a copy of its own.
        if (block.tags_len == 0 && next < SAMPLES - 3000) {
            CHECK(block.count == COUNT);
        }
        for (uint64_t j = 0; j < block.count && format == SW_FORMAT_FC32; j++) {
            uint32_t value = (uint32_t)(block.index + j);
            CHECK(buffer[2 * j] == (float)(int16_t)value / 32768.0f);
            CHECK(buffer[2 * j + 1] == (float)(int16_t)(value >> 16) / 32768.0f);
        }
        if (format != SW_FORMAT_FC32) {
            CHECK(counts_from(buffer, block.index, block.count));
        }
    }
    CHECK(next == SAMPLES);
    EXPECT(SW_RESULT_OK, sw_receiver_free(receiver));
}

// Without repair requests, lost samples are in gaps, and each is reported once.
static void best_effort(const char *address) {
    sw_receiver_options options;
    EXPECT(SW_RESULT_OK, sw_receiver_options_init(&options, sizeof options));
    options.delivery = SW_DELIVERY_BEST_EFFORT;
    options.mtu_bytes = 1500;
    sw_receiver *receiver = NULL;
    EXPECT(SW_RESULT_OK, sw_receiver_open(address, &options, &receiver));
    sw_block block = {.struct_size = sizeof block};
    uint64_t next = 0, missing = 0;
    sw_result result;
    while ((result = sw_receiver_next(receiver, 10 * SECOND, &block)) == SW_RESULT_OK) {
        for (uint32_t i = 0; i < block.gaps_len; i++) {
            const sw_gap *gap = &block.gaps[i];
            CHECK(gap->first == next && gap->count == gap->not_repaired + gap->source_lost);
            CHECK(strcmp(sw_cause_str(gap->cause), "never asked") == 0);
            next += gap->count;
            missing += gap->count;
        }
        CHECK(block.index == next && counts_from(block.samples, block.index, block.count));
        next += block.count;
        EXPECT(SW_RESULT_OK, sw_block_release(&block));
    }
    EXPECT(SW_RESULT_END, result);
    CHECK(next == SAMPLES && missing > 0);
    sw_receiver_stats stats = {.struct_size = sizeof stats};
    EXPECT(SW_RESULT_OK, sw_receiver_get_stats(receiver, &stats));
    CHECK(stats.samples_missing == missing && stats.gap_samples[SW_CAUSE_NEVER_ASKED] == missing);
    EXPECT(SW_RESULT_OK, sw_receiver_free(receiver));
}

static void found(const char *address) {
    uint16_t port = (uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10);
    sw_devices *devices = NULL;
    EXPECT(SW_RESULT_OK, sw_find(port, 300 * MS, &devices));
    size_t len = 0;
    EXPECT(SW_RESULT_OK, sw_devices_len(devices, &len));
    CHECK(len >= 1);
    sw_stream_info info = {.struct_size = sizeof info};
    EXPECT(SW_RESULT_OK, sw_devices_get(devices, 0, &info));
    CHECK(strcmp(info.name, "counter") == 0);
    EXPECT(SW_RESULT_ARGUMENT, sw_devices_get(devices, len, &info));
    EXPECT(SW_RESULT_OK, sw_devices_free(devices));
    EXPECT(SW_RESULT_STALE, sw_devices_free(devices));
    EXPECT(SW_RESULT_OK, sw_probe(address, 0, 5 * SECOND, &info));
    CHECK(info.streams == 1 && strcmp(info.address, address) == 0);
    EXPECT(SW_RESULT_REFUSED_NO_SUCH_STREAM, sw_probe(address, 7, 5 * SECOND, &info));
}

int main(void) {
    char address[SW_TEXT_BYTES];
    sw_device_options options = lossy();
    sw_device *device = start_device(&options, address);
    in_place(address);
    EXPECT(SW_RESULT_OK, sw_device_free(device));
    uint32_t formats[] = {SW_FORMAT_AS_SENT, SW_FORMAT_FC32};
    for (int i = 0; i < 2; i++) {
        device = start_device(&options, address);
        copies(address, formats[i]);
        EXPECT(SW_RESULT_OK, sw_device_free(device));
    }
    device = start_device(&options, address);
    best_effort(address);
    found(address);
    EXPECT(SW_RESULT_OK, sw_device_free(device));
    return 0;
}

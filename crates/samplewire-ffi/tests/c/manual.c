// The code of docs/c.md, as it stands there; tools/check_examples.py compares them.
#define _POSIX_C_SOURCE 200809L
#include "check.h"

enum { SAMPLES = 100000 };

static uint64_t processed, correlated;

static sw_device *counter(uint32_t streams, const char *faults, char *address) {
    sw_device_options options;
    EXPECT(SW_RESULT_OK, sw_device_options_init(&options, sizeof options));
    options.streams = streams;
    options.samples = SAMPLES;
    options.has_clock = 0;
    options.faults = faults;
    return start_device(&options, address);
}

static void process(const void *samples, uint64_t count, uint64_t index) {
    CHECK(counts_from(samples, index, count));
    processed += count;
}

static void correlate(const void *one, const void *other, uint64_t count) {
    CHECK(memcmp(one, other, count * 4) == 0);
    correlated += count;
}

static void receive(const char *address) {
    sw_receiver *receiver = NULL;
    sw_result result = sw_receiver_open(address, NULL, &receiver);
    while (result == SW_RESULT_OK) {
        sw_block block = {.struct_size = sizeof block};
        result = sw_receiver_next(receiver, SW_FOREVER, &block);
        if (result == SW_RESULT_OK) {
            process(block.samples, block.count, block.index);
            sw_block_release(&block);
        }
    }
    if (result != SW_RESULT_END) fprintf(stderr, "%s\n", sw_last_error());
    sw_receiver_free(receiver);
}

static void receive_aligned(const char *address) {
    const uint16_t streams[] = {0, 1};
    sw_aligned *aligned = NULL;
    sw_aligned_open(address, streams, 2, NULL, &aligned);
    sw_aligned_block block = {.struct_size = sizeof block};
    while (sw_aligned_next(aligned, SW_FOREVER, &block) == SW_RESULT_OK) {
        if (block.count == 0) {
            printf("stream %" PRIu32 " misses %" PRIu64 " samples\n", block.gap_stream, block.gap.count);
            continue;
        }
        correlate(block.streams[0].samples, block.streams[1].samples, block.count);
    }
    sw_aligned_free(aligned);
}

static void read_as_fc32(const char *address) {
    sw_receiver *receiver = NULL;
    sw_result result = sw_receiver_open(address, NULL, &receiver);
    EXPECT(SW_RESULT_OK, result);
    float samples[2 * 100];
    sw_block block = {.struct_size = sizeof block};
    result = sw_receiver_read(receiver, samples, sizeof samples, SW_FORMAT_FC32, SW_FOREVER, &block);
    if (result == SW_RESULT_OK) printf("%" PRIu64 " from %" PRIu64 "\n", block.count, block.index);
    EXPECT(SW_RESULT_OK, result);
    CHECK(block.count > 0 && block.count <= 100);
    EXPECT(SW_RESULT_OK, sw_receiver_free(receiver));
}

int main(void) {
    char address[SW_TEXT_BYTES];
    sw_device *device = counter(1, "data:loss=0.01,seed=1", address);
    receive(address);
    CHECK(processed == SAMPLES);
    EXPECT(SW_RESULT_OK, sw_device_free(device));

    device = counter(2, "data:loss=0.01,seed=2", address);
    receive_aligned(address);
    CHECK(correlated == SAMPLES);
    EXPECT(SW_RESULT_OK, sw_device_free(device));

    device = counter(1, NULL, address);
    read_as_fc32(address);
    EXPECT(SW_RESULT_OK, sw_device_free(device));
    return 0;
}

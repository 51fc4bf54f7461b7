// A thread that waits without an end is cancelled from another, and so is one whose receiver is
// freed under it.
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <pthread.h>

static void pause_ms(long ms) {
    struct timespec span = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&span, NULL);
}

static void *wait_for_samples(void *receiver) {
    sw_block block = {.struct_size = sizeof block};
    sw_result result;
    do {
        result = sw_receiver_next(receiver, SW_FOREVER, &block);
        if (result == SW_RESULT_OK) {
            EXPECT(SW_RESULT_OK, sw_block_release(&block));
        } else if (result == SW_RESULT_BUSY) {
            // The other thread looks whether this one waits.
            pause_ms(1);
        }
    } while (result == SW_RESULT_OK || result == SW_RESULT_BUSY);
    EXPECT(SW_RESULT_CANCELLED, result);
    return NULL;
}

static void cancel(double rate_hz, int by_freeing) {
    char address[SW_TEXT_BYTES];
    sw_device_options options;
    EXPECT(SW_RESULT_OK, sw_device_options_init(&options, sizeof options));
    options.rate_hz = rate_hz;
    sw_device *device = start_device(&options, address);
    sw_receiver *receiver = NULL;
    EXPECT(SW_RESULT_OK, sw_receiver_open(address, NULL, &receiver));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, wait_for_samples, receiver) == 0);
    sw_block block = {.struct_size = sizeof block};
    if (rate_hz < 1e3) {
        // Soon it waits, and one receives at a time.
        sw_result result = SW_RESULT_TIMEOUT;
        for (int i = 0; i < 1000 && result == SW_RESULT_TIMEOUT; i++) {
            result = sw_receiver_next(receiver, 0, &block);
            pause_ms(10);
        }
        EXPECT(SW_RESULT_BUSY, result);
    }
    double start = now_s();
    sw_receiver_stats stats = {.struct_size = sizeof stats};
    do {
        CHECK(now_s() - start < 60);
        EXPECT(SW_RESULT_OK, sw_receiver_get_stats(receiver, &stats));
    } while (rate_hz >= 1e3 && stats.delivered < 100);
    start = now_s();
    if (by_freeing) {
        EXPECT(SW_RESULT_OK, sw_receiver_free(receiver));
    } else {
        EXPECT(SW_RESULT_OK, sw_receiver_cancel(receiver));
    }
    CHECK(pthread_join(thread, NULL) == 0);
    // Under valgrind all is slower; without a wake it would be for ever.
    CHECK(now_s() - start < 10);
    if (!by_freeing) {
        EXPECT(SW_RESULT_CANCELLED, sw_receiver_next(receiver, SECOND, &block));
        EXPECT(SW_RESULT_OK, sw_receiver_close(receiver));
        EXPECT(SW_RESULT_CANCELLED, sw_receiver_next(receiver, SECOND, &block));
        sw_end end = {.struct_size = sizeof end};
        EXPECT(SW_RESULT_OK, sw_receiver_get_end(receiver, &end));
        CHECK(end.result == SW_RESULT_CANCELLED);
        EXPECT(SW_RESULT_OK, sw_receiver_free(receiver));
    }
    EXPECT(SW_RESULT_OK, sw_device_free(device));
}

int main(void) {
    // One sample a second: nothing comes. A million: blocks come all the time.
    cancel(1.0, 0);
    cancel(1e6, 0);
    cancel(1.0, 1);
    // A timeout is kept.
    char address[SW_TEXT_BYTES];
    sw_device_options options;
    EXPECT(SW_RESULT_OK, sw_device_options_init(&options, sizeof options));
    options.rate_hz = 1.0;
    sw_device *device = start_device(&options, address);
    sw_receiver *receiver = NULL;
    EXPECT(SW_RESULT_OK, sw_receiver_open(address, NULL, &receiver));
    sw_block block = {.struct_size = sizeof block};
    double start = now_s();
    EXPECT(SW_RESULT_TIMEOUT, sw_receiver_next(receiver, 50 * MS, &block));
    CHECK(now_s() - start >= 0.05);
    EXPECT(SW_RESULT_OK, sw_receiver_free(receiver));
    EXPECT(SW_RESULT_OK, sw_device_free(device));
    return 0;
}

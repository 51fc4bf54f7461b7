// What the tests in C need: a check that says where it failed.
#ifndef CHECK_H
#define CHECK_H

#include <samplewire.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition, \
                    sw_last_error());                                                     \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

#define EXPECT(expected, call)                                                             \
    do {                                                                                   \
        sw_result got_ = (call);                                                           \
        if (got_ != (sw_result)(expected)) {                                               \
            fprintf(stderr, "%s:%d: %s gave \"%s\", not \"%s\"; last error: %s\n", __FILE__, \
                    __LINE__, #call, sw_result_str(got_), sw_result_str(expected),         \
                    sw_last_error());                                                      \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

#define MS 1000000ull
#define SECOND 1000000000ull

// Starts a device and says where it listens.
static inline sw_device *start_device(const sw_device_options *options, char *address) {
    sw_device *device = NULL;
    EXPECT(SW_RESULT_OK, sw_device_new(options, &device));
    EXPECT(SW_RESULT_OK, sw_device_get_address(device, address, SW_TEXT_BYTES));
    return device;
}

// Whether these are samples of a counter of one channel.
static inline int counts_from(const void *samples, uint64_t index, uint64_t count) {
    const unsigned char *bytes = samples;
    for (uint64_t i = 0; i < count; i++, bytes += 4) {
        uint32_t value = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
                         (uint32_t)bytes[3] << 24;
        if (value != (uint32_t)(index + i)) {
            return 0;
        }
    }
    return 1;
}

static inline double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#endif

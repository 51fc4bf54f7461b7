// Receives from a device until it ends or Ctrl-C, and names what is missing.
//
//     cc receive.c $(pkg-config --cflags --libs samplewire) -o receive && ./receive 127.0.0.1

#include <inttypes.h>
#include <samplewire.h>
#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t stop;

static void on_signal(int number) {
    (void)number;
    stop = 1;
}

int main(int argc, char **argv) {
    const char *address = argc > 1 ? argv[1] : "127.0.0.1";
    sw_receiver *receiver = NULL;
    sw_result result = sw_receiver_open(address, NULL, &receiver);
    uint64_t samples = 0, missing = 0;
    signal(SIGINT, on_signal);
    while (!stop && (result == SW_RESULT_OK || result == SW_RESULT_TIMEOUT)) {
        sw_block block = {.struct_size = sizeof block};
        result = sw_receiver_next(receiver, 100000000, &block);
        if (result == SW_RESULT_OK) {
            for (uint32_t i = 0; i < block.gaps_len; i++) {
                const sw_gap *gap = &block.gaps[i];
                printf("missing %" PRIu64 " from %" PRIu64 ": %s\n", gap->count, gap->first,
                       sw_cause_str(gap->cause));
                missing += gap->count;
            }
            samples += block.count; // They are at block.samples, until the release.
            sw_block_release(&block);
        }
    }
    int failed = result != SW_RESULT_END && !stop;
    if (failed) fprintf(stderr, "%s\n", sw_last_error());
    printf("%" PRIu64 " samples, %" PRIu64 " missing\n", samples, missing);
    sw_receiver_free(receiver);
    return failed;
}

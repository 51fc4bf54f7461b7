// A device that dies within a stream: after the last received sample, the call returns the reason.
// With an argument the device is a process that is killed, and counts as dead after 15 s.
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

// Receives until the stream is over, and says what came of it.
static sw_result receive(sw_receiver *receiver, uint64_t until, uint64_t *next) {
    sw_block block = {.struct_size = sizeof block};
    while (*next < until) {
        sw_result result = sw_receiver_next(receiver, 30 * SECOND, &block);
        if (result != SW_RESULT_OK) {
            return result;
        }
        CHECK(block.gaps_len == 0 && block.index == *next);
        CHECK(counts_from(block.samples, block.index, block.count));
        *next += block.count;
        EXPECT(SW_RESULT_OK, sw_block_release(&block));
    }
    return SW_RESULT_OK;
}

static void device_that_is_freed(void) {
    char address[SW_TEXT_BYTES];
    sw_device_options options;
    EXPECT(SW_RESULT_OK, sw_device_options_init(&options, sizeof options));
    options.samples = 100000000;
    sw_device *device = start_device(&options, address);
    sw_receiver *receiver = NULL;
    EXPECT(SW_RESULT_OK, sw_receiver_open(address, NULL, &receiver));
    uint64_t next = 0;
    EXPECT(SW_RESULT_OK, receive(receiver, 50000, &next));
    EXPECT(SW_RESULT_OK, sw_device_free(device));
    // It said good-bye: what it had sent is there, and that was not all.
    sw_result result = receive(receiver, UINT64_MAX, &next);
    CHECK(result == SW_RESULT_END || result == SW_RESULT_CLOSED_BY_PEER);
    CHECK(next >= 50000 && next < options.samples);
    sw_end end = {.struct_size = sizeof end};
    EXPECT(SW_RESULT_OK, sw_receiver_get_end(receiver, &end));
    CHECK(end.result == (uint32_t)result);
    EXPECT(SW_RESULT_OK, sw_receiver_free(receiver));
}

// A receiver that takes nothing keeps the device from sending what it has, and not from ending.
static void device_that_is_freed_without_credit(void) {
    char address[SW_TEXT_BYTES];
    sw_device_options options;
    EXPECT(SW_RESULT_OK, sw_device_options_init(&options, sizeof options));
    options.has_clock = 0;
    options.window = 64;
    sw_device *device = start_device(&options, address);
    sw_receiver_options of_receiver;
    EXPECT(SW_RESULT_OK, sw_receiver_options_init(&of_receiver, sizeof of_receiver));
    of_receiver.window = 64;
    sw_receiver *receiver = NULL;
    EXPECT(SW_RESULT_OK, sw_receiver_open(address, &of_receiver, &receiver));
    uint64_t next = 0;
    EXPECT(SW_RESULT_OK, receive(receiver, 50000, &next));
    double start = now_s();
    sw_receiver_stats stats = {.struct_size = sizeof stats};
    double changed = start;
    uint64_t received = 0;
    // All credit is used, and nothing has come for a while.
    do {
        CHECK(now_s() - start < 60);
        EXPECT(SW_RESULT_OK, sw_receiver_get_stats(receiver, &stats));
        if (stats.credit > 0 || stats.received != received) {
            changed = now_s();
        }
        received = stats.received;
    } while (now_s() - changed < 0.5);
    start = now_s();
    EXPECT(SW_RESULT_OK, sw_device_free(device));
    CHECK(now_s() - start > 1 && now_s() - start < 60);
    EXPECT(SW_RESULT_CLOSED_BY_PEER, receive(receiver, UINT64_MAX, &next));
    EXPECT(SW_RESULT_OK, sw_receiver_free(receiver));
}

static void device_that_is_killed(void) {
    int pipes[2];
    CHECK(pipe(pipes) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    char address[SW_TEXT_BYTES] = {0};
    if (child == 0) {
        start_device(NULL, address);
        CHECK(write(pipes[1], address, sizeof address) == (ssize_t)sizeof address);
        pause();
        _exit(0);
    }
    CHECK(read(pipes[0], address, sizeof address) == (ssize_t)sizeof address);
    sw_receiver *receiver = NULL;
    EXPECT(SW_RESULT_OK, sw_receiver_open(address, NULL, &receiver));
    uint64_t next = 0;
    EXPECT(SW_RESULT_OK, receive(receiver, 50000, &next));
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    double start = now_s();
    EXPECT(SW_RESULT_PEER_SILENT, receive(receiver, UINT64_MAX, &next));
    CHECK(now_s() - start > 10 && now_s() - start < 60);
    CHECK(strstr(sw_last_error(), "silent") != NULL);
    EXPECT(SW_RESULT_OK, sw_receiver_free(receiver));
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        device_that_is_killed();
    } else {
        device_that_is_freed();
        device_that_is_freed_without_credit();
    }
    return 0;
}

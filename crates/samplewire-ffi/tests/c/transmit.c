// Sends to a device that plays, over a wire that loses packets: what it played is what was sent.
// Its argument is a folder for files.
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <pthread.h>

enum { SAMPLES = 100000 };

static uint32_t samples[SAMPLES];
static uint32_t played[SAMPLES + 1];

static size_t read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    size_t len = fread(played, sizeof *played, SAMPLES + 1, file);
    fclose(file);
    return len;
}

static sw_device_options plays_into(const char *path) {
    sw_device_options options;
    EXPECT(SW_RESULT_OK, sw_device_options_init(&options, sizeof options));
    options.plays_into = path;
    options.faults = "data:loss=0.01,seed=5 feedback:loss=0.01,seed=6";
    return options;
}

// As fast as the device takes it: half filled in place, half copied.
static void as_fast_as_it_goes(const char *path) {
    char address[SW_TEXT_BYTES];
    sw_device_options options = plays_into(path);
    options.has_clock = 0;
    // Few packets: some must be lost.
    options.faults = "data:loss=0.1,seed=5 feedback:loss=0.01,seed=6";
    sw_device *device = start_device(&options, address);
    sw_transmitter *transmitter = NULL;
    EXPECT(SW_RESULT_OK, sw_transmitter_open(address, NULL, &transmitter));
    sw_stream_info info = {.struct_size = sizeof info};
    EXPECT(SW_RESULT_OK, sw_transmitter_get_info(transmitter, &info));
    CHECK(info.format == SW_FORMAT_SC16 && info.sample_bytes == 4);
    sw_end end = {.struct_size = sizeof end};
    EXPECT(SW_RESULT_STILL_OPEN, sw_transmitter_get_end(transmitter, &end));

    uint64_t sent = 0;
    uint32_t flags = SW_SEND_START;
    sw_room room = {.struct_size = sizeof room};
    while (sent < SAMPLES / 2) {
        EXPECT(SW_RESULT_OK, sw_transmitter_begin(transmitter, 10 * SECOND, &room));
        CHECK(room.len_bytes >= room.count_max * 4 && room.count_max > 0);
        uint64_t count = SAMPLES - sent < room.count_max ? SAMPLES - sent : room.count_max;
        memcpy(room.samples, samples + sent, count * 4);
        sw_room copy = room;
        uint64_t index = sent == 0 ? info.first_index : SW_INDEX_NEXT;
        EXPECT(SW_RESULT_ARGUMENT, sw_transmitter_commit(transmitter, &room, count, index, 64));
        EXPECT(SW_RESULT_ARGUMENT,
               sw_transmitter_commit(transmitter, &room, room.count_max + 1, index, flags));
        EXPECT(SW_RESULT_OK, sw_transmitter_commit(transmitter, &room, count, index, flags));
        EXPECT(SW_RESULT_STALE, sw_transmitter_commit(transmitter, &room, 1, SW_INDEX_NEXT, 0));
        EXPECT(SW_RESULT_STALE, sw_transmitter_discard(transmitter, &copy));
        sent += count;
        flags = 0;
    }
    uint64_t written = 0;
    // Back in time, and ahead without a word.
    EXPECT(SW_RESULT_ARGUMENT,
           sw_transmitter_write(transmitter, samples, 1, info.first_index, 0, SECOND, NULL));
    EXPECT(SW_RESULT_ARGUMENT,
           sw_transmitter_write(transmitter, samples, 1, UINT64_MAX - 1, 1, SECOND, &written));
    CHECK(written == 0 && strstr(sw_last_error(), "exceed") != NULL);
    EXPECT(SW_RESULT_OK,
           sw_transmitter_write(transmitter, samples + sent, SAMPLES - sent, SW_INDEX_NEXT,
                                SW_SEND_END_OF_BURST, 10 * SECOND, &written));
    CHECK(written == SAMPLES - sent);
    EXPECT(SW_RESULT_OK, sw_transmitter_begin(transmitter, 10 * SECOND, &room));
    EXPECT(SW_RESULT_OK, sw_transmitter_discard(transmitter, &room));
    EXPECT(SW_RESULT_OK, sw_transmitter_wait_acknowledged(transmitter, 10 * SECOND));
    EXPECT(SW_RESULT_OK, sw_transmitter_finish(transmitter));
    EXPECT(SW_RESULT_OK, sw_transmitter_get_end(transmitter, &end));
    CHECK(end.result == SW_RESULT_END && end.final_index == info.first_index + SAMPLES);
    EXPECT(SW_RESULT_END, sw_transmitter_begin(transmitter, SECOND, &room));
    sw_transmitter_stats stats = {.struct_size = sizeof stats};
    EXPECT(SW_RESULT_OK, sw_transmitter_get_stats(transmitter, &stats));
    CHECK(stats.packets > 0 && stats.retransmissions > 0);
    EXPECT(SW_RESULT_OK, sw_transmitter_free(transmitter));
    EXPECT(SW_RESULT_STALE, sw_transmitter_free(transmitter));
    EXPECT(SW_RESULT_OK, sw_device_free(device));
    CHECK(read_file(path) == SAMPLES && memcmp(samples, played, sizeof samples) == 0);
}

// Seconds in which all samples have come to the device, with a control of a name.
static double seconds_with(const char *path, const char *control, uint64_t control_rate,
                           sw_transmitter_stats *stats) {
    char address[SW_TEXT_BYTES];
    sw_device_options plays = plays_into(path);
    plays.has_clock = 0;
    plays.faults = NULL;
    sw_device *device = start_device(&plays, address);
    sw_transmitter_options options;
    EXPECT(SW_RESULT_OK, sw_transmitter_options_init(&options, sizeof options));
    CHECK(options.control == SW_CONTROL_DCQCN && options.control_rate == 0);
    options.control_rate = control_rate;
    EXPECT(SW_RESULT_OK, sw_control_parse(control, control_rate, &options.control));
    sw_transmitter *transmitter = NULL;
    EXPECT(SW_RESULT_OK, sw_transmitter_open(address, &options, &transmitter));
    double start = now_s();
    EXPECT(SW_RESULT_OK,
           sw_transmitter_write(transmitter, samples, SAMPLES, SW_INDEX_NEXT,
                                SW_SEND_START | SW_SEND_END_OF_BURST, 20 * SECOND, NULL));
    EXPECT(SW_RESULT_OK, sw_transmitter_wait_acknowledged(transmitter, 20 * SECOND));
    double seconds = now_s() - start;
    EXPECT(SW_RESULT_OK, sw_transmitter_finish(transmitter));
    EXPECT(SW_RESULT_OK, sw_transmitter_get_stats(transmitter, stats));
    EXPECT(SW_RESULT_OK, sw_transmitter_free(transmitter));
    EXPECT(SW_RESULT_OK, sw_device_free(device));
    CHECK(read_file(path) == SAMPLES && memcmp(samples, played, sizeof samples) == 0);
    return seconds;
}

// A fixed control keeps to its rate, and no control has no limit.
static void controlled(const char *path) {
    const uint64_t rate = 10000000;
    const double least = sizeof samples * 8.0 / (double)rate;
    sw_transmitter_stats stats = {.struct_size = sizeof stats};
    CHECK(seconds_with(path, "fixed", rate, &stats) > 0.95 * least);
    CHECK(stats.limit_bps > rate - 61100 && stats.limit_bps < rate + 61100 && stats.cuts == 0);
    CHECK(seconds_with(path, "none", 0, &stats) > 0 && stats.limit_bps == 0);
    seconds_with(path, "dcqcn", 0, &stats);
    CHECK(stats.limit_bps == 0 && stats.cuts == 0);
}

// At its time: a burst that begins half a second after the opening is not late.
static void at_its_time(const char *path) {
    enum { COUNT = 40000 };
    char address[SW_TEXT_BYTES];
    sw_device_options options = plays_into(path);
    options.rate_hz = 2e5;
    sw_device *device = start_device(&options, address);
    sw_transmitter *transmitter = NULL;
    EXPECT(SW_RESULT_OK, sw_transmitter_open(address, NULL, &transmitter));
    sw_stream_info info = {.struct_size = sizeof info};
    EXPECT(SW_RESULT_OK, sw_transmitter_get_info(transmitter, &info));
    EXPECT(SW_RESULT_ARGUMENT, sw_transmitter_write(transmitter, samples, COUNT,
                                                    info.first_index + 100000, 0, SECOND, NULL));
    // As in docs/c.md.
    uint64_t first = info.first_index + 100000;
    uint32_t flags = SW_SEND_START | SW_SEND_END_OF_BURST;
    sw_result result =
        sw_transmitter_write(transmitter, samples, COUNT, first, flags, SW_FOREVER, NULL);
    EXPECT(SW_RESULT_OK, result);
    EXPECT(SW_RESULT_TIMEOUT, sw_transmitter_wait_played(transmitter, first + COUNT, 10 * MS));
    EXPECT(SW_RESULT_OK, sw_transmitter_wait_played(transmitter, SW_INDEX_NEXT, 20 * SECOND));
    EXPECT(SW_RESULT_OK, sw_transmitter_finish(transmitter));
    sw_transmitter_stats stats = {.struct_size = sizeof stats};
    EXPECT(SW_RESULT_OK, sw_transmitter_get_stats(transmitter, &stats));
    CHECK(stats.position_of_peer >= first + COUNT);
    CHECK(stats.late_at_peer == 0 && stats.underflow_at_peer == 0);
    EXPECT(SW_RESULT_OK, sw_transmitter_free(transmitter));
    EXPECT(SW_RESULT_OK, sw_device_free(device));
    CHECK(read_file(path) == COUNT && memcmp(samples, played, COUNT * 4) == 0);
}

// Waits until the device plays an index.
static void wait_position(sw_transmitter *transmitter, uint64_t index) {
    sw_transmitter_stats stats = {.struct_size = sizeof stats};
    double start = now_s();
    do {
        CHECK(now_s() - start < 60);
        EXPECT(SW_RESULT_OK, sw_transmitter_get_stats(transmitter, &stats));
    } while (stats.position_of_peer < index);
}

// Late samples are counted and reported.
static void late(const char *path) {
    char address[SW_TEXT_BYTES];
    sw_device_options options = plays_into(path);
    options.rate_hz = 2e5;
    sw_device *device = start_device(&options, address);
    sw_transmitter *transmitter = NULL;
    EXPECT(SW_RESULT_OK, sw_transmitter_open(address, NULL, &transmitter));
    sw_stream_info info = {.struct_size = sizeof info};
    EXPECT(SW_RESULT_OK, sw_transmitter_get_info(transmitter, &info));
    wait_position(transmitter, info.first_index + 1000);
    sw_play_event event = {.struct_size = sizeof event};
    EXPECT(SW_RESULT_TIMEOUT, sw_transmitter_next_event(transmitter, 0, &event));
    EXPECT(SW_RESULT_OK, sw_transmitter_write(transmitter, samples, 1000, SW_INDEX_NEXT,
                                              SW_SEND_START | SW_SEND_END_OF_BURST, SECOND, NULL));
    EXPECT(SW_RESULT_OK, sw_transmitter_wait_played(transmitter, SW_INDEX_NEXT, 20 * SECOND));
    sw_transmitter_stats stats = {.struct_size = sizeof stats};
    EXPECT(SW_RESULT_OK, sw_transmitter_get_stats(transmitter, &stats));
    CHECK(stats.late_at_peer > 0);
    uint64_t packets = 0;
    while (sw_transmitter_next_event(transmitter, 0, &event) == SW_RESULT_OK) {
        CHECK(event.kind == SW_PLAY_EVENT_KIND_LATE && event.lost == 0);
        CHECK(event.index == info.first_index);
        CHECK(event.end_index >= info.first_index + 1000);
        packets += event.count;
    }
    CHECK(packets == stats.late_at_peer);
    EXPECT(SW_RESULT_OK, sw_transmitter_free(transmitter));
    EXPECT(SW_RESULT_OK, sw_device_free(device));
}

// A burst that goes on too late: the device says where it had no samples, and how many.
static void underflow(const char *path) {
    char address[SW_TEXT_BYTES];
    sw_device_options options = plays_into(path);
    options.rate_hz = 2e5;
    options.faults = NULL;
    sw_device *device = start_device(&options, address);
    sw_transmitter *transmitter = NULL;
    EXPECT(SW_RESULT_OK, sw_transmitter_open(address, NULL, &transmitter));
    sw_stream_info info = {.struct_size = sizeof info};
    EXPECT(SW_RESULT_OK, sw_transmitter_get_info(transmitter, &info));
    uint64_t first = info.first_index + 20000;
    sw_room room = {.struct_size = sizeof room};
    EXPECT(SW_RESULT_OK, sw_transmitter_begin(transmitter, 10 * SECOND, &room));
    uint64_t count = room.count_max;
    memcpy(room.samples, samples, count * 4);
    EXPECT(SW_RESULT_OK,
           sw_transmitter_commit(transmitter, &room, count, first, SW_SEND_START));

    sw_play_event event = {.struct_size = sizeof event};
    do {
        EXPECT(SW_RESULT_OK, sw_transmitter_next_event(transmitter, 60 * SECOND, &event));
    } while (event.kind == SW_PLAY_EVENT_KIND_LATE);
    CHECK(event.kind == SW_PLAY_EVENT_KIND_UNDERFLOW && event.lost == 0);
    CHECK(event.index == first + count && event.count == event.end_index - event.index);
    uint64_t missing = event.count;

    EXPECT(SW_RESULT_OK, sw_transmitter_write(transmitter, samples, 1000, SW_INDEX_NEXT,
                                              SW_SEND_END_OF_BURST, SECOND, NULL));
    EXPECT(SW_RESULT_OK, sw_transmitter_wait_played(transmitter, SW_INDEX_NEXT, 20 * SECOND));
    EXPECT(SW_RESULT_OK, sw_transmitter_finish(transmitter));
    sw_transmitter_stats stats = {.struct_size = sizeof stats};
    EXPECT(SW_RESULT_OK, sw_transmitter_get_stats(transmitter, &stats));
    sw_result result;
    while ((result = sw_transmitter_next_event(transmitter, SECOND, &event)) == SW_RESULT_OK) {
        missing += event.kind == SW_PLAY_EVENT_KIND_UNDERFLOW ? event.count : 0;
    }
    EXPECT(SW_RESULT_END, result);
    CHECK(missing == stats.underflow_at_peer);
    EXPECT(SW_RESULT_OK, sw_transmitter_free(transmitter));
    EXPECT(SW_RESULT_OK, sw_device_free(device));
}

static void *wait_for_events(void *transmitter) {
    sw_play_event event = {.struct_size = sizeof event};
    sw_result result;
    // The end of the session may have an event of its own.
    do {
        result = sw_transmitter_next_event(transmitter, SW_FOREVER, &event);
    } while (result == SW_RESULT_OK);
    EXPECT(SW_RESULT_CANCELLED, result);
    return NULL;
}

static void *write_without_end(void *transmitter) {
    sw_result result;
    do {
        result = sw_transmitter_write(transmitter, samples, SAMPLES, SW_INDEX_NEXT, 0, SW_FOREVER,
                                      NULL);
    } while (result == SW_RESULT_OK || result == SW_RESULT_BUSY);
    EXPECT(SW_RESULT_CANCELLED, result);
    return NULL;
}

// A thread that waits for room, since the device plays all of it far later, is cancelled.
static void cancelled(const char *path) {
    char address[SW_TEXT_BYTES];
    sw_device_options options = plays_into(path);
    options.window = 64;
    sw_device *device = start_device(&options, address);
    sw_transmitter *transmitter = NULL;
    EXPECT(SW_RESULT_OK, sw_transmitter_open(address, NULL, &transmitter));
    sw_stream_info info = {.struct_size = sizeof info};
    EXPECT(SW_RESULT_OK, sw_transmitter_get_info(transmitter, &info));
    uint64_t far = info.first_index + (uint64_t)(40 * info.rate_hz);
    EXPECT(SW_RESULT_OK,
           sw_transmitter_write(transmitter, samples, 1, far, SW_SEND_START, SECOND, NULL));
    pthread_t thread, watcher;
    CHECK(pthread_create(&thread, NULL, write_without_end, transmitter) == 0);
    CHECK(pthread_create(&watcher, NULL, wait_for_events, transmitter) == 0);
    double start = now_s();
    while (sw_transmitter_wait_acknowledged(transmitter, 0) != SW_RESULT_BUSY) {
        CHECK(now_s() - start < 60);
    }
    start = now_s();
    EXPECT(SW_RESULT_OK, sw_transmitter_cancel(transmitter));
    CHECK(pthread_join(thread, NULL) == 0 && pthread_join(watcher, NULL) == 0);
    CHECK(now_s() - start < 20);
    sw_end end = {.struct_size = sizeof end};
    EXPECT(SW_RESULT_OK, sw_transmitter_get_end(transmitter, &end));
    CHECK(end.result == SW_RESULT_CANCELLED);
    EXPECT(SW_RESULT_OK, sw_transmitter_free(transmitter));
    EXPECT(SW_RESULT_OK, sw_device_free(device));
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    char path[512];
    snprintf(path, sizeof path, "%s/played.raw", argv[1]);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        samples[i] = i * 2654435761u + 7;
    }
    as_fast_as_it_goes(path);
    controlled(path);
    at_its_time(path);
    late(path);
    underflow(path);
    cancelled(path);
    return 0;
}

// Arguments that are wrong are named, and nothing happens.
#define _POSIX_C_SOURCE 200809L
#include "check.h"

static void options(const char *address) {
    sw_receiver *receiver = NULL;
    EXPECT(SW_RESULT_NULL, sw_receiver_options_init(NULL, sizeof(sw_receiver_options)));
    sw_receiver_options options;
    EXPECT(SW_RESULT_STRUCT_SIZE, sw_receiver_options_init(&options, 0));
    EXPECT(SW_RESULT_OK, sw_receiver_options_init(&options, sizeof options));
    CHECK(options.window == 1024 && options.stream == -1 && options.cpu == -1);
    EXPECT(SW_RESULT_NULL, sw_receiver_open(NULL, &options, &receiver));
    EXPECT(SW_RESULT_NULL, sw_receiver_open(address, &options, NULL));
    EXPECT(SW_RESULT_RESOLVE, sw_receiver_open("no such host", &options, &receiver));
    EXPECT(SW_RESULT_ARGUMENT, sw_receiver_open("\xff\xfe", &options, &receiver));

    options.struct_size = 3;
    EXPECT(SW_RESULT_STRUCT_SIZE, sw_receiver_open(address, &options, &receiver));
    CHECK(strstr(sw_last_error(), "struct_size 3") != NULL);
    options.struct_size = sizeof options;
    // A program of a later version: what is not known must not be asked for.
    struct {
        sw_receiver_options known;
        uint64_t later;
    } newer = {options, 1};
    newer.known.struct_size = sizeof newer;
    EXPECT(SW_RESULT_STRUCT_SIZE, sw_receiver_open(address, &newer.known, &receiver));
    newer.later = 0;
    EXPECT(SW_RESULT_OK, sw_receiver_open(address, &newer.known, &receiver));
    EXPECT(SW_RESULT_OK, sw_receiver_free(receiver));

    struct {
        uint32_t *field;
        uint32_t wrong, right;
        sw_result result;
        const char *words;
    } cases[] = {
        {&options.delivery, 9, 0, SW_RESULT_ARGUMENT, "delivery 9"},
        {&options.waits, 4, 0, SW_RESULT_ARGUMENT, "waits 4"},
        {&options.huge_pages, 2, 0, SW_RESULT_ARGUMENT, "huge_pages 2"},
        {&options.window, 0, 1024, SW_RESULT_OPTION_RANGE, "0"},
        {&options.mtu_bytes, 100, 9000, SW_RESULT_OPTION_RANGE, "100"},
        {&options.blocks_max, 0, 1024, SW_RESULT_OPTION_RANGE, "blocks_max 0"},
        {&options.priority, 100, 0, SW_RESULT_REAL_TIME, "priority 100"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        *cases[i].field = cases[i].wrong;
        EXPECT(cases[i].result, sw_receiver_open(address, &options, &receiver));
        CHECK(strstr(sw_last_error(), cases[i].words) != NULL);
        *cases[i].field = cases[i].right;
    }
    options.coalesce_ns = 11 * MS;
    EXPECT(SW_RESULT_REAL_TIME, sw_receiver_open(address, &options, &receiver));
    CHECK(strstr(sw_last_error(), "coalesce 11ms") != NULL);
    options.coalesce_ns = 0;
    options.stream = 5;
    EXPECT(SW_RESULT_REFUSED_NO_SUCH_STREAM, sw_receiver_open(address, &options, &receiver));
    options.stream = -2;
    EXPECT(SW_RESULT_ARGUMENT, sw_receiver_open(address, &options, &receiver));
    options.stream = -1;
    options.timeout_ns = 200 * MS;
    EXPECT(SW_RESULT_NO_ANSWER, sw_receiver_open("127.0.0.1:9", &options, &receiver));
    sw_transmitter *transmitter = NULL;
    EXPECT(SW_RESULT_REFUSED_ROLE, sw_transmitter_open(address, NULL, &transmitter));
    sw_device *device = NULL;
    sw_device_options wrong;
    EXPECT(SW_RESULT_OK, sw_device_options_init(&wrong, sizeof wrong));
    wrong.faults = "data:lost=1";
    EXPECT(SW_RESULT_ARGUMENT, sw_device_new(&wrong, &device));
}

// A name and a rate that do not fit are refused with the same words everywhere, which name both.
static void controls(const char *address) {
    struct {
        const char *name;
        uint32_t control;
        uint64_t rate;
        sw_result result;
        const char *words;
    } cases[] = {
        {"cubic", 3, 0, SW_RESULT_ARGUMENT, "control "},
        {"fixed", SW_CONTROL_FIXED, 0, SW_RESULT_ARGUMENT,
         "control fixed needs the rate to keep to: add control_rate"},
        {"none", SW_CONTROL_NONE, 5, SW_RESULT_ARGUMENT,
         "control none has no rate: leave control_rate 5 out, or set control fixed"},
        {"dcqcn", SW_CONTROL_DCQCN, 9999999, SW_RESULT_ARGUMENT,
         "control dcqcn never goes below 10 Mb/s: raise control_rate 9999999, or set control fixed"},
        {NULL, SW_CONTROL_FIXED, 99999, SW_RESULT_OPTION_RANGE, "control rate 99999: must be"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].name != NULL) {
            uint32_t control = 77;
            EXPECT(cases[i].result, sw_control_parse(cases[i].name, cases[i].rate, &control));
            CHECK(strstr(sw_last_error(), cases[i].words) != NULL && control == 77);
        }
        sw_transmitter_options options;
        EXPECT(SW_RESULT_OK, sw_transmitter_options_init(&options, sizeof options));
        options.control = cases[i].control;
        options.control_rate = cases[i].rate;
        sw_transmitter *transmitter = NULL;
        EXPECT(cases[i].result, sw_transmitter_open(address, &options, &transmitter));
        CHECK(strstr(sw_last_error(), cases[i].words) != NULL);
        sw_device_options device_options;
        EXPECT(SW_RESULT_OK, sw_device_options_init(&device_options, sizeof device_options));
        device_options.control = cases[i].control;
        device_options.control_rate = cases[i].rate;
        sw_device *device = NULL;
        EXPECT(cases[i].result, sw_device_new(&device_options, &device));
        CHECK(strstr(sw_last_error(), cases[i].words) != NULL);
    }
    EXPECT(SW_RESULT_NULL, sw_control_parse(NULL, 0, &(uint32_t){0}));
    EXPECT(SW_RESULT_NULL, sw_control_parse("none", 0, NULL));
    sw_transmitter_options options;
    EXPECT(SW_RESULT_OK, sw_transmitter_options_init(&options, sizeof options));
    options.link = SW_LINK_XDP_GENERIC + 1;
    sw_transmitter *transmitter = NULL;
    EXPECT(SW_RESULT_ARGUMENT, sw_transmitter_open(address, &options, &transmitter));
    CHECK(strstr(sw_last_error(), "link 4") != NULL);
}

// What contradicts a carriage is named before any packet is sent; a device that offers no RDMA says so.
static void carriages(const char *address) {
    sw_receiver_options options;
    EXPECT(SW_RESULT_OK, sw_receiver_options_init(&options, sizeof options));
    CHECK(options.carriage == SW_CARRIAGE_DATA && options.verbs == NULL);
    sw_receiver *receiver = NULL;
    options.carriage = SW_CARRIAGE_RDMA + 1;
    EXPECT(SW_RESULT_ARGUMENT, sw_receiver_open(address, &options, &receiver));
    CHECK(strstr(sw_last_error(), "carriage 2") != NULL);
    options.carriage = SW_CARRIAGE_DATA;
    options.verbs = "none0";
    const char *both = "verbs of none0 contradicts a carriage of DATA";
    EXPECT(SW_RESULT_CONTRADICTION, sw_receiver_open(address, &options, &receiver));
    CHECK(strstr(sw_last_error(), both) != NULL);
    sw_aligned *aligned = NULL;
    EXPECT(SW_RESULT_CONTRADICTION, sw_aligned_open(address, &(uint16_t){0}, 1, &options, &aligned));
    CHECK(strstr(sw_last_error(), both) != NULL);
    options.carriage = SW_CARRIAGE_RDMA;
    EXPECT(SW_RESULT_CONTRADICTION, sw_receiver_open("[::1]:9", &options, &receiver));
    CHECK(strstr(sw_last_error(), "verbs of none0 contradicts an address of IPv6") != NULL);
    // Where the library of the cards is missing, that is the error.
    EXPECT(SW_RESULT_LINK, sw_receiver_open(address, &options, &receiver));
    CHECK(strstr(sw_last_error(), "no RDMA device is called none0") != NULL ||
          strstr(sw_last_error(), "the verbs library cannot be loaded") != NULL);
    options.verbs = "\xff";
    EXPECT(SW_RESULT_ARGUMENT, sw_receiver_open(address, &options, &receiver));
    CHECK(strstr(sw_last_error(), "verbs ") != NULL);

    sw_device *device = NULL;
    sw_device_options of_device;
    EXPECT(SW_RESULT_OK, sw_device_options_init(&of_device, sizeof of_device));
    of_device.carriage = SW_CARRIAGE_RDMA + 1;
    EXPECT(SW_RESULT_ARGUMENT, sw_device_new(&of_device, &device));
    CHECK(strstr(sw_last_error(), "carriage 2") != NULL);
    of_device.carriage = SW_CARRIAGE_RDMA;
    of_device.address = "[::1]:0";
    EXPECT(SW_RESULT_LINK, sw_device_new(&of_device, &device));
    CHECK(strstr(sw_last_error(), "station for RDMA") != NULL);

    sw_stream_info info = {.struct_size = sizeof info, .carriage = 77};
    sw_rdma_probe rdma = {.struct_size = sizeof rdma, .packets_a_write = 77};
    EXPECT(SW_RESULT_OK, sw_probe_rdma(address, 0, 5 * SECOND, &info, &rdma));
    CHECK(info.carriage == SW_CARRIAGE_DATA && rdma.path_mtu_bytes == 4096);
    CHECK(rdma.device_path_mtu_bytes == 0 && rdma.packets_a_write == 0);
    EXPECT(SW_RESULT_OK, sw_probe_rdma(address, 0, 5 * SECOND, &info, NULL));
    EXPECT(SW_RESULT_NULL, sw_probe_rdma(address, 0, 5 * SECOND, NULL, &rdma));
    EXPECT(SW_RESULT_REFUSED_NO_SUCH_STREAM, sw_probe_rdma(address, 5, 5 * SECOND, &info, &rdma));
}

// The named interface carries the stream, and must exist.
static void interfaces(const char *address) {
    sw_receiver_options options;
    EXPECT(SW_RESULT_OK, sw_receiver_options_init(&options, sizeof options));
    CHECK(options.interface == NULL);
    options.interface = "sw-none0";
    sw_receiver *receiver = NULL;
    EXPECT(SW_RESULT_LINK, sw_receiver_open(address, &options, &receiver));
    CHECK(strstr(sw_last_error(), "interface sw-none0: No such device") != NULL);
    sw_aligned *aligned = NULL;
    EXPECT(SW_RESULT_LINK, sw_aligned_open(address, &(uint16_t){0}, 1, &options, &aligned));
    sw_transmitter_options sending;
    EXPECT(SW_RESULT_OK, sw_transmitter_options_init(&sending, sizeof sending));
    CHECK(sending.interface == NULL);
    sending.interface = "\xff";
    sw_transmitter *transmitter = NULL;
    EXPECT(SW_RESULT_ARGUMENT, sw_transmitter_open(address, &sending, &transmitter));
    CHECK(strstr(sw_last_error(), "interface ") != NULL);
    options.interface = "lo";
    EXPECT(SW_RESULT_OK, sw_receiver_open(address, &options, &receiver));
    EXPECT(SW_RESULT_OK, sw_receiver_free(receiver));
}

static void objects(const char *address) {
    sw_receiver_options options;
    EXPECT(SW_RESULT_OK, sw_receiver_options_init(&options, sizeof options));
    options.blocks_max = 2;
    options.link = SW_LINK_AUTO;
    sw_receiver *receiver = NULL;
    EXPECT(SW_RESULT_OK, sw_receiver_open(address, &options, &receiver));
    char granted[1000];
    EXPECT(SW_RESULT_OK, sw_receiver_get_granted(receiver, granted, sizeof granted));
    CHECK(strstr(granted, "\nlink: ") != NULL);
    sw_block blocks[3] = {{.struct_size = sizeof *blocks}, {.struct_size = sizeof *blocks},
                          {.struct_size = sizeof *blocks}};
    EXPECT(SW_RESULT_NULL, sw_receiver_next(NULL, SECOND, &blocks[0]));
    EXPECT(SW_RESULT_NULL, sw_receiver_next(receiver, SECOND, NULL));
    sw_block unset = {0};
    EXPECT(SW_RESULT_STRUCT_SIZE, sw_receiver_next(receiver, SECOND, &unset));
    EXPECT(SW_RESULT_STALE, sw_block_release(&blocks[0]));
    EXPECT(SW_RESULT_NULL, sw_block_release(NULL));
    // The calls above took no samples out.
    EXPECT(SW_RESULT_OK, sw_receiver_next(receiver, 10 * SECOND, &blocks[0]));
    CHECK(blocks[0].index == 0);
    EXPECT(SW_RESULT_OK, sw_receiver_next(receiver, 10 * SECOND, &blocks[1]));
    EXPECT(SW_RESULT_TOO_MANY_LOANS, sw_receiver_next(receiver, SECOND, &blocks[2]));
    sw_block copy = blocks[0];
    EXPECT(SW_RESULT_OK, sw_block_release(&blocks[0]));
    EXPECT(SW_RESULT_OK, sw_receiver_next(receiver, 10 * SECOND, &blocks[2]));
    CHECK(blocks[2].index == blocks[1].index + blocks[1].count);
    // Its place is on loan again, and the old handle does not give it back.
    EXPECT(SW_RESULT_STALE, sw_block_release(&copy));

    unsigned char buffer[64];
    EXPECT(SW_RESULT_NULL, sw_receiver_read(receiver, NULL, 64, 0, SECOND, &copy));
    EXPECT(SW_RESULT_ROOM, sw_receiver_read(receiver, buffer, 3, 0, SECOND, &copy));
    EXPECT(SW_RESULT_ARGUMENT, sw_receiver_read(receiver, buffer, SIZE_MAX, 0, SECOND, &copy));
    CHECK(strstr(sw_last_error(), "exceeds any memory") != NULL);
    EXPECT(SW_RESULT_ARGUMENT, sw_receiver_read(receiver, buffer, 64, 99, SECOND, &copy));
    EXPECT(SW_RESULT_ARGUMENT,
           sw_receiver_read(receiver, buffer, 64, SW_FORMAT_RF32, SECOND, &copy));
    char text[4];
    EXPECT(SW_RESULT_ROOM, sw_receiver_get_granted(receiver, text, sizeof text));
    sw_receiver_stats stats = {.struct_size = 0};
    EXPECT(SW_RESULT_STRUCT_SIZE, sw_receiver_get_stats(receiver, &stats));
    // An older program: nothing is written beyond what it has.
    struct {
        size_t struct_size;
        uint64_t received, guard;
    } older = {2 * sizeof(size_t), 0, 77};
    EXPECT(SW_RESULT_OK, sw_receiver_get_stats(receiver, (sw_receiver_stats *)&older));
    CHECK(older.guard == 77);

    // A name of another type is none, and one that was freed is none any more.
    EXPECT(SW_RESULT_STALE, sw_device_free((sw_device *)receiver));
    EXPECT(SW_RESULT_OK, sw_receiver_free(receiver));
    EXPECT(SW_RESULT_STALE, sw_receiver_free(receiver));
    EXPECT(SW_RESULT_STALE, sw_receiver_next(receiver, SECOND, &copy));
    EXPECT(SW_RESULT_STALE, sw_receiver_cancel(receiver));
    EXPECT(SW_RESULT_OK, sw_receiver_free(NULL));
    EXPECT(SW_RESULT_OK, sw_transmitter_free(NULL));
    EXPECT(SW_RESULT_OK, sw_device_free(NULL));
    EXPECT(SW_RESULT_OK, sw_devices_free(NULL));
    CHECK(counts_from(blocks[2].samples, blocks[2].index, blocks[2].count));
    EXPECT(SW_RESULT_OK, sw_block_release(&blocks[1]));
    EXPECT(SW_RESULT_OK, sw_block_release(&blocks[2]));
    EXPECT(SW_RESULT_STALE, sw_block_release(&blocks[2]));
}

int main(void) {
    CHECK(sw_version_number() > 0 && strchr(sw_version(), '.') != NULL);
    CHECK(strcmp(sw_last_error(), "") == 0);
    CHECK(strcmp(sw_result_str(SW_RESULT_TIMEOUT), "timeout") == 0);
    CHECK(strcmp(sw_result_str(4000), "unknown result") == 0);
    char address[SW_TEXT_BYTES];
    sw_device *device = start_device(NULL, address);
    options(address);
    controls(address);
    interfaces(address);
    carriages(address);
    EXPECT(SW_RESULT_OK, sw_device_free(device));
    device = start_device(NULL, address);
    objects(address);
    EXPECT(SW_RESULT_OK, sw_device_free(device));
    EXPECT(SW_RESULT_STALE, sw_device_free(device));
    return 0;
}

// A bare AF_XDP program to compare our link with: round trips, and packets one way. It uses the kernel's
// interface alone, in copy mode, and parses nothing.
//
//     bare NEAR_INTERFACE FAR_NAMESPACE FAR_INTERFACE ping BYTES ROUNDS [CPU CPU]
//     bare NEAR_INTERFACE FAR_NAMESPACE FAR_INTERFACE blast BYTES SECONDS [CPU CPU]
//
// It runs in the near network namespace, and its child in the far one. Both redirect every frame of their
// interface to a socket. BYTES is a UDP payload: frames are as long as ours, UDP checksums are not made.
// Prints one JSON object.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FRAMES = 4096, FRAME_BYTES = 2048, ENTRIES = 2048, HEADERS = 14 + 20 + 8, KICK_BATCH = 32 };

struct ring {
	uint32_t *producer, *consumer;
	void *entries;
	uint32_t at; // the next entry of this side
};

struct side {
	int socket;
	uint8_t *memory;
	struct ring fill, completion, receive, transmit;
	uint32_t unsent; // frames of the upper half that are free
};

static void fail(const char *what)
{
	fprintf(stderr, "bare: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int bpf(int command, union bpf_attr *attr)
{
	int answer = (int)syscall(SYS_bpf, command, attr, sizeof *attr);
	if (answer < 0)
		fail("bpf");
	return answer;
}

static void attach(int interface, int socket)
{
	union bpf_attr map = {.map_type = BPF_MAP_TYPE_XSKMAP, .key_size = 4, .value_size = 4, .max_entries = 1};
	int map_fd = bpf(BPF_MAP_CREATE, &map);
	uint32_t key = 0;
	union bpf_attr entry = {.map_fd = (uint32_t)map_fd, .key = (uint64_t)&key, .value = (uint64_t)&socket};
	bpf(BPF_MAP_UPDATE_ELEM, &entry);
	// return bpf_redirect_map(map, 0, XDP_PASS)
	struct bpf_insn program[] = {
		{.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map_fd},
		{0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = XDP_PASS},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect_map},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr load = {.prog_type = BPF_PROG_TYPE_XDP, .insn_cnt = sizeof program / sizeof *program,
		.insns = (uint64_t)program, .license = (uint64_t) "GPL"};
	int program_fd = bpf(BPF_PROG_LOAD, &load);
	union bpf_attr link = {.link_create = {.prog_fd = (uint32_t)program_fd, .target_ifindex = (uint32_t)interface,
		.attach_type = BPF_XDP, .flags = XDP_FLAGS_DRV_MODE}};
	bpf(BPF_LINK_CREATE, &link);
}

static void map_ring(struct side *side, struct ring *ring, struct xdp_ring_offset *offsets, size_t entry,
	off_t page_offset)
{
	size_t bytes = offsets->desc + ENTRIES * entry;
	int flags = MAP_SHARED | MAP_POPULATE;
	uint8_t *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, side->socket, page_offset);
	if (base == MAP_FAILED)
		fail("mmap");
	ring->producer = (uint32_t *)(base + offsets->producer);
	ring->consumer = (uint32_t *)(base + offsets->consumer);
	ring->entries = base + offsets->desc;
	ring->at = 0;
}

static void open_side(struct side *side, const char *name)
{
	int interface = (int)if_nametoindex(name);
	side->socket = socket(AF_XDP, SOCK_RAW, 0);
	if (!interface || side->socket < 0)
		fail(name);
	size_t bytes = (size_t)FRAMES * FRAME_BYTES;
	side->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct xdp_umem_reg memory = {.addr = (uint64_t)side->memory, .len = bytes, .chunk_size = FRAME_BYTES};
	if (setsockopt(side->socket, SOL_XDP, XDP_UMEM_REG, &memory, sizeof memory))
		fail("XDP_UMEM_REG");
	int rings[] = {XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING, XDP_TX_RING}, entries = ENTRIES;
	for (int i = 0; i < 4; i++)
		if (setsockopt(side->socket, SOL_XDP, rings[i], &entries, sizeof entries))
			fail("ring");
	struct xdp_mmap_offsets offsets;
	socklen_t len = sizeof offsets;
	if (getsockopt(side->socket, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &len))
		fail("XDP_MMAP_OFFSETS");
	map_ring(side, &side->fill, &offsets.fr, 8, (off_t)XDP_UMEM_PGOFF_FILL_RING);
	map_ring(side, &side->completion, &offsets.cr, 8, (off_t)XDP_UMEM_PGOFF_COMPLETION_RING);
	map_ring(side, &side->receive, &offsets.rx, sizeof(struct xdp_desc), XDP_PGOFF_RX_RING);
	map_ring(side, &side->transmit, &offsets.tx, sizeof(struct xdp_desc), XDP_PGOFF_TX_RING);
	struct sockaddr_xdp address = {.sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY | XDP_USE_NEED_WAKEUP,
		.sxdp_ifindex = (uint32_t)interface};
	// A socket before may still hold the queue for some ms.
	for (int tries = 0; bind(side->socket, (struct sockaddr *)&address, sizeof address); tries++) {
		if (errno != EBUSY || tries == 100)
			fail("bind");
		usleep(10000);
	}
	attach(interface, side->socket);
	// The lower half of the frames receives.
	for (; side->fill.at < ENTRIES; side->fill.at++)
		((uint64_t *)side->fill.entries)[side->fill.at] = (uint64_t)side->fill.at * FRAME_BYTES;
	__atomic_store_n(side->fill.producer, side->fill.at, __ATOMIC_RELEASE);
	side->unsent = FRAMES - ENTRIES;
}

// Sends `count` frames; returns how many found room.
static uint32_t send_frames(struct side *side, const uint8_t *frame, uint32_t bytes, uint32_t count)
{
	uint32_t done = __atomic_load_n(side->completion.producer, __ATOMIC_ACQUIRE);
	side->unsent += done - side->completion.at;
	side->completion.at = done;
	__atomic_store_n(side->completion.consumer, done, __ATOMIC_RELEASE);
	if (count > side->unsent)
		count = side->unsent;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t place = side->transmit.at++ % ENTRIES;
		uint64_t at = (uint64_t)(ENTRIES + place) * FRAME_BYTES;
		memcpy(side->memory + at, frame, bytes);
		((struct xdp_desc *)side->transmit.entries)[place] = (struct xdp_desc){.addr = at, .len = bytes};
	}
	side->unsent -= count;
	__atomic_store_n(side->transmit.producer, side->transmit.at, __ATOMIC_RELEASE);
	while (sendto(side->socket, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno == EAGAIN)
		;
	return count;
}

// Takes what has come; returns how many frames. The last one's bytes are copied to `into`.
static uint32_t take_frames(struct side *side, uint8_t *into)
{
	uint32_t end = __atomic_load_n(side->receive.producer, __ATOMIC_ACQUIRE), count = end - side->receive.at;
	for (uint32_t i = 0; i < count; i++) {
		struct xdp_desc *come = &((struct xdp_desc *)side->receive.entries)[side->receive.at++ % ENTRIES];
		memcpy(into, side->memory + come->addr, come->len);
		uint64_t frame = come->addr - come->addr % FRAME_BYTES;
		((uint64_t *)side->fill.entries)[side->fill.at++ % ENTRIES] = frame;
	}
	if (count) {
		__atomic_store_n(side->receive.consumer, side->receive.at, __ATOMIC_RELEASE);
		__atomic_store_n(side->fill.producer, side->fill.at, __ATOMIC_RELEASE);
	}
	return count;
}

static void pin(const char *cpu)
{
	if (!cpu)
		return;
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(atoi(cpu), &set);
	if (sched_setaffinity(0, sizeof set, &set))
		fail("sched_setaffinity");
}

static int64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static void ping(struct side *side, uint8_t *frame, uint32_t bytes, uint32_t rounds)
{
	uint32_t warming = 1000;
	int64_t *times = calloc(rounds, sizeof *times);
	uint8_t into[FRAME_BYTES];
	for (uint32_t i = 0; i < rounds + warming; i++) {
		int64_t start = now_ns();
		send_frames(side, frame, bytes, 1);
		while (!take_frames(side, into))
			;
		if (i >= warming)
			times[i - warming] = now_ns() - start;
	}
	qsort(times, rounds, sizeof *times, compare);
	printf("{\"what\":\"bare xdp spinning\",\"rounds\":%u,\"p50_ns\":%ld,\"p99_ns\":%ld,\"p999_ns\":%ld}\n", rounds,
		(long)times[rounds / 2], (long)times[rounds * 99 / 100], (long)times[rounds * 999 / 1000]);
}

int main(int argc, char **argv)
{
	if (argc != 7 && argc != 9) {
		fprintf(stderr, "bare NEAR FAR_NAMESPACE FAR ping|blast BYTES ROUNDS|SECONDS [CPU CPU]\n");
		return 2;
	}
	uint32_t payload = (uint32_t)atoi(argv[5]), bytes = HEADERS + payload;
	if (bytes < 60 || bytes > 1514) {
		fprintf(stderr, "bare: %s bytes: 18 to 1472 fit\n", argv[5]);
		return 2;
	}
	int is_ping = !strcmp(argv[4], "ping"), ready[2];
	uint8_t frame[FRAME_BYTES] = {0}, into[FRAME_BYTES];
	memset(frame, 0xFF, 6);
	frame[6] = 2;
	frame[12] = 0x88, frame[13] = 0xB5;
	// The far side's count, for the near one.
	uint64_t *received = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct side side;
	if (pipe(ready))
		fail("pipe");
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		char path[256];
		snprintf(path, sizeof path, "/run/netns/%s", argv[2]);
		int far = open(path, O_RDONLY);
		if (far < 0 || setns(far, CLONE_NEWNET))
			fail(path);
		open_side(&side, argv[3]);
		pin(argc == 9 ? argv[8] : NULL);
		if (write(ready[1], "r", 1) != 1)
			fail("write");
		for (;;) {
			uint32_t count = take_frames(&side, into);
			if (count && is_ping)
				send_frames(&side, into, bytes, count);
			__atomic_store_n(received, *received + count, __ATOMIC_RELAXED);
		}
	}
	close(ready[1]);
	open_side(&side, argv[1]);
	char byte;
	if (read(ready[0], &byte, 1) != 1)
		return 1;
	pin(argc == 9 ? argv[7] : NULL);
	if (is_ping) {
		ping(&side, frame, bytes, (uint32_t)atoi(argv[6]));
	} else {
		int64_t start = now_ns(), end = start + (int64_t)(atof(argv[6]) * 1e9);
		uint64_t sent = 0;
		while (now_ns() < end)
			sent += send_frames(&side, frame, bytes, KICK_BATCH);
		double seconds = (double)(now_ns() - start) / 1e9;
		uint64_t came = __atomic_load_n(received, __ATOMIC_RELAXED);
		printf("{\"what\":\"bare xdp one way\",\"seconds\":%.3f,\"sent\":%lu,\"received\":%lu,\"payload_bps\":%.0f}\n",
			seconds, (unsigned long)sent, (unsigned long)came, (double)came * payload * 8 / seconds);
	}
	kill(child, SIGKILL);
	return 0;
}

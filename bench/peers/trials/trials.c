// Ways to move UDP packets that our link does not use, beside the one that it does: packets one way.
//
//     trials ADDRESS FAR_NAMESPACE INTERFACE SENDER RECEIVER BYTES SECONDS
//
// SENDER: `segment` (sendmsg with UDP_SEGMENT, as our link) or `zerocopy` (io_uring, IORING_OP_SENDMSG_ZC of
// the same). RECEIVER: `gro` (recvmmsg with UDP_GRO, as our link), `uring` (io_uring, multishot recvmsg into
// provided buffers, with UDP_GRO) or `ring` (AF_PACKET, TPACKET_V3). It receives in its own network namespace
// on INTERFACE, which has ADDRESS, and its child sends from the far one. BYTES is a UDP payload. Every way reads
// one byte of each cache line, as the sum of a CRC would. Prints one JSON object.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/io_uring.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#define UDP_GRO 104
#endif

enum { PORT = 9471, JOINED_BYTES = 64512, BUFFERS = 64, BUFFER_BYTES = 65536 + 512, ENTRIES = 64 };

struct uring {
	int fd;
	uint32_t *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *entries;
	struct io_uring_cqe *completions;
};

struct counts {
	uint64_t packets, bytes;
	uint8_t sum;
};

static void fail(const char *what)
{
	fprintf(stderr, "trials: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now_s(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static double cpu_s(int who)
{
	struct rusage use;
	getrusage(who, &use);
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	       1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static void count(struct counts *counts, const uint8_t *bytes, size_t len, size_t segment)
{
	for (size_t at = 0; at < len; at += 64)
		counts->sum += bytes[at];
	counts->packets += (len + segment - 1) / segment;
	counts->bytes += len;
}

static struct uring uring(void)
{
	struct io_uring_params parameters = {.flags = IORING_SETUP_CQSIZE, .cq_entries = 4 * ENTRIES};
	struct uring ring = {.fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &parameters)};
	if (ring.fd < 0)
		fail("io_uring_setup");
	size_t bytes = parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe);
	int protection = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_POPULATE;
	uint8_t *rings = mmap(NULL, bytes, protection, flags, ring.fd, IORING_OFF_SQ_RING);
	size_t entry_bytes = parameters.sq_entries * sizeof(struct io_uring_sqe);
	ring.entries = mmap(NULL, entry_bytes, protection, flags, ring.fd, IORING_OFF_SQES);
	if (rings == MAP_FAILED || ring.entries == MAP_FAILED)
		fail("mmap of io_uring");
	ring.sq_tail = (uint32_t *)(rings + parameters.sq_off.tail);
	ring.sq_mask = (uint32_t *)(rings + parameters.sq_off.ring_mask);
	ring.sq_array = (uint32_t *)(rings + parameters.sq_off.array);
	ring.cq_head = (uint32_t *)(rings + parameters.cq_off.head);
	ring.cq_tail = (uint32_t *)(rings + parameters.cq_off.tail);
	ring.cq_mask = (uint32_t *)(rings + parameters.cq_off.ring_mask);
	ring.completions = (struct io_uring_cqe *)(rings + parameters.cq_off.cqes);
	return ring;
}

static void submit(struct uring *ring, const struct io_uring_sqe *entry)
{
	uint32_t tail = *ring->sq_tail, place = tail & *ring->sq_mask;
	ring->entries[place] = *entry;
	ring->sq_array[place] = place;
	__atomic_store_n(ring->sq_tail, tail + 1, __ATOMIC_RELEASE);
}

static void enter(struct uring *ring, unsigned submitted, unsigned wanted)
{
	unsigned flags = (wanted ? IORING_ENTER_GETEVENTS : 0) | IORING_ENTER_EXT_ARG;
	struct __kernel_timespec most = {.tv_nsec = 100000000};
	struct io_uring_getevents_arg argument = {.ts = (uint64_t)&most};
	long answer = syscall(SYS_io_uring_enter, ring->fd, submitted, wanted, flags, &argument, sizeof argument);
	if (answer < 0 && errno != ETIME && errno != EINTR)
		fail("io_uring_enter");
}

static struct io_uring_cqe *next(struct uring *ring)
{
	uint32_t head = *ring->cq_head;
	if (head == __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE))
		return NULL;
	return &ring->completions[head & *ring->cq_mask];
}

static void done(struct uring *ring)
{
	__atomic_store_n(ring->cq_head, *ring->cq_head + 1, __ATOMIC_RELEASE);
}

static int bound_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1, bytes = 64 << 20;
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	if (fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof here))
		fail("bind");
	if (setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof on))
		fail("UDP_GRO");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes))
		fail("SO_RCVBUFFORCE");
	return fd;
}

static size_t segment_of(struct msghdr *message, size_t len)
{
	for (struct cmsghdr *it = CMSG_FIRSTHDR(message); it; it = CMSG_NXTHDR(message, it))
		if (it->cmsg_level == SOL_UDP && it->cmsg_type == UDP_GRO)
			return (size_t) * (int *)CMSG_DATA(it);
	return len ? len : 1;
}

static void receive_gro(struct counts *counts, double until)
{
	int fd = bound_socket();
	static uint8_t memory[BUFFERS][65536];
	static struct mmsghdr messages[BUFFERS];
	static struct iovec parts[BUFFERS];
	static char controls[BUFFERS][64];
	while (now_s() < until) {
		struct pollfd wanted = {.fd = fd, .events = POLLIN};
		poll(&wanted, 1, 100);
		for (int at = 0; at < BUFFERS; at++) {
			parts[at] = (struct iovec){memory[at], sizeof memory[at]};
			messages[at].msg_hdr = (struct msghdr){.msg_iov = &parts[at], .msg_iovlen = 1,
				.msg_control = controls[at], .msg_controllen = sizeof controls[at]};
		}
		int received = recvmmsg(fd, messages, BUFFERS, MSG_DONTWAIT, NULL);
		for (int at = 0; at < received; at++) {
			size_t len = messages[at].msg_len;
			count(counts, memory[at], len, segment_of(&messages[at].msg_hdr, len));
		}
	}
}

static void receive_uring(struct counts *counts, double until)
{
	int fd = bound_socket();
	struct uring ring = uring();
	size_t bytes = BUFFERS * sizeof(struct io_uring_buf);
	int protection = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	struct io_uring_buf_ring *buffers = mmap(NULL, bytes, protection, flags, -1, 0);
	uint8_t *memory = mmap(NULL, (size_t)BUFFERS * BUFFER_BYTES, protection, flags | MAP_POPULATE, -1, 0);
	struct io_uring_buf_reg given = {.ring_addr = (uint64_t)buffers, .ring_entries = BUFFERS, .bgid = 1};
	if (syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_PBUF_RING, &given, 1))
		fail("IORING_REGISTER_PBUF_RING");
	uint16_t tail = 0;
	for (; tail < BUFFERS; tail++)
		buffers->bufs[tail] = (struct io_uring_buf){
			.addr = (uint64_t)(memory + (size_t)tail * BUFFER_BYTES), .len = BUFFER_BYTES, .bid = tail};
	__atomic_store_n(&buffers->tail, tail, __ATOMIC_RELEASE);
	struct msghdr form = {.msg_controllen = 64};
	struct io_uring_sqe entry = {.opcode = IORING_OP_RECVMSG, .fd = fd, .addr = (uint64_t)&form, .len = 1,
		.ioprio = IORING_RECV_MULTISHOT, .flags = IOSQE_BUFFER_SELECT, .buf_group = 1};
	submit(&ring, &entry);
	enter(&ring, 1, 0);
	while (now_s() < until) {
		enter(&ring, 0, 1);
		unsigned again = 0;
		for (struct io_uring_cqe *it; (it = next(&ring)); done(&ring)) {
			if (!(it->flags & IORING_CQE_F_MORE))
				again = 1;
			if (it->res < 0) {
				if (it->res != -ENOBUFS) {
					errno = -it->res;
					fail("recvmsg");
				}
				continue;
			}
			uint16_t number = (uint16_t)(it->flags >> IORING_CQE_BUFFER_SHIFT);
			uint8_t *buffer = memory + (size_t)number * BUFFER_BYTES;
			struct io_uring_recvmsg_out *out = (struct io_uring_recvmsg_out *)buffer;
			struct msghdr message = {.msg_control = out + 1, .msg_controllen = out->controllen};
			size_t segment = segment_of(&message, out->payloadlen);
			count(counts, buffer + sizeof *out + form.msg_controllen, out->payloadlen, segment);
			buffers->bufs[tail % BUFFERS] =
				(struct io_uring_buf){.addr = (uint64_t)buffer, .len = BUFFER_BYTES, .bid = number};
			__atomic_store_n(&buffers->tail, ++tail, __ATOMIC_RELEASE);
		}
		if (again) {
			submit(&ring, &entry);
			enter(&ring, 1, 0);
		}
	}
	// The kernel would give the socket up some time after the process.
	struct io_uring_sync_cancel_reg all = {.flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL,
		.timeout = {.tv_sec = 1}};
	if (syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_SYNC_CANCEL, &all, 1) < 0 && errno != ENOENT)
		fail("IORING_REGISTER_SYNC_CANCEL");
	close(fd);
}

static void receive_ring(struct counts *counts, double until, const char *interface)
{
	// A socket holds the port, and drops all: else the kernel answers each packet by ICMP.
	int holder = socket(AF_INET, SOCK_DGRAM, 0), least = 0;
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	if (bind(holder, (struct sockaddr *)&here, sizeof here))
		fail("bind");
	setsockopt(holder, SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
	int fd = socket(AF_PACKET, SOCK_RAW, 0), version = TPACKET_V3;
	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version))
		fail("TPACKET_V3");
	struct tpacket_req3 wanted = {.tp_block_size = 1 << 20, .tp_block_nr = 64, .tp_frame_size = 2048,
		.tp_frame_nr = 64 << 9, .tp_retire_blk_tov = 1};
	if (setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &wanted, sizeof wanted))
		fail("PACKET_RX_RING");
	uint8_t *ring = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	struct sockaddr_ll place = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP),
		.sll_ifindex = (int)if_nametoindex(interface)};
	if (ring == MAP_FAILED || bind(fd, (struct sockaddr *)&place, sizeof place))
		fail("bind of AF_PACKET");
	for (unsigned at = 0; now_s() < until; at = (at + 1) % 64) {
		struct tpacket_block_desc *block = (struct tpacket_block_desc *)(ring + ((size_t)at << 20));
		while (!(__atomic_load_n(&block->hdr.bh1.block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER)) {
			struct pollfd waits = {.fd = fd, .events = POLLIN};
			if (poll(&waits, 1, 100) == 0 && now_s() >= until)
				return;
		}
		uint8_t *packet = (uint8_t *)block + block->hdr.bh1.offset_to_first_pkt;
		for (unsigned left = block->hdr.bh1.num_pkts; left; left--) {
			struct tpacket3_hdr *head = (struct tpacket3_hdr *)packet;
			if (head->tp_snaplen > 42)
				count(counts, packet + head->tp_mac + 42, head->tp_snaplen - 42, head->tp_snaplen - 42);
			packet += head->tp_next_offset;
		}
		__atomic_store_n(&block->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	}
}

static void send_all(const char *address, const char *how, uint16_t bytes, double until)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), size = 8 << 20;
	struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	if (inet_pton(AF_INET, address, &there.sin_addr) != 1)
		fail(address);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
	if (connect(fd, (struct sockaddr *)&there, sizeof there))
		fail("connect");
	size_t joined = JOINED_BYTES / bytes * bytes;
	static uint8_t memory[8][JOINED_BYTES];
	memset(memory, 0x5a, sizeof memory);
	union {
		char bytes[CMSG_SPACE(sizeof(uint16_t))];
		struct cmsghdr align;
	} control = {.align = {.cmsg_len = CMSG_LEN(sizeof(uint16_t)), .cmsg_level = SOL_UDP, .cmsg_type = UDP_SEGMENT}};
	memcpy(CMSG_DATA(&control.align), &bytes, sizeof bytes);
	struct iovec parts[8];
	struct msghdr messages[8];
	for (int at = 0; at < 8; at++) {
		parts[at] = (struct iovec){memory[at], joined};
		messages[at] = (struct msghdr){.msg_iov = &parts[at], .msg_iovlen = 1, .msg_control = control.bytes,
			.msg_controllen = sizeof control.bytes};
	}
	if (!strcmp(how, "segment")) {
		for (int at = 0; now_s() < until; at = (at + 1) % 8)
			if (sendmsg(fd, &messages[at], 0) < 0 && errno != ECONNREFUSED)
				fail("sendmsg");
		return;
	}
	struct uring ring = uring();
	int busy = 0;
	for (int at = 0; now_s() < until; at = (at + 1) % 8) {
		struct io_uring_sqe entry = {.opcode = IORING_OP_SENDMSG_ZC, .fd = fd,
			.addr = (uint64_t)&messages[at], .len = 1};
		submit(&ring, &entry);
		busy++;
		enter(&ring, 1, 0);
		do {
			// A buffer is free at its notification, the second completion.
			for (struct io_uring_cqe *it; (it = next(&ring)); done(&ring)) {
				if (it->res < 0 && it->res != -ECONNREFUSED) {
					errno = -it->res;
					fail("IORING_OP_SENDMSG_ZC");
				}
				busy -= !(it->flags & IORING_CQE_F_MORE);
			}
			if (busy >= 8)
				enter(&ring, 0, 1);
		} while (busy >= 8);
	}
}

int main(int count_of, char **words)
{
	if (count_of != 8) {
		fprintf(stderr, "trials ADDRESS FAR_NAMESPACE INTERFACE SENDER RECEIVER BYTES SECONDS\n");
		return 2;
	}
	const char *receiver = words[5];
	uint16_t bytes = (uint16_t)atoi(words[6]);
	double seconds = atof(words[7]);
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		char path[128];
		snprintf(path, sizeof path, "/run/netns/%s", words[2]);
		int there = open(path, O_RDONLY);
		if (there < 0 || setns(there, CLONE_NEWNET))
			fail(path);
		// The receiver is ready before that.
		usleep(200000);
		send_all(words[1], words[4], bytes, now_s() + seconds);
		_exit(0);
	}
	struct counts counts = {0};
	double until = now_s() + 0.2 + seconds + 0.2;
	if (!strcmp(receiver, "gro"))
		receive_gro(&counts, until);
	else if (!strcmp(receiver, "uring"))
		receive_uring(&counts, until);
	else
		receive_ring(&counts, until, words[3]);
	int status;
	waitpid(child, &status, 0);
	if (status)
		return 1;
	printf("{\"packets\": %llu, \"bytes\": %llu, \"seconds\": %.3f, \"receiver_cpu_s\": %.6f, \"sender_cpu_s\": "
	       "%.6f, \"sum\": %u}\n",
		(unsigned long long)counts.packets, (unsigned long long)counts.bytes, seconds,
		cpu_s(RUSAGE_SELF), cpu_s(RUSAGE_CHILDREN), counts.sum);
	return 0;
}

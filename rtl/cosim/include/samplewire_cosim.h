/* The host's side of a stream for a bench in C++: see rtl/cosim/src/abi.rs.
 * Every instant is in nanoseconds of the bench's clock; a packet is the payload of a UDP datagram.
 */
#ifndef SAMPLEWIRE_COSIM_H
#define SAMPLEWIRE_COSIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sw_host sw_host;

enum sw_standing {
  SW_OPENING = 0,
  SW_STREAMING = 1,
  SW_FINISHED = 2,
  SW_BROKEN = 3,
  SW_REFUSED = 4
};

typedef struct sw_host_config {
  uint64_t owner;            /* names the program: the same one takes a stream over */
  uint64_t seed;             /* of nonces and tags */
  uint64_t deadline_us;      /* 0 = complete delivery */
  uint32_t window_packets;   /* a power of two is used whole */
  uint32_t packet_bytes_max; /* the largest IP packet */
  uint64_t open_timeout_ns;
} sw_host_config;

typedef struct sw_host_counts {
  uint64_t first_index;
  uint64_t next_index;       /* after the last index delivered or reported missing */
  uint64_t delivered;        /* samples */
  uint64_t missing;          /* samples in gaps */
  uint64_t jumped;           /* samples that a START left out */
  uint64_t source_lost;      /* samples in gaps of source overflow */
  uint64_t packets_received; /* DATA, duplicates included */
  uint64_t packets_repaired;
  uint64_t duplicates;
  uint64_t late;
  uint64_t reports;
  uint64_t refused;
  uint64_t boot_id;
  uint64_t timed_index;      /* the index of the newest MARK with a time */
  uint64_t timed_index_tai_ns; /* 0 = none came */
  uint64_t accept_index;     /* of ACCEPT */
  uint64_t accept_tai_ns;    /* 0 = unknown */
  uint32_t board_tag;
} sw_host_counts;

typedef struct sw_gap {
  uint64_t first;
  uint64_t not_repaired;
  uint64_t source_lost;
  uint32_t cause; /* the order of samplewire_proto::Cause */
} sw_gap;

/* A host that starts to open; NULL when a choice is out of range. */
sw_host *sw_host_new(const sw_host_config *config, uint64_t now_ns);
void sw_host_free(sw_host *host);

/* Hands a packet over; is_marked: its IP header has CE. */
void sw_host_handle(sw_host *host, uint64_t now_ns, const uint8_t *packet, size_t len_bytes,
                    int is_marked);
/* Does what is due. */
void sw_host_run(sw_host *host, uint64_t now_ns);
/* Writes the next packet, at most `capacity` (at least 9,000) bytes; 0 = nothing leaves. */
size_t sw_host_transmit(sw_host *host, uint64_t now_ns, uint8_t *out, size_t capacity);
/* When to run again; UINT64_MAX = never. */
uint64_t sw_host_timeout(const sw_host *host, uint64_t now_ns);
/* Ends the stream from the host's side. */
void sw_host_cancel(sw_host *host, uint64_t now_ns);

enum sw_standing sw_host_standing(const sw_host *host);
void sw_host_counts_get(sw_host *host, sw_host_counts *counts);
/* Takes the oldest gap not fetched; 0 = there is none. */
int sw_host_gap(sw_host *host, sw_gap *gap);
/* What was wrong first, or how the stream stands; returns 1 when something was wrong. */
int sw_host_words(sw_host *host, char *out, size_t capacity);

/* One flow of samplewire_proto::rate::Dcqcn. Rates are in 2^-16 bytes a ns. */
typedef struct sw_dcqcn sw_dcqcn;

/* samplewire_proto::rate::DcqcnParams. */
typedef struct sw_dcqcn_params {
  uint32_t gain_shift;
  uint32_t alpha_period_ns;
  uint32_t rise_period_ns;
  uint32_t cut_interval_ns;
  uint32_t rise_bytes;
  uint32_t recovery_stages;
  uint32_t additive;
  uint32_t hyper;
  uint32_t minimum;
  uint32_t start;
  uint32_t first_cut;
  uint32_t line;
} sw_dcqcn_params;

typedef struct sw_dcqcn_state {
  uint32_t rate;
  uint32_t target;
  uint32_t alpha;      /* in 2^-16 */
  uint32_t timer_count;
  uint32_t byte_count;
  uint32_t bytes_left; /* until the byte counter expires */
} sw_dcqcn_state;

/* NULL where a parameter is out of its range. */
sw_dcqcn *sw_dcqcn_new(const sw_dcqcn_params *params, uint64_t now_ns);
void sw_dcqcn_free(sw_dcqcn *flow);
/* Calls come in the order of time. */
void sw_dcqcn_time(sw_dcqcn *flow, uint64_t now_ns);
void sw_dcqcn_departure(sw_dcqcn *flow, uint64_t now_ns, uint16_t wire_bytes);
/* Returns 1 when the rate was cut. */
int sw_dcqcn_notification(sw_dcqcn *flow, uint64_t now_ns, uint64_t rtt_ns);
sw_dcqcn_state sw_dcqcn_state_get(const sw_dcqcn *flow);

/* samplewire_roce::requester::Requester. */
typedef struct sw_requester sw_requester;

typedef struct sw_requester_config {
  uint32_t first_psn;
  uint32_t mtu;         /* 1 to 5: 256 to 4,096 bytes */
  uint32_t window;
  uint32_t ack_every;
  uint32_t timeout;     /* 4.096 us * 2^timeout; 0 = no timer */
  uint32_t retries;
  uint32_t rnr_retries; /* 7 = no limit */
} sw_requester_config;

typedef struct sw_work_request {
  uint64_t id;
  uint32_t len_bytes;
  int is_write;
  int has_immediate;
} sw_work_request;

typedef struct sw_roce_packet {
  uint32_t psn;
  uint8_t opcode;
  uint8_t ack_request;
  uint32_t len_bytes; /* of the payload */
} sw_roce_packet;

/* With a queue of `slots` work requests; NULL where a choice is out of its range. */
sw_requester *sw_requester_new(const sw_requester_config *config, size_t slots);
void sw_requester_free(sw_requester *requester);
/* 0 = the queue is full. */
int sw_requester_post(sw_requester *requester, const sw_work_request *request);
/* Takes an ACK or NAK; syndrome: its byte of the AETH. */
void sw_requester_answer(sw_requester *requester, uint64_t now_ns, uint32_t psn, uint8_t syndrome);
/* Does what is due. */
void sw_requester_run(sw_requester *requester, uint64_t now_ns);
/* The next packet; 0 = none leaves. */
int sw_requester_transmit(sw_requester *requester, uint64_t now_ns, sw_roce_packet *packet);
/* The next work request that is done; its status as roce_pkg::status_e. 0 = there is none. */
int sw_requester_completion(sw_requester *requester, uint64_t *id, uint32_t *status);
/* When to run again; UINT64_MAX = never. */
uint64_t sw_requester_timeout(const sw_requester *requester);
void sw_requester_flush(sw_requester *requester);

/* samplewire_roce::responder::Responder, with one region. */
typedef struct sw_responder sw_responder;

typedef struct sw_responder_config {
  uint32_t first_psn;
  uint32_t mtu;       /* 1 to 5: 256 to 4,096 bytes */
  uint32_t rnr_timer; /* 0 to 31 */
  uint32_t key;       /* of the region */
  uint64_t address;
  uint64_t len_bytes;
  int may_write;
} sw_responder_config;

/* A request packet. What its opcode has no header for is not looked at. */
typedef struct sw_roce_request {
  uint32_t psn;
  uint8_t opcode;
  uint8_t ack_request;
  uint16_t len_bytes; /* of the payload */
  uint64_t address;
  uint32_t key;
  uint32_t message_bytes;
  uint32_t immediate;
} sw_roce_request;

/* Where a payload belongs: in the region, or in the memory of a receive request. */
typedef struct sw_roce_place {
  uint64_t offset;
  uint64_t id;
  int is_receive;
} sw_roce_place;

typedef struct sw_roce_response {
  uint32_t psn;
  uint32_t msn;
  uint8_t syndrome;
} sw_roce_response;

typedef struct sw_received {
  uint64_t id;
  uint32_t status; /* roce_pkg::receive_status_e */
  int has_immediate;
  uint32_t immediate;
  uint32_t len_bytes;
} sw_received;

/* With a queue of `slots` receive requests; NULL where a choice is out of its range. */
sw_responder *sw_responder_new(const sw_responder_config *config, size_t slots);
void sw_responder_free(sw_responder *responder);
/* 0 = the queue is full. */
int sw_responder_post(sw_responder *responder, uint64_t id, uint32_t len_bytes);
/* Takes a request packet; 0 = there is nothing to copy. */
int sw_responder_handle(sw_responder *responder, const sw_roce_request *request,
                        const uint8_t *payload, sw_roce_place *place);
/* The answer that is due; 0 = none is. */
int sw_responder_transmit(sw_responder *responder, sw_roce_response *response);
/* The next receive request that is done; 0 = there is none. */
int sw_responder_completion(sw_responder *responder, sw_received *received);
/* The PSN of the next packet. */
uint32_t sw_responder_expected(const sw_responder *responder);
/* Whether a packet broke a rule. */
int sw_responder_has_failed(const sw_responder *responder);
void sw_responder_flush(sw_responder *responder);

/* samplewire_roce::qp::NotificationPoint. */
typedef struct sw_notification sw_notification;

/* With at most one CNP in the interval. */
sw_notification *sw_notification_new(uint64_t interval_ns);
void sw_notification_free(sw_notification *point);
/* A marked packet has come. */
void sw_notification_mark(sw_notification *point);
/* 1 = a CNP leaves. */
int sw_notification_poll(sw_notification *point, uint64_t now_ns);
/* When to poll again; UINT64_MAX = never. */
uint64_t sw_notification_timeout(const sw_notification *point);

/* samplewire_switch::Switch: one class, marks as frames leave, the tail dropped, no PFC. */
typedef struct sw_switch sw_switch;

typedef struct sw_switch_config {
  uint64_t buffer_bytes;
  uint64_t mark_min_bytes;   /* Kmin */
  uint64_t mark_max_bytes;   /* Kmax */
  double mark_probability_max; /* Pmax, 0 to 1 */
  uint64_t seed;
} sw_switch_config;

typedef struct sw_switch_frame {
  uint64_t at_ns;   /* when its last byte left */
  uint64_t cookie;  /* as given to sw_switch_handle */
  int32_t is_marked;
} sw_switch_frame;

typedef struct sw_switch_counts {
  uint64_t forwarded;
  uint64_t dropped;
  uint64_t marked;
} sw_switch_counts;

/* A switch that all frames leave by one port of this rate; NULL where settings contradict each other. */
sw_switch *sw_switch_new(const sw_switch_config *config, uint64_t port_bps);
void sw_switch_free(sw_switch *network);
/* Takes a frame of so many bytes of wire time; calls come in the order of time. Returns 0 when it was
 * dropped. */
int sw_switch_handle(sw_switch *network, uint64_t now_ns, uint32_t wire_bytes, int is_ecn_capable,
                     uint64_t cookie);
/* The next frame that has left by now; returns 0 when there is none. Before every sw_switch_handle,
 * what has left by then is to be taken. */
int sw_switch_poll(sw_switch *network, uint64_t now_ns, sw_switch_frame *frame);
sw_switch_counts sw_switch_counts_get(const sw_switch *network);

#ifdef __cplusplus
}
#endif

#endif

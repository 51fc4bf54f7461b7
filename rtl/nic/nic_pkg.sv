// The NIC: operations on its queues, the word in front of a frame, and its buses.
//
// T is B. Sahu, Performance Optimization of a NIC for SoC Prototyping, IIT Bombay 2025. The layouts
// of its NIC_1.2 hold: field by field from the highest bit down, as the structures here. Addresses
// count bytes. Each bus is a request and a response with valid and ready; responses come in the
// order of their requests, one for each, of a write too.
`default_nettype none

package nic_pkg;

  localparam int unsigned Servers = 4;  // processors or tasks that have queues of their own
  localparam int unsigned Depth = 64;  // pointers in a queue
  localparam int unsigned HeaderBytes = 8;  // the control word in front of a frame

  // Where packet buffers are.
  localparam int unsigned MemoryLocal = 0;  // nic_memory
  localparam int unsigned MemoryOutside = 1;  // behind an ACB port, which nic_share gives by turns
  localparam int unsigned MemoryL2 = 2;  // behind an ACB port, with the cache nic_l2 ahead of it

  // ------------------------------------------------------------------ queues

  // Where buffers wait: one free queue, a receive and a transmit queue of each server.
  typedef enum logic [1:0] {
    Free     = 2'd0,
    Receive  = 2'd1,
    Transmit = 2'd2,
    Lock     = 2'd3   // of the free queue, for ports: a pop takes it, a push of 1 gives it back
  } kind_e;

  typedef struct packed {
    kind_e      kind;
    logic [1:0] server;  // 0 for the free queue and its lock
  } queue_t;

  typedef struct packed {
    logic        push;     // 0: pop
    queue_t      target;
    logic [31:0] pointer;  // of a push
  } op_t;

  localparam int unsigned OpBits = 37;  // of op_t

  // What an operation gives. A pointer is a multiple of 8, so that its low bits are free for these.
  localparam logic [31:0] ResultDone = 32'h0;  // of a push
  localparam logic [31:0] ResultEmpty = 32'h1;  // of a pop
  localparam logic [31:0] ResultFull = 32'h2;  // of a push
  localparam logic [31:0] ResultBusy = 32'h0;  // of a pop of the lock
  localparam logic [31:0] ResultGranted = 32'h1;  // of a pop of the lock
  localparam logic [31:0] ResultLocked = 32'h3;  // another port holds the lock of the free queue
  localparam logic [31:0] ResultBad = 32'h4;  // a push of no buffer, or of one that the NIC owns
  localparam logic [31:0] ResultFailed = 32'h5;  // memory answered err (nic_rings); nothing is done

  // ------------------------------------------------------------------ frames in memory

  // Dword 0 of a buffer; the frame follows, from its destination address on, without FCS. Of a
  // frame to be sent len_bytes and `retain`, the highest of the flags, are read.
  typedef struct packed {
    logic [31:0] counter;    // the free-running counter at the frame's first beat
    logic [15:0] len_bytes;  // of the frame
    logic [7:0]  flags;
    logic [7:0]  keep;       // tkeep of the last beat
  } control_t;

  localparam int unsigned RetainBit = 15;  // its buffer goes back to the server that sent it

  // ------------------------------------------------------------------ configuration

  // What registers give to queues and engines. Queues and engines have no registers of their own.
  typedef struct packed {
    logic        enable;
    logic        loopback;      // received frames go to the transmit queues
    logic [2:0]  servers;       // 1 to 4
    logic [1:0]  choice;        // of the server: 0 turns, 1 flow, 2 control frames apart
    logic [3:0]  filter;        // kept: 0 own, 1 broadcast, 2 multicast, 3 all
    logic [47:0] mac;           // first byte in the low bits
    logic [15:0] ethertype;     // of data frames
    logic [15:0] udp_port;      // of data frames
    logic [3:0]  address_high;  // bits 35:32 of all buffers
    logic [31:0] base;          // of the buffers, rounded down to a multiple of their size
    logic [2:0]  buffer_bits;   // buffers of 128 << buffer_bits bytes
    logic [14:0] buffers;       // their number
    logic [23:0] lock_cycles;
  } config_t;

  // What happened, a pulse of a cycle each. A received frame has one of the first seven, a popped
  // buffer of the transmit queues one of the next three.
  typedef struct packed {
    logic received;
    logic bad;          // tuser, or below 8 bytes
    logic too_long;     // for a buffer
    logic filtered;
    logic queue_full;
    logic write_failed; // ACB err
    logic disabled;
    logic sent;
    logic bad_length;   // freed unsent
    logic read_failed;  // ACB err
    logic bad_push;
    logic full_push;
    logic locked_op;
    logic revoked;      // the lock of the free queue
    logic write_back_failed;  // of nic_l2
    logic failed_op;    // of a queue: ACB err (nic_rings)
  } events_t;

  // ------------------------------------------------------------------ buses

  // ACB: memory (T A.2, A.3). `mask` has a 1 for each byte that is written or wanted.
  typedef struct packed {
    logic        lock;     // no other master until its next request without
    logic        read;
    logic [7:0]  mask;
    logic [35:0] address;
    logic [63:0] data;
  } acb_request_t;

  typedef struct packed {
    logic        err;
    logic [63:0] data;
  } acb_response_t;

  localparam int unsigned AcbRequestBits = 110;
  localparam int unsigned AcbResponseBits = 65;

  // AFB: registers (T A.4, A.5).
  typedef struct packed {
    logic        lock;
    logic        read;
    logic [3:0]  mask;
    logic [35:0] address;
    logic [31:0] data;
  } afb_request_t;

  // The register file (T A.8, A.9). T has 6 bits of index, too few for its 256 registers.
  typedef struct packed {
    logic        read;
    logic [3:0]  mask;
    logic [7:0]  index;
    logic [31:0] data;
  } register_request_t;

  localparam int unsigned AfbRequestBits = 74;
  localparam int unsigned RegisterRequestBits = 45;
  localparam int unsigned RegisterResponseBits = 33;

  // Of both.
  typedef struct packed {
    logic        err;
    logic [31:0] data;
  } register_response_t;

  // ------------------------------------------------------------------ generator and checker

  // A generated frame: addresses, EtherType, its length without padding (16 bits), and in the byte
  // order of the bus its number (bytes 16 to 19), the counter at its first beat (20 to 23), and
  // words of 64 bits from `pattern_next`.
  localparam int unsigned GeneratorBytesMin = 32;
  localparam int unsigned GeneratorBytesMax = 16383;

  typedef struct packed {
    logic        enable;      // falls: the generator stops behind a frame, the checker at once
    logic        swap;        // the checker expects the addresses the other way round
    logic [13:0] bytes_min;   // of the first frame; from GeneratorBytesMin on
    logic [13:0] bytes_max;   // behind the last length that is not above begins bytes_min again
    logic [13:0] bytes_step;  // from a frame to the next
    logic [23:0] gap_cycles;  // between frames
    logic [31:0] frames;      // 0: no end
    logic [47:0] to;          // addresses; first byte in the low bits
    logic [47:0] from;
    logic [15:0] ether_type;
  } generator_cfg_t;

  // Of the frames since `enable` rose. `cycles`: from the first beat of the first frame to the last
  // beat of the newest, both counted; rate = 8 bytes / cycles * clock.
  typedef struct packed {
    logic [31:0] frames;
    logic [47:0] bytes;
    logic [47:0] cycles;
  } generator_status_t;

  // Round trips in cycles, from a frame's first beat in the generator to its last in the checker;
  // the mean is trip_sum / frames. Each frame is in one of: frames, duplicated, late, altered,
  // foreign.
  typedef struct packed {
    logic [31:0] frames;      // right, in their order or behind a gap
    logic [47:0] bytes;       // of all that came, padding too
    logic [47:0] cycles;
    logic [31:0] lost;        // numbers that were left out and have not come late
    logic [31:0] duplicated;
    logic [31:0] late;        // right, but behind one with a higher number
    logic [31:0] altered;     // contents, length or padding; or ended with tuser
    logic [31:0] foreign;     // of another EtherType, or too short for one
    logic [31:0] trip_min;    // all ones: none yet
    logic [31:0] trip_max;
    logic [63:0] trip_sum;
  } checker_status_t;

  // Words of a frame's pattern, Marsaglia's xorshift of 64 bits; the first from number and counter.
  function automatic logic [63:0] pattern_next(input logic [63:0] word);
    logic [63:0] x;
    x = word ^ (word << 13);
    x = x ^ (x >> 7);
    pattern_next = x ^ (x << 17);
  endfunction

  localparam logic [63:0] PatternMask = 64'h9E37_79B9_7F4A_7C15;

  // ------------------------------------------------------------------ beside the stream

  // What nic_attach counts: exactly one event for each frame received, but those for the stream
  // that never began to leave, and one for each frame that the NIC sends.
  typedef struct packed {
    logic rx_kept;
    logic rx_no_room;
    logic rx_cut;      // given to the NIC and ended with tuser: no room, or not for it
    logic tx_kept;
    logic tx_dropped;  // ended with tuser, or too long
  } attach_event_t;

  localparam logic [7:0] ShareDefault = 8'd13;  // of 256: 5 % of the stream's bytes

endpackage

`default_nettype wire

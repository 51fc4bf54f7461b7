// What a sender keeps of its packets from their completion to their release, and how it checks a
// REPORT: shared by the modules of send/ and those that feed them.
//
// Departures are in units of 16 ns (docs/protocol.md#1.4).
`default_nettype none

package send_pkg;

  // A memory that packets lie in. The ring of a stream is buffer 0, others are a NIC's queues and
  // the regions of RDMA work. Each has addresses of its own, from 0 up. 256 of them are more than
  // one core serves at a time, and a table of their bases, 40 bits each, fits half a block RAM.
  typedef logic [7:0] buffer_t;
  localparam buffer_t BufferRing = 8'd0;

  // One packet in memory.
  typedef struct packed {
    buffer_t     buffer;
    logic [39:0] addr;       // of its first byte: 1 TiB a buffer
    logic [15:0] len_bytes;  // of the payload
    logic [7:0]  flags;      // of the header
    logic [31:0] tag;        // of the header
  } desc_t;

  // What is kept of a packet beside its payload, from its completion to its release.
  typedef struct packed {
    logic [63:0] index;      // of its first sample
    logic [15:0] len_bytes;  // of the payload
    logic [7:0]  flags;
    logic [31:0] crc;        // CRC-32C register after the payload, begun at 0, not inverted
    logic [31:0] shift;      // x^(8 len_bytes) mod P, in the register's bit order
    logic [15:0] sum;        // ones' complement sum of the payload's big-endian 16-bit words
  } slot_t;

  // One DATA packet to depart.
  typedef struct packed {
    desc_t       desc;
    logic [63:0] index;
    logic [31:0] seq;
    logic [31:0] departure;
    logic [31:0] crc;
    logic [31:0] shift;
    logic [15:0] sum;
  } job_t;

  // A pace, and the parameters of congestion control: fields of the registers of the same names
  // (docs/congestion.md#registers).
  typedef struct packed {
    logic [1:0]  rate_mode;
    logic [4:0]  gain_shift;
    logic [4:0]  recovery_stages;
    logic [19:0] alpha_period_ns;
    logic [19:0] rise_period_ns;
    logic [19:0] cut_interval_ns;
    logic [25:0] rise_bytes;
    logic [23:0] rate_additive;
    logic [23:0] rate_hyper;
    logic [23:0] rate_minimum;
    logic [23:0] rate_start;
    logic [23:0] rate_first_cut;
    logic [23:0] rate_line;
    logic [23:0] pace_rate;
    logic [19:0] pace_burst_ns;
  } rate_cfg_t;

  // What is shown of congestion control: a flow's state, and one event of the ring.
  typedef struct packed {
    logic [23:0] rate;
    logic [23:0] target;
    logic [16:0] alpha;
    logic [31:0] event_count;
    logic [44:0] event_time_ns;
    logic [2:0]  event_cause;
    logic [23:0] event_rate;
  } rate_status_t;

  // What `window` compares of a REPORT, in this order; a range's first seq compares as `released`.
  // Bit 2: the first number of the beat, not the second. Bits 1 and 0: what it is compared with.
  typedef enum logic [2:0] {
    CheckReleased = 3'b100,  // with `oldest`
    CheckLimit    = 3'b001,  // with `released`
    CheckGrowth   = 3'b010,  // of the limit
    CheckSettled  = 3'b111,  // with the last departure
    CheckHighest  = 3'b000   // with `oldest`
  } check_e;

endpackage

`default_nettype wire

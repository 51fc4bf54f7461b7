// Types and constants that the modules share; the wire's own are those of docs/protocol.md#2.
//
// Bytes: in every stream tdata[7:0] is the byte that is first on the wire. Numbers of the protocol
// are in network byte order on the wire and plain unsigned numbers everywhere else: `be16`, `be32`
// and `be64` swap at the border. Departures are in units of 16 ns (docs/protocol.md#1.4).
`default_nettype none

package sw_pkg;

  // Packet types, docs/protocol.md#2.4.
  typedef enum logic [3:0] {
    TypeData      = 4'd0,
    TypeMark      = 4'd1,
    TypeReport    = 4'd2,
    TypeOpen      = 4'd3,
    TypeChallenge = 4'd4,
    TypeAccept    = 4'd5,
    TypeRefuse    = 4'd6,
    TypeClose     = 4'd7,
    TypeCloseAck  = 4'd8
  } type_e;

  localparam logic [3:0] Version = 4'd1;

  // Flags, docs/protocol.md#2.3.
  localparam logic [7:0] FlagStart          = 8'h01;
  localparam logic [7:0] FlagEndOfBurst     = 8'h02;
  localparam logic [7:0] FlagOverflow       = 8'h04;
  localparam logic [7:0] FlagRetransmission = 8'h08;
  localparam logic [7:0] FlagMeta           = 8'h10;
  localparam logic [7:0] FlagAsk            = 8'h20;
  localparam logic [7:0] FlagReserved       = 8'h40;
  localparam logic [7:0] FlagFromOpener     = 8'h80;

  // Offsets in an untagged Ethernet, IPv4 (no options), UDP frame, in bytes.
  localparam int unsigned OffEthType    = 12;
  localparam int unsigned OffIp         = 14;
  localparam int unsigned OffUdp        = 34;
  localparam int unsigned OffUdpSum     = 40;
  localparam int unsigned OffHeader     = 42;  // version and type, then flags
  localparam int unsigned OffTag        = 44;
  localparam int unsigned OffIndex      = 48;
  localparam int unsigned OffSeq        = 56;
  localparam int unsigned OffDeparture  = 60;
  localparam int unsigned OffBody       = 64;

  localparam int unsigned HeaderBytes   = 22;
  localparam int unsigned CrcBytes      = 4;
  localparam int unsigned FrameOverhead = 24;  // preamble 8, FCS 4, gap 12: not in our frames

  // CRC-32C (Castagnoli), reflected: bit 31 of a register is the coefficient of x^0.
  localparam logic [31:0] Crc32cPoly = 32'h82F6_3B78;

  // One packet in memory: for the ring here, for NIC queues and RDMA work later.
  typedef struct packed {
    logic [31:0] addr;       // of its first beat, in beats
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

  // The far end of a stream, and ours.
  typedef struct packed {
    logic [47:0] mac;
    logic [31:0] ip;
    logic [15:0] port;
  } peer_t;

  // The receiver of a received frame.
  typedef enum logic [1:0] {
    ClassArp     = 2'd0,
    ClassIcmp    = 2'd1,   // echo request
    ClassReport  = 2'd2,   // REPORT with the stream's tag
    ClassSession = 2'd3    // every other Samplewire packet that passed its checks
  } class_e;

  // Beside every beat of a received control frame; stable from its first beat to its last.
  typedef struct packed {
    class_e      cls;
    peer_t       peer;
    logic [15:0] udp_bytes;  // UDP payload: the Samplewire packet, CRC included
    logic [3:0]  ptype;      // docs/protocol.md#2.4
    logic [31:0] tag;
    logic        other_version;  // an OPEN that docs/protocol.md#2.8 lets pass; its CRC is unseen
  } rx_meta_t;

  // What `window` compares of a REPORT, in this order; a range's first seq compares as `released`.
  // Bit 2: the first number of the beat, not the second. Bits 1 and 0: what it is compared with.
  typedef enum logic [2:0] {
    CheckReleased = 3'b100,  // with `oldest`
    CheckLimit    = 3'b001,  // with `released`
    CheckGrowth   = 3'b010,  // of the limit
    CheckSettled  = 3'b111,  // with the last departure
    CheckHighest  = 3'b000   // with `oldest`
  } check_e;

  // State of the stream, docs/protocol.md#7.11. Idle: no stream.
  typedef enum logic [2:0] {
    StateIdle    = 3'd0,
    StateOpening = 3'd1,
    StateFlowing = 3'd2,
    StateClosing = 3'd3,
    StateEnded   = 3'd4
  } state_e;

  function automatic logic [15:0] be16(input logic [15:0] v);
    be16 = {v[7:0], v[15:8]};
  endfunction

  function automatic logic [31:0] be32(input logic [31:0] v);
    be32 = {v[7:0], v[15:8], v[23:16], v[31:24]};
  endfunction

  function automatic logic [63:0] be64(input logic [63:0] v);
    be64 = {be32(v[31:0]), be32(v[63:32])};
  endfunction

  // Ones' complement addition of 16-bit words.
  function automatic logic [15:0] add1c(input logic [15:0] a, input logic [15:0] b);
    logic [16:0] s;
    s = {1'b0, a} + {1'b0, b};
    add1c = s[15:0] + {15'd0, s[16]};
  endfunction

  // Whether serial number `a` lies before `b`, docs/protocol.md#1.3.
  function automatic logic before32(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] d;
    d = a - b;
    before32 = d[31];
  endfunction

  // Equality with a LUT for three bits and a carry chain to gather them.
  function automatic logic same64(input logic [63:0] a, input logic [63:0] b);
    logic [65:0] differs;
    logic [22:0] parts;
    differs = {2'd0, a ^ b};
    parts   = '0;
    for (int i = 0; i < 22; i++) parts[i] = |differs[3*i+:3];
    parts  = 23'h3F_FFFF + parts;
    same64 = !parts[22];
  endfunction

  function automatic logic same32(input logic [31:0] a, input logic [31:0] b);
    logic [32:0] differs;
    logic [11:0] parts;
    differs = {1'b0, a ^ b};
    parts   = '0;
    for (int i = 0; i < 11; i++) parts[i] = |differs[3*i+:3];
    parts  = 12'h7FF + parts;
    same32 = !parts[11];
  endfunction

endpackage

`default_nettype wire

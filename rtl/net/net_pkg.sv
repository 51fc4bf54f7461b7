// Ethernet, IPv4 and UDP, for any protocol above: the ends of a stream, what is known of a received
// frame and of the payload of one that leaves, the sum of the checksums.
`default_nettype none

package net_pkg;

  // IPv4's type of service: ECN-capable, RFC 3168.
  localparam logic [7:0] TosEct0 = 8'h02;

  // Bytes of the longest ICMP message that the board itself answers. Longer echo requests count as
  // for none of ours.
  localparam int unsigned IcmpMax = 128;

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

  // What the header and the trailer of a frame hold of its payload.
  typedef struct packed {
    logic [15:0] len_bytes;
    logic [31:0] crc;        // register after the payload, begun at 0, not inverted
    logic [31:0] shift;      // x^(8 len_bytes) mod P, in the register's bit order
    logic [15:0] sum;        // ones' complement sum of its big-endian 16-bit words
  } payload_t;

  // Ones' complement addition of 16-bit words.
  function automatic logic [15:0] add1c(input logic [15:0] a, input logic [15:0] b);
    logic [16:0] s;
    s = {1'b0, a} + {1'b0, b};
    add1c = s[15:0] + {15'd0, s[16]};
  endfunction

endpackage

`default_nettype wire

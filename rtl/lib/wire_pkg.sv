// What docs/protocol.md defines: types, flags and layout of a Samplewire packet, the order of serial
// numbers, the states of a stream. Sender and receiver share it; other protocols have their own.
`default_nettype none

package wire_pkg;

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

  // State of the stream, docs/protocol.md#7.11. Idle: no stream.
  typedef enum logic [2:0] {
    StateIdle    = 3'd0,
    StateOpening = 3'd1,
    StateFlowing = 3'd2,
    StateClosing = 3'd3,
    StateEnded   = 3'd4
  } state_e;

  // Whether serial number `a` lies before `b`, docs/protocol.md#1.3.
  function automatic logic before32(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] d;
    d = a - b;
    before32 = d[31];
  endfunction

endpackage

`default_nettype wire

// RoCEv2 of reliable connections: numbers of the wire, work requests, what is kept of a queue pair
// (QP). "IB" is the InfiniBand Architecture Specification Vol. 1, "A17" its annex for RoCEv2.
//
// A sequence number (seq) counts the packets of a connection from 0; its PSN is the sum of it and
// of the first PSN, modulo 2^24.
`default_nettype none

package roce_pkg;

  localparam logic [15:0] UdpPort = 16'd4791;
  localparam logic [15:0] PKey = 16'hFFFF;
  localparam int unsigned BthBytes = 12;
  localparam int unsigned RethBytes = 16;
  localparam int unsigned ImmBytes = 4;

  // Opcodes, IB 9.2. Those of a WRITE are 6 above those of a SEND; the immediate adds 1.
  localparam logic [7:0] OpFirst = 8'h00;
  localparam logic [7:0] OpMiddle = 8'h01;
  localparam logic [7:0] OpLast = 8'h02;
  localparam logic [7:0] OpOnly = 8'h04;
  localparam logic [7:0] OpOfWrite = 8'h06;
  localparam logic [7:0] OpReadRequest = 8'h0C;
  localparam logic [7:0] OpReadResponse = 8'h0D;  // the first of three
  localparam logic [7:0] OpAcknowledge = 8'h11;
  localparam logic [7:0] OpAtomicAcknowledge = 8'h12;
  localparam logic [7:0] OpCnp = 8'h81;  // A17.9.3; alone has bit 7 of those that are sent
  localparam logic [7:0] TosCnp = {6'd48, 2'd0};  // DSCP 48, not ECN-capable

  // A message to be sent; whole beats.
  typedef struct packed {
    logic [15:0] id;              // of the caller, comes back with the completion
    logic        is_write;        // RDMA WRITE, else SEND
    logic        is_solicited;    // a solicited event is requested with the last packet
    logic        has_immediate;
    logic [31:0] immediate;
    logic [63:0] remote_address;  // of a WRITE, with its key
    logic [31:0] rkey;
    logic [39:0] addr;            // of the first byte in our memory
    logic [31:0] len_bytes;       // at most 2^31
  } work_request_t;

  // One packet of a message.
  typedef struct packed {
    logic [7:0]  opcode;
    logic        has_reth;
    logic        has_immediate;
    logic        is_solicited;
    logic        ack_request;
    logic [23:0] destination;     // QP
    logic [23:0] psn;
    logic [63:0] remote_address;
    logic [31:0] rkey;
    logic [31:0] message_bytes;
    logic [31:0] immediate;
    logic [15:0] len_bytes;       // of the payload
  } packet_t;

  // What both ends of a connection agreed on; stands while it runs.
  typedef struct packed {
    logic [23:0] local_qp;
    logic [23:0] remote_qp;
    logic [23:0] first_psn;
    logic [2:0]  mtu;             // 1 to 5: 256, 512, 1024, 2048, 4096 bytes, IB 14.2.5.6
    logic [15:0] window;          // packets in flight, from 1
    logic [15:0] ack_every;       // packets from one request for an ACK to the next, from 1
    logic [4:0]  timeout;         // 4.096 us * 2^timeout; 0: no timer
    logic [2:0]  retries;
    logic [2:0]  rnr_retries;     // 7: no limit
  } qp_t;

  // What a requester is to do with one of its queue pairs.
  typedef enum logic [1:0] {
    CommandBegin,  // a connection, whatever was before
    CommandEnd,    // and forget what was posted
    CommandAbort   // and flush what was posted
  } command_e;

  // Where the messages of roce_writer go.
  typedef struct packed {
    logic [31:0] rkey;
    logic [63:0] region;
    logic [31:0] slots;
    logic [31:0] message_bytes;
  } target_t;

  // A packet that leaves next: which one of its work request.
  typedef struct packed {
    logic [2:0]  mtu;
    logic [23:0] psn;
    logic [23:0] offset;          // packets from the request's first one
    logic        is_first;
    logic        is_last;
    logic        ack_request;
  } choice_t;

  // A received packet of the peer's.
  typedef enum logic [2:0] {
    AnswerAck,
    AnswerRnrNak,
    AnswerSequenceNak,
    AnswerFatalNak,
    AnswerCnp
  } answer_e;

  typedef struct packed {
    answer_e     kind;
    logic [4:0]  code;            // the syndrome's low bits: timer of an RNR NAK, code of a NAK
    logic [23:0] psn;
    logic        is_marked;       // CE, RFC 3168
  } answer_t;

  // A request packet of the peer's. Of one that is not supported the PSN alone counts.
  typedef struct packed {
    logic        is_supported;   // SEND or RDMA WRITE
    logic        is_write;
    logic        is_first;       // FIRST or ONLY
    logic        is_last;        // LAST or ONLY
    logic        has_immediate;
    logic        ack_request;
    logic        is_marked;      // CE, RFC 3168
    logic [23:0] psn;
    logic [13:0] len_bytes;      // of the payload, without padding
  } request_t;

  // What a responder needs to know of a connection.
  typedef struct packed {
    logic [23:0] first_psn;      // of the peer's first request
    logic [2:0]  mtu;            // as in qp_t
    logic [4:0]  rnr_timer;      // code of IB 9.7.5.2.8
    logic [19:0] cnp_interval_ns;  // the shortest from one CNP to the next; 0 sends none
  } responder_t;

  // Memory that the peer may write to, by addresses of the memory port.
  typedef struct packed {
    logic [31:0] key;
    logic [63:0] address;
    logic [63:0] len_bytes;
  } region_t;

  // Memory for a SEND, or a token for the immediate data of a WRITE.
  typedef struct packed {
    logic [15:0] id;             // of the caller, comes back with the completion
    logic [63:0] address;
    logic [31:0] len_bytes;
  } receive_t;

  // What became of a receive request.
  typedef enum logic [1:0] {
    ReceiveSend,                 // it has a SEND
    ReceiveWrite,                // a WRITE with immediate data is in its region
    ReceiveFailed,               // the connection failed within the message that uses it
    ReceiveFlushed               // and before one did
  } receive_status_e;

  typedef struct packed {
    logic [15:0]     id;
    receive_status_e status;
    logic            has_immediate;
    logic [31:0]     immediate;
    logic [31:0]     len_bytes;  // of the message
  } received_t;

  // A CNP to be sent, or an acknowledgement; its syndrome and MSN are the AETH, IB 9.7.5.
  typedef struct packed {
    logic        is_cnp;         // the rest is 0 then
    logic [23:0] psn;
    logic [7:0]  syndrome;
    logic [23:0] msn;
  } response_t;

  // The kinds of syndromes, IB 9.7.5.1.2, with the credit that counts nothing.
  localparam logic [7:0] SyndromeAck = 8'h1F;
  localparam logic [7:0] SyndromeRnrNak = 8'h20;
  localparam logic [7:0] SyndromeNak = 8'h60;

  // A rule that a request broke. Each ends the connection.
  typedef enum logic [2:0] {
    FaultOrder,        // MIDDLE without FIRST, FIRST within a message
    FaultUnsupported,
    FaultLength,
    FaultTooLong,      // a SEND that is longer than its receive request
    FaultKey,
    FaultRights,
    FaultBounds
  } fault_e;

  // What became of a work request. The codes of a NAK (IB 9.7.5.2.2) are those of the wire.
  typedef enum logic [2:0] {
    StatusDone               = 3'd0,
    StatusInvalidRequest     = 3'd1,
    StatusRemoteAccess       = 3'd2,
    StatusRemoteOperation    = 3'd3,
    StatusRetriesExceeded    = 3'd4,
    StatusRnrRetriesExceeded = 3'd5,
    StatusFlushed            = 3'd6
  } status_e;

  typedef struct packed {
    logic [15:0] id;
    status_e     status;
  } completion_t;

endpackage

`default_nettype wire

// The sending half of reliable connections of RoCEv2, one a queue pair (QP): takes work requests, cuts
// messages to the path MTU, sends their packets as frames, and completes the requests of each QP once
// and in order (IB 9.7, 9.9). SEND and RDMA WRITE, with and without immediate; W bits wide.
//
//   post -> queues -> roce_qp chooses -> job -> roce_head -> frame
//              |       ^ rate_control     +-> read_ahead <- memory
//   completion <-------+------- answer (roce_rx)
//
// Each QP has its pace, and a reaction point of DCQCN (A17.9.3): CNPs for it, and marked ACKs with
// `acks_cut_i`, cut its rate alone. A QP that may not send by its pace holds none back. It has its turn
// again at most 24 cycles for each QP after its debt is paid, behind the packets of the other QPs that
// stand in the queue then, one each. A QP that begins starts its flow.
//
// A message's payload is read from memory each time that a packet leaves; it stays there until its
// completion. A place in the queue of its QP is free with the completion. The last packet of a message
// and every `ack_every`-th packet request an ACK. QPs that have packets take turns, packet by packet.
//
// Throughput: frames back to back at a path MTU of 256 and above. Latency, at every MTU, with a memory
// that answers in 2 cycles: docs/roce.md#in-hardware. Other QPs make it longer, by the visits of roce_qp
// that come first and a frame.
// Back-pressure: post_ready_o, m_axis_tready; completions have none, and never more are to come than
// posts were accepted. tvalid has no gap inside a frame unless the memory has one.
//
// Commands and posts as in roce_qp, with `peer_i`, whose port is not looked at, beside CommandBegin.
// `post_reject_o` is high beside a request that is not taken whatever the room: not whole beats, longer
// than 2^31 bytes, or beyond the memory. A frame under way leaves whole, whatever becomes of its QP.
// `self_i` stands still from 32 cycles before the first command on; its port is the source port.
// `rate_cfg_i`, of each QP, and what is shown of the QP `rate_qp_i`, as in rate_control. With Full the
// answers of a responder leave through it too: each in front of the packets that are not begun, and not
// paced; `response_qp_i` stands. One clock.
`default_nettype none

module roce_requester #(
    parameter  int unsigned W       = 64,
    parameter  int unsigned Qps     = 1,   // to 16
    parameter  int unsigned Slots   = W == 512 ? 1024 : 128,  // packets in flight of each, at most
    parameter  int unsigned Queue   = 16,  // work requests of each
    parameter  int unsigned Aw      = 16,  // of the memory, in beats
    parameter  bit          Full    = 1'b0,  // a roce_responder's answers too
    localparam int unsigned QpWidth = Qps > 1 ? $clog2(Qps) : 1,
    localparam int unsigned Qw      = $clog2(Queue)
) (
    input  wire logic                        clk_i,
    input  wire logic                        rst_i,
    input  wire logic                 [63:0] time_ns_i,
    input  wire net_pkg::peer_t              self_i,
    // connections
    input  wire logic                        cmd_valid_i,
    output      logic                        cmd_ready_o,
    input  wire roce_pkg::command_e          cmd_i,
    input  wire logic          [QpWidth-1:0] cmd_qp_i,
    input  wire roce_pkg::qp_t               cfg_i,
    input  wire net_pkg::peer_t              peer_i,
    output      logic                        refused_o,
    input  wire send_pkg::rate_cfg_t         rate_cfg_i,
    input  wire logic                        acks_cut_i,
    // work requests
    input  wire logic                        post_valid_i,
    output      logic                        post_ready_o,
    output      logic                        post_reject_o,
    output      logic                        post_full_o,
    input  wire logic          [QpWidth-1:0] post_qp_i,
    input  wire roce_pkg::work_request_t     post_i,
    output      logic                        completion_valid_o,
    output      logic          [QpWidth-1:0] completion_qp_o,
    output      roce_pkg::completion_t       completion_o,
    // roce_rx
    input  wire logic                        answer_valid_i,
    input  wire logic          [QpWidth-1:0] answer_qp_i,
    input  wire roce_pkg::answer_t           answer_i,
    // roce_responder
    input  wire logic                        response_valid_i,
    output      logic                        response_ready_o,
    input  wire logic          [QpWidth-1:0] response_qp_i,
    input  wire roce_pkg::response_t         response_i,
    // memory
    output      logic                        rd_valid_o,
    input  wire logic                        rd_ready_i,
    output      logic               [Aw-1:0] rd_addr_o,
    input  wire logic                        rd_valid_i,
    input  wire logic              [  W-1:0] rd_data_i,
    // frames
    output      logic              [  W-1:0] m_axis_tdata,
    output      logic              [W/8-1:0] m_axis_tkeep,
    output      logic                        m_axis_tvalid,
    input  wire logic                        m_axis_tready,
    output      logic                        m_axis_tlast,
    // wire time of a packet, with ev_packet_o
    output      logic          [QpWidth-1:0] charge_qp_o,
    output      logic                 [15:0] charge_bytes_o,
    // counters; of the QP ev_qp_o where no other is named
    output      logic          [QpWidth-1:0] ev_qp_o,
    output      logic                        ev_failed_o,
    output      logic                        ev_packet_o,  // charge_qp_o
    output      logic                        ev_repeat_o,
    output      logic                        ev_ack_o,
    output      logic                        ev_marked_o,
    output      logic                        ev_outside_o,
    output      logic                        ev_sequence_nak_o,
    output      logic                        ev_rnr_nak_o,
    output      logic                        ev_copy_o,
    output      logic                        ev_timeout_o,
    output      logic                        ev_dropped_o,  // answer_qp_i
    output      logic                        ev_cnp_o,      // answer_qp_i, whatever its state
    output      logic                        ev_cut_o,      // of any QP
    // the rate of one QP, and the events of all
    input  wire logic          [QpWidth-1:0] rate_qp_i,
    input  wire logic                 [ 8:0] event_index_i,
    output      send_pkg::rate_status_t      rate_o,
    output      logic          [QpWidth-1:0] event_qp_o
);

  localparam int unsigned Shift = $clog2(W / 8);
  localparam int unsigned LenWidth = 13 - Shift;  // of a packet's payload in beats
  localparam int unsigned BeatsWidth = 32 - Shift;  // of a message
  localparam Style = Qps > 1 ? "block" : "distributed";
  localparam RouteStyle = Qps > 1 ? "block" : "registers";
  // Ethernet, IPv4, UDP, BTH and ICRC; preamble, frame check sequence and gap.
  localparam logic [15:0] WireBytes = 16'd58 + 16'd24;

  if (W != 64 && W != 512) begin : g_width
    $error("W must be 64 or 512");
  end
  if (Aw + Shift > 40) begin : g_address
    $error("an address in bytes has at most 40 bits");
  end

  typedef logic [QpWidth-1:0] index_t;

  index_t visit_qp, cmd_qp, response_qp, send_qp;
  assign cmd_qp      = Qps > 1 ? cmd_qp_i : '0;
  assign response_qp = Qps > 1 ? response_qp_i : '0;

  // A connection's far end, and the sum of both IPv4 addresses, a word a cycle before the command.
  typedef struct packed {
    logic [23:0] remote_qp;
    logic [47:0] mac;
    logic [31:0] ip;
    logic [15:0] ip_sum;
  } route_t;
  localparam int unsigned RouteBits = 120;

  (* ram_style = RouteStyle, no_rw_check, rw_addr_collision = "no" *)
  logic [RouteBits-1:0] route_mem[Qps];
  route_t route_q, response_route_q;
  logic [2:0] sum_step_q;
  logic [16:0] sum_q;
  logic [15:0] sum_word, ip_sum;
  logic begins, starts, cmd_valid;

  // The flow of a QP that begins is taken before the next one begins.
  assign cmd_valid = sum_step_q == 3'd5 && !(starts && cmd_i == roce_pkg::CommandBegin);
  assign begins    = cmd_ready_o && cmd_i == roce_pkg::CommandBegin;
  // A sum whose carry was added once more has its carry only where the rest is zero.
  assign ip_sum    = {sum_q[15:1], sum_q[0] | sum_q[16]};
  always_comb begin
    unique case (sum_step_q)
      3'd0: sum_word = self_i.ip[31:16];
      3'd1: sum_word = self_i.ip[15:0];
      3'd2: sum_word = peer_i.ip[31:16];
      3'd3: sum_word = peer_i.ip[15:0];
      default: sum_word = 16'd0;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (sum_step_q != 3'd5) begin
      sum_q      <= 17'(sum_word) + (|sum_step_q ? 17'(sum_q[15:0]) + 17'(sum_q[16]) : 17'd0);
      sum_step_q <= sum_step_q + 1'b1;
    end
    if (!cmd_valid_i || cmd_ready_o || rst_i) sum_step_q <= '0;
    if (begins) route_mem[cmd_qp] <= {cfg_i.remote_qp, peer_i.mac, peer_i.ip, ip_sum};
  end

  // What the packets of a request need.
  typedef struct packed {
    logic                  is_write;
    logic                  is_solicited;
    logic                  has_immediate;
    logic [31:0]           immediate;
    logic [63:0]           remote_address;
    logic [31:0]           rkey;
    logic [BeatsWidth-1:0] beats;
    logic [Aw-1:0]         addr;  // in beats
  } message_t;
  localparam int unsigned MessageBits = 131 + BeatsWidth + Aw;
  localparam int unsigned Rw = Qps > 1 ? QpWidth + Qw : Qw;

  (* ram_style = Style, no_rw_check, rw_addr_collision = "no" *)
  logic [MessageBits-1:0] message_mem[1<<Rw];
  message_t message_q;
  logic [Qw-1:0] post_place, send_place;
  logic [40:0] end_bytes;

  assign end_bytes     = {1'b0, post_i.addr} + 41'(post_i.len_bytes);
  assign post_reject_o = (|post_i.len_bytes[Shift-1:0]) || (|post_i.addr[Shift-1:0])
      || post_i.len_bytes > 32'h8000_0000 || end_bytes > (41'd1 << (Aw + Shift));

  always_ff @(posedge clk_i) begin
    if (post_ready_o)
      message_mem[Rw'({visit_qp, post_place})] <= {
        post_i.is_write, post_i.is_solicited, post_i.has_immediate, post_i.immediate,
        post_i.remote_address, post_i.rkey, post_i.len_bytes[31:Shift], post_i.addr[Shift+:Aw]
      };
  end

  // The choice.
  logic send_look, send_valid, send_room, is_cnp, pace_ok, paced, wake_valid, wake_ready;
  index_t wake_qp;
  roce_pkg::choice_t choice;

  assign is_cnp   = answer_i.kind == roce_pkg::AnswerCnp;
  assign ev_cnp_o = answer_valid_i && is_cnp;
  assign ev_qp_o  = visit_qp;

  roce_qp #(
      .Qps  (Qps),
      .Slots(Slots),
      .Queue(Queue)
  ) u_qp (
      .clk_i             (clk_i),
      .rst_i             (rst_i),
      .time_ns_i         (time_ns_i),
      .cmd_valid_i       (cmd_valid && cmd_valid_i),
      .cmd_ready_o       (cmd_ready_o),
      .cmd_i             (cmd_i),
      .cmd_qp_i          (cmd_qp_i),
      .cfg_i             (cfg_i),
      .refused_o         (refused_o),
      .answer_valid_i    (answer_valid_i && !is_cnp),
      .answer_qp_i       (answer_qp_i),
      .answer_i          (answer_i),
      .post_valid_i      (post_valid_i && !post_reject_o),
      .post_ready_o      (post_ready_o),
      .post_full_o       (post_full_o),
      .post_qp_i         (post_qp_i),
      .post_id_i         (post_i.id),
      .post_len_bytes_i  (post_i.len_bytes),
      .visit_qp_o        (visit_qp),
      .post_place_o      (post_place),
      .send_room_i       (send_room),
      .may_send_i        (Qps == 1 || pace_ok),
      .paced_o           (paced),
      .wake_valid_i      (wake_valid),
      .wake_ready_o      (wake_ready),
      .wake_qp_i         (wake_qp),
      .send_look_o       (send_look),
      .send_place_o      (send_place),
      .send_valid_o      (send_valid),
      .send_qp_o         (send_qp),
      .send_o            (choice),
      .completion_valid_o(completion_valid_o),
      .completion_qp_o   (completion_qp_o),
      .completion_o      (completion_o),
      .ev_failed_o       (ev_failed_o),
      .ev_ack_o          (ev_ack_o),
      .ev_marked_o       (ev_marked_o),
      .ev_outside_o      (ev_outside_o),
      .ev_sequence_nak_o (ev_sequence_nak_o),
      .ev_rnr_nak_o      (ev_rnr_nak_o),
      .ev_copy_o         (ev_copy_o),
      .ev_timeout_o      (ev_timeout_o),
      .ev_repeat_o       (ev_repeat_o),
      .ev_dropped_o      (ev_dropped_o)
  );

  // What was chosen waits with its request until the job before it is taken. What the request holds
  // does not change in so short a time, also when it is completed meanwhile.
  logic waits_q, is_chosen, moves, job_valid_q, job_ready, charge_q;
  logic [LenWidth-1:0] mtu_beats, low_beats, beats;
  logic [Aw-1:0] job_addr_q;
  roce_pkg::packet_t job, job_q;
  route_t job_route_q;

  // An answer of the responder takes the place of a packet that could be the next job.
  logic respond, response_seen_q;
  assign respond          = Full && response_valid_i && response_seen_q && !job_valid_q && !rst_i;
  assign response_ready_o = respond;

  assign is_chosen = send_valid || waits_q;
  assign moves     = is_chosen && !job_valid_q && !respond;
  // A packet is charged before the next one is chosen. The pace of a single QP holds back the choice.
  assign send_room = !is_chosen && !charge_q && (Qps > 1 || pace_ok);

  always_ff @(posedge clk_i) begin
    if (send_look) begin
      message_q <= message_mem[Rw'({visit_qp, send_place})];
      route_q   <= route_mem[visit_qp];
    end
    response_route_q <= route_mem[response_qp];
    response_seen_q  <= response_valid_i && !respond;
    // A connection that ends, or begins again, sends none of the one before.
    waits_q <= is_chosen && !moves && !rst_i
        && !(cmd_ready_o && cmd_i != roce_pkg::CommandAbort && send_qp == visit_qp);
  end

  assign mtu_beats = LenWidth'(128 >> Shift) << choice.mtu;
  assign low_beats = message_q.beats[LenWidth-1:0] & (mtu_beats - 1'b1);

  always_comb begin
    beats = mtu_beats;
    if (choice.is_last && (|low_beats || ~|message_q.beats)) beats = low_beats;
    job.has_reth      = message_q.is_write && choice.is_first;
    job.has_immediate = message_q.has_immediate && choice.is_last;
    unique case ({choice.is_first, choice.is_last})
      2'b10:   job.opcode = roce_pkg::OpFirst;
      2'b00:   job.opcode = roce_pkg::OpMiddle;
      2'b01:   job.opcode = roce_pkg::OpLast;
      default: job.opcode = roce_pkg::OpOnly;
    endcase
    job.opcode = (job.opcode | 8'(job.has_immediate))
        + (message_q.is_write ? roce_pkg::OpOfWrite : 8'd0);
    // IB 9.2: with the last packet of a SEND, or of a WRITE with immediate.
    job.is_solicited   = message_q.is_solicited && choice.is_last
        && (!message_q.is_write || message_q.has_immediate);
    job.ack_request    = choice.ack_request;
    job.destination    = route_q.remote_qp;
    job.psn            = choice.psn;
    job.remote_address = message_q.remote_address;
    job.rkey           = message_q.rkey;
    job.message_bytes  = 32'({message_q.beats, Shift'(0)});
    job.immediate      = message_q.immediate;
    job.len_bytes      = 16'({beats, Shift'(0)});
  end

  always_ff @(posedge clk_i) begin
    charge_q <= moves && !rst_i;
    if (moves) begin
      job_q       <= job;
      job_route_q <= route_q;
      job_addr_q  <= message_q.addr
          + (Aw'(choice.offset) << ($clog2(128 >> Shift) + 32'(choice.mtu)));
      charge_qp_o <= send_qp;
      job_valid_q <= 1'b1;
    end
    // Its AETH stands where a request has ImmDt, a CNP's reserved bytes where one has RETH.
    if (respond) begin
      job_q.opcode         <= response_i.is_cnp ? roce_pkg::OpCnp : roce_pkg::OpAcknowledge;
      job_q.has_reth       <= response_i.is_cnp;
      job_q.has_immediate  <= !response_i.is_cnp;
      job_q.remote_address <= '0;
      job_q.rkey           <= '0;
      job_q.message_bytes  <= '0;
      job_q.is_solicited   <= 1'b0;
      job_q.ack_request    <= 1'b0;
      job_q.destination    <= response_route_q.remote_qp;
      job_q.psn            <= response_i.psn;
      job_q.immediate      <= {response_i.syndrome, response_i.msn};
      job_q.len_bytes      <= '0;
      job_route_q          <= response_route_q;
      job_valid_q          <= 1'b1;
    end
    if (job_ready || rst_i) job_valid_q <= 1'b0;
  end

  assign ev_packet_o    = charge_q;
  assign charge_bytes_o = job_q.len_bytes + WireBytes + {11'd0, job_q.has_reth, 1'b0,
      job_q.has_immediate, 2'd0};

  // A marked ACK waits for a CNP that comes in its cycle.
  logic ack_cuts_q;
  index_t ack_qp_q;
  always_ff @(posedge clk_i) begin
    ack_cuts_q <= (ev_marked_o && acks_cut_i) || (ack_cuts_q && ev_cnp_o);
    if (ev_marked_o) ack_qp_q <= visit_qp;
    if (rst_i) ack_cuts_q <= 1'b0;
  end

  rate_control #(
      .Flows(Qps)
  ) u_rate (
      .clk_i          (clk_i),
      .rst_i          (rst_i),
      .time_ns_i      (time_ns_i),
      .cfg_i          (rate_cfg_i),
      .opening_i      (begins),
      .opening_flow_i (cmd_qp),
      .opening_busy_o (starts),
      .ev_marked_i    (ev_cnp_o || ack_cuts_q),
      .marked_flow_i  (ev_cnp_o ? answer_qp_i : ack_qp_q),
      .rtt_i          (32'd0),
      .charge_i       (charge_q),
      .charge_flow_i  (charge_qp_o),
      .charge_bytes_i (charge_bytes_o),
      .look_flow_i    (visit_qp),
      .ok_o           (pace_ok),
      .wait_i         (paced),
      .wake_valid_o   (wake_valid),
      .wake_ready_i   (wake_ready),
      .wake_flow_o    (wake_qp),
      .ev_cut_o       (ev_cut_o),
      .select_i       (rate_qp_i),
      .rate_o         (rate_o.rate),
      .target_o       (rate_o.target),
      .alpha_o        (rate_o.alpha),
      .event_count_o  (rate_o.event_count),
      .event_index_i  (event_index_i),
      .event_time_ns_o(rate_o.event_time_ns),
      .event_cause_o  (rate_o.event_cause),
      .event_rate_o   (rate_o.event_rate),
      .event_flow_o   (event_qp_o)
  );

  // The frame.
  logic start, reads, p_valid, p_ready;
  logic [W-1:0] p_data;

  read_ahead #(
      .Width     (W),
      .Aw        (Aw),
      .CountWidth(LenWidth)
  ) u_payload (
      .clk_i     (clk_i),
      .rst_i     (rst_i),
      .start_i   (start),
      .addr_i    (job_addr_q),
      .count_i   (job_q.len_bytes[Shift+:LenWidth]),
      .busy_o    (reads),
      .rd_valid_o(rd_valid_o),
      .rd_ready_i(rd_ready_i),
      .rd_addr_o (rd_addr_o),
      .rd_valid_i(rd_valid_i),
      .rd_data_i (rd_data_i),
      .m_valid_o (p_valid),
      .m_ready_i (p_ready),
      .m_data_o  (p_data)
  );

  roce_head #(
      .W(W)
  ) u_head (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .self_i       (self_i),
      .peer_i       ({job_route_q.mac, job_route_q.ip, roce_pkg::UdpPort}),
      .ip_sum_i     (job_route_q.ip_sum),
      .job_valid_i  (job_valid_q),
      .job_ready_o  (job_ready),
      .job_i        (job_q),
      .hold_i       (reads),
      .start_o      (start),
      .busy_o       (),
      .s_valid_i    (p_valid),
      .s_ready_o    (p_ready),
      .s_data_i     (p_data),
      .m_axis_tdata (m_axis_tdata),
      .m_axis_tkeep (m_axis_tkeep),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tlast (m_axis_tlast)
  );

endmodule

`default_nettype wire

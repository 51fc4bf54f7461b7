// A whole board that writes samples into the memory of a host over RoCEv2, and with Full takes what the
// host writes and sends, but for its converter, its MAC and its software: memory of messages, queue
// pair, congestion control, ARP and echo, registers, MAC FIFO; 64 bits.
//
//   samples -> roce_writer -> memory -> roce_requester -> tx_mux -> mac_fifo -> MAC
//                   ^ completions        |   ^ answers      ^ ARP, echo
//                   +--------------------+   |              |
//                                            |           session <- frame_store
//   MAC -> mac_fifo -> eth_ip_check, form_bth -> roce_rx                ^
//                            +------------------------------------------+
//                  with Full: +-> requests -> roce_responder -> memory port; its answers leave as
//                                             packets do
//
// With several queue pairs each has messages, regions and a part of the memory of its own. A beat goes to
// the QP `s_axis_tdest`; while that one cannot take it, the source waits.
//
// Samples are beats of a stream whose source can wait. `run` of the registers begins a connection;
// message k leaves as an RDMA WRITE with immediate k to slot k modulo `region_slots` of the peer's
// region. The host's software keeps up with the slots; a WRITE with immediate waits for a receive
// request of the host (RNR NAK), which is the one way to hold the board back.
//
// With Full the registers open one region of the memory port, at its own addresses, to the peer of each QP.
// SENDs, and WRITEs with immediate, need receive requests at the ports of the same name; ports of
// roce_endpoint.
// Without Full these ports give nothing.
//
// CNPs, and marked ACKs where `congested_acks_cut` is set, cut the rate of the packets of their QP
// (roce_requester). ARP and echo requests are answered by the control processor of the stream's
// sender, which opens no streams here. The other datagrams that come, and all frames that fail a
// check, are dropped and counted.
//
// Throughput and latencies: roce_requester, roce_writer, session. Clocks: clk_i, mac_tx_clk_i,
// mac_rx_clk_i, crossed in mac_fifo.
`default_nettype none

module roce_board #(
    parameter int unsigned Qps         = 1,     // to 16
    parameter int unsigned Slots       = 128,   // packets in flight of each
    parameter int unsigned Queue       = 16,    // messages of each that wait or are in flight
    parameter int unsigned MemoryBytes = 65536, // of messages of all
    parameter bit          Full        = 1'b0,  // the receiving half too
    parameter int unsigned RdLatency   = 2,
    parameter              MemoryStyle = "block",
    localparam int unsigned QpWidth = Qps > 1 ? $clog2(Qps) : 1
) (
    input wire logic        clk_i,
    input wire logic        rst_i,
    input wire logic [63:0] time_ns_i,

    input  wire logic [63:0] s_axis_tdata,
    input  wire logic [QpWidth-1:0] s_axis_tdest,
    input  wire logic        s_axis_tvalid,
    output logic             s_axis_tready,

    input  wire logic   mac_tx_clk_i,
    input  wire logic   mac_tx_rst_i,
    output logic [63:0] m_axis_tx_tdata,
    output logic [ 7:0] m_axis_tx_tkeep,
    output logic        m_axis_tx_tvalid,
    input  wire logic   m_axis_tx_tready,
    output logic        m_axis_tx_tlast,
    output logic        m_axis_tx_tuser,

    input wire logic        mac_rx_clk_i,
    input wire logic        mac_rx_rst_i,
    input wire logic [63:0] s_axis_rx_tdata,
    input wire logic [ 7:0] s_axis_rx_tkeep,
    input wire logic        s_axis_rx_tvalid,
    input wire logic        s_axis_rx_tlast,
    input wire logic        s_axis_rx_tuser,

    // receive requests, and the memory that the peer may write to
    input  wire logic        receive_valid_i,
    output logic             receive_ready_o,
    input  wire logic [QpWidth-1:0] receive_qp_i,
    input  wire roce_pkg::receive_t  receive_i,
    output logic             received_valid_o,
    input  wire logic        received_ready_i,
    output logic [QpWidth-1:0] received_qp_o,
    output roce_pkg::received_t      received_o,
    output logic             wr_valid_o,
    input  wire logic        wr_ready_i,
    output logic      [63:0] wr_addr_o,
    output logic      [63:0] wr_data_o,
    output logic      [ 7:0] wr_keep_o,
    output logic             wr_last_o,

    input  wire logic [10:0] s_axil_awaddr,
    input  wire logic [ 2:0] s_axil_awprot,
    input  wire logic        s_axil_awvalid,
    output logic             s_axil_awready,
    input  wire logic [31:0] s_axil_wdata,
    input  wire logic [ 3:0] s_axil_wstrb,
    input  wire logic        s_axil_wvalid,
    output logic             s_axil_wready,
    output logic      [ 1:0] s_axil_bresp,
    output logic             s_axil_bvalid,
    input  wire logic        s_axil_bready,
    input  wire logic [10:0] s_axil_araddr,
    input  wire logic [ 2:0] s_axil_arprot,
    input  wire logic        s_axil_arvalid,
    output logic             s_axil_arready,
    output logic      [31:0] s_axil_rdata,
    output logic      [ 1:0] s_axil_rresp,
    output logic             s_axil_rvalid,
    input  wire logic        s_axil_rready
);

  localparam int unsigned Beats = MemoryBytes / 8;
  localparam int unsigned Aw    = $clog2(Beats);
  // Of the part of a queue pair.
  localparam int unsigned PartAw = Qps > 1 ? Aw - QpWidth : Aw;
  typedef logic [QpWidth-1:0] index_t;

  if (MemoryBytes != 8 << Aw || 8 << PartAw < 4096) begin : g_memory
    $error("roce_board: MemoryBytes is a power of two, 4096 or more for each queue pair");
  end

  roce_regs_pkg::cfg_t    cfg;
  roce_regs_pkg::cmd_t    cmd;
  roce_regs_pkg::status_t status;
  roce_regs_pkg::event_t  events;
  net_pkg::peer_t         self, peer;
  roce_pkg::qp_t          qp;

  assign self = {cfg.mac, cfg.ip, cfg.port};
  assign peer = {cfg.peer_mac, cfg.peer_ip, roce_pkg::UdpPort};
  assign qp   = {
    cfg.local_qp, cfg.remote_qp, cfg.first_psn, cfg.mtu, cfg.window, cfg.ack_every, cfg.timeout,
    cfg.retries, cfg.rnr_retries
  };

  // The header of the first packet is made from addresses that stand for 32 cycles before.
  logic [5:0] settle_q;
  logic [Qps-1:0] cfg_runs, run, refused, begun, running;
  logic is_busy, begins, holds;
  index_t select, begin_qp;
  assign run    = settle_q[5] ? cfg_runs : '0;
  assign select = Qps > 1 ? index_t'(cfg.select) : '0;
  // The registers stand while a connection begins.
  assign holds  = Qps > 1 && (is_busy || (|cfg_runs && !settle_q[5]));
  always_ff @(posedge clk_i) begin
    if (rst_i || ~|cfg_runs) settle_q <= '0;
    else if (!settle_q[5]) settle_q <= settle_q + 6'd1;
  end

  logic [Qps-1:0] aborts;
  always_comb begin
    aborts         = '0;
    aborts[select] = cmd.flush;
  end

  roce_pkg::target_t cfg_target;
  assign cfg_target = {cfg.rkey, cfg.region, cfg.region_slots, cfg.message_bytes};

  send_pkg::rate_cfg_t rate_cfg;
  assign rate_cfg = {
    cfg.rate_mode, cfg.gain_shift, cfg.recovery_stages, cfg.alpha_period_ns, cfg.rise_period_ns,
    cfg.cut_interval_ns, cfg.rise_bytes, cfg.rate_additive, cfg.rate_hyper, cfg.rate_minimum,
    cfg.rate_start, cfg.rate_first_cut, cfg.rate_line, cfg.pace_rate, cfg.pace_burst_ns
  };

  // ------------------------------------------------------------------ messages
  logic                    post_valid, post_ready, post_full, completion_valid;
  index_t                  completion_qp;
  roce_pkg::work_request_t post;
  roce_pkg::completion_t   completion;
  logic                    we, rd_valid, rd_ready, reply_valid;
  logic [Aw-1:0]           waddr;
  logic [Aw:0]             rd_addr;
  logic [63:0]             wdata, reply;
  logic [Aw-1:0]           place;
  logic [2:0]              failure;

  // Each queue pair has a writer, and its part of the memory.
  localparam int unsigned PostBits = 219;  // of roce_pkg::work_request_t
  logic [PostBits-1:0]     posts[Qps];  // of bits: yosys has no arrays of structs
  logic [2:0]              failures[Qps];
  logic [Qps-1:0]          can_take, wes, posts_valid, has_failed;
  logic [31:0]             posted[Qps], completed[Qps];
  logic [PartAw-1:0]       waddrs[Qps];
  index_t                  taker, post_qp;
  assign taker             = Qps > 1 ? s_axis_tdest : '0;
  assign s_axis_tready     = can_take[taker];
  assign we                = |wes;
  assign wdata             = s_axis_tdata;
  assign waddr             = Qps > 1 ? Aw'({taker, waddrs[taker]}) : Aw'(waddrs[0]);
  assign status.posted     = posted[select];
  assign status.completed  = completed[select];
  assign status.has_failed = has_failed[select];
  assign failure           = failures[select];

  for (genvar q = 0; q < int'(Qps); q++) begin : g_writer
    roce_pkg::target_t target;
    logic              writes;
    roce_pkg::work_request_t own_post;
    roce_pkg::status_e       own_failure;
    logic [31:0]       own_posted, own_completed;
    logic [PartAw-1:0] own_waddr;
    assign posts[q]     = own_post;
    assign failures[q]  = own_failure;
    assign posted[q]    = own_posted;
    assign completed[q] = own_completed;
    assign waddrs[q]    = own_waddr;

    // Of several queue pairs the registers may have another one's connection later on.
    if (Qps > 1) begin : g_several
      roce_pkg::target_t target_q;
      logic              writes_q;
      assign target = target_q;
      assign writes = writes_q;
      always_ff @(posedge clk_i) begin
        if (begins && begin_qp == index_t'(q)) target_q <= cfg_target;
        writes_q <= begun[q] && !rst_i;
      end
    end else begin : g_one
      assign target = cfg_target;
      assign writes = run[0] && !refused[0];
    end

    roce_writer #(.Aw(PartAw)) u_writer (
        .clk_i(clk_i), .rst_i(rst_i), .run_i(writes),
        .rkey_i(target.rkey), .region_i(target.region), .region_slots_i(target.slots),
        .message_bytes_i(target.message_bytes),
        .s_axis_tdata(s_axis_tdata), .s_axis_tvalid(s_axis_tvalid && taker == index_t'(q)),
        .s_axis_tready(can_take[q]),
        .we_o(wes[q]), .waddr_o(own_waddr), .wdata_o(),
        .post_valid_o(posts_valid[q]), .post_ready_i(post_ready && post_qp == index_t'(q)),
        .post_o(own_post),
        .completion_valid_i(completion_valid && completion_qp == index_t'(q)),
        .completion_i(completion), .posted_o(own_posted), .completed_o(own_completed),
        .has_failed_o(has_failed[q]), .status_o(own_failure)
    );
  end

  // Posts take turns. A place in the memory: queue pair, a bit for messages that go round the end of its
  // part, place in the part.
  if (Qps > 1) begin : g_posts
    index_t turn_q;
    roce_pkg::work_request_t own;
    assign own        = posts[turn_q];
    assign post_qp    = turn_q;
    assign post_valid = posts_valid[turn_q];
    always_comb begin
      post      = own;
      post.addr = 40'({turn_q, 1'b0, own.addr[3+:PartAw], 3'd0});
    end
    assign place = {rd_addr[Aw-:QpWidth], rd_addr[PartAw-1:0]};
    always_ff @(posedge clk_i) begin
      if (post_ready || post_full || !post_valid)
        turn_q <= turn_q == index_t'(Qps - 1) ? '0 : turn_q + 1'b1;
      if (rst_i) turn_q <= '0;
    end
  end else begin : g_post
    assign post_qp    = '0;
    assign post_valid = posts_valid[0];
    assign post       = posts[0];
    assign place      = rd_addr[Aw-1:0];
  end

  ring #(.W(64), .Beats(Beats), .RdLatency(RdLatency), .TagW(1), .Style(MemoryStyle)) u_memory (
      .clk_i(clk_i), .rst_i(rst_i),
      .we_i(we), .waddr_i(waddr), .wdata_i(wdata),
      .rd_valid_i(rd_valid), .rd_ready_o(rd_ready), .rd_addr_i(place), .rd_tag_i(1'b0),
      .rd_valid_o(reply_valid), .rd_data_o(reply), .rd_tag_o()
  );

  // ------------------------------------------------------------------ queue pair
  logic              answer_valid, request_valid, packet, marked, outside, cnp;
  index_t            answer_qp, event_qp;
  send_pkg::rate_status_t rates;
  roce_pkg::answer_t answer;
  roce_pkg::request_t request;
  logic [63:0]       d_tdata;
  logic [7:0]        d_tkeep;
  logic              d_tvalid, d_tready, d_tlast;
  logic              v, last;  // what is received, checked
  logic [63:0]       vdata;

  // A bit more than the memory's address: a message may go round its end.
  if (Full) begin : g_full
    logic unexpected;
    logic [Qps-1:0] has_fault_q;
    logic [2:0] fault_mem[Qps];
    index_t fault_qp;
    roce_pkg::fault_e fault;

    roce_endpoint #(.Qps(Qps), .Slots(Slots), .Queue(Queue), .Aw(Aw + 1)) u_endpoint (
        .clk_i(clk_i), .rst_i(rst_i), .time_ns_i(time_ns_i), .self_i(self), .peer_i(peer),
        .run_i(run), .cfg_i(qp),
        .peer_psn_i(cfg.peer_psn), .rnr_timer_i(cfg.rnr_timer),
        .cnp_interval_ns_i(cfg.cnp_interval_ns),
        .region_i({cfg.local_key, cfg.local_region, cfg.local_bytes}),
        .may_write_i(cfg.may_write[Qps-1:0]),
        .refused_o(refused), .begun_o(begun), .is_running_o(running), .busy_o(is_busy),
        .begins_o(begins), .begin_qp_o(begin_qp),
        .abort_i(aborts), .rate_cfg_i(rate_cfg), .acks_cut_i(cfg.congested_acks_cut),
        .post_valid_i(post_valid), .post_ready_o(post_ready), .post_reject_o(),
        .post_full_o(post_full), .post_qp_i(post_qp), .post_i(post),
        .completion_valid_o(completion_valid), .completion_qp_o(completion_qp),
        .completion_o(completion),
        .receive_valid_i(receive_valid_i), .receive_ready_o(receive_ready_o),
        .receive_qp_i(receive_qp_i), .receive_i(receive_i), .received_valid_o(received_valid_o),
        .received_ready_i(received_ready_i), .received_qp_o(received_qp_o), .received_o(received_o),
        .valid_i(v), .last_i(last), .data_i(vdata),
        .request_valid_i(request_valid), .request_i(request),
        .answer_valid_i(answer_valid), .answer_qp_i(answer_qp), .answer_i(answer),
        .rd_valid_o(rd_valid), .rd_ready_i(rd_ready), .rd_addr_o(rd_addr),
        .rd_valid_i(reply_valid), .rd_data_i(reply),
        .wr_valid_o(wr_valid_o), .wr_ready_i(wr_ready_i), .wr_addr_o(wr_addr_o),
        .wr_data_o(wr_data_o), .wr_keep_o(wr_keep_o), .wr_last_o(wr_last_o),
        .m_axis_tdata(d_tdata), .m_axis_tkeep(d_tkeep), .m_axis_tvalid(d_tvalid),
        .m_axis_tready(d_tready), .m_axis_tlast(d_tlast),
        .ev_packet_o(packet), .ev_repeat_o(events.retransmissions),
        .ev_ack_o(events.acks), .ev_marked_o(marked), .ev_outside_o(outside),
        .ev_sequence_nak_o(events.sequence_naks), .ev_rnr_nak_o(events.rnr_naks),
        .ev_copy_o(events.naks_repeated), .ev_timeout_o(events.timeouts),
        .ev_dropped_o(events.answers_dropped), .ev_cnp_o(cnp),
        .ev_cut_o(events.cuts), .rate_qp_i(select), .event_index_i(cfg.event_index),
        .rate_o(rates), .event_qp_o(event_qp),
        .fault_qp_o(fault_qp), .ev_received_o(events.requests), .ev_duplicate_o(events.duplicates),
        .ev_gap_o(events.out_of_order), .ev_not_ready_o(events.not_ready),
        .ev_fault_o(events.faults), .ev_after_fault_o(events.after_fault),
        .ev_unexpected_o(unexpected), .ev_no_room_o(events.requests_dropped),
        .ev_request_marked_o(events.requests_marked), .ev_cnp_sent_o(events.cnps_sent),
        .fault_o(fault)
    );

    // What comes while no connection runs is judged by none.
    assign events.unexpected = unexpected || (request_valid && !begun[answer_qp]);
    assign events.receives   = received_valid_o && received_ready_i
        && received_o.status <= roce_pkg::ReceiveWrite;
    assign status.has_fault  = has_fault_q[select];
    assign status.fault      = fault_mem[select];

    always_ff @(posedge clk_i) begin
      has_fault_q <= has_fault_q & run;
      if (events.faults) begin
        has_fault_q[fault_qp] <= 1'b1;
        fault_mem[fault_qp]   <= fault;
      end
      if (rst_i) has_fault_q <= '0;
    end
  end else begin : g_send
    logic               cmd_valid, cmd_ready, cmd_refused, failed, any_cnp;
    roce_pkg::command_e qp_cmd;
    index_t             cmd_qp, ev_qp;

    roce_run #(.Qps(Qps)) u_run (
        .clk_i(clk_i), .rst_i(rst_i), .run_i(run), .abort_i(aborts),
        .refused_o(refused), .begun_o(begun), .is_running_o(running), .busy_o(is_busy),
        .cmd_valid_o(cmd_valid), .cmd_ready_i(cmd_ready), .cmd_o(qp_cmd), .cmd_qp_o(cmd_qp),
        .refused_i(cmd_refused), .failed_i(failed), .visit_qp_i(ev_qp)
    );

    assign begins   = cmd_ready && qp_cmd == roce_pkg::CommandBegin;
    assign begin_qp = cmd_qp;
    assign cnp      = any_cnp && running[answer_qp];

    roce_requester #(
        .Qps(Qps), .Slots(Slots), .Queue(Queue), .Aw(Aw + 1)
    ) u_requester (
        .clk_i(clk_i), .rst_i(rst_i), .time_ns_i(time_ns_i), .self_i(self),
        .cmd_valid_i(cmd_valid), .cmd_ready_o(cmd_ready), .cmd_i(qp_cmd), .cmd_qp_i(cmd_qp),
        .cfg_i(qp), .peer_i(peer), .refused_o(cmd_refused),
        .rate_cfg_i(rate_cfg), .acks_cut_i(cfg.congested_acks_cut),
        .post_valid_i(post_valid), .post_ready_o(post_ready), .post_reject_o(),
        .post_full_o(post_full), .post_qp_i(post_qp), .post_i(post),
        .completion_valid_o(completion_valid), .completion_qp_o(completion_qp),
        .completion_o(completion),
        .answer_valid_i(answer_valid), .answer_qp_i(answer_qp), .answer_i(answer),
        .response_valid_i(1'b0), .response_ready_o(), .response_qp_i(index_t'(0)),
        .response_i(57'd0),
        .rd_valid_o(rd_valid), .rd_ready_i(rd_ready), .rd_addr_o(rd_addr),
        .rd_valid_i(reply_valid), .rd_data_i(reply),
        .m_axis_tdata(d_tdata), .m_axis_tkeep(d_tkeep), .m_axis_tvalid(d_tvalid),
        .m_axis_tready(d_tready), .m_axis_tlast(d_tlast),
        .charge_qp_o(), .charge_bytes_o(), .ev_qp_o(ev_qp), .ev_failed_o(failed),
        .ev_packet_o(packet), .ev_repeat_o(events.retransmissions),
        .ev_ack_o(events.acks), .ev_marked_o(marked), .ev_outside_o(outside),
        .ev_sequence_nak_o(events.sequence_naks), .ev_rnr_nak_o(events.rnr_naks),
        .ev_copy_o(events.naks_repeated), .ev_timeout_o(events.timeouts),
        .ev_dropped_o(events.answers_dropped), .ev_cnp_o(any_cnp),
        .ev_cut_o(events.cuts), .rate_qp_i(select), .event_index_i(cfg.event_index),
        .rate_o(rates), .event_qp_o(event_qp)
    );

    assign {receive_ready_o, received_valid_o, received_qp_o, received_o, wr_valid_o, wr_addr_o,
        wr_data_o, wr_keep_o, wr_last_o} = '0;
    assign {events.requests, events.receives, events.duplicates, events.out_of_order,
        events.not_ready, events.faults, events.after_fault, events.unexpected,
        events.requests_dropped, events.requests_marked, events.cnps_sent} = '0;
    assign {status.has_fault, status.fault} = '0;
  end

  assign status.rate          = rates.rate;
  assign status.rate_target   = rates.target;
  assign status.alpha         = rates.alpha;
  assign status.event_count   = rates.event_count;
  assign status.event_cause   = rates.event_cause;
  assign status.event_rate    = rates.event_rate;
  assign status.event_qp      = 4'(event_qp);
  assign {status.event_time_hi, status.event_time_lo} = rates.event_time_ns;

  // ------------------------------------------------------------------ what is received
  logic [63:0] x_tdata, r_tdata;
  logic [7:0]  x_tkeep, r_tkeep;
  logic        x_tvalid, x_tready, x_tlast, r_tvalid, r_tlast, r_tuser;

  logic [3:0] count;
  always_comb begin
    count = 4'd8;
    for (int i = 7; i > 0; i--) if (!r_tkeep[i]) count = 4'(i);
  end

  logic        passed, is_arp, is_icmp, fv, fdone, cv, bad_rx, bad_length;
  logic [3:0]  vcount, fbeat, cbeat;
  logic [63:0] fdata, cdata;
  logic [15:0] fbytes;
  logic [23:0] cnext;
  logic [4:0]  cleft;

  // RoCE sends no UDP checksum.
  eth_ip_check #(.N(64), .NoSum(1'b1)) u_check (
      .clk_i(clk_i), .rst_i(rst_i), .self_i(self), .ports_i(roce_pkg::UdpPort),
      .valid_i(r_tvalid), .last_i(r_tlast), .bad_i(r_tuser), .count_i(count), .data_i(r_tdata),
      .valid_o(v), .last_o(last), .count_o(vcount), .data_o(vdata),
      .passed_o(passed), .stray_o(), .is_arp_o(is_arp), .is_icmp_o(is_icmp), .port_o(),
      .f_valid_o(fv), .f_beat_o(fbeat), .f_data_o(fdata), .f_length_o(fbytes), .f_next_o(),
      .f_done_o(fdone), .f_is_udp_o(), .p_valid_o(cv), .p_beat_o(cbeat), .p_data_o(cdata),
      .p_next_o(cnext), .p_left_o(cleft),
      .ev_bad_o(bad_rx), .ev_oversize_o(events.frames_oversize), .ev_runt_o(events.frames_runt),
      .ev_not_ours_o(events.frames_foreign), .ev_fragment_o(events.fragments),
      .ev_ip_sum_o(events.ip_checksum), .ev_length_o(bad_length),
      .ev_udp_sum_o(events.udp_checksum)
  );

  logic        b_passed, b_length, b_version, b_icrc, ack_request, roce_length;
  logic [7:0]  opcode;
  logic [1:0]  padding;
  logic [15:0] pkey, len_bytes;
  logic [23:0] qp_number, psn;
  logic [31:0] behind;

  form_bth u_form (
      .clk_i(clk_i), .f_valid_i(fv), .f_beat_i(fbeat), .f_data_i(fdata), .f_length_i(fbytes),
      .f_done_i(fdone), .p_valid_i(cv), .p_beat_i(cbeat), .p_data_i(cdata), .p_next_i(cnext),
      .p_left_i(cleft), .passed_o(b_passed), .bad_length_o(b_length),
      .bad_version_o(b_version), .bad_icrc_o(b_icrc), .opcode_o(opcode), .solicited_o(),
      .padding_o(padding), .pkey_o(pkey), .fecn_o(), .becn_o(), .qp_o(qp_number),
      .ack_request_o(ack_request), .psn_o(psn), .len_bytes_o(len_bytes), .behind_o(behind)
  );

  logic is_roce;
  assign is_roce = v && last && passed && !is_arp && !is_icmp;

  roce_rx #(.Qps(Qps), .Full(Full)) u_rx (
      .clk_i(clk_i), .rst_i(rst_i), .local_qp_i(cfg.local_qp),
      .peer_set_i(Qps == 1 || begins), .peer_qp_i(begin_qp), .peer_ip_i(cfg.peer_ip),
      .f_valid_i(fv), .f_beat_i(fbeat), .f_data_i(fdata), .f_done_i(fdone), .judged_i(is_roce),
      .passed_i(b_passed), .bad_length_i(b_length), .bad_version_i(b_version),
      .bad_icrc_i(b_icrc), .opcode_i(opcode), .padding_i(padding), .pkey_i(pkey),
      .qp_i(qp_number), .ack_request_i(ack_request), .psn_i(psn), .len_bytes_i(len_bytes),
      .behind_i(behind), .answer_valid_o(answer_valid), .answer_qp_o(answer_qp), .answer_o(answer),
      .request_valid_o(request_valid), .request_o(request),
      .ev_length_o(roce_length), .ev_version_o(events.versions), .ev_icrc_o(events.corrupted),
      .ev_pkey_o(events.partition_keys), .ev_stranger_o(events.strangers),
      .ev_opcode_o(events.opcodes), .ev_syndrome_o(events.syndromes)
  );

  // ------------------------------------------------------------------ ARP and echo
  logic        c_valid, c_last, no_room_store, no_room_session;
  logic [63:0] c_data, k_tdata;
  logic [7:0]  k_tkeep;
  logic        k_tvalid, k_tready, k_tlast;
  logic [4:0]  key_addr;
  logic [31:0] key_data;
  logic [21:0] session_events;

  frame_store #(.N(64), .Words(256), .Reserve(1'b0)) u_store (
      .clk_i(clk_i), .rst_i(rst_i), .valid_i(v), .last_i(last), .count_i(vcount), .data_i(vdata),
      .ok_i(passed && (is_arp || is_icmp)), .other_version_i(1'b0),
      .cls_i(is_arp ? net_pkg::ClassArp : net_pkg::ClassIcmp),
      .room_o(), .ev_kept_o(), .ev_no_room_o(no_room_store),
      .c_valid_o(c_valid), .c_ready_i(1'b1), .c_data_o(c_data), .c_last_o(c_last), .c_meta_o()
  );

  session u_session (
      .clk_i(clk_i), .rst_i(rst_i), .time_ns_i(time_ns_i),
      .enable_i(1'b0), .key_addr_o(key_addr), .key_data_i(key_data),
      .tpl_addr_o(), .tpl_data_i(64'd0),
      .c_valid_i(c_valid), .c_data_i(c_data), .c_last_i(c_last), .c_is_report_i(1'b0),
      .state_o(), .opening_o(), .stream_tag_o(), .stream_tag_valid_o(), .peer_tag_o(), .peer_o(),
      .window_o(), .rtt_o(), .flush_o(), .run_o(), .stop_o(),
      .close_i(1'b0), .close_reason_i(2'd0),
      .busy_i(1'b0), .index_i(64'd0), .lost_i(64'd0), .oldest_i(32'd0), .sent_i(32'd0),
      .next_i(32'd0), .is_released_i(1'b1), .is_sent_i(1'b1), .credit_came_i(1'b0),
      .depart_new_i(1'b0), .depart_repeat_i(1'b0), .hold_o(), .tx_busy_i(1'b0),
      .taken_i(1'b0), .alive_i(1'b0), .report_time_i(32'd0),
      .ctl_want_o(), .ctl_grant_i(1'b0), .ctl_departure_i(32'd0), .ctl_done_o(),
      .m_axis_tvalid(k_tvalid), .m_axis_tready(k_tready), .m_axis_tdata(k_tdata),
      .m_axis_tkeep(k_tkeep), .m_axis_tlast(k_tlast),
      .event_o(session_events), .ev_dropped_o(no_room_session)
  );

  // ------------------------------------------------------------------ one wire
  logic mac_bad, mac_no_room, mac_cut;

  tx_mux #(.W(64)) u_tx_mux (
      .clk_i(clk_i), .rst_i(rst_i),
      .s0_hold_i(1'b0), .s0_busy_o(), .s0_shown_o(), .s1_chosen_i(1'b0),
      .s0_axis_tdata(k_tdata), .s0_axis_tkeep(k_tkeep), .s0_axis_tvalid(k_tvalid),
      .s0_axis_tready(k_tready), .s0_axis_tlast(k_tlast),
      .s1_axis_tdata(d_tdata), .s1_axis_tkeep(d_tkeep), .s1_axis_tvalid(d_tvalid),
      .s1_axis_tready(d_tready), .s1_axis_tlast(d_tlast),
      .m_axis_tdata(x_tdata), .m_axis_tkeep(x_tkeep), .m_axis_tvalid(x_tvalid),
      .m_axis_tready(x_tready), .m_axis_tlast(x_tlast)
  );

  mac_fifo #(.W(64)) u_mac_fifo (
      .clk_i(clk_i), .rst_i(rst_i), .loopback_i(cfg.loopback),
      .s_tx_tdata(x_tdata), .s_tx_tkeep(x_tkeep), .s_tx_tvalid(x_tvalid),
      .s_tx_tready(x_tready), .s_tx_tlast(x_tlast), .s_tx_tuser(1'b0),
      .m_rx_tdata(r_tdata), .m_rx_tkeep(r_tkeep), .m_rx_tvalid(r_tvalid), .m_rx_tready(1'b1),
      .m_rx_tlast(r_tlast), .m_rx_tuser(r_tuser),
      .mac_tx_clk_i(mac_tx_clk_i), .mac_tx_rst_i(mac_tx_rst_i),
      .mac_tx_tdata(m_axis_tx_tdata), .mac_tx_tkeep(m_axis_tx_tkeep),
      .mac_tx_tvalid(m_axis_tx_tvalid), .mac_tx_tready(m_axis_tx_tready),
      .mac_tx_tlast(m_axis_tx_tlast), .mac_tx_tuser(m_axis_tx_tuser),
      .mac_rx_clk_i(mac_rx_clk_i), .mac_rx_rst_i(mac_rx_rst_i),
      .mac_rx_tdata(s_axis_rx_tdata), .mac_rx_tkeep(s_axis_rx_tkeep),
      .mac_rx_tvalid(s_axis_rx_tvalid), .mac_rx_tlast(s_axis_rx_tlast),
      .mac_rx_tuser(s_axis_rx_tuser), .ev_rx_bad_o(mac_bad), .ev_rx_no_room_o(mac_no_room),
      .ev_tx_cut_o(mac_cut)
  );

  // ------------------------------------------------------------------ registers and counters
  logic write_refused;
  assign events.packets            = packet;
  assign events.messages           = completion_valid && completion.status == roce_pkg::StatusDone;
  assign events.messages_failed    = completion_valid && completion.status != roce_pkg::StatusDone;
  assign events.cnps               = cnp;
  // What comes while no connection runs is judged by none.
  assign events.answers_outside    = outside || (answer_valid && !running[answer_qp] && !cnp);
  assign events.acks_marked        = marked;
  assign events.lengths            = bad_length || roce_length;  // a frame's, or one's before it
  assign events.arp_replies        = session_events[ctl_sender_pkg::EventArp];
  assign events.icmp_replies       = session_events[ctl_sender_pkg::EventIcmp];
  assign events.replies_suppressed = session_events[ctl_sender_pkg::EventSuppressed];
  assign events.mac_tx_dropped     = mac_cut;
  assign events.mac_rx_dropped     = mac_no_room;
  assign events.writes_refused     = write_refused;

  // Two events of one name may come in one cycle: the second is counted in the next that has none.
  logic [1:0] first, second, owed_q;
  assign first  = {bad_rx, no_room_store};
  assign second = {mac_bad, no_room_session};
  assign {events.frames_bad, events.no_room} = first | second | owed_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) owed_q <= '0;
    else owed_q <= (first & second) | (owed_q & (first | second));
  end

  assign status.is_running = running[select] && run[select];
  assign status.is_refused = refused[select];
  assign status.status     = failure;

  logic        wr_valid, wr_whole, wr_done, wr_error, rd_ask, rd_done, rd_error;
  logic [10:0] wr_addr, reg_addr;
  logic [31:0] wr_data, reg_data;

  axil_decode #(.Blocks(1), .BlockBits(11), .AddrBits(11)) u_axil_decode (
      .clk_i(clk_i), .rst_i(rst_i),
      .s_axil_awaddr(s_axil_awaddr), .s_axil_awprot(s_axil_awprot),
      .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready),
      .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid),
      .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp),
      .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
      .s_axil_araddr(s_axil_araddr), .s_axil_arprot(s_axil_arprot),
      .s_axil_arvalid(s_axil_arvalid), .s_axil_arready(s_axil_arready),
      .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp),
      .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready),
      .wr_valid_o(wr_valid), .wr_addr_o(wr_addr), .wr_data_o(wr_data), .wr_whole_o(wr_whole),
      .wr_done_i(wr_done), .wr_error_i(wr_error), .rd_valid_o(rd_ask), .rd_addr_o(reg_addr),
      .rd_done_i(rd_done), .rd_error_i(rd_error), .rd_data_i(reg_data)
  );

  roce_csr #(
      .Slots(Slots), .Queue(Queue), .MemoryBytes(MemoryBytes), .Full(Full), .Qps(Qps)
  ) u_csr (
      .clk_i(clk_i), .rst_i(rst_i),
      .wr_valid_i(wr_valid), .wr_addr_i(wr_addr), .wr_data_i(wr_data), .wr_whole_i(wr_whole),
      .wr_done_o(wr_done), .wr_error_o(wr_error), .rd_valid_i(rd_ask), .rd_addr_i(reg_addr),
      .rd_done_o(rd_done), .rd_error_o(rd_error), .rd_data_o(reg_data),
      .key_addr_i(key_addr), .key_data_o(key_data), .hold_i(holds), .run_o(cfg_runs),
      .cfg_o(cfg), .cmd_o(cmd), .ev_refused_o(write_refused), .status_i(status), .event_i(events),
      .time_ns_i(time_ns_i)
  );

endmodule

`default_nettype wire

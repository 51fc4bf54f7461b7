// Everything about the stream that is rare: the listener's table (docs/protocol.md#3.16), the life
// of the stream (#7.11, #3.14, #7.7), MARK and CLOSE (#4.8, #7.1), the round trip (#4.9), the
// circuit breaker (#4.10); and ARP and echo requests. The rules are the program of `ctl_cpu`,
// rtl/ctl/programs/sender.txt; here is what it reads and writes (its port map is sender.toml), what
// cannot wait for it, and what would keep it busy: frames that wait (`ctl_rx`), the pauses of MARK
// (`mark_timer`), the keyed function (`cookie`).
//
// One thing is done after the other: a MARK that is owed waits for an answer that is under way.
// Every packet of the session gets its departure from `tx_sched`, so that all stamps strictly rise
// (docs/protocol.md#2.6). Those of the sender, MARK, CLOSE and CLOSE_ACK(done), leave at their
// place among DATA, which goes on meanwhile. The listener's packets give the place back at once. Of
// what DATA changes, seqs are read when the place has been given, the index and the losses before.
// A change of stream: `hold_o` keeps DATA back, `flush_o` comes when what was chosen has left, at
// least 32 cycles long; then the stream is Opening and its ACCEPT is built.
//
// Throughput: a packet at a time. Latency in cycles, from the last beat to the first of the answer:
// ARP 160, echo 250 to 400, CLOSE_ACK(unknown) 430, CHALLENGE 3,400, ACCEPT 5,400 at 1,408 bytes and
// 3 for each 2 bytes more. While the time of samples is known, MARK and ACCEPT take 322 cycles more, 644
// where the index is far from the one whose time is known, or before it. Back-pressure: none towards what is received, of
// which four frames wait and more are dropped; m_axis is held back for as long as it takes. One clock.
`default_nettype none

module session #(
  parameter Program = "sender"   // of rtl/ctl/programs
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  logic [63:0]      time_ns_i,

  // Configuration, read when it is needed.
  input  logic             enable_i,
  output logic [4:0]       key_addr_o,          // registers of the control half, by word
  input  logic [31:0]      key_data_i,          // in the same cycle
  output logic [5:0]       tpl_addr_o,
  input  logic [63:0]      tpl_data_i,          // one cycle later

  // Words of the control stream, as they are taken; those of REPORTs by report_rx.
  input  logic             c_valid_i,
  input  logic [63:0]      c_data_i,
  input  logic             c_last_i,
  input  logic             c_is_report_i,

  // The stream.
  output wire_pkg::state_e state_o,
  output logic             opening_o,           // rises once for each stream
  output logic [31:0]      stream_tag_o,        // what comes carries it
  output logic             stream_tag_valid_o,
  output logic [31:0]      peer_tag_o,          // what leaves carries it
  output net_pkg::peer_t   peer_o,
  output logic [31:0]      window_o,            // of the opener
  output logic [31:0]      rtt_o,               // 16 ns
  output logic             flush_o,
  output logic             run_o,
  output logic             stop_o,
  input  logic             close_i,             // pulse
  input  logic [1:0]       close_reason_i,      // docs/protocol.md#2.17; held

  // packetizer, window, tx_sched
  input  logic             busy_i,              // a packet is begun
  input  logic [63:0]      index_i,             // of the next sample to depart
  input  logic [63:0]      lost_i,
  input  logic [31:0]      oldest_i,
  input  logic [31:0]      sent_i,
  input  logic [31:0]      next_i,
  input  logic             is_released_i,
  input  logic             is_sent_i,
  input  logic             credit_came_i,
  input  logic             depart_new_i,
  input  logic             depart_repeat_i,
  output logic             hold_o,              // choose no DATA
  input  logic             tx_busy_i,           // DATA that was chosen has not left

  // report_rx
  input  logic             taken_i,             // with the fifth word of the REPORT
  input  logic             alive_i,
  input  logic [31:0]      report_time_i,       // when that was; 16 ns

  // tx_sched
  output logic             ctl_want_o,
  input  logic             ctl_grant_i,         // pulse
  input  logic [31:0]      ctl_departure_i,
  output logic             ctl_done_o,

  output logic             m_axis_tvalid,
  input  logic             m_axis_tready,
  output logic [63:0]      m_axis_tdata,
  output logic [7:0]       m_axis_tkeep,
  output logic             m_axis_tlast,

  output logic [21:0]      event_o,             // ctl_sender_pkg::event_e
  output logic             ev_dropped_o
);

  // ------------------------------------------------------------------ the processor
  logic [6:0]  port;
  logic        port_read, is_report_part, out_we, is_event;
  logic [15:0] own, own_q, count, count_q, seq, seq_q, key_q, out_data;
  logic [8:0]  addr;
  logic [63:0] frame;
  logic [5:0]  out;
  logic [4:0]  event_which;

  ctl_cpu #(
    .Program(Program)
  ) u_cpu (
    .clk_i(clk_i), .rst_i(rst_i), .port_o(port), .port_read_o(port_read),
    .port_i(own_q | count_q | seq_q | key_q), .part_o(is_report_part), .addr_o(addr),
    .frame_i(frame), .template_i(tpl_data_i),
    .out_we_o(out_we), .out_o(out), .out_data_o(out_data), .event_o(is_event),
    .event_which_o(event_which), .m_axis_tvalid(m_axis_tvalid), .m_axis_tready(m_axis_tready),
    .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep), .m_axis_tlast(m_axis_tlast)
  );

  assign tpl_addr_o = addr[7:2];
  assign key_addr_o = port[5:1];
  assign event_o    = is_event ? 22'd1 << event_which : 22'd0;

  // ------------------------------------------------------------------ what it writes
  wire_pkg::state_e state_q;
  logic [31:0] stream_tag_q, peer_tag_q, window_q, rtt_q;
  net_pkg::peer_t peer_q;
  logic        flush_q, hold_q, is_idle_q;

  always_ff @(posedge clk_i) begin
    if (out_we) begin
      unique case (out)
        ctl_sender_pkg::OutState:     state_q <= wire_pkg::state_e'(out_data[2:0]);
        ctl_sender_pkg::OutControl: begin
          flush_q   <= out_data[ctl_sender_pkg::ControlFlush];
          hold_q    <= out_data[ctl_sender_pkg::ControlHold];
          is_idle_q <= out_data[ctl_sender_pkg::ControlIdle];
        end
        ctl_sender_pkg::OutTagHi:     stream_tag_q[31:16] <= out_data;
        ctl_sender_pkg::OutTagLo:     stream_tag_q[15:0] <= out_data;
        ctl_sender_pkg::OutPeerTagHi: peer_tag_q[31:16] <= out_data;
        ctl_sender_pkg::OutPeerTagLo: peer_tag_q[15:0] <= out_data;
        ctl_sender_pkg::OutPeerMac2:  peer_q.mac[47:32] <= out_data;
        ctl_sender_pkg::OutPeerMac1:  peer_q.mac[31:16] <= out_data;
        ctl_sender_pkg::OutPeerMac0:  peer_q.mac[15:0] <= out_data;
        ctl_sender_pkg::OutPeerIpHi:  peer_q.ip[31:16] <= out_data;
        ctl_sender_pkg::OutPeerIpLo:  peer_q.ip[15:0] <= out_data;
        ctl_sender_pkg::OutPeerPort:  peer_q.port <= out_data;
        ctl_sender_pkg::OutWindowHi:  window_q[31:16] <= out_data;
        ctl_sender_pkg::OutWindowLo:  window_q[15:0] <= out_data;
        ctl_sender_pkg::OutRttHi:     rtt_q[31:16] <= out_data;
        ctl_sender_pkg::OutRttLo:     rtt_q[15:0] <= out_data;
        default: ;
      endcase
    end
    if (rst_i) begin
      state_q   <= wire_pkg::StateIdle;
      flush_q   <= 1'b0;
      hold_q    <= 1'b0;
      is_idle_q <= 1'b0;
    end
  end

  logic        alive_q, taken_q, close_q;  // until cleared
  logic        left_q, restart_q;          // a cycle late: mark_timer has the time
  logic [6:0]  pulse;
  assign pulse = out_we && out == ctl_sender_pkg::OutPulse ? out_data[6:0] : 7'd0;

  logic is_live, is_closing;
  assign is_live    = state_q == wire_pkg::StateOpening || state_q == wire_pkg::StateFlowing
                      || state_q == wire_pkg::StateClosing;
  assign is_closing = state_q == wire_pkg::StateClosing;

  assign state_o            = state_q;
  // A stream that takes over one that is Opening leaves the state as it is: the flush is between them.
  assign opening_o          = state_q == wire_pkg::StateOpening && !flush_q;
  assign stream_tag_o       = stream_tag_q;
  assign stream_tag_valid_o = is_live && !flush_q;
  assign peer_tag_o         = peer_tag_q;
  assign peer_o             = peer_q;
  assign window_o           = window_q;
  assign rtt_o              = rtt_q;
  assign flush_o            = flush_q;
  assign hold_o             = hold_q;
  assign run_o              = state_q == wire_pkg::StateFlowing || is_closing;
  // The call to close stops the samples at once.
  assign stop_o             = is_closing || (is_live && close_q);

  // The place: asked for until it is given.
  logic want_q;
  always_ff @(posedge clk_i) begin
    if (pulse[ctl_sender_pkg::PulseWant]) want_q <= 1'b1;
    else if (ctl_grant_i || rst_i) want_q <= 1'b0;
  end
  assign ctl_want_o = want_q;
  assign ctl_done_o = pulse[ctl_sender_pkg::PulseDone];

  // ------------------------------------------------------------------ what it reads
  logic        busy_q, is_waiting_q, has_frame, is_due, is_mac_busy;
  logic [15:0] time_hi_q, repeats_q, mac_value, flags;
  logic [2:0]  clear;

  assign clear = out_we && out == ctl_sender_pkg::OutClear ?
                 out_data[ctl_sender_pkg::FlagClose:ctl_sender_pkg::FlagAlive] : 3'd0;

  always_ff @(posedge clk_i) begin
    alive_q <= (alive_i || (alive_q && !clear[0])) && !flush_q && !rst_i;
    taken_q <= (taken_i || (taken_q && !clear[1])) && !flush_q && !rst_i;
    close_q <= (close_i || (close_q && !clear[2])) && !flush_q && !rst_i;
    left_q    <= pulse[ctl_sender_pkg::PulseLeft] && !rst_i;
    restart_q <= pulse[ctl_sender_pkg::PulseRestart] && !rst_i;
    // A commit shows a cycle after the packet has ended.
    busy_q  <= busy_i;
    if (rst_i) repeats_q <= '0;
    else if (depart_repeat_i) repeats_q <= repeats_q + 16'd1;
    if (port_read && port == ctl_sender_pkg::PortTimeLo) time_hi_q <= time_ns_i[35:20];
    is_waiting_q <= !is_released_i || state_q != wire_pkg::StateFlowing;
  end

  always_comb begin
    flags                          = '0;
    flags[ctl_sender_pkg::FlagReason1:ctl_sender_pkg::FlagReason0] = close_reason_i;
    flags[ctl_sender_pkg::FlagAlive]       = alive_q;
    flags[ctl_sender_pkg::FlagTaken]       = taken_q;
    flags[ctl_sender_pkg::FlagClose]       = close_q;
    flags[ctl_sender_pkg::FlagDue]         = is_due;
    flags[ctl_sender_pkg::FlagFrame]       = has_frame;
    flags[ctl_sender_pkg::FlagGrant]       = !want_q;
    flags[ctl_sender_pkg::FlagAllSent]     = is_sent_i && !busy_i && !busy_q;
    flags[ctl_sender_pkg::FlagReleased]    = is_released_i;
    flags[ctl_sender_pkg::FlagTxBusy]      = tx_busy_i;
    flags[ctl_sender_pkg::FlagMacBusy]     = is_mac_busy;
    flags[ctl_sender_pkg::FlagEnable]      = enable_i;

    unique case (port[2:0])
      ctl_sender_pkg::PortFlags[2:0]:    own = flags;
      ctl_sender_pkg::PortMac[2:0]:      own = mac_value;
      ctl_sender_pkg::PortTimeHi[2:0]:   own = time_hi_q;
      ctl_sender_pkg::PortTimeLo[2:0]:   own = time_ns_i[19:4];
      ctl_sender_pkg::PortStampHi[2:0]:  own = ctl_departure_i[31:16];
      ctl_sender_pkg::PortStampLo[2:0]:  own = ctl_departure_i[15:0];
      ctl_sender_pkg::PortTakenHi[2:0]:  own = report_time_i[31:16];
      default:                   own = report_time_i[15:0];
    endcase

    unique case (port[2:0])
      ctl_sender_pkg::PortIndex3[2:0]:   count = index_i[63:48];
      ctl_sender_pkg::PortIndex2[2:0]:   count = index_i[47:32];
      ctl_sender_pkg::PortIndex1[2:0]:   count = index_i[31:16];
      ctl_sender_pkg::PortIndex0[2:0]:   count = index_i[15:0];
      ctl_sender_pkg::PortLost3[2:0]:    count = lost_i[63:48];
      ctl_sender_pkg::PortLost2[2:0]:    count = lost_i[47:32];
      ctl_sender_pkg::PortLost1[2:0]:    count = lost_i[31:16];
      default:                   count = lost_i[15:0];
    endcase

    unique case (port[2:0])
      ctl_sender_pkg::PortOldestHi[2:0]: seq = oldest_i[31:16];
      ctl_sender_pkg::PortOldestLo[2:0]: seq = oldest_i[15:0];
      ctl_sender_pkg::PortSentHi[2:0]:   seq = sent_i[31:16];
      ctl_sender_pkg::PortSentLo[2:0]:   seq = sent_i[15:0];
      ctl_sender_pkg::PortNextHi[2:0]:   seq = next_i[31:16];
      ctl_sender_pkg::PortNextLo[2:0]:   seq = next_i[15:0];
      default:                   seq = repeats_q;
    endcase
  end

  // All but one are zero.
  always_ff @(posedge clk_i) begin
    own_q   <= !port[6] && port[4:3] == ctl_sender_pkg::PortFlags[4:3] ? own : '0;
    count_q <= !port[6] && port[4:3] == ctl_sender_pkg::PortIndex3[4:3] ? count : '0;
    seq_q   <= !port[6] && port[4:3] == ctl_sender_pkg::PortOldestHi[4:3] ? seq : '0;
    key_q   <= !port[6] ? '0 : port[0] ? key_data_i[15:0] : key_data_i[31:16];
  end

  ctl_rx u_rx (
    .clk_i(clk_i), .rst_i(rst_i), .valid_i(c_valid_i), .data_i(c_data_i), .last_i(c_last_i),
    .is_report_i(c_is_report_i), .taken_i(taken_i), .has_frame_o(has_frame),
    .release_i(pulse[ctl_sender_pkg::PulseRelease]), .is_report_part_i(is_report_part),
    .addr_i(addr[7:2]), .data_o(frame), .ev_dropped_o(ev_dropped_o)
  );

  mark_timer u_marks (
    .clk_i(clk_i), .rst_i(rst_i), .flush_i(flush_q), .now_i(time_ns_i[35:4]), .rtt_i(rtt_q),
    .is_idle_i(is_idle_q), .is_active_i(is_live), .is_waiting_i(is_waiting_q),
    .data_left_i(depart_new_i || depart_repeat_i),
    .restart_i(credit_came_i || restart_q), .left_i(left_q),
    .due_o(is_due)
  );

  cookie u_cookie (
    .clk_i(clk_i), .rst_i(rst_i), .start_i(pulse[ctl_sender_pkg::PulseMac]), .busy_o(is_mac_busy),
    .we_i(out_we && out[5]), .waddr_i(out[3:0]), .wdata_i(out_data),
    .next_i(pulse[ctl_sender_pkg::PulseMacNext]), .value_o(mac_value)
  );

endmodule

`default_nettype wire

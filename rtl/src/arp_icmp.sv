// Answers ARP requests and echo requests for our address.
//
// Takes control frames of ClassArp and ClassIcmp as frame_rx shows them, whole and checked, and
// sends the reply while it reads: no storage. An echo reply is the request with its addresses
// exchanged, type 0, and the difference in the checksum; the exchange leaves the sum of the IP
// header as it is, and its time to live with it. A reply is as long as what its IP header says, 60
// bytes at the least, and never longer than the request.
//
// Replies are limited by a bucket of Burst that gains one each 2^20 ns; what finds it empty is
// swallowed and counted, as is what comes from a group address: an answer must not reach many.
//
// A beat a cycle, none idle inside a reply while c_valid_i stays; latency 0 (echo) or 4 cycles
// (ARP); back-pressure from m_axis_tready is passed on to c_ready_o.
`default_nettype none

module arp_icmp #(
    parameter int unsigned Burst = 64
) (
    input wire logic                 clk_i,
    input wire logic                 rst_i,
    input wire sw_pkg::peer_t        self_i,
    input wire logic          [63:0] time_ns_i,

    input  wire logic                    c_valid_i,
    output      logic                    c_ready_o,
    input  wire logic             [63:0] c_data_i,
    input  wire logic                    c_last_i,
    input  wire sw_pkg::rx_meta_t        c_meta_i,

    output      logic [63:0] m_axis_tdata,
    output      logic [ 7:0] m_axis_tkeep,
    output      logic        m_axis_tvalid,
    input  wire logic        m_axis_tready,
    output      logic        m_axis_tlast,

    output logic ev_replied_o,
    output logic ev_refused_o   // no token, or a group's address
);

  localparam int unsigned Tw = $clog2(Burst + 1);

  if (Burst < 1 || Burst > 255) begin : g_bad_burst
    $error("Burst must be from 1 to 255");
  end

  typedef enum logic [1:0] {
    StateHead,   // the first beat of a request; of ARP all before its fourth, whose fields it needs
    StateReply,
    StateRest    // what is left of the request
  } state_t;

  // Tokens.
  logic [7:0] tick_q;
  logic [Tw-1:0] tokens_q;
  logic spend, gain;
  assign gain = tick_q != time_ns_i[27:20];

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      tick_q   <= time_ns_i[27:20];
      tokens_q <= Tw'(Burst);
    end else begin
      if (gain) tick_q <= tick_q + 1'b1;
      if (spend && !gain) tokens_q <= tokens_q - 1'b1;
      else if (gain && !spend && tokens_q != Tw'(Burst)) tokens_q <= tokens_q + 1'b1;
    end
  end

  state_t state_q, state_d;
  logic [4:0] beat_q;    // of the reply; of an ARP request before its fourth beat, of that
  logic [7:0] length_q;  // of an echo reply's frame
  logic is_arp, is_group, may, step;
  logic [63:0] reply;
  logic [31:0] sender_ip;
  logic [15:0] echo_sum;
  logic last;
  logic [7:0] bytes_left;

  assign is_arp    = c_meta_i.cls == sw_pkg::ClassArp;
  assign sender_ip = is_arp ? sw_pkg::be32(c_data_i[63:32]) : c_meta_i.peer.ip;
  // The group bit is the lowest of the first byte; from 224.0.0.0 on addresses are groups'.
  assign is_group  = c_meta_i.peer.mac[40] || &sender_ip[31:29];
  assign may       = !is_group && tokens_q != 0;

  // From 8 (request) to 0: the checksum, a complement, rises by 0800h.
  assign echo_sum = sw_pkg::add1c(sw_pkg::be16(c_data_i[47:32]), 16'h0800);

  function automatic logic [47:0] be48(input logic [47:0] v);
    be48 = {v[7:0], v[15:8], v[23:16], v[31:24], v[39:32], v[47:40]};
  endfunction

  logic [47:0] us, them;  // first on the wire lowest
  logic [31:0] our_ip;
  assign us     = be48(self_i.mac);
  assign them   = be48(c_meta_i.peer.mac);
  assign our_ip = sw_pkg::be32(self_i.ip);

  // Each 16 bits of the reply have at most eight sources, named by beat and kind; entry 0 is what
  // came. The beats from the sixth on are alike.
  logic [15:0] d0, d1, d2, d3;
  logic [8*16-1:0] from0, from1, from2, from3;
  logic [2:0] beat, at0, at1, at2, at3;
  assign {d3, d2, d1, d0} = c_data_i;
  assign beat = beat_q > 5'd6 ? 3'd6 : beat_q[2:0];
  assign from0 = {
    16'd0, 16'd0, sw_pkg::be16(c_meta_i.peer.ip[15:0]), d3, 16'h0008, us[31:16], them[15:0], d0
  };
  assign from1 = {
    16'd0, 16'd0, 16'd0, our_ip[15:0], 16'h0406, us[47:32], them[31:16], d1
  };
  assign from2 = {
    16'd0, sw_pkg::be16(echo_sum), our_ip[31:16], our_ip[15:0], 16'h0200, 16'h0608, them[47:32], d2
  };
  assign from3 = {
    16'd0, 16'd0, d2, sw_pkg::be16(c_meta_i.peer.ip[31:16]), our_ip[31:16], 16'h0100, us[15:0], d3
  };

  always_comb begin
    case ({is_arp, beat})
      4'h0, 4'h8: {at3, at2, at1, at0} = {3'd1, 3'd1, 3'd1, 3'd1};
      4'h1: {at3, at2, at1, at0} = {3'd0, 3'd0, 3'd2, 3'd2};
      4'h3: {at3, at2, at1, at0} = {3'd4, 3'd5, 3'd4, 3'd0};
      4'h4: {at3, at2, at1, at0} = {3'd0, 3'd6, 3'd5, 3'd5};
      4'h9: {at3, at2, at1, at0} = {3'd2, 3'd2, 3'd2, 3'd2};
      4'hA: {at3, at2, at1, at0} = {3'd1, 3'd3, 3'd3, 3'd3};
      4'hB: {at3, at2, at1, at0} = {3'd3, 3'd4, 3'd2, 3'd2};
      4'hC: {at3, at2, at1, at0} = {3'd5, 3'd1, 3'd1, 3'd1};
      4'hD: {at3, at2, at1, at0} = {3'd7, 3'd7, 3'd7, 3'd4};
      4'hE, 4'hF: {at3, at2, at1, at0} = {3'd7, 3'd7, 3'd7, 3'd7};
      default: {at3, at2, at1, at0} = '0;
    endcase
    reply = {from3[16*at3+:16], from2[16*at2+:16], from1[16*at1+:16], from0[16*at0+:16]};
  end

  // The end of an echo is known from its third beat on.
  assign bytes_left = length_q - {beat_q, 3'b000};
  assign last = beat_q >= 5'd7 && bytes_left <= 8'd8;

  assign m_axis_tdata = reply;
  assign m_axis_tlast = last;
  assign m_axis_tkeep = last ? 8'hFF >> (4'd8 - bytes_left[3:0]) : 8'hFF;
  assign step = c_valid_i && c_ready_o;

  always_comb begin
    state_d       = state_q;
    c_ready_o     = 1'b1;
    m_axis_tvalid = 1'b0;
    spend         = 1'b0;
    ev_replied_o  = 1'b0;
    ev_refused_o  = 1'b0;
    unique case (state_q)
      StateHead: begin
        if (is_arp) begin
          c_ready_o = beat_q != 5'd3;
          if (c_valid_i && beat_q == 5'd3) begin
            spend        = may;
            ev_refused_o = !may;
            state_d      = may ? StateReply : StateRest;
          end
        end else begin
          c_ready_o = 1'b0;
          if (c_valid_i) begin
            spend        = may;
            ev_refused_o = !may;
            state_d      = may ? StateReply : StateRest;
          end
        end
      end
      StateReply: begin
        m_axis_tvalid = c_valid_i;
        c_ready_o     = m_axis_tready && !is_arp;
        if (c_valid_i && m_axis_tready && last) begin
          ev_replied_o = 1'b1;
          // Of ARP all is still to be read from the fourth beat on.
          state_d      = !is_arp && c_last_i ? StateHead : StateRest;
        end
      end
      StateRest: if (c_valid_i && c_last_i) state_d = StateHead;
      default:   state_d = StateHead;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StateHead;
      beat_q  <= '0;
    end else begin
      state_q <= state_d;
      if (state_d != state_q) beat_q <= '0;
      else if (state_q == StateHead ? step : c_valid_i && m_axis_tready) beat_q <= beat_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StateHead) length_q <= 8'd60;
    // The low byte of IP's length, which is 148 at most, and Ethernet's header.
    else if (state_q == StateReply && !is_arp && beat_q == 5'd2 && c_data_i[15:8] > 8'd46)
      length_q <= c_data_i[15:8] + 8'd14;
  end

endmodule

`default_nettype wire

// The NIC's receive engine: takes a free buffer, writes a frame and its control word there, and
// pushes the buffer to a server's receive queue; with loopback_i to the server's transmit queue.
//
// A frame is taken only with a free buffer; one more is popped ahead. Its beats are written from
// dword 1 on as they come, then the control word to dword 0. Once all of its writes have answered,
// the buffer is pushed; the next frame is written meanwhile.
//
// The server (choice_i): by turns, full queues skipped; by the flow, which keeps a flow's order; or
// data frames (ethertype_i, or UDP to port_i) by their flow to servers from 1 on and all others, which
// are control frames, to server 0. A flow is the IPv4 addresses, with the ports of unfragmented TCP and UDP without IP
// options; of other frames the Ethernet addresses.
//
// Exactly one event a frame. Of one that is not kept the buffer is used again: bad (tuser with
// tlast, or below 8 bytes), too long for the buffer, not for us (filter_i), no room in the queue,
// an err of a write. A frame that begins while enable_i is low is dropped; enable_i counts at a
// frame's first beat, the filter and loopback_i behind its last.
//
// Throughput: a beat a cycle and one cycle behind a frame. Latency: from the last beat to the push
// 6 cycles with nic_memory. Back-pressure: s_axis_tready; responses are never held back, and no
// more than InFlight are under way. One clock.
`default_nettype none

module nic_receive #(
    parameter bit          BigEndian = 1'b0,  // the first byte of a dword in memory is the highest
    parameter int unsigned InFlight  = 16,  // a power of two
    parameter int unsigned Smallest  = 4  // log2 of the dwords of the smallest buffer
) (
    input wire logic clk_i,
    input wire logic rst_i,

    // Configuration. Buffers stand at multiples of their size.
    input wire logic        enable_i,
    input wire logic        loopback_i,
    input wire logic [ 2:0] servers_i,      // 1 to 4
    input wire logic [ 1:0] choice_i,       // 0 turns, 1 flow, 2 control frames apart
    input wire logic [ 3:0] filter_i,       // kept: 0 own, 1 broadcast, 2 multicast, 3 all
    input wire logic [47:0] mac_i,          // first byte in the low bits
    input wire logic [15:0] ethertype_i,
    input wire logic [15:0] port_i,
    input wire logic [ 3:0] address_i,      // bits 35:32 of all buffers
    input wire logic [ 2:0] buffer_bits_i,  // 8 << Smallest + it bytes
    input wire logic [31:0] counter_i,

    input  wire logic [63:0] s_axis_tdata,
    input  wire logic [ 7:0] s_axis_tkeep,
    input  wire logic        s_axis_tvalid,
    output      logic        s_axis_tready,
    input  wire logic        s_axis_tlast,
    input  wire logic        s_axis_tuser,   // with tlast: bad

    // Queues. A pop that is not granted may be withdrawn for a push.
    output      logic                              op_valid_o,
    input  wire logic                              op_ready_i,
    output      nic_pkg::op_t                      op_o,
    input  wire logic                              result_valid_i,
    input  wire logic         [              31:0] result_i,
    input  wire logic                              free_waits_i,      // the free queue is not empty
    input  wire logic         [nic_pkg::Servers-1:0] receive_full_i,
    input  wire logic         [nic_pkg::Servers-1:0] transmit_full_i,

    output      logic                   request_valid_o,
    input  wire logic                   request_ready_i,
    output      nic_pkg::acb_request_t  request_o,
    input  wire logic                   response_valid_i,
    input  wire nic_pkg::acb_response_t response_i,

    output logic ev_received_o,
    output logic ev_bad_o,
    output logic ev_too_long_o,
    output logic ev_filtered_o,
    output logic ev_full_o,
    output logic ev_failed_o,
    output logic ev_disabled_o
);

  localparam logic [1:0] Turns = 2'd0;
  localparam logic [1:0] Control = 2'd2;
  localparam int unsigned Tw = $clog2(InFlight);

  typedef logic [28:0] pointer_t;  // bits 31:3 of an address

  if (InFlight != 1 << Tw || InFlight < 2) begin : g_bad_in_flight
    $error("InFlight must be a power of two, from 2 on");
  end

  // ------------------------------------------------------------------ the frame that comes

  logic inside_q, close_q, skip_q, too_long_q, bad_q;
  logic is_first, skips, too_long, is_kept, closes, drops;
  logic has_room, loads, load_beat, takes, ends;
  logic [11:0] index_q;  // dword in the buffer of the next beat
  logic [7:0] keep_q;
  logic [31:0] begun_q;  // counter at the first beat
  logic current_valid_q, next_valid_q, last_valid_q, last_done_q, last_err_q, last_spare_q;
  pointer_t current_q, next_q, last_q;  // the buffers of the frame that comes, the next, the last

  assign is_first  = !inside_q;
  assign skips     = is_first ? !enable_i : skip_q;
  assign too_long  = !is_first && (too_long_q || index_q[4'(Smallest)+4'(buffer_bits_i)]);
  assign load_beat = !close_q && !skips && !too_long && s_axis_tvalid && current_valid_q &&
      has_room;
  assign s_axis_tready = !close_q && (skips || too_long || (current_valid_q && has_room));
  assign takes = s_axis_tvalid && s_axis_tready;
  assign ends  = takes && s_axis_tlast;

  // Behind a frame: its control word, or it is forgotten.
  logic own_q, broadcast_q, multicast_q;
  assign is_kept = !bad_q && !too_long_q && (filter_i[3] || (filter_i[0] && own_q) ||
      (filter_i[1] && broadcast_q) || (filter_i[2] && multicast_q && !broadcast_q));
  assign drops  = close_q && !is_kept;
  assign closes = close_q && is_kept && has_room && (!last_valid_q || last_spare_q);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      inside_q <= 1'b0;
      close_q  <= 1'b0;
    end else begin
      if (takes) inside_q <= !s_axis_tlast;
      close_q <= (ends && !skips) || (close_q && !drops && !closes);
    end
  end

  always_ff @(posedge clk_i) begin
    if (takes) begin
      skip_q     <= skips;
      too_long_q <= too_long;
      bad_q      <= s_axis_tuser || (is_first && !s_axis_tkeep[7]);
      keep_q     <= s_axis_tkeep;
      if (is_first) begin
        begun_q     <= counter_i;
        own_q       <= s_axis_tdata[47:0] == mac_i;
        broadcast_q <= &s_axis_tdata[47:0];
        multicast_q <= s_axis_tdata[0];
      end
    end
    if (load_beat) index_q <= (is_first ? 12'd1 : index_q) + 12'd1;
  end

  function automatic logic [3:0] kept_bytes(input logic [7:0] keep);
    kept_bytes = 4'd1;
    for (int i = 1; i < 8; i++) if (keep[i]) kept_bytes = 4'(i + 1);
  endfunction

  nic_pkg::control_t control;
  assign control.counter = begun_q;
  // index_q is past the last beat: two dwords more than what is full.
  assign control.len_bytes = {1'b0, index_q, 3'd0} + {12'hfff, kept_bytes(keep_q)};
  assign control.flags = {5'd0, own_q, multicast_q, broadcast_q};
  assign control.keep = keep_q;

  // ------------------------------------------------------------------ its server

  logic [2:0] beat_q;  // of the header, 5 behind it
  logic [7:0] hash_q, in_hash, fold;
  logic ipv4_q, ports_q, udp_q, type_q, is_ip, is_data_q, restart;

  assign is_ip = {s_axis_tdata[39:32], s_axis_tdata[47:40]} == 16'h0800 &&
      s_axis_tdata[55:48] == 8'h45 && s_axis_tkeep[6];

  // Which bytes of the beat are of the flow.
  always_comb begin
    in_hash = '0;
    restart = 1'b0;
    if (is_first) begin
      in_hash = 8'hff;
      restart = 1'b1;
    end else begin
      unique case (beat_q)
        3'd1: in_hash = 8'h0f;
        3'd3: begin
          in_hash = ipv4_q ? 8'hfc : 8'h00;
          restart = ipv4_q;
        end
        3'd4: in_hash = {2'd0, {4{ports_q}}, {2{ipv4_q}}};
        default: in_hash = '0;
      endcase
    end
    fold = '0;
    for (int i = 0; i < 8; i++) fold ^= s_axis_tdata[8*i+:8] & {8{in_hash[i] && s_axis_tkeep[i]}};
  end

  always_ff @(posedge clk_i) begin
    if (takes) begin
      beat_q <= is_first ? 3'd1 : beat_q == 3'd5 ? 3'd5 : beat_q + 3'd1;
      hash_q <= (restart ? 8'h00 : hash_q) ^ fold;
      if (is_first) begin
        ipv4_q    <= 1'b0;
        ports_q   <= 1'b0;
        is_data_q <= 1'b0;
      end else if (beat_q == 3'd1) begin
        ipv4_q    <= is_ip;
        is_data_q <= s_axis_tkeep[5] &&
            {s_axis_tdata[39:32], s_axis_tdata[47:40]} == ethertype_i;
      end else if (beat_q == 3'd2) begin
        // No fragment, and TCP or UDP.
        ports_q <= ipv4_q && s_axis_tdata[37:32] == '0 && s_axis_tdata[47:40] == '0 &&
            (s_axis_tdata[63:56] == 8'd6 || s_axis_tdata[63:56] == 8'd17);
        udp_q   <= s_axis_tdata[63:56] == 8'd17;
      end else if (beat_q == 3'd4) begin
        if (ports_q && udp_q && s_axis_tkeep[5] &&
            {s_axis_tdata[39:32], s_axis_tdata[47:40]} == port_i)
          is_data_q <= 1'b1;
      end
    end
  end

  // One of n by its hash, equal shares; 0 for n of 0 or 1.
  function automatic logic [1:0] share(input logic [7:0] hash, input logic [2:0] n);
    unique case (n)
      3'd4: share = hash[7:6];
      3'd3: share = {hash > 8'd170, hash > 8'd85 && hash <= 8'd170};
      3'd2: share = {1'b0, hash[7]};
      default: share = 2'd0;
    endcase
  endfunction

  logic [1:0] by_flow;
  always_comb begin
    by_flow = share(hash_q, servers_i);
    if (choice_i == Control)
      by_flow = !is_data_q || servers_i < 3'd2 ? 2'd0 : 2'd1 + share(hash_q, servers_i - 3'd1);
  end

  // ------------------------------------------------------------------ writes

  logic write_q, is_first_q, is_control_word_q;
  logic [11:0] write_index_q;
  logic [63:0] data_q, reversed;
  pointer_t write_pointer_q;
  logic [Tw:0] in_flight_q;
  logic [InFlight-1:0] first_q, control_q;  // of the writes under way, the last in bit 0
  logic [Tw-1:0] oldest;

  for (genvar i = 0; i < 8; i++) begin : g_reversed
    assign reversed[8*i+:8] = s_axis_tdata[8*(BigEndian?7-i : i)+:8];
  end

  assign has_room = (!write_q || request_ready_i) && !in_flight_q[Tw];
  assign loads    = load_beat || closes;
  assign oldest   = in_flight_q[Tw-1:0] - 1'b1;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      write_q     <= 1'b0;
      in_flight_q <= '0;
    end else begin
      write_q     <= loads || (write_q && !request_ready_i);
      in_flight_q <= in_flight_q + (Tw + 1)'(loads) - (Tw + 1)'(response_valid_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (loads) begin
      data_q          <= closes ? control : reversed;
      write_index_q   <= closes ? 12'd0 : is_first ? 12'd1 : index_q;
      write_pointer_q <= current_q;
      first_q         <= {first_q[InFlight-2:0], load_beat && is_first};
      control_q       <= {control_q[InFlight-2:0], closes};
    end
  end

  assign request_valid_o   = write_q;
  assign request_o.lock    = 1'b0;
  assign request_o.read    = 1'b0;
  assign request_o.mask    = '1;
  assign request_o.address = {address_i, write_pointer_q | 29'(write_index_q), 3'd0};
  assign request_o.data    = data_q;

  // ------------------------------------------------------------------ buffers

  logic err_q, err, answers, turn_full;
  logic op_q, op_push_q, wants_push, wants_pop, granted, no_queue, pops, pushed, refused;
  logic [1:0] server_q, turn_q, server, op_server_q;
  logic is_turns_q, loop_q;
  logic [nic_pkg::Servers-1:0] full, open, in_use_q;
  logic is_open_q;  // open, a cycle ago
  logic [1:0] open_server_q;
  logic keeps;

  assign err     = response_i.err || (err_q && !first_q[oldest]);
  assign answers = response_valid_i && control_q[oldest];

  // The next server behind the last one whose queue has room.
  assign full = loop_q ? transmit_full_i : receive_full_i;
  always_comb begin
    for (int s = 0; s < int'(nic_pkg::Servers); s++) begin
      open[s] = !full[s] && (is_turns_q ? in_use_q[s] : 2'(s) == server_q);
    end
    server = server_q;
    if (is_turns_q) begin
      server = turn_q;
      for (int i = int'(nic_pkg::Servers) - 1; i >= 0; i--) begin
        if (open[2'(i+1)+turn_q]) server = 2'(i + 1) + turn_q;
      end
    end
  end

  // Chosen while the last writes are under way: a push that finds the queue full is refused.
  always_ff @(posedge clk_i) begin
    for (int s = 0; s < int'(nic_pkg::Servers); s++) in_use_q[s] <= 3'(s) < servers_i;
    is_open_q     <= open != '0;
    open_server_q <= server;
  end

  assign no_queue   = !op_q && last_done_q && !last_spare_q && !last_err_q && !is_open_q;
  assign wants_push = !op_q && last_done_q && !last_spare_q && !last_err_q && is_open_q;
  // Not while a buffer is to be pushed: it may have to stay.
  assign wants_pop  = !op_q && !next_valid_q && !last_done_q && enable_i && free_waits_i;
  assign granted    = op_valid_o && op_ready_i;
  assign pops       = result_valid_i && op_q && !op_push_q && result_i[2:0] == '0;
  assign pushed     = result_valid_i && op_q && op_push_q &&
      result_i[2:0] == nic_pkg::ResultDone[2:0];
  // By turns another queue is tried.
  assign refused    = result_valid_i && op_q && op_push_q && !pushed && !is_turns_q;
  assign keeps      = no_queue || refused || (!op_q && last_done_q && !last_spare_q && last_err_q);

  assign op_valid_o = wants_push || wants_pop;
  assign op_o.push = wants_push;
  assign op_o.target.kind = !wants_push ? nic_pkg::Free :
      loop_q ? nic_pkg::Transmit : nic_pkg::Receive;
  assign op_o.target.server = wants_push ? open_server_q : 2'd0;
  assign op_o.pointer = {last_q, 3'd0};

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      op_q            <= 1'b0;
      turn_q          <= 2'd3;
      current_valid_q <= 1'b0;
      next_valid_q    <= 1'b0;
      last_valid_q    <= 1'b0;
      last_done_q     <= 1'b0;
      last_spare_q    <= 1'b0;
    end else begin
      op_q <= granted || (op_q && !result_valid_i);
      if (pushed) turn_q <= op_server_q;
      if (answers) last_done_q <= 1'b1;
      if (pushed) {last_valid_q, last_done_q} <= 2'b00;
      if (keeps) last_spare_q <= 1'b1;
      // A buffer that stays moves to the place of the next one.
      if (last_spare_q && !next_valid_q) begin
        next_valid_q <= 1'b1;
        {last_valid_q, last_done_q, last_spare_q} <= 3'b000;
      end
      if (!current_valid_q && next_valid_q) begin
        current_valid_q <= 1'b1;
        next_valid_q    <= 1'b0;
      end
      if (closes) begin
        last_valid_q    <= 1'b1;
        last_done_q     <= 1'b0;
        last_spare_q    <= 1'b0;
        current_valid_q <= next_valid_q;
        next_valid_q    <= last_spare_q;
      end
      if (pops) next_valid_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (response_valid_i) err_q <= err;
    if (answers) last_err_q <= err;
    if (granted) begin
      op_push_q   <= op_o.push;
      op_server_q <= op_o.target.server;
    end
    if (closes) begin
      last_q     <= current_q;
      server_q   <= by_flow;
      is_turns_q <= choice_i == Turns;
      loop_q     <= loopback_i;
    end
    if (closes || !current_valid_q) current_q <= next_q;
    if (!next_valid_q || closes) next_q <= last_spare_q ? last_q : result_i[31:3];
  end

  // ------------------------------------------------------------------ events

  assign ev_disabled_o = ends && skips;
  assign ev_bad_o      = drops && bad_q;
  assign ev_too_long_o = drops && !bad_q && too_long_q;
  assign ev_filtered_o = drops && !bad_q && !too_long_q;
  assign ev_received_o = pushed;
  assign ev_full_o     = no_queue || refused;
  assign ev_failed_o   = keeps && !ev_full_o;

`ifdef FORMAL
  `include "nic_receive_props.svh"
`endif

endmodule

`default_nettype wire

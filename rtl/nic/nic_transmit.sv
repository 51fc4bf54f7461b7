// The NIC's transmit engine: pops buffers from the transmit queues by turns, sends their frames,
// and frees the buffers.
//
// A queue that is empty costs no cycle. The next buffer is popped and its control word read while a
// frame leaves. A frame's beats are read ahead into a FIFO of Depth beats, no more than InFlight
// reads under way. It begins to leave with two beats there, or with StoreForward once it is whole;
// the FIFO is then a block RAM. Without StoreForward a memory that answers reads each cycle, such as
// nic_memory, leaves no gap: one read a frame, that of the next control word, comes between the
// others. Frames below 60 bytes are padded with zeros. A buffer is freed behind the last of its
// reads; one whose control word has `retain` goes to the receive queue of its server instead.
//
// Exactly one event a buffer: sent; a length below 14, above the buffer or with StoreForward above
// the FIFO: freed unsent; an err of a read: freed unsent, or ended with tuser if it had begun.
// While enable_i is low nothing is popped; what was popped is sent. A free queue that is full or
// locked, or the receive queue of a buffer to retain that is full, holds back the fifth frame, none
// before it.
//
// Throughput: a beat a cycle, a frame of 60 bytes each 9 cycles. Latency: from waiting_i to the
// first beat 15 cycles with nic_memory and without StoreForward. Back-pressure: m_axis_tready;
// responses are never held back. One clock.
`default_nettype none

module nic_transmit #(
    parameter bit          BigEndian    = 1'b0,  // in memory the first byte of a dword is highest
    parameter bit          StoreForward = 1'b0,
    parameter int unsigned Depth        = 32,  // beats, a power of two
    parameter int unsigned InFlight     = 16,  // a power of two
    parameter int unsigned Smallest     = 4  // log2 of the dwords of the smallest buffer
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input wire logic                        enable_i,
    input wire logic [                 3:0] address_i,      // bits 35:32 of all buffers
    input wire logic [                 2:0] buffer_bits_i,  // 8 << Smallest + it bytes
    input wire logic [nic_pkg::Servers-1:0] waiting_i,      // transmit queues that are not empty

    // Queues. A push that is not granted may be withdrawn for a pop.
    output      logic                op_valid_o,
    input  wire logic                op_ready_i,
    output      nic_pkg::op_t        op_o,
    input  wire logic                result_valid_i,
    input  wire logic         [31:0] result_i,

    output      logic                   request_valid_o,
    input  wire logic                   request_ready_i,
    output      nic_pkg::acb_request_t  request_o,
    input  wire logic                   response_valid_i,
    input  wire nic_pkg::acb_response_t response_i,

    output      logic [63:0] m_axis_tdata,
    output      logic [ 7:0] m_axis_tkeep,
    output      logic        m_axis_tvalid,
    input  wire logic        m_axis_tready,
    output      logic        m_axis_tlast,
    output      logic        m_axis_tuser,   // with tlast: cut short by an err

    output logic ev_sent_o,
    output logic ev_length_o,
    output logic ev_failed_o
);

  localparam int unsigned Dw = $clog2(Depth);
  localparam int unsigned Tw = $clog2(InFlight);
  localparam logic [2:0] ShortestBeat = 3'd7;  // the last beat of a frame of 60 bytes

  if (Depth != 1 << Dw || Depth < 8 || InFlight != 1 << Tw || InFlight < 2) begin : g_bad_depth
    $error("Depth and InFlight must be powers of two, from 8 and 2 on");
  end

  localparam int unsigned TagBits = 5;
  localparam int unsigned BeatBits = 69;

  typedef logic [28:0] pointer_t;  // bits 31:3 of an address
  typedef struct packed {
    logic       is_control;  // not of the frame
    logic       last;
    logic [2:0] bytes;       // of the last beat, 0 for 8
  } tag_t;
  typedef struct packed {
    logic        err;
    logic        last;
    logic [2:0]  bytes;
    logic [63:0] data;
  } beat_t;

  // ------------------------------------------------------------------ the next frame

  typedef enum logic [2:0] {
    Empty,
    Popped,   // its control word is to be read
    Reading,
    Checked,  // its length stands in length_q
    Faulty    // to be freed unsent
  } state_e;

  state_e next_q, next_d;
  pointer_t pointer_q;
  logic [15:0] length_q;
  logic retains_q;
  logic [13:0] beats;
  logic control_fails_q, is_allowed, control_reads, control_comes, pops, starts, forgets;
  logic op_q, op_push_q, wants_pop, granted, freed;
  logic waits_q;  // a queue was not empty a cycle ago
  logic [1:0] turn_q, server, server_q;
  logic response_fails;

  assign response_fails = response_i.err;
  assign beats = 14'((17'(length_q) + 17'd7) >> 3);
  assign is_allowed = length_q >= 16'd14 && beats >> (4'(Smallest) + 4'(buffer_bits_i)) == '0 &&
      (!StoreForward || beats <= 14'(Depth));

  // ------------------------------------------------------------------ the frame that is read

  logic reads_q, data_reads, data_last, request_was_data_q, has_room;
  pointer_t read_pointer_q;
  logic [11:0] index_q, last_q;
  logic [2:0] bytes_q;
  logic [Dw:0] room_q;
  logic [Tw:0] in_flight_q;
  logic [Tw-1:0] oldest_q;  // in_flight_q - 1: a register, since the path behind it is long

  // ------------------------------------------------------------------ buffers to free

  localparam int unsigned Fw = 2;
  logic [28:0] freeing[1<<Fw];
  logic [3:0] freeing_to[1<<Fw];  // nic_pkg::queue_t: where each goes
  logic [Fw-1:0] free_wr_q, free_rd_q;
  logic [Fw:0] held_q, done_q;  // buffers there, and how many of them are read to the end
  logic has_place, completes;

  assign has_place = !held_q[Fw];

  // The next queue behind the last one that is not empty.
  always_comb begin
    server = turn_q;
    for (int i = int'(nic_pkg::Servers) - 1; i >= 0; i--) begin
      if (waiting_i[2'(i+1)+turn_q]) server = 2'(i + 1) + turn_q;
    end
  end

  // A pop that finds its queue empty by now is tried again.
  always_ff @(posedge clk_i) begin
    waits_q  <= waiting_i != '0;
    server_q <= server;
  end

  assign wants_pop           = !op_q && next_q == Empty && enable_i && waits_q;
  assign op_valid_o          = wants_pop || (!op_q && done_q != '0);
  assign op_o.push           = !wants_pop;
  assign op_o.target         = wants_pop ? {nic_pkg::Transmit, server_q} : freeing_to[free_rd_q];
  assign op_o.pointer        = {freeing[free_rd_q], 3'd0};
  assign granted             = op_valid_o && op_ready_i;
  assign pops                = result_valid_i && op_q && !op_push_q && result_i[2:0] == '0;
  assign freed               = result_valid_i && op_q && op_push_q &&
      result_i[2:0] == nic_pkg::ResultDone[2:0];

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      op_q   <= 1'b0;
      turn_q <= 2'd3;
    end else begin
      op_q <= granted || (op_q && !result_valid_i);
      if (granted && !op_o.push) turn_q <= server_q;
    end
    if (granted) op_push_q <= op_o.push;
  end

  // A frame that is not sent is freed behind those before it, so that their reads end first.
  assign starts  = next_q == Checked && is_allowed && has_place && (!reads_q || data_last);
  assign forgets = next_q == Faulty && has_place && !reads_q && held_q == done_q;

  always_comb begin
    next_d = next_q;
    unique case (next_q)
      Empty: if (pops) next_d = Popped;
      Popped: if (control_reads) next_d = Reading;
      Reading: if (control_comes) next_d = response_fails ? Faulty : Checked;
      Checked: begin
        if (!is_allowed) next_d = Faulty;
        else if (starts) next_d = Empty;
      end
      Faulty: if (forgets) next_d = Empty;
      default: next_d = Empty;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) next_q <= Empty;
    else next_q <= next_d;
  end

  always_ff @(posedge clk_i) begin
    if (pops) pointer_q <= result_i[31:3];
    if (control_comes) begin
      length_q        <= response_i.data[31:16];
      retains_q       <= response_i.data[nic_pkg::RetainBit] && !response_fails;
      control_fails_q <= response_fails;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      free_wr_q <= '0;
      free_rd_q <= '0;
      held_q    <= '0;
      done_q    <= '0;
    end else begin
      if (starts || forgets) free_wr_q <= free_wr_q + 1'b1;
      if (freed) free_rd_q <= free_rd_q + 1'b1;
      held_q <= held_q + (Fw + 1)'(starts || forgets) - (Fw + 1)'(freed);
      done_q <= done_q + (Fw + 1)'(completes || forgets) - (Fw + 1)'(freed);
    end
  end

  // No pop comes between that of this buffer and here, so the last turn was its server's.
  always_ff @(posedge clk_i) begin
    if (starts || forgets) begin
      freeing[free_wr_q]    <= pointer_q;
      freeing_to[free_wr_q] <= retains_q ? {nic_pkg::Receive, turn_q} : {nic_pkg::Free, 2'd0};
    end
  end

  // ------------------------------------------------------------------ reads

  logic is_control, request_taken;
  logic [TagBits*InFlight-1:0] tags_q;  // of the reads under way, the last one lowest
  tag_t tag, tag_d;

  assign has_room = !in_flight_q[Tw];
  // A read that waits stays.
  assign is_control = next_q == Popped && !request_was_data_q;
  assign request_valid_o = has_room && (is_control || (reads_q && room_q != '0));
  assign request_taken = request_valid_o && request_ready_i;
  assign control_reads = request_taken && is_control;
  assign data_reads = request_taken && !is_control;
  assign data_last = data_reads && index_q == last_q;

  assign request_o.lock = 1'b0;
  assign request_o.read = 1'b1;
  assign request_o.mask = '1;
  assign request_o.address = {
    address_i, is_control ? pointer_q : read_pointer_q | 29'(index_q), 3'd0
  };
  assign request_o.data = '0;

  assign tag_d.is_control = is_control;
  assign tag_d.last = index_q == last_q;
  assign tag_d.bytes = bytes_q;
  assign tag = tags_q[TagBits*oldest_q+:TagBits];
  assign control_comes = response_valid_i && tag.is_control;
  assign completes = response_valid_i && !tag.is_control && tag.last;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      reads_q            <= 1'b0;
      in_flight_q        <= '0;
      oldest_q           <= '1;
      request_was_data_q <= 1'b0;
    end else begin
      reads_q            <= starts || (reads_q && !data_last);
      in_flight_q        <= in_flight_q + (Tw + 1)'(request_taken) - (Tw + 1)'(response_valid_i);
      oldest_q           <= oldest_q + Tw'(request_taken) - Tw'(response_valid_i);
      request_was_data_q <= request_valid_o && !request_ready_i && !is_control;
    end
  end

  always_ff @(posedge clk_i) begin
    if (data_reads) index_q <= index_q + 1'b1;
    if (starts) begin
      index_q        <= 12'd1;
      last_q         <= beats[11:0];
      bytes_q        <= length_q[2:0];
      read_pointer_q <= pointer_q;
    end
    if (request_taken) tags_q <= {tags_q[TagBits*(InFlight-1)-1:0], tag_d};
  end

  // ------------------------------------------------------------------ the FIFO

  logic [Dw-1:0] wr_q, rd_q;
  logic [Dw:0] level_q, whole_q;
  logic comes, takes;
  logic arrives, arrives_last;  // a beat that the output can read in the next cycle
  beat_t in_beat, head;

  assign comes        = response_valid_i && !tag.is_control;
  assign in_beat.err  = response_i.err;
  assign in_beat.last = tag.last;
  assign in_beat.bytes = tag.bytes;
  for (genvar i = 0; i < 8; i++) begin : g_ordered
    assign in_beat.data[8*i+:8] = response_i.data[8*(BigEndian?7-i : i)+:8];
  end

  if (StoreForward) begin : g_block
    // What is read in the cycle of its write is read again before it counts in level_q.
    (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *)
    logic [BeatBits-1:0] fifo[Depth];
    logic [Dw-1:0] rd;
    assign rd = rd_q + Dw'(takes);

    always_ff @(posedge clk_i) if (comes) fifo[wr_q] <= in_beat;
    always_ff @(posedge clk_i) head <= fifo[rd];
    always_ff @(posedge clk_i) begin
      arrives      <= comes && !rst_i;
      arrives_last <= tag.last;
    end
  end else begin : g_registers
    logic [BeatBits-1:0] fifo[Depth];
    always_ff @(posedge clk_i) if (comes) fifo[wr_q] <= in_beat;
    assign head         = fifo[rd_q];
    assign arrives      = comes;
    assign arrives_last = tag.last;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      wr_q    <= '0;
      rd_q    <= '0;
      level_q <= '0;
      whole_q <= '0;
      room_q  <= (Dw + 1)'(Depth);
    end else begin
      if (comes) wr_q <= wr_q + 1'b1;
      if (takes) rd_q <= rd_q + 1'b1;
      level_q <= level_q + (Dw + 1)'(arrives) - (Dw + 1)'(takes);
      whole_q <= whole_q + (Dw + 1)'(arrives && arrives_last) - (Dw + 1)'(takes && head.last);
      room_q  <= room_q + (Dw + 1)'(takes) - (Dw + 1)'(data_reads);
    end
  end

  // ------------------------------------------------------------------ the output

  logic begun_q, skip_q, pad_q;  // inside a frame; what is left of it is dropped; zeros follow
  logic [2:0] beat_q;  // from 7 on it stays
  logic past_q;  // more than 8 beats
  logic may_begin, moves, loads, fails, is_short, ends;
  logic valid_q, last_out_q, user_q;
  logic [ 7:0] keep_q, keep_d, shown;
  logic [63:0] data_q;

  assign may_begin = StoreForward ? whole_q != '0 : level_q[Dw:1] != '0 || head.last;
  assign moves     = !valid_q || m_axis_tready;
  assign takes     = level_q != '0 && !pad_q && (skip_q || ((begun_q || may_begin) && moves));
  // An err ends a frame that has begun; of another one nothing leaves.
  assign fails     = takes && !skip_q && head.err;
  assign loads     = (takes && !skip_q && !(head.err && !begun_q)) || (pad_q && moves);
  assign is_short  = beat_q != ShortestBeat;
  assign ends      = pad_q ? !is_short : head.err || (head.last && !is_short);

  always_comb begin
    // Bytes of the frame, and those that are sent.
    for (int i = 0; i < 8; i++)
    shown[i] = !pad_q && (!head.last || head.bytes == '0 || 3'(i) < head.bytes);
    keep_d = '1;
    if (ends && !(head.err && !pad_q)) begin
      keep_d = pad_q ? 8'h0f : shown;
      if (beat_q == ShortestBeat && !past_q) keep_d = keep_d | 8'h0f;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      begun_q <= 1'b0;
      skip_q  <= 1'b0;
      pad_q   <= 1'b0;
      valid_q <= 1'b0;
    end else begin
      if (takes) skip_q <= (skip_q || head.err) && !head.last;
      if (loads) begin
        begun_q <= !ends;
        pad_q   <= !ends && (pad_q || head.last);
      end
      valid_q <= loads || (valid_q && !m_axis_tready);
    end
  end

  always_ff @(posedge clk_i) begin
    // The first beat of a frame sets past_q.
    if (!begun_q && !loads) beat_q <= '0;
    if (loads) begin
      beat_q     <= ends ? '0 : beat_q + 3'(is_short);
      past_q     <= !ends && !is_short;
      last_out_q <= ends;
      user_q     <= !pad_q && head.err;
      keep_q     <= keep_d;
      for (int i = 0; i < 8; i++) data_q[8*i+:8] <= shown[i] ? head.data[8*i+:8] : 8'h00;
    end
  end

  assign m_axis_tdata  = data_q;
  assign m_axis_tkeep  = keep_q;
  assign m_axis_tvalid = valid_q;
  assign m_axis_tlast  = last_out_q;
  assign m_axis_tuser  = last_out_q && user_q;

  assign ev_sent_o     = valid_q && m_axis_tready && last_out_q && !user_q;
  assign ev_length_o   = forgets && !control_fails_q;
  assign ev_failed_o   = (forgets && control_fails_q) || fails;

`ifdef FORMAL
  `include "nic_transmit_props.svh"
`endif

endmodule

`default_nettype wire

  // Properties of roce_responder; included by it for formal runs. Any beats, any requests, a region of each
  // QP: what is written lies in that of its QP, or in the receive request of its SEND. A QP is as it began
  // until a packet of it was kept that came since.

  logic [1:0] f_reset_q = 2'b11;  // a reset, and the cycle until it has acted
  always_ff @(posedge clk_i) f_reset_q <= {f_reset_q[0], 1'b0};
  always_comb begin
    assume (rst_i == f_reset_q[0]);
    assert (f_reset_q != 2'b01);
  end

  localparam logic [64:0] F_END = 65'h1_0000_0000_0000_0000;
  (* anyconst *) logic [ConnectionBits*Qps-1:0] f_connections;
  connection_t f_beginner, f_writer, f_held;  // of QPs that begin, write, and have the visit
  assign f_beginner = f_connections[ConnectionBits*32'(begin_qp)+:ConnectionBits];
  assign f_writer   = f_connections[ConnectionBits*32'(write_qp_q)+:ConnectionBits];
  assign f_held     = f_connections[ConnectionBits*32'(qp_q)+:ConnectionBits];
  for (genvar q = 0; q < int'(Qps); q++) begin : g_connection
    connection_t f_any;
    assign f_any = f_connections[ConnectionBits*q+:ConnectionBits];
    always_comb begin
      // Up to 4 KiB at either end of the addresses, so that the sums are short.
      assume (f_any.region.address[63:11] == {53{f_any.region.address[63]}});
      assume (f_any.region.len_bytes[63:12] == '0);
      // Memory ends where the addresses do.
      assume (65'(f_any.region.address) + 65'(f_any.region.len_bytes) <= F_END);
    end
  end

  // A QP runs when it has begun. What frame_fifo has stored, its entry is of.
  qps_t f_begun_q = '0, f_begins;
  assign f_begins = begin_i ? qps_t'(1) << begin_qp : '0;
  always_ff @(posedge clk_i) f_begun_q <= f_begun_q | f_begins;
  always_comb begin
    if (begin_i) assume ({cfg_i, region_i} == f_beginner);
    assume ((run_i & ~(f_begun_q | f_begins)) == '0);
    assume (receive_i.address[63:11] == {53{receive_i.address[63]}});
    assume (receive_i.len_bytes[31:12] == '0);
    assume (65'(receive_i.address) + 65'(receive_i.len_bytes) <= F_END);
    if (kept) assume (is_wanted && has_place);
    if (put_q == got_q) assume (!f_valid);
    if (Qps > 1) assume (32'(begin_qp_i) < Qps && 32'(request_qp_i) < Qps);
    if (Qps > 1) assume (32'(receive_qp_i) < Qps);
  end

  // The write that waits: of a WRITE, and how many bytes it has. A receive request was completed.
  logic f_was_used_q, f_in_write_q, f_is_single_q;
  logic [64:0] f_low, f_high;
  logic [Lb:0] f_count_q;
  roce_pkg::receive_t f_receive_q;
  assign f_low  = f_in_write_q ? 65'(f_writer.region.address)
      : 65'(f_receive_q.address);
  assign f_high = f_low + (f_in_write_q ? 65'(f_writer.region.len_bytes)
      : 65'(f_receive_q.len_bytes));
  always_ff @(posedge clk_i) begin
    if (is_free) f_count_q <= is_last_word ? (Lb + 1)'(payload_q) : (Lb + 1)'(Nb);
    f_was_used_q <= executes && completes && !rst_i;
    if (executes) begin
      f_in_write_q <= to_region;
      f_receive_q  <= receive_mem[qp_q];
    end
  end

  // A write that waits does not change.
  logic f_waits_q, f_last_q;
  logic [63:0] f_addr_q;
  logic [Nb-1:0] f_keep_q;
  always_ff @(posedge clk_i) begin
    f_waits_q <= wr_valid_o && !wr_ready_i && !rst_i;
    f_addr_q  <= wr_addr_o;
    f_keep_q  <= wr_keep_o;
    f_last_q  <= wr_last_o;
  end

  logic f_is_paying, f_is_loaded, f_is_alive;
  assign f_is_paying = state_q == StatePayload && !is_dead_q;
  // The visit has the state of its QP.
  assign f_is_loaded = (state_q == StateSum && is_loaded_q) || state_q == StateCompare
      || state_q == StateJudge;
  assign f_is_alive  = !is_dead_q;

  logic [64:0] f_offset, f_room, f_next;  // f_next: behind the packet that is written
  assign f_offset = 65'(reth_address) - 65'(f_held.region.address);
  assign f_room   = 65'(f_held.region.len_bytes) - 65'(reth_bytes);
  assign f_next   = 65'(addr_q) + (f_is_paying ? 65'(payload_q) : 65'd0);

  logic f_may_q;
  always_ff @(posedge clk_i) f_may_q <= may_write_i[qp_q];

  always_comb begin
    if (!f_reset_q[0]) begin
      if (wr_valid_o && writing_q) begin
        a_low   : assert (65'(wr_addr_o) >= f_low);
        a_high  : assert (65'(wr_addr_o) + 65'(f_count_q) <= f_high);
      end
      if (executes && to_region && has_payload) begin
        a_right : assert (f_may_q);
        a_key   : assert (!first || reth_key == f_held.region.key);
      end
      if (wr_valid_o) begin
        for (int i = 0; i < int'(Nb); i++)
          assert (wr_keep_o[i] == ((Lb + 1)'(i) < f_count_q));
        a_whole : assert (wr_last_o || f_count_q == (Lb + 1)'(Nb));
      end
      if (f_waits_q) begin
        a_stays : assert (wr_valid_o && wr_addr_o == f_addr_q && wr_keep_o == f_keep_q
            && wr_last_o == f_last_q);
      end
      // A SEND goes to a receive request that was posted and is not completed.
      a_receive : assert (!executes || to_region || has_receive_q[qp_q]);
      // What completes was posted, and is completed once.
      a_completed : assert (!executes || !completes || has_receive_q[qp_q]);
      a_used : assert (!f_was_used_q || !has_receive_q[write_qp_q]);
      a_once : assert (!is_completed || !flushes);
      a_room : assert (!is_completed || !completion_valid_o || completion_ready_i);
      // What induction needs.
      if (state_q != StateHead && state_q != StateFlush)
        assert (is_dead_q || is_running_q[qp_q]);
      if (f_is_paying) assert (writing_q && write_qp_q == qp_q && !has_none_q);
      if (f_is_loaded || state_q == StateFlush) assert (!writing_q);
      if (state_q == StateCompare || state_q == StateJudge) assert (!wr_valid_o);
      if (writing_q && has_none_q) assert (!wr_valid_o);
      if (writing_q && wr_valid_o) assert (wr_last_o != (state_q == StatePayload));
      if (writing_q && !wr_valid_o && !has_none_q) assert (state_q == StatePayload);
      if (writing_q && completes_q) assert (!completion_valid_o);
      if (writing_q && completes_q) assert (is_last_q);
      if (writing_q && !f_in_write_q) assert (f_high <= F_END);
      if (f_is_paying) begin
        assert (65'(addr_q) >= f_low && f_next <= f_high && payload_q != '0);
        assert (is_last_q || payload_q[Lb-1:0] == '0);
      end
      // What the steps before the verdict have worked out.
      if (f_is_loaded && f_is_alive) begin
        assert (connection == f_held);
        assert (is_fresh_q == fresh_q[qp_q]);
        if (!is_fresh_q) assert (message_q == message_mem[qp_q]);
      end
      if (f_is_alive && (state_q == StateCompare || state_q == StateJudge)) begin
        assert (offset_q == f_offset && room_q == f_room);
        if (Qps > 1) assert (addr_kept_q == addr_mem[qp_q]);
        if (is_here_q) assert (has_receive_q[qp_q] && receive == receive_mem[qp_q]);
      end
      if (f_is_alive && state_q == StateJudge) begin
        assert (is_in_bounds_q == (!first || (!f_offset[64] && !f_room[64]
            && f_offset[63:0] <= f_room[63:0])));
        assert (!is_key_ok_q || !first || reth_key == f_held.region.key);
        assert (is_right_q == f_may_q);
        assert (is_none_left_q == (first && reth_bytes == '0));
        if (to_region || !first || is_ready_q) assert (rest_q == {1'b0, left} - 33'(request_q.len_bytes));
        assert (!is_ready_q || is_here_q);
        assert (!is_len_ok_q || request_q.is_last || request_q.len_bytes == 14'(mtu_bytes));
      end
    end
    cover (f_reset_q == '0 && wr_valid_o && wr_last_o && f_in_write_q && !wr_keep_o[1]);
    cover (f_reset_q == '0 && wr_valid_o && wr_last_o && !f_in_write_q && writing_q);
  end

  // A QP has something of its own from the first packet that is kept for it.
  qps_t f_touched_q = '0, f_aborted_q = '0, f_rested_q = '0;
  logic [Fw:0] f_waiting, f_old;
  assign f_waiting = put_q - got_q;
  assign f_old     = old_q - got_q;
  always_ff @(posedge clk_i) begin
    f_touched_q <= (f_touched_q | (kept ? qps_t'(1) << request_qp : '0)) & is_running_q & run_i;
    f_aborted_q <= (f_aborted_q | abort_i) & is_running_q;
    f_rested_q  <= ~is_running_q;
    if (rst_i) {f_touched_q, f_aborted_q, f_rested_q} <= '0;
  end

  for (genvar q = 0; q < int'(Qps); q++) begin : g_qp
    message_t f_message;
    connection_t f_kept, f_own;
    roce_pkg::receive_t f_posted;
    logic [63:0] f_addr;
    logic [64:0] f_from, f_until;
    logic f_is_written, f_is_paid;
    assign f_message    = message_mem[q];
    assign f_own        = f_connections[ConnectionBits*q+:ConnectionBits];
    assign f_kept       = connection_mem[q];
    assign f_posted     = receive_mem[q];
    assign f_is_written = writing_q && write_qp_q == index_t'(q);
    assign f_is_paid    = f_is_written && f_is_paying;
    // Where the message goes on.
    assign f_addr       = Qps == 1 || f_is_written ? addr_q : addr_mem[q];
    assign f_from       = f_message.is_write ? 65'(f_own.region.address)
        : 65'(f_posted.address);
    assign f_until      = f_from + (f_message.is_write ? 65'(f_own.region.len_bytes)
        : 65'(f_posted.len_bytes));
    always_comb begin
      if (!f_reset_q[0]) begin
        if (is_running_q[q] && !f_touched_q[q]) begin
          assert (fresh_q[q]);
          assert (!due_q[q]);
          assert (!has_failed_q[q] || f_aborted_q[q]);
        end
        if (f_rested_q[q])
          assert (fresh_q[q] && !due_q[q] && !has_failed_q[q]
              && !has_receive_q[q]);
        // What induction needs.
        if (f_begun_q[q]) assert (f_kept == f_own);
        if (is_running_q[q]) assert (f_begun_q[q]);
        if (!is_running_q[q]) assert (!f_touched_q[q]);
        if (writing_q && write_qp_q == index_t'(q))
          assert (f_touched_q[q] || !is_running_q[q]);
        if (qp_q == index_t'(q) && f_is_alive && state_q != StateHead && state_q != StateFlush)
          assert (f_touched_q[q]);
        if (has_receive_q[q] && is_running_q[q]) begin
          assert (65'(f_posted.address) + 65'(f_posted.len_bytes) <= F_END);
          assert (f_posted.address[63:11] == {53{f_posted.address[63]}});
          assert (f_posted.len_bytes[31:12] == '0);
        end
        if (!fresh_q[q] && is_running_q[q] && f_message.is_open && !has_failed_q[q]) begin
          // The address of what has no room left may wrap.
          if (f_is_paid || f_message.left != '0)
            assert (65'(f_addr) >= f_from && 65'(f_addr) + (f_is_paid ? 65'(payload_q) : 65'd0)
                + 65'(f_message.left) <= f_until);
          assert (f_message.is_write || has_receive_q[q]);
        end
        if (f_is_written && is_running_q[q]) assert (!fresh_q[q]);
        if (f_is_written && is_running_q[q] && !has_failed_q[q]) begin
          assert (!fresh_q[q] && f_message.is_open == !is_last_q);
          assert (f_message.is_write == f_in_write_q);
        end
      end
    end
  end

  always_comb begin
    if (!f_reset_q[0]) begin
      assert (f_waiting <= (Fw + 1)'(Frames));
      if (ended_q != '0) assert (f_old <= f_waiting);
      for (int i = 0; i < int'(Frames); i++) begin
        if ((Fw + 1)'(i) < f_waiting)
          assert (f_touched_q[f_entry(i)] || (ended_q[f_entry(i)] && (Fw + 1)'(i) < f_old));
      end
    end
    cover (f_reset_q == '0 && take_request && is_old && is_running_q[request_at]);
  end

  // The QP of the frame that is number `i` in the store.
  function automatic index_t f_entry(input int i);
    logic [QpWidth+RequestBits-1:0] entry;
    logic [Fw:0] place;
    place   = got_q + (Fw + 1)'(i);
    entry   = request_mem[place[Fw-1:0]];
    f_entry = Qps > 1 ? entry[RequestBits+:QpWidth] : '0;
  endfunction

  // Properties of roce_responder; included by it for formal runs. Any beats, any requests, one region
  // that stands still: what is written lies in it, or in the receive request of its SEND.

  logic [1:0] f_reset_q = 2'b11;  // a reset, and the cycle until it has acted
  always_ff @(posedge clk_i) f_reset_q <= {f_reset_q[0], 1'b0};
  always_comb begin
    assume (rst_i == f_reset_q[0]);
    assert (f_reset_q != 2'b01);
    if (f_reset_q == 2'b10) assert (flush_q && !wr_valid_o);
  end

  (* anyconst *) roce_pkg::region_t f_region;
  (* anyconst *) roce_pkg::responder_t f_cfg;
  localparam logic [64:0] F_END = 65'h1_0000_0000_0000_0000;
  always_comb begin
    assume (region_i == f_region && cfg_i == f_cfg);
    // Up to 4 KiB at either end of the addresses, so that the sums are short.
    assume (f_region.address[63:11] == {53{f_region.address[63]}});
    assume (f_region.len_bytes[63:12] == '0 && receive_i.len_bytes[31:12] == '0);
    assume (receive_i.address[63:11] == {53{receive_i.address[63]}});
    // Memory ends where the addresses do.
    assume (65'(f_region.address) + 65'(f_region.len_bytes) <= F_END);
    assume (65'(receive_i.address) + 65'(receive_i.len_bytes) <= F_END);
  end

  // The memory of the message under way, and how many bytes of it the write that waits has.
  logic [64:0] f_low, f_high;
  logic [Lb:0] f_count_q;
  assign f_low  = in_write_q ? 65'(f_region.address) : 65'(receive_q.address);
  assign f_high = f_low + (in_write_q ? 65'(f_region.len_bytes) : 65'(receive_q.len_bytes));
  always_ff @(posedge clk_i)
    if (is_free) f_count_q <= is_last_word ? (Lb + 1)'(payload_q) : (Lb + 1)'(Nb);

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

  logic f_is_paying, f_goes_on;
  logic [64:0] f_next;  // behind the packet that is written
  assign f_is_paying = state_q == StatePayload;
  assign f_goes_on   = in_message_q && !has_failed_q;
  assign f_next      = 65'(addr_q) + (f_is_paying ? 65'(payload_q) : 65'd0);

  logic [64:0] f_offset, f_room;
  logic [31:0] f_key;
  assign f_offset = 65'(first ? reth_address : addr_q) - 65'(f_region.address);
  assign f_room   = 65'(f_region.len_bytes) - 65'(left);
  assign f_key    = first ? reth_key : key_q;

  always_comb begin
    if (f_reset_q == '0) begin
      if (wr_valid_o && writing_q) begin
        a_low   : assert (65'(wr_addr_o) >= f_low);
        a_high  : assert (65'(wr_addr_o) + 65'(f_count_q) <= f_high);
        a_right : assert (!in_write_q || (f_region.may_write && key_q == f_region.key));
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
      // A SEND goes to a receive request that is not completed.
      a_receive : assert (!(writing_q || f_goes_on) || in_write_q || has_receive_q);
      // What completes was posted, and is completed once.
      a_completed : assert (!is_completed || (has_receive_q && !flushes));
      a_room : assert (!is_completed || !completion_valid_o || completion_ready_i);
      // What induction needs.
      assert (!f_is_paying || writing_q);
      if (state_q == StateCompare || state_q == StateJudge) assert (!writing_q && !wr_valid_o);
      if (writing_q && wr_valid_o) assert (wr_last_o != f_is_paying);
      if (writing_q && !wr_valid_o) assert (f_is_paying);
      if (writing_q && done_completes_q) assert (has_receive_q && !completion_valid_o);
      if (writing_q) assert (done_is_last_q == !in_message_q && (done_is_last_q || !done_completes_q));
      if (f_is_paying) begin
        assert (65'(addr_q) >= f_low && f_next <= f_high && payload_q != '0);
        assert (!in_message_q || has_failed_q || payload_q[Lb-1:0] == '0);
        assert (!in_write_q || (f_region.may_write && key_q == f_region.key));
      end
      if (writing_q && in_write_q) assert (f_region.may_write && key_q == f_region.key);
      if (f_goes_on) begin
        // The address of what has no room left may wrap.
        if (f_is_paying || left_q != '0)
          assert (65'(addr_q) >= f_low && f_next + 65'(left_q) <= f_high);
        if (in_write_q) assert (f_region.may_write && key_q == f_region.key);
      end
      // What the steps before the verdict have worked out.
      if (state_q == StateCompare || state_q == StateJudge) begin
        if (to_region) assert (offset_q == f_offset && room_q == f_room);
      end
      if (state_q == StateJudge) begin
        if (to_region) assert (is_in_bounds_q == (!f_offset[64] && !f_room[64]
            && f_offset[63:0] <= f_room[63:0]));
        if (to_region || !first || (is_ready_q && !has_failed_q))
          assert (rest_q == {1'b0, left} - 33'(request_q.len_bytes));
        if (to_region)
          assert (is_none_left_q == (left == '0) && (!is_key_ok_q || f_key == f_region.key));
        assert (!is_ready_q || has_receive_q || has_failed_q);
        assert (!is_len_ok_q || request_q.is_last || request_q.len_bytes == 14'(mtu_bytes));
      end
      if (has_receive_q) begin
        assert (65'(receive_q.address) + 65'(receive_q.len_bytes) <= F_END);
        assert (receive_q.address[63:11] == {53{receive_q.address[63]}});
        assert (receive_q.len_bytes[31:12] == '0);
      end
    end
    cover (f_reset_q == '0 && wr_valid_o && wr_last_o && in_write_q && !wr_keep_o[1]);
    cover (f_reset_q == '0 && wr_valid_o && wr_last_o && !in_write_q && writing_q);
  end

// nic_l2_cache: a read gives what was written last to its dword, wherever that is: in a line, on its
// way to a bank, copied for DRAM, or in DRAM. DRAM answers in order, when it likes, and errs. A
// write-back that it refuses is left out: its data are lost.

logic f_past_q = 1'b0;
always_ff @(posedge clk_i) f_past_q <= 1'b1;
always_comb if (!f_past_q) assume (rst_i);
always_ff @(posedge clk_i) if (f_past_q) assume (!rst_i);

localparam int unsigned FLane = 0;

// The byte FLane of a dword, chosen freely, and what DRAM has there at first.
(* anyconst *) logic [TagBits-1:0] f_tag;
(* anyconst *) logic [SetBits-1:0] f_set;
(* anyconst *) logic [DwordBits-1:0] f_dword;
(* anyconst *) logic [7:0] f_first;

// ------------------------------------------------------------------ accesses, as they are taken

typedef struct packed {
  logic       is_here;
  logic [7:0] data;
} f_access_t;

f_access_t f_write_in, f_read_in, f_write0_q, f_write1_q, f_read0_q, f_read1_q;
logic [1:0] f_writes_q, f_reads_q;  // in the channel

function automatic logic f_is_here(input nic_pkg::acb_request_t request,
                                   input logic [AddressBits-4:0] dword);
  f_is_here = request.address[35:3] == {(36 - AddressBits)'(Page), dword};
endfunction

assign f_write_in.is_here = !steps && f_is_here(write_i, {f_tag, f_set, f_dword}) &&
    write_i.mask[FLane];
assign f_write_in.data = write_i.data[8*FLane+:8];
assign f_read_in.is_here = f_is_here(read_i, {f_tag, f_set, f_dword});
assign f_read_in.data = '0;

// What the dword has by the writes that were answered, and what DRAM has.
logic [7:0] f_value_q, f_dram_q, f_expected_q;
logic f_read_q, f_error_q, f_read_done_q;

logic f_is_sent;
assign f_is_sent = request_o.address[AddressBits-1:3] == {f_tag, f_set, f_dword};

always_ff @(posedge clk_i) begin
  f_expected_q  <= f_value_q;
  f_read_done_q <= read_serve && f_read1_q.is_here && !rst_i;
  if (rst_i) begin
    f_writes_q <= '0;
    f_reads_q  <= '0;
    f_error_q  <= 1'b0;
    f_value_q  <= f_first;
    f_dram_q   <= f_first;
  end else begin
    f_writes_q <= f_writes_q + 2'(write_comes) - 2'(write_moves);
    f_reads_q  <= f_reads_q + 2'(read_comes) - 2'(read_serve);
    if (response_valid_i && response_i.err) f_error_q <= 1'b1;
    if (write_serve && f_write1_q.is_here && !write_fails_q) f_value_q <= f_write1_q.data;
    if (request_taken && !request_o.read && f_is_sent) f_dram_q <= request_o.data[8*FLane+:8];
  end
  if (f_writes_q == '0 || write_moves) f_write1_q <= f_writes_q[1] ? f_write0_q : f_write_in;
  if (!f_writes_q[1]) f_write0_q <= f_write_in;
  if (f_reads_q == '0 || read_serve) f_read1_q <= f_reads_q[1] ? f_read0_q : f_read_in;
  if (!f_reads_q[1]) f_read0_q <= f_read_in;
end

// ------------------------------------------------------------------ DRAM

// Of a read of the dword: how many answers come before, and what it gives.
logic [Fw:0] f_ahead_q;
logic [7:0] f_asked_q;
logic f_answers;
assign f_answers = response_valid_i && f_read_q && f_ahead_q == '0;

always_ff @(posedge clk_i) begin
  if (rst_i) f_read_q <= 1'b0;
  else if (request_taken && request_o.read && f_is_sent) f_read_q <= 1'b1;
  else if (f_answers) f_read_q <= 1'b0;
  if (request_taken && request_o.read && f_is_sent) begin
    f_ahead_q <= in_flight_q - (Fw + 1)'(response_valid_i);
    f_asked_q <= f_dram_q;
  end else if (response_valid_i) begin
    f_ahead_q <= f_ahead_q - 1'b1;
  end
end

always_comb begin
  if (response_valid_i) assume (in_flight_q != '0);
  if (f_answers && !response_i.err) assume (response_i.data[8*FLane+:8] == f_asked_q);
end

// ------------------------------------------------------------------ where the byte is

// Of each way of its set: the line, and the byte.
logic [Ways-1:0] f_dirty, f_present, f_match, f_has, f_is_stored;
logic [Ways-1:0][TagBits-1:0] f_tags;
logic [Ways-1:0][Dwords-1:0] f_valid;
logic [Ways-1:0][7:0] f_raw, f_bytes;  // f_bytes: with the write that is on its way
for (genvar w = 0; w < int'(Ways); w++) begin : g_f_way
  logic [63:0] word0, word1;
  assign word0 = g_bank[0].mem[bank_address(f_set, WayBits'(w), f_dword)];
  assign word1 = g_bank[1].mem[bank_address(f_set, WayBits'(w), f_dword)];
  assign {f_present[w], f_tags[w], f_valid[w]} = g_way[w].lines[f_set];
  assign f_dirty[w] = g_way[w].dirty[f_set];
  assign f_match[w] = f_present[w] && f_tags[w] == f_tag;
  assign f_has[w] = f_match[w] && f_valid[w][f_dword];
  assign f_raw[w] = f_dword[0] ? word1[8*FLane+:8] : word0[8*FLane+:8];
  assign f_is_stored[w] = store_q && store_set_q == f_set && store_way_q == WayBits'(w) &&
      store_dword_q == f_dword && store_mask_q[FLane];
  assign f_bytes[w] = f_is_stored[w] ? store_data_q[8*FLane+:8] : f_raw[w];
end

// Behind the lines: DRAM, then what goes there, the newest last.
logic [DwordBits-1:0] f_to_copy, f_to_end;
logic [DwordBits+1:0] f_level;
logic [7:0] f_behind;
assign f_to_copy = f_dword - copy_dword_q;
assign f_to_end = copy_end_q - copy_dword_q;
assign f_level = wr_q - rd_q;

logic [CopyBits+63:0] f_entry[2*Dwords];
for (genvar i = 0; i < 2 * int'(Dwords); i++) begin : g_f_entry
  assign f_entry[i] = copied[(DwordBits+1)'(rd_q+(DwordBits + 2)'(i))];
end

always_comb begin
  f_behind = f_dram_q;
  for (int i = 0; i < 2 * int'(Dwords); i++) begin
    if (i < int'(f_level) && f_entry[i][CopyBits+63:64] == {f_tag, f_set, f_dword})
      f_behind = f_entry[i][8*FLane+:8];
  end
  if (copied_q && copied_address_q == {f_tag, f_set, f_dword})
    f_behind = bank_q[f_dword[0]][8*FLane+:8];
  if (evict_q && evict_tag_q == f_tag && evict_set_q == f_set && evict_valid_q[f_dword] &&
      f_to_copy <= f_to_end)
    f_behind = f_raw[evict_way_q];
end

// ------------------------------------------------------------------ what holds

logic f_is_clear, f_is_miss;
logic [DwordBits-1:0] f_offset;
logic [DwordBits:0] f_under_way;
assign f_is_clear = state_q == Clear && clear_q <= f_set;
assign f_is_miss = state_q == Fetch && miss_set_q == f_set;
assign f_offset = f_dword - miss_dword_q;
assign f_under_way = state_q == Fetch ? sent_q - came_q : '0;

always_ff @(posedge clk_i) begin
  if (f_past_q && !rst_i) begin
    // The claim.
    if (f_read_done_q && !answer_o.err)
      p_last_written : assert (answer_o.data[8*FLane+:8] == f_expected_q);
    if (f_read_done_q) p_no_err : assert (answer_valid_o && (f_error_q || !answer_o.err));

    // The channels.
    p_writes : assert (f_writes_q <= 2'd2 && write1_valid_q == (f_writes_q != '0) &&
                       write0_valid_q == f_writes_q[1]);
    p_reads : assert (f_reads_q <= 2'd2 && read1_valid_q == (f_reads_q != '0) &&
                      read0_valid_q == f_reads_q[1]);
    if (write1_valid_q) begin
      p_write1 : assert (f_write1_q.is_here == (!write1_q.flush && !write1_q.bad &&
        {write1_q.tag, write1_q.set, write1_q.dword} == {f_tag, f_set, f_dword} &&
        write1_q.mask[FLane]) && f_write1_q.data == write1_q.data[8*FLane+:8]);
    end
    if (write0_valid_q) begin
      p_write0 : assert (f_write0_q.is_here == (!write0_q.flush && !write0_q.bad &&
        {write0_q.tag, write0_q.set, write0_q.dword} == {f_tag, f_set, f_dword} &&
        write0_q.mask[FLane]) && f_write0_q.data == write0_q.data[8*FLane+:8]);
    end
    if (read1_valid_q) begin
      p_read1 : assert (f_read1_q.is_here == (!read1_q.bad &&
        {read1_q.tag, read1_q.set, read1_q.dword} == {f_tag, f_set, f_dword}));
    end
    if (read0_valid_q) begin
      p_read0 : assert (f_read0_q.is_here == (!read0_q.bad &&
        {read0_q.tag, read0_q.set, read0_q.dword} == {f_tag, f_set, f_dword}));
    end
    p_fails : assert (f_error_q || (!write_fails_q && !read_fails_q));

    // The byte: in a line, and where DRAM will have it unless that line is dirty.
    for (int w = 0; w < int'(Ways); w++) begin
      if (!f_is_clear && f_has[w]) assert (f_bytes[w] == f_value_q);
      if (!f_is_clear) assert (f_present[w] || !f_dirty[w]);
      if (state_q == Clear && clear_q > f_set) assert (!f_present[w]);
      for (int v = 0; v < w; v++) begin
        if (!f_is_clear) begin
          assert (!f_present[w] || !f_present[v] ||
                           f_tags[w] != f_tags[v]);
        end
      end
      if (store_q && store_set_q == f_set && store_way_q == WayBits'(w))
        assert (f_present[w] && f_valid[w][store_dword_q]);
      // A miss knows its line.
      if (f_is_miss && miss_way_q[w]) begin
        assert (f_present[w] && f_tags[w] == miss_tag_q &&
                         f_valid[w] == miss_valid_q);
      end
    end
    if (f_is_clear || (f_has & f_dirty) == '0) p_behind : assert (f_behind == f_value_q);

    // Nothing is written before it is copied.
    if (evict_q && store_q && store_set_q == evict_set_q && store_way_q == evict_way_q)
      p_copied_first : assert (store_dword_q == copy_dword_q ||
        DwordBits'(store_dword_q - copy_dword_q) > f_to_end);
    if (evict_q) begin
      for (int i = 0; i < int'(Dwords); i++) begin
        assert (copy_left_q[DwordBits'(copy_dword_q + DwordBits'(i))] ==
                         (i >= 2 && i <= int'(f_to_end)));
      end
    end else begin
      p_none_left : assert (copy_left_q == '0);
    end

    // The FIFO, and what DRAM has to answer.
    p_held : assert (32'(held_q) == 32'(f_level) + 32'(copied_q));
    p_room : assert (32'(held_q) + (evict_q ? 32'(f_to_end) + 1 : 0) <= 2 * Dwords);
    p_state : assert (state_q <= Drain && (state_q != Clear || (is_drained && !store_q &&
                      in_flight_q == '0)));
    p_in_flight : assert (32'(in_flight_q) == 32'(writes_q) + 32'(f_under_way) &&
                          32'(in_flight_q) <= InFlight);
    // What missed stands there.
    if (state_q == Look) begin
      p_look : assert (is_read_q ? read1_valid_q && !read1_q.bad && !read_fails_q :
        write1_valid_q && (write1_q.flush ||
                           (!write1_q.bad && !write_fails_q && !(&write1_q.mask))));
    end
    if (state_q == Fetch) begin
      p_fetch : assert (came_q <= sent_q && 32'(sent_q) <= Dwords && 32'(came_q) < Dwords &&
                        (sent_q == '0 || is_drained) && (came_q == '0 || writes_q == '0));
    end
    if (f_is_miss)
      p_way : assert (miss_way_q != '0 && (miss_way_q & (miss_way_q - 1'b1)) == '0);
    p_read : assert (f_read_q == (f_is_miss && miss_tag_q == f_tag && f_offset < sent_q &&
                                  f_offset >= came_q));
    if (f_read_q) p_asked : assert (f_asked_q == f_dram_q &&
      f_ahead_q == writes_q + (Fw + 1)'(f_offset - came_q[DwordBits-1:0]));

    // A byte that was written, evicted, fetched from DRAM and read; and an err.
    c_evicted : cover (f_read_done_q && !answer_o.err && f_dram_q == f_value_q &&
                       f_value_q != f_first && |f_has && (f_has & f_dirty) == '0);
    c_error : cover (f_read_done_q && answer_o.err);
  end
end

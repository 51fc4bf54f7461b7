// frame_join: a frame is its header, its payload in order and its trailer, with tkeep and tlast at
// its end; what is offered stands until it is taken; no beat of payload is lost or taken twice.

logic f_past_q = 1'b0;
always_ff @(posedge clk_i) f_past_q <= 1'b1;
always_comb if (!f_past_q) assume (rst_i);

logic f_taken, f_fed;
assign f_taken = m_axis_tvalid && m_axis_tready;
assign f_fed   = s_valid_i && s_ready_o;

// head_builder: a header that is there stands until it is done; each has another number. Of its
// bytes one, chosen freely, is looked at, and of the payload and trailer of each frame another.
localparam int unsigned FAw = 17;
(* anyconst *) logic [FAw-1:0] f_head, f_pos;
(* anyconst *) logic [7:0] f_value;
logic f_number_q, f_ready_q, f_done_q, f_rst_q;
logic [15:0] f_len_q, f_shown_len_q;
logic [31:0] f_trailer_q;
logic [BeatWidth-1:0] f_beat_q;
always_ff @(posedge clk_i) begin
  f_rst_q       <= rst_i;
  f_beat_q      <= head_beat_o;
  f_done_q      <= head_done_o && !rst_i;
  f_ready_q     <= head_ready_i && !f_done_q && !head_done_o && !rst_i;
  f_shown_len_q <= head_len_bytes_i;
  f_number_q    <= !rst_i && (f_number_q ^ head_done_o);
  if (head_done_o) begin
    f_len_q     <= head_len_bytes_i;
    f_trailer_q <= head_trailer_i;
  end
end
always_comb begin
  assume (f_head < FAw'(HeadBytes));
  if (f_rst_q) assume (!head_ready_i);
  if (f_ready_q) assume (head_ready_i && head_len_bytes_i == f_shown_len_q);
  if (Over == 0 && !Trailer) assume (head_len_bytes_i != '0);
  if (!f_done_q && f_beat_q == BeatWidth'(f_head / FAw'(Nb)))
    assume (head_data_i[8*(f_head%FAw'(Nb))+:8] == (f_value ^ 8'(f_number_q)));
end

// The payload's source: what it offers stands.
logic f_waits_q;
logic [W-1:0] f_data_q;
always_ff @(posedge clk_i) begin
  f_waits_q <= s_valid_i && !s_ready_o && !rst_i;
  f_data_q  <= s_data_i;
end
always_comb if (f_waits_q) assume (s_valid_i && s_data_i == f_data_q);

// Beats of payload since the last header was done, and the byte of it that is looked at.
logic [FAw-1:0] f_fed_q, f_before;
logic [7:0] f_byte_q;
logic f_open_q;  // a header is done, its frame has not left
assign f_before = head_done_o ? '0 : f_fed_q;
always_ff @(posedge clk_i) begin
  f_fed_q <= f_before + FAw'(f_fed);
  if (f_fed && f_before == f_pos / FAw'(Nb)) f_byte_q <= s_data_i[8*(f_pos%FAw'(Nb))+:8];
end

// What leaves: the place of the beat in its frame, and the frame's number.
logic [FAw-1:0] f_at_q, f_end, f_wanted;
logic f_out_number_q, f_held_q, f_more_q, f_last_q;
logic [W-1:0] f_out_q, f_mask;
logic [Nb-1:0] f_keep, f_keep_q;
assign f_end    = FAw'(HeadBytes + TrailerBytes) + FAw'(f_len_q);
assign f_wanted = (FAw'(f_len_q) + FAw'(Nb - 1)) / FAw'(Nb);
always_comb begin
  for (int i = 0; i < int'(Nb); i++) begin
    f_keep[i]     = f_at_q + FAw'(i) < f_end;
    f_mask[8*i+:8] = {8{m_axis_tkeep[i]}};
  end
end
always_ff @(posedge clk_i) begin
  if (f_taken) f_at_q <= m_axis_tlast ? '0 : f_at_q + FAw'(Nb);
  f_out_number_q <= f_out_number_q ^ (f_taken && m_axis_tlast);
  f_held_q       <= m_axis_tvalid && !m_axis_tready && !rst_i;
  // The next beat needs nothing that is not there.
  f_more_q       <= f_taken && !m_axis_tlast && s_valid_i && !rst_i;
  f_last_q       <= m_axis_tlast;
  f_keep_q       <= m_axis_tkeep;
  f_out_q        <= m_axis_tdata & f_mask;
  f_open_q       <= !rst_i && (head_done_o || (f_open_q && !(f_taken && m_axis_tlast)));
  if (rst_i) begin
    f_at_q         <= '0;
    f_out_number_q <= 1'b0;
  end
end

// The byte at a place of the frame, where it is in the beat that is offered.
function automatic logic f_is_here(input logic [FAw-1:0] place);
  f_is_here = place >= f_at_q && place < f_at_q + FAw'(Nb);
endfunction
function automatic logic [7:0] f_byte_at(input logic [FAw-1:0] place);
  f_byte_at = m_axis_tdata[8*(place%FAw'(Nb))+:8];
endfunction
logic [FAw-1:0] f_place, f_behind;
assign f_place  = FAw'(HeadBytes) + f_pos;
assign f_behind = f_pos - FAw'(f_len_q);  // in the trailer

always_ff @(posedge clk_i) begin
  if (f_past_q && !rst_i && !f_rst_q) begin
    if (m_axis_tvalid) begin
      p_open : assert (f_open_q || f_at_q + FAw'(Nb) < FAw'(HeadBytes) + FAw'(Over == 0));
      if (f_is_here(f_head))
        p_header : assert (f_byte_at(f_head) == (f_value ^ 8'(f_out_number_q)));
      if (f_open_q) begin
        p_last : assert (m_axis_tlast == (f_at_q + FAw'(Nb) >= f_end));
        p_keep : assert (m_axis_tkeep == f_keep);
        if (f_is_here(f_place) && f_pos < FAw'(f_len_q))
          p_payload : assert (f_byte_at(f_place) == f_byte_q);
        if (Trailer && f_is_here(f_place) && f_pos >= FAw'(f_len_q) && f_behind < 4)
          p_trailer : assert (f_byte_at(f_place) == f_trailer_q[8*(3-f_behind)+:8]);
      end else p_not_last : assert (!m_axis_tlast && &m_axis_tkeep);
    end
    if (f_held_q) p_stands : assert (m_axis_tvalid && m_axis_tlast == f_last_q
        && m_axis_tkeep == f_keep_q && (m_axis_tdata & f_mask) == f_out_q);
    if (f_more_q) p_no_gap : assert (m_axis_tvalid);
    if (f_fed) begin
      if (!head_done_o) p_own : assert (f_open_q && f_fed_q < f_wanted);
      else p_wanted : assert (head_len_bytes_i != '0);
    end
    if (head_done_o && f_open_q) p_done : assert (f_taken && m_axis_tlast);
    if (f_taken && m_axis_tlast) p_all : assert (f_fed_q == f_wanted);
    c_split : cover (m_axis_tvalid && m_axis_tlast && f_len_q > 16'(Nb) && f_out_number_q
                     && $countones(m_axis_tkeep) < int'(TrailerBytes) + int'(!Trailer));
    c_empty : cover (f_taken && m_axis_tlast && f_len_q == '0 && f_at_q != '0);
    c_waits : cover (f_held_q && m_axis_tlast && f_len_q[1:0] == 2'd3);
  end
end

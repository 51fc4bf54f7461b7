// Appends the CRC to frames of any length, W bits a cycle: behind the last byte, across two beats
// where the last beat has no room for four bytes, with a beat more where it is full.
//
// The packet begins at frame byte StartByte; each frame must reach it. BigEndian: the CRC in network
// byte order (docs/protocol.md#2.5). The register begins at Init, moved back over the zeros that
// stand before the packet in its beat. Ones names bytes of the frame (bit i: byte i) that count as
// FFh. RoCE's ICRC: StartByte 14, Init after 8 bytes of ones, Ones for the fields that routers
// change.
//
// Throughput: a beat a cycle; a frame whose CRC needs a beat more takes one cycle more. Latency:
// 4 + log2(W/8) cycles. Back-pressure: the pipeline stands while the output waits; tready follows
// m_axis_tready in the same cycle, and gaps of tvalid stay. Does not change lengths in headers or
// UDP's checksum. One clock.
//
// The bytes behind the end enter as zeros. The register is then moved back over them, over 1, 2, 4..
// bytes, a stage each.
`default_nettype none

module crc_append #(
    parameter int unsigned  W         = 64,
    parameter logic [31:0]  Poly      = crc_pkg::EthernetPoly,
    parameter int unsigned  StartByte = 14,
    parameter logic [31:0]  Init      = '1,  // of the register, at the packet's first byte
    parameter bit           BigEndian = 1'b0,
    parameter logic [127:0] Ones      = '0
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input  wire logic [  W-1:0] s_axis_tdata,
    input  wire logic [W/8-1:0] s_axis_tkeep,
    input  wire logic           s_axis_tvalid,
    output      logic           s_axis_tready,
    input  wire logic           s_axis_tlast,

    output      logic [  W-1:0] m_axis_tdata,
    output      logic [W/8-1:0] m_axis_tkeep,
    output      logic           m_axis_tvalid,
    input  wire logic           m_axis_tready,
    output      logic           m_axis_tlast
);

  localparam int unsigned Nb = W / 8;
  localparam int unsigned Lb = $clog2(Nb);
  localparam int unsigned StartBeat = StartByte / Nb;
  localparam int unsigned StartLane = StartByte % Nb;
  localparam int unsigned Stages = 2 + Lb;  // behind the first, to the moved register
  localparam logic [31:0] First = crc_pkg::before_zeros(Init, Poly, StartLane);

  if (W < 64 || W > 512 || W != 8 << Lb) begin : g_bad_width
    $error("W must be 64, 128, 256 or 512");
  end
  if (StartBeat > 14) begin : g_bad_start
    $error("the packet must begin before the sixteenth beat");
  end
  if (|(Ones >> (15 * Nb))) begin : g_bad_ones
    $error("beats are distinct only below the sixteenth");
  end

  // Row i: the bits of the beat that bit i of the register sums after W bits.
  function automatic logic [32*W-1:0] step_rows();
    logic [31:0] c;
    c = 32'd1;
    for (int j = int'(W) - 1; j >= 0; j--) begin
      c = {1'b0, c[31:1]} ^ (c[0] ? Poly : 32'd0);
      for (int i = 0; i < 32; i++) step_rows[int'(W)*i+j] = c[i];
    end
  endfunction

  // Row i of the move back over zero bytes.
  function automatic logic [1023:0] back_rows(input int unsigned bytes);
    logic [31:0] c;
    back_rows = '0;
    for (int k = 0; k < 32; k++) begin
      c = crc_pkg::before_zeros(32'd1 << k, Poly, bytes);
      for (int i = 0; i < 32; i++) back_rows[32*i+k] = c[i];
    end
  endfunction

  localparam logic [32*W-1:0] Rows = step_rows();

  // Everything moves together.
  logic go, out_valid_q, more_q;
  assign go = !out_valid_q || m_axis_tready;
  assign s_axis_tready = go && !more_q;

  // First stage: the bytes that the CRC takes, and those of the frame.
  logic [3:0] beat_q;  // stays at 15
  logic valid_q, last_q, is_first_q, is_inside_q;
  logic [Nb-1:0] keep_q;
  logic [W-1:0] kept, fed, kept_q, fed_q;

  always_comb begin
    for (int i = 0; i < int'(Nb); i++)
    kept[8*i+:8] = s_axis_tlast && !s_axis_tkeep[i] ? 8'h00 : s_axis_tdata[8*i+:8];
    fed = kept;
    for (int f = 0; f < 128; f++)
    if (Ones[f] && beat_q == 4'(f / int'(Nb))) fed[8*(f%int'(Nb))+:8] = 8'hFF;
    for (int i = 0; i < int'(StartLane); i++) if (beat_q == 4'(StartBeat)) fed[8*i+:8] = 8'h00;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_q <= 1'b0;
      beat_q  <= '0;
    end else if (go && !more_q) begin
      valid_q <= s_axis_tvalid;
      if (s_axis_tvalid) begin
        if (s_axis_tlast) beat_q <= '0;
        else if (beat_q != 4'd15) beat_q <= beat_q + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (go && !more_q) begin
      kept_q     <= kept;
      fed_q      <= fed;
      keep_q     <= s_axis_tkeep;
      last_q     <= s_axis_tlast;
      is_first_q <= beat_q == 4'(StartBeat);
    end
  end

  if (StartBeat == 0) begin : g_always_inside
    assign is_inside_q = 1'b1;
  end else begin : g_inside
    always_ff @(posedge clk_i) if (go && !more_q) is_inside_q <= beat_q > 4'(StartBeat - 1);
  end

  // How many bytes the beat holds, 0 for all of them: each bit of the number follows from the byte
  // with which it rises and the one with which it falls.
  logic [Lb-1:0] count;
  logic [Nb/2-1:0] falls;
  always_comb begin
    for (int b = 0; b < int'(Lb); b++) begin
      falls = '0;
      for (int n = 0; n < int'(Nb / 2) >> b; n++)
      falls[n] = keep_q[((2*n+1)<<b)-1] && !keep_q[((2*n+2)<<b)-1];
      count[b] = |falls;
    end
  end

  // Second and third stage: the beat's part, and the register.
  logic [31:0] part_q, entering, moved, crc_q;
  logic part_first_q, part_inside_q;
  assign entering = part_first_q ? First : crc_q;
  for (genvar i = 0; i < 32; i++) begin : g_moved
    assign moved[i] = ^(entering & Rows[W*i+:32]);
  end

  // What goes along: index k is behind stage k + 2.
  logic along_valid_q[Stages], along_last_q[Stages];
  logic [Lb-1:0] along_count_q[Stages];
  logic [W-1:0] along_data_q[Stages];

  always_ff @(posedge clk_i) begin
    if (go && !more_q) begin
      for (int i = 0; i < 32; i++) part_q[i] <= ^(fed_q & Rows[int'(W)*i+:W]);
      part_first_q  <= is_first_q;
      part_inside_q <= is_inside_q;
      if (along_valid_q[0] && part_inside_q) crc_q <= part_q ^ moved;
      along_valid_q[0] <= valid_q;
      along_last_q[0]  <= last_q;
      along_count_q[0] <= count;
      along_data_q[0]  <= kept_q;
      for (int k = 1; k < int'(Stages); k++) begin
        along_valid_q[k] <= along_valid_q[k-1];
        along_last_q[k]  <= along_last_q[k-1];
        along_count_q[k] <= along_count_q[k-1];
        along_data_q[k]  <= along_data_q[k-1];
      end
    end
    if (rst_i) for (int k = 0; k < int'(Stages); k++) along_valid_q[k] <= 1'b0;
  end

  // Back over the zeros: stage s over 2^s bytes.
  logic [32*(Lb+1)-1:0] back_q;
  assign back_q[31:0] = crc_q;
  for (genvar s = 0; s < Lb; s++) begin : g_back
    localparam logic [1023:0] Back = back_rows(1 << s);
    logic [31:0] undone;
    logic [Lb-1:0] zeros;
    for (genvar i = 0; i < 32; i++) begin : g_bit
      assign undone[i] = ^(back_q[32*s+:32] & Back[32*i+:32]);
    end
    assign zeros = Lb'(0) - along_count_q[s+1];
    always_ff @(posedge clk_i) begin
      if (go && !more_q) back_q[32*(s+1)+:32] <= zeros[s] ? undone : back_q[32*s+:32];
    end
  end

  // Beside the register that is moved: the lane behind the last byte, and the lanes up to the CRC's
  // end.
  logic [Nb-1:0] is_at_q, keep_out_q;
  always_ff @(posedge clk_i) begin
    if (go && !more_q) begin
      for (int i = 0; i < int'(Nb); i++) begin
        is_at_q[i] <= along_count_q[Stages-2] == Lb'(i);
        keep_out_q[i] <= (Lb + 2)'(i) < (Lb + 2)'(along_count_q[Stages-2]) + (Lb + 2)'(4);
      end
    end
  end

  // Last stage: the CRC behind the last byte; what does not fit goes into a beat more.
  logic [31:0] sealed;
  logic [W-1:0] data;
  logic is_out_last, overflows;
  assign is_out_last = along_valid_q[Stages-1] && along_last_q[Stages-1];
  assign overflows = is_out_last && (is_at_q[0] || |is_at_q[Nb-1:Nb-3]);
  assign sealed = BigEndian ? bits_pkg::be32(~back_q[32*Lb+:32]) : ~back_q[32*Lb+:32];

  always_comb begin
    data = along_data_q[Stages-1];
    for (int i = 0; i < int'(Nb); i++) begin
      for (int k = 0; k < 4; k++) begin
        if (i > k && is_out_last && is_at_q[i>k?i-k : 0])
          data[8*i+:8] = data[8*i+:8] | sealed[8*k+:8];
      end
    end
  end

  // The beat more is of 1 to 4 bytes: those of the CRC from `rest` on.
  logic [1:0] rest_q;
  logic [31:0] sealed_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      out_valid_q <= 1'b0;
      more_q      <= 1'b0;
    end else if (go) begin
      out_valid_q <= more_q || along_valid_q[Stages-1];
      more_q      <= !more_q && overflows;
    end
  end

  always_ff @(posedge clk_i) begin
    if (go) begin
      sealed_q <= sealed;
      rest_q   <= 2'd0 - along_count_q[Stages-1][1:0];
      if (more_q) begin
        m_axis_tdata <= W'(sealed_q >> {rest_q, 3'd0});
        m_axis_tkeep <= Nb'(4'hF >> rest_q);
        m_axis_tlast <= 1'b1;
      end else begin
        m_axis_tdata <= data;
        m_axis_tlast <= is_out_last && !overflows;
        m_axis_tkeep <= is_out_last && !overflows ? keep_out_q : '1;
      end
    end
  end

  assign m_axis_tvalid = out_valid_q;

endmodule

`default_nettype wire

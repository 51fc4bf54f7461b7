// Checks the CRC at the end of a packet whose length in bytes is any, N bits a cycle.
//
// The packet begins at frame byte StartByte and ends with its CRC, which may lie across two beats.
// With BigEndian the CRC stands in network byte order (docs/protocol.md#2.5), against
// the order in which a reflected register takes bytes: its four bytes are mirrored before they
// enter, and the register then ends at the residue whatever the packet. The bytes behind the end
// come as zeros, so the register ends at one of N/8 constants, by how many of them there were.
// The register begins at Init, moved back over the zeros that stand before the packet in its beat.
// Ones names bytes of the frame (bit i: byte i) that count as FFh. RoCE's ICRC: StartByte 14, Init
// after 8 bytes of ones, Ones for the fields that routers change.
//
// A beat a cycle; ok_o is right in the second cycle after the packet's last beat was taken, above 64
// bits in the third, and in no other. No back-pressure. Does not find the packet's length. One clock.
//
// The step is linear in register and beat. At 64 bits both take it in one cycle; wider beats in a
// cycle of their own, and only the register's part remains in the loop.
`default_nettype none

module crc_check #(
    parameter int unsigned  N         = 64,
    parameter logic [31:0]  Poly      = crc_pkg::Crc32cPoly,
    parameter int unsigned  StartByte = wire_pkg::OffHeader,
    parameter logic [31:0]  Init      = '1,  // of the register, at the packet's first byte
    parameter bit           BigEndian = 1'b1,
    parameter logic [127:0] Ones      = '0
) (
    input  wire logic                     clk_i,
    input  wire logic                     valid_i,
    input  wire logic [              3:0] beat_i,   // of data_i in its frame; stays at 15
    input  wire logic [            N-1:0] data_i,   // zero behind the end
    input  wire logic [             23:0] next_i,   // the first bytes of the beat that follows
    input  wire logic [$clog2(N/8)+1:0] left_i,   // bytes to the packet's end; stays at all ones
    output logic                     ok_o
);

  localparam int unsigned Nb = N / 8;
  localparam int unsigned Lb = $clog2(Nb);
  localparam int unsigned StartBeat = StartByte / Nb;
  localparam int unsigned StartLane = StartByte % Nb;

  if (N < 64 || N > 512 || N != 8 << Lb) begin : g_bad_1
    $error("N must be 64, 128, 256 or 512");
  end
  if (StartBeat > 14) begin : g_bad_2
    $error("the packet must begin before the sixteenth beat");
  end
  if (|(Ones >> (15 * Nb))) begin : g_bad_3
    $error("beats are distinct only below the sixteenth");
  end

  // Column j of the step over N bits: what bit j of the beat, first on the wire first, leaves.
  function automatic logic [32*N-1:0] columns();
    logic [31:0] c;
    c = 32'd1;
    for (int j = int'(N) - 1; j >= 0; j--) begin
      c = {1'b0, c[31:1]} ^ (c[0] ? Poly : 32'd0);
      columns[32*j+:32] = c;
    end
  endfunction

  // Row i: the bits of the beat that bit i of the register sums.
  function automatic logic [32*N-1:0] rows();
    logic [32*N-1:0] c;
    c = columns();
    for (int i = 0; i < 32; i++)
    for (int j = 0; j < int'(N); j++) rows[int'(N)*i+j] = c[32*j+i];
  endfunction

  // The register after a right CRC and k bytes of zeros, k from 0 to Nb - 1.
  function automatic logic [32*Nb-1:0] residues();
    logic [31:0] c;
    c = '1;
    for (int k = 0; k < int'(Nb) + 4; k++) begin
      if (k >= 4) residues[32*(k-4)+:32] = c;
      for (int b = 0; b < 8; b++) c = {1'b0, c[31:1]} ^ (c[0] ? Poly : 32'd0);
    end
  endfunction

  localparam logic [32*Nb-1:0] Residues = residues();
  localparam logic [31:0] First = crc_pkg::before_zeros(Init, Poly, StartLane);

  logic [23:0] prev_q;
  logic [N-1:0] x_q;
  logic x_valid_q;
  logic [Lb-1:0] zeros1_q, zeros_q;
  logic [31:0] crc_q;

  // The beat with its neighbours' nearest three bytes, and the mirrored CRC.
  logic [N+47:0] span;
  assign span = {next_i, data_i, prev_q};

  // A function, for the simulator to leave out where there is no beat.
  function automatic logic [N-1:0] mixed();
    logic [Lb+1:0] past;  // left_i - 1 - i of byte i: 0 to 3 are the CRC's bytes, last first
    logic [7:0] mirrored;
    mixed = data_i;
    if (BigEndian) begin
      for (int i = 0; i < int'(Nb); i++) begin
        past = left_i - (Lb + 2)'(i) - 1'b1;
        mirrored = past[1] ? (past[0] ? span[8*(i+6)+:8] : span[8*(i+4)+:8])
            : (past[0] ? span[8*(i+2)+:8] : span[8*i+:8]);
        if (past[Lb+1:2] == '0) mixed[8*i+:8] = mirrored;
      end
    end
    for (int f = 0; f < 128; f++)
    if (Ones[f] && beat_i == 4'(f / int'(Nb))) mixed[8*(f%int'(Nb))+:8] = 8'hFF;
    for (int i = 0; i < int'(StartLane); i++) if (beat_i == 4'(StartBeat)) mixed[8*i+:8] = 8'h00;
  endfunction

  // In the beat before the packet's first the register is set. Where there is none, or where it may
  // come while the frame before still ends, the first beat leaves out what the register holds.
  logic is_before, is_inside, x_first_q;
  if (StartBeat < 2) begin : g_in_first
    assign is_before = 1'b0;
    assign is_inside = StartBeat == 0 || beat_i != '0;
    always_ff @(posedge clk_i) if (valid_i) x_first_q <= beat_i == 4'(StartBeat);
  end else begin : g_behind_first
    assign is_before = valid_i && beat_i == 4'(StartBeat - 1);
    assign is_inside = beat_i > 4'(StartBeat - 1);
    assign x_first_q = 1'b0;
  end

  // Registers need no reset: the beats of a packet set each.
  always_ff @(posedge clk_i) begin
    x_valid_q <= valid_i && is_inside && left_i != 0;
    if (valid_i) begin
      prev_q <= data_i[N-1-:24];
      x_q <= mixed();
      // Only what the last beat leaves is looked at.
      zeros1_q <= Lb'(0) - left_i[Lb-1:0];
    end
  end

  if (N == 64) begin : g_one_stage
    logic [31:0] crc_d;
    logic [N-1:0] fed;
    assign fed = {x_q[N-1:32], x_q[31:0] ^ (x_first_q ? First : crc_q)};

    if (Poly == crc_pkg::Crc32cPoly) begin : g_step64
      crc_step64 i_step (
          .data_i(fed),
          .crc_o (crc_d)
      );
    end else begin : g_rows
      localparam logic [32*N-1:0] Rows = rows();
      always_comb for (int i = 0; i < 32; i++) crc_d[i] = ^(fed & Rows[int'(N)*i+:N]);
    end

    always_ff @(posedge clk_i) begin
      if (x_valid_q) begin
        crc_q <= crc_d;
        zeros_q <= zeros1_q;
      end
      if (is_before) crc_q <= First;
    end
  end else begin : g_two_stages
    localparam logic [32*N-1:0] Rows = rows();

    logic part_valid_q, is_before_q, first_q;
    logic [31:0] part_q, entering, moved;
    logic [Lb-1:0] zeros2_q;

    // The register's bit j goes the way of the beat's bit j.
    assign entering = first_q ? First : crc_q;
    always_comb for (int i = 0; i < 32; i++) moved[i] = ^(entering & Rows[int'(N)*i+:32]);

    always_ff @(posedge clk_i) begin
      for (int i = 0; i < 32; i++) part_q[i] <= ^(x_q & Rows[int'(N)*i+:N]);
      part_valid_q <= x_valid_q;
      zeros2_q <= zeros1_q;
      is_before_q <= is_before;
      first_q <= x_first_q;
      if (part_valid_q) begin
        crc_q <= part_q ^ moved;
        zeros_q <= zeros2_q;
      end
      if (is_before_q) crc_q <= First;
    end
  end

  assign ok_o = bits_pkg::same32(crc_q, Residues[32*zeros_q+:32]);

endmodule

`default_nettype wire

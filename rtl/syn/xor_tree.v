// Sums of many bits as trees of six, what a LUT takes. As pairs of pairs, which is what yosys makes
// of them, a LUT takes four, and no pass behind puts six together. Bits that are constant are left
// out. For `techmap`.
(* techmap_celltype = "$reduce_xor" *)
module xor_tree (A, Y);
  parameter A_SIGNED = 0;
  parameter A_WIDTH = 1;
  parameter Y_WIDTH = 1;
  parameter [A_WIDTH-1:0] _TECHMAP_CONSTMSK_A_ = 0;
  parameter [A_WIDTH-1:0] _TECHMAP_CONSTVAL_A_ = 0;

  input [A_WIDTH-1:0] A;
  output [Y_WIDTH-1:0] Y;

  function integer count(input integer unused);
    integer i;
    begin
      count = 0;
      for (i = 0; i < A_WIDTH; i = i + 1) if (!_TECHMAP_CONSTMSK_A_[i]) count = count + 1;
    end
  endfunction

  // Place of the n-th bit that is no constant.
  function integer place(input integer n);
    integer i, seen;
    begin
      place = 0;
      seen = 0;
      for (i = 0; i < A_WIDTH; i = i + 1)
        if (!_TECHMAP_CONSTMSK_A_[i]) begin
          if (seen == n) place = i;
          seen = seen + 1;
        end
    end
  endfunction

  localparam Count = count(0);
  localparam Groups = (Count + 5) / 6;
  localparam Odd = ^(_TECHMAP_CONSTVAL_A_ & _TECHMAP_CONSTMSK_A_);

  wire sum;
  generate
    if (Count == 0) begin
      assign sum = 1'b0;
    end else begin
      wire [6*Groups-1:0] bits;
      wire [Groups-1:0] groups;
      genvar i;
      for (i = 0; i < 6 * Groups; i = i + 1) begin : bit
        if (i < Count) assign bits[i] = A[place(i)];
        else assign bits[i] = 1'b0;
      end
      for (i = 0; i < Groups; i = i + 1) begin : group
        assign groups[i] = ((bits[6*i] ^ bits[6*i+1]) ^ bits[6*i+2])
            ^ ((bits[6*i+3] ^ bits[6*i+4]) ^ bits[6*i+5]);
      end
      if (Groups == 1) assign sum = groups[0];
      else assign sum = ^groups;
    end
  endgenerate
  assign Y = sum ^ Odd;
endmodule

// Records what ctl_cpu does, for rtl/ctl/iss.py to do the same and compare; bound to every ctl_cpu of
// a simulation. It writes the file that `+ctl_record=FILE` names, and without it does nothing.
//
// A record has 3 words of 32 bits, kind in [31:30] of the first:
//   0  instruction  carry [29], writes memory [28], an output [27], an event [26], where to [25:17],
//                   address [10:0]; operand [31:16], A [15:0]; address in the frame's memory or the
//                   template [25:16] with REPORT's part [25], cycles since the last one [15:0]
//   1  beat sent    last [29], tkeep [7:0]; its bytes [63:32], [31:0]
//   2  reset
// A and the carry are those behind the instruction.
`default_nettype none

module ctl_recorder (
  input logic        clk_i,
  input logic        rst_i,
  input logic        first_i,     // the operand's fetch
  input logic        act_i,       // the cycle of A
  input logic        advance_i,   // an instruction begins: it is that at pc_i
  input logic [10:0] pc_i,
  input logic [15:0] operand_i,
  input logic [15:0] a_i,
  input logic        carry_i,
  input logic        write_i,
  input logic [8:0]  waddr_i,
  input logic        out_we_i,
  input logic [5:0]  out_i,
  input logic [15:0] out_data_i,
  input logic        event_i,
  input logic [4:0]  event_which_i,
  input logic        part_i,
  input logic [8:0]  addr_i,
  input logic        valid_i,
  input logic        ready_i,
  input logic [63:0] data_i,
  input logic [7:0]  keep_i,
  input logic        last_i
);

  int    file;
  string name;
  initial begin
    file = 0;
    if ($value$plusargs("ctl_record=%s", name)) begin
      file = $fopen(name, "wb");
      if (file == 0) $fatal(1, "ctl_recorder: the file cannot be written");
    end
  end

  // `live`: an instruction of the program is there, not the one that the reset puts there. Before the
  // first reset nothing is recorded.
  /* verilator lint_off PROCASSINIT */
  logic        seen_q = 1'b0, reset_q = 1'b0, live_q = 1'b0, act_q = 1'b0;
  /* verilator lint_on PROCASSINIT */
  logic        write_q, event_q;
  logic [10:0] pc_q, pc_done_q;
  logic [15:0] operand_q, cycles_q, gap_q;
  logic [9:0]  addr_q;
  logic [8:0]  to_q, to;
  assign to = out_we_i ? 9'(out_i) : to_q;

  always_ff @(posedge clk_i) begin
    if (!(&cycles_q)) cycles_q <= cycles_q + 16'd1;
    if (first_i) addr_q <= {part_i, addr_i};
    if (advance_i) pc_q <= pc_i;
    if (advance_i) live_q <= seen_q;
    act_q <= act_i && live_q && !rst_i;
    if (act_i) begin
      write_q   <= write_i;
      event_q   <= event_i;
      to_q      <= write_i ? waddr_i : 9'(event_which_i);
      operand_q <= operand_i;
      pc_done_q <= pc_q;
      gap_q     <= cycles_q;
      cycles_q  <= 16'd1;
    end
    if (file != 0 && act_q) begin
      $fwrite(file, "%u%u%u", {2'd0, carry_i, write_q, out_we_i, event_q, to, 6'd0, pc_done_q},
              {out_we_i ? out_data_i : operand_q, a_i}, {6'd0, addr_q, gap_q});
    end
    if (file != 0 && seen_q && !rst_i && valid_i && ready_i) begin
      $fwrite(file, "%u%u%u", {2'd1, last_i, 21'd0, keep_i}, data_i[63:32], data_i[31:0]);
    end
    reset_q <= rst_i;
    if (rst_i) begin
      if (file != 0 && !reset_q) $fwrite(file, "%u%u%u", {2'd2, 30'd0}, 32'd0, 32'd0);
      seen_q <= 1'b1;
      live_q <= 1'b0;
    end
  end

endmodule

bind ctl_cpu ctl_recorder u_recorder (
  .clk_i(clk_i), .rst_i(rst_i), .first_i(first), .act_i(act_now), .advance_i(advance),
  .pc_i(pc_q), .operand_i(operand), .a_i(a_q), .carry_i(carry_q), .write_i(write),
  .waddr_i(waddr), .out_we_i(out_we_o), .out_i(out_o), .out_data_i(out_data_o),
  .event_i(event_o), .event_which_i(event_which_o), .part_i(part_o), .addr_i(addr_o),
  .valid_i(m_axis_tvalid), .ready_i(m_axis_tready), .data_i(m_axis_tdata),
  .keep_i(m_axis_tkeep), .last_i(m_axis_tlast)
);

`default_nettype wire

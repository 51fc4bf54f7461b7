// The commands of one queue pair that a level runs: begins it while `run_i` is high, ends it when that
// falls, and aborts it while `abort_i` is high. Stands beside roce_requester, to which the numbers of
// the connection go; they stand from `run_i` on to 16 cycles behind it.
//
// Latency: 2 cycles and that of a command, 10 cycles where nothing else is under way. A short `run_i`
// low ends the connection too. `is_running_o` falls with `run_i` or a failure. One clock.
`default_nettype none

module roce_run (
    input  wire logic               clk_i,
    input  wire logic               rst_i,
    input  wire logic               run_i,
    input  wire logic               abort_i,
    output      logic               refused_o,
    output      logic               is_running_o,
    // roce_requester
    output      logic               cmd_valid_o,
    input  wire logic               cmd_ready_i,
    output      roce_pkg::command_e cmd_o,
    input  wire logic               refused_i,
    input  wire logic               failed_i
);

  logic has_begun_q, ends_q, aborts_q, is_running_q, is_refused_q;
  assign is_running_o = is_running_q && run_i && !ends_q;
  assign refused_o    = is_refused_q && run_i && !ends_q;

  always_ff @(posedge clk_i) begin
    if (failed_i) is_running_q <= 1'b0;
    if (!run_i && (has_begun_q || cmd_valid_o)) ends_q <= 1'b1;
    if (abort_i && is_running_o) aborts_q <= 1'b1;
    if (!cmd_valid_o) begin
      cmd_valid_o <= has_begun_q ? ends_q || aborts_q : run_i;
      cmd_o       <= !has_begun_q ? roce_pkg::CommandBegin
          : ends_q ? roce_pkg::CommandEnd : roce_pkg::CommandAbort;
    end else if (cmd_ready_i) begin
      cmd_valid_o <= 1'b0;
      aborts_q    <= 1'b0;
      if (cmd_o == roce_pkg::CommandBegin) begin
        has_begun_q  <= 1'b1;
        is_running_q <= !refused_i;
        is_refused_q <= refused_i;
      end
      if (cmd_o == roce_pkg::CommandEnd) begin
        {has_begun_q, is_running_q, is_refused_q} <= '0;
        ends_q <= 1'b0;
      end
    end
    if (rst_i) begin
      {has_begun_q, ends_q, aborts_q, is_running_q, is_refused_q} <= '0;
      cmd_valid_o <= 1'b0;
    end
  end

endmodule

`default_nettype wire

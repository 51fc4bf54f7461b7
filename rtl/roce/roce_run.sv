// The commands of queue pairs that levels run: begins each while its `run_i` is high, ends it when that
// falls, and aborts it while its `abort_i` is high. Stands beside roce_requester, to which the numbers of
// the connection go; they stand from `run_i` on until `begun_o`. One QP has its command at a time;
// `busy_o` is high from a change of a `run_i` to the end of the command for it.
//
// Latency: 2 cycles and that of a command, 10 cycles where nothing else is under way; a cycle more for
// each QP more. A short `run_i` low ends the connection too. `is_running_o` falls with `run_i` or a
// failure. One clock.
`default_nettype none

module roce_run #(
    parameter  int unsigned Qps     = 1,
    localparam int unsigned QpWidth = Qps > 1 ? $clog2(Qps) : 1
) (
    input  wire logic               clk_i,
    input  wire logic               rst_i,
    input  wire logic [    Qps-1:0] run_i,
    input  wire logic [    Qps-1:0] abort_i,
    output      logic [    Qps-1:0] refused_o,
    output      logic [    Qps-1:0] begun_o,      // and not refused, whatever became of it
    output      logic [    Qps-1:0] is_running_o,
    output      logic               busy_o,
    // roce_requester
    output      logic               cmd_valid_o,
    input  wire logic               cmd_ready_i,
    output      roce_pkg::command_e cmd_o,
    output      logic [QpWidth-1:0] cmd_qp_o,
    input  wire logic               refused_i,
    input  wire logic               failed_i,
    input  wire logic [QpWidth-1:0] failed_qp_i
);

  typedef logic [Qps-1:0] qps_t;

  qps_t has_begun_q, ends_q, aborts_q, is_running_q, is_refused_q, is_at, wants, failed;
  logic is_taken;
  assign is_running_o = is_running_q & run_i & ~ends_q;
  assign refused_o    = is_refused_q & run_i & ~ends_q;
  assign begun_o      = has_begun_q & ~is_refused_q & run_i & ~ends_q;
  assign wants        = (has_begun_q & (ends_q | aborts_q)) | (~has_begun_q & run_i);
  assign busy_o       = cmd_valid_o || |(has_begun_q ^ run_i) || |ends_q;
  assign is_at        = Qps > 1 ? qps_t'(1) << cmd_qp_o : qps_t'(1);
  assign failed       = failed_i ? (Qps > 1 ? qps_t'(1) << failed_qp_i : qps_t'(1)) : '0;
  assign is_taken     = cmd_valid_o && cmd_ready_i;

  always_ff @(posedge clk_i) begin
    is_running_q <= is_running_q & ~failed;
    ends_q       <= ends_q | (~run_i & (has_begun_q | (cmd_valid_o ? is_at : '0)));
    aborts_q     <= aborts_q | (abort_i & is_running_o);
    if (!cmd_valid_o) begin
      cmd_valid_o <= |(wants & is_at);
      cmd_o       <= ~|(has_begun_q & is_at) ? roce_pkg::CommandBegin
          : |(ends_q & is_at) ? roce_pkg::CommandEnd : roce_pkg::CommandAbort;
    end
    if (is_taken) begin
      cmd_valid_o <= 1'b0;
      aborts_q    <= (aborts_q | (abort_i & is_running_o)) & ~is_at;
      if (cmd_o == roce_pkg::CommandBegin) begin
        has_begun_q  <= has_begun_q | is_at;
        is_running_q <= (is_running_q & ~failed & ~is_at) | (refused_i ? '0 : is_at);
        is_refused_q <= (is_refused_q & ~is_at) | (refused_i ? is_at : '0);
      end
      if (cmd_o == roce_pkg::CommandEnd) begin
        has_begun_q  <= has_begun_q & ~is_at;
        is_running_q <= is_running_q & ~failed & ~is_at;
        is_refused_q <= is_refused_q & ~is_at;
        ends_q       <= (ends_q | (~run_i & has_begun_q)) & ~is_at;
      end
    end
    if (rst_i) begin
      {has_begun_q, ends_q, aborts_q, is_running_q, is_refused_q} <= '0;
      cmd_valid_o <= 1'b0;
    end
  end

  if (Qps > 1) begin : g_turns
    logic [QpWidth-1:0] qp_q;
    assign cmd_qp_o = qp_q;
    always_ff @(posedge clk_i) begin
      if (is_taken || (!cmd_valid_o && ~|(wants & is_at)))
        qp_q <= qp_q == QpWidth'(Qps - 1) ? '0 : qp_q + 1'b1;
      if (rst_i) qp_q <= '0;
    end
  end else begin : g_one
    assign cmd_qp_o = '0;
  end

endmodule

`default_nettype wire

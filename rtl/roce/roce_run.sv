// The commands of queue pairs that levels run: begins each while its `run_i` is high, ends it when that
// falls, and aborts it while its `abort_i` is high. Stands beside roce_requester, to which the numbers of
// the connection go; they stand from `run_i` on until `begun_o`. One QP has its command at a time;
// `busy_o` is high from a change of a `run_i` to the end of the command for it.
//
// Latency: 2 cycles and that of a command, 10 cycles where nothing else is under way; a cycle more for
// each QP more. A short `run_i` low ends the connection too: from the fall of `begun_o` to the next begin
// of the same QP are more than Qps + 4 cycles. `begun_o`, `refused_o` and `is_running_o` fall in the cycle
// behind `run_i`, `is_running_o` with a failure too. One clock.
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
    input  wire logic [QpWidth-1:0] visit_qp_i    // of failed_i, and of a command with cmd_ready_i
);

  typedef logic [Qps-1:0] qps_t;

  // The requester has the QP; it has begun, and runs, or was refused. What it has, but has not so while
  // `run_i` was high, is to be ended.
  qps_t held_q, begun_q, running_q, refused_q, aborts_q, changed, hit;
  logic [QpWidth-1:0] visit_qp;
  logic is_taken, begins, is_begun, is_cut_q, run_here, held_here, aborts_here, changed_here;
  assign is_running_o = running_q;
  assign refused_o    = refused_q;
  assign begun_o      = begun_q;
  assign changed      = (held_q & ~begun_q & ~refused_q) | (~held_q & run_i);
  assign busy_o       = cmd_valid_o || |changed;
  assign is_taken     = cmd_valid_o && cmd_ready_i;
  assign hit          = !(is_taken || failed_i) ? '0 : Qps > 1 ? qps_t'(1) << visit_qp : '1;
  assign visit_qp     = Qps > 1 ? visit_qp_i : '0;
  assign run_here     = run_i[cmd_qp_o];
  assign held_here    = held_q[cmd_qp_o];
  assign aborts_here  = aborts_q[cmd_qp_o];
  assign changed_here = changed[cmd_qp_o];
  // `run_i` was high from the command on.
  assign begins       = is_taken && cmd_o == roce_pkg::CommandBegin;
  assign is_begun     = begins && !is_cut_q;

  // A command and a failure in one cycle are of one QP.
  always_ff @(posedge clk_i) begin
    is_cut_q <= (cmd_valid_o && is_cut_q) || !run_here;
    aborts_q <= (aborts_q | abort_i) & running_q & ~hit;
    for (int q = 0; q < int'(Qps); q++) begin
      if (hit[q]) begin
        held_q[q]    <= !is_taken || cmd_o != roce_pkg::CommandEnd;
        begun_q[q]   <= begins ? is_begun && !refused_i : begun_q[visit_qp];
        running_q[q] <= is_begun && !refused_i && !failed_i;
        refused_q[q] <= is_begun && refused_i;
      end
      if (!run_i[q] || rst_i) begin
        begun_q[q]   <= 1'b0;
        running_q[q] <= 1'b0;
        refused_q[q] <= 1'b0;
      end
    end
    if (!cmd_valid_o) begin
      cmd_valid_o <= changed_here || aborts_here;
      cmd_o       <= !changed_here ? roce_pkg::CommandAbort
          : held_here ? roce_pkg::CommandEnd : roce_pkg::CommandBegin;
    end
    if (is_taken) cmd_valid_o <= 1'b0;
    if (rst_i) begin
      {held_q, aborts_q} <= '0;
      cmd_valid_o <= 1'b0;
    end
  end

  if (Qps > 1) begin : g_turns
    logic [QpWidth-1:0] qp_q;
    assign cmd_qp_o = qp_q;
    always_ff @(posedge clk_i) begin
      if (is_taken || (!cmd_valid_o && !changed_here && !aborts_here))
        qp_q <= qp_q == QpWidth'(Qps - 1) ? '0 : qp_q + 1'b1;
      if (rst_i) qp_q <= '0;
    end
  end else begin : g_one
    assign cmd_qp_o = '0;
  end

endmodule

`default_nettype wire

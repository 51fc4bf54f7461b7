// nic_lock: the lock ends after LockCycles in which its owner does not wait.

logic [31:0] f_counted_q;  // of these cycles those before
always_ff @(posedge clk_i) begin
  f_counted_q <= rst_i || !lock_o ? '0 : f_counted_q + 32'(!waits_i);
  if (!rst_i && lock_o) p_ends : assert (f_counted_q + 32'(left_q) + 1 == LockCycles);
end

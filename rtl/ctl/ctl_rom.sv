// The program of the control processor, by its name. Written by rtl/ctl/assemble.py from the names
// in rtl/ctl/programs; not edited by hand.
`default_nettype none

module ctl_rom #(
  parameter Program = "sender"
) (
  input  logic        clk_i,
  input  logic [10:0] addr_i,
  output logic [35:0] data_o   // one cycle later
);

  if (Program == "sender") begin : g_sender
    ctl_rom_sender u_rom (.clk_i(clk_i), .addr_i(addr_i), .data_o(data_o));
  end else begin : g_none
    $error("ctl_rom: no file of rtl/ctl/programs has this name");
  end

endmodule

`default_nettype wire

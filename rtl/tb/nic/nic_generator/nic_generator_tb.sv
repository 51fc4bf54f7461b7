// nic_generator and nic_checker with one counter; what lies between them is the test's.
`default_nettype none

module nic_generator_tb (
    input  wire logic                       clk_i,
    input  wire logic                       rst_i,
    input  wire nic_pkg::generator_cfg_t    cfg_i,
    output      logic                [31:0] counter_o,

    output      logic [63:0] m_axis_tdata,
    output      logic [ 7:0] m_axis_tkeep,
    output      logic        m_axis_tvalid,
    input  wire logic        m_axis_tready,
    output      logic        m_axis_tlast,
    input  wire logic [63:0] s_axis_tdata,
    input  wire logic [ 7:0] s_axis_tkeep,
    input  wire logic        s_axis_tvalid,
    input  wire logic        s_axis_tlast,
    input  wire logic        s_axis_tuser,

    output nic_pkg::generator_status_t generator_o,
    output nic_pkg::checker_status_t   checker_o
);

  logic [31:0] counter_q;
  always_ff @(posedge clk_i) counter_q <= rst_i ? 32'hFFFF_FF00 : counter_q + 1'b1;
  assign counter_o = counter_q;

  nic_generator i_generator (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .cfg_i        (cfg_i),
      .counter_i    (counter_q),
      .m_axis_tdata (m_axis_tdata),
      .m_axis_tkeep (m_axis_tkeep),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tlast (m_axis_tlast),
      .status_o     (generator_o)
  );

  nic_checker i_checker (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .cfg_i        (cfg_i),
      .counter_i    (counter_q),
      .s_axis_tdata (s_axis_tdata),
      .s_axis_tkeep (s_axis_tkeep),
      .s_axis_tvalid(s_axis_tvalid),
      .s_axis_tlast (s_axis_tlast),
      .s_axis_tuser (s_axis_tuser),
      .status_o     (checker_o)
  );

endmodule

`default_nettype wire

// Changes the width of an AXI-Stream of frames: several beats to one, or one to several.
//
// One width is a multiple of the other. A frame's last beat may be filled in part; tuser goes with
// tlast. Wider: latency 1 cycle from the beat that fills the output's or ends the frame. Narrower: 1
// cycle to the first part; parts that hold no byte are not sent.
//
// Throughput: a beat a cycle on the narrow side. Back-pressure: s_axis_tready follows m_axis_tready
// in the same cycle. Does not join frames. One clock.
`default_nettype none

module axis_width #(
    parameter int unsigned SlaveW  = 64,
    parameter int unsigned MasterW = 512
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input  wire logic [  SlaveW-1:0] s_axis_tdata,
    input  wire logic [SlaveW/8-1:0] s_axis_tkeep,
    input  wire logic                s_axis_tvalid,
    output      logic                s_axis_tready,
    input  wire logic                s_axis_tlast,
    input  wire logic                s_axis_tuser,

    output      logic [  MasterW-1:0] m_axis_tdata,
    output      logic [MasterW/8-1:0] m_axis_tkeep,
    output      logic                 m_axis_tvalid,
    input  wire logic                 m_axis_tready,
    output      logic                 m_axis_tlast,
    output      logic                 m_axis_tuser
);

  localparam bit IsWider = MasterW > SlaveW;
  localparam int unsigned Narrow = IsWider ? SlaveW : MasterW;
  localparam int unsigned Wide = IsWider ? MasterW : SlaveW;
  localparam int unsigned Parts = Wide / Narrow;
  localparam int unsigned Nb = Narrow / 8;
  localparam int unsigned Pw = $clog2(Parts);

  if (Narrow == 0 || Narrow % 8 != 0) begin : g_bad_bytes
    $error("widths must be whole bytes");
  end
  if (Parts < 2 || Parts * Narrow != Wide) begin : g_bad_widths
    $error("one width must be a multiple of the other");
  end

  logic [Wide-1:0] data_q;
  logic [Wide/8-1:0] keep_q;
  logic valid_q, last_q, user_q, take;
  logic [Pw-1:0] part_q;

  assign take = s_axis_tvalid && s_axis_tready;

  if (IsWider) begin : g_wider
    logic fills;
    assign fills         = s_axis_tlast || part_q == Pw'(Parts - 1);
    assign s_axis_tready = !valid_q || m_axis_tready;

    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        valid_q <= 1'b0;
        part_q  <= '0;
      end else if (take) begin
        valid_q <= fills;
        part_q  <= fills ? '0 : part_q + 1'b1;
      end else if (m_axis_tready) begin
        valid_q <= 1'b0;
      end
    end

    always_ff @(posedge clk_i) begin
      if (take) begin
        for (int i = 0; i < int'(Parts); i++) begin
          if (part_q == Pw'(i)) begin
            data_q[Narrow*i+:Narrow] <= s_axis_tdata;
            keep_q[int'(Nb)*i+:Nb] <= s_axis_tkeep;
          end else if (part_q == '0) begin
            keep_q[int'(Nb)*i+:Nb] <= '0;
          end
        end
        last_q <= s_axis_tlast;
        user_q <= s_axis_tuser;
      end
    end

    assign m_axis_tdata  = data_q;
    assign m_axis_tkeep  = keep_q;
    assign m_axis_tlast  = last_q;
    assign m_axis_tvalid = valid_q;
    assign m_axis_tuser  = user_q;
  end else begin : g_narrower
    // The beat is shifted down; what is left of it ends with the part that has no full one behind.
    logic is_final;
    assign is_final      = part_q == Pw'(Parts - 1) || !keep_q[Nb];
    assign s_axis_tready = !valid_q || (m_axis_tready && is_final);

    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        valid_q <= 1'b0;
        part_q  <= '0;
      end else if (take) begin
        valid_q <= 1'b1;
        part_q  <= '0;
      end else if (m_axis_tready) begin
        if (is_final) valid_q <= 1'b0;
        part_q <= part_q + 1'b1;
      end
    end

    always_ff @(posedge clk_i) begin
      if (take) begin
        data_q <= s_axis_tdata;
        keep_q <= s_axis_tkeep;
        last_q <= s_axis_tlast;
        user_q <= s_axis_tuser;
      end else if (m_axis_tready) begin
        data_q <= data_q >> Narrow;
        keep_q <= keep_q >> Nb;
      end
    end

    assign m_axis_tdata  = data_q[Narrow-1:0];
    assign m_axis_tkeep  = keep_q[Nb-1:0];
    assign m_axis_tlast  = last_q && is_final;
    assign m_axis_tvalid = valid_q;
    assign m_axis_tuser  = user_q && is_final;
  end

endmodule

`default_nettype wire

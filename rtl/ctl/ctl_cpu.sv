// The control processor: runs a program of rtl/ctl/programs, 16 bits at a time. That of the sender
// answers openings, closings, ARP and echo requests and sends MARKs. docs/control-processor.md
// is for writers of programs.
//
// An instruction takes two cycles. In the first its operand is fetched (a constant, a port, or one
// of three memories, at a constant address or at P) and the next instruction's address is chosen;
// in the second the operand goes through the ALU to the accumulator A, and at once to where the
// instruction puts it: work memory at a constant address or at Q, Internet checksum, CRC-32C,
// multiplier, or an output. A third cycle goes by between the two where memory or a port of others is read, and
// behind them where an output is written, and where a jump is taken: the instruction behind it is
// fetched already. So there are registers behind the ROM, the operand and the ALU.
//
//   [15:0]   constant; where to jump; port [6:0]; or memory: address [8:0], P instead [11], P + 1
//            [12], REPORT's part [10], again until the count is over [15]
//   [24:16]  address in work memory, output, or event
//   [28:26]  where the operand comes from, src_e
//   [31:29]  what becomes of A, alu_e
//   [35:32]  what is done with the operand, or a jump, act_e
//
// Memories are of 64-bit words, a word of a frame each; addresses name their 16-bit parts, the one
// that is first on the wire first. Work memory holds variables and the frame that is built. Sending
// it is one instruction: words from P on leave at a word a cycle, without a gap; where P comes to
// the word at Q it stays until one more word is to be sent, so that padding need not be stored.
//
// Throughput: an instruction in 2 or 3 cycles; what is sent by back-pressure. Latency: none besides.
// Does not: interrupt. One clock.
`default_nettype none

module ctl_cpu #(
  parameter Program = "sender"   // of rtl/ctl/programs
) (
  input  logic        clk_i,
  input  logic        rst_i,

  output logic [6:0]  port_o,
  output logic        port_read_o,
  input  logic [15:0] port_i,        // one cycle later

  output logic        part_o,        // of the frame's memory: REPORT's
  output logic [8:0]  addr_o,        // of 16 bits
  input  logic [63:0] frame_i,       // one cycle later
  input  logic [63:0] template_i,    // one cycle later

  output logic        out_we_o,
  output logic [5:0]  out_o,
  output logic [15:0] out_data_o,
  output logic        event_o,
  output logic [4:0]  event_which_o,

  output logic        m_axis_tvalid,
  input  logic        m_axis_tready,
  output logic [63:0] m_axis_tdata,
  output logic [7:0]  m_axis_tkeep,
  output logic        m_axis_tlast
);

  localparam int unsigned PcBits = 11;
  localparam int unsigned AddrBits = 9;
  localparam int unsigned CountBits = 13;

  typedef enum logic [2:0] {
    SrcConstant = 3'd0,
    SrcPort     = 3'd1,
    SrcWork     = 3'd4,
    SrcFrame    = 3'd5,
    SrcTemplate = 3'd6
  } src_e;

  typedef enum logic [2:0] {
    AluKeep = 3'd0,
    AluLoad = 3'd1,
    AluAnd  = 3'd2,
    AluXor  = 3'd3,
    AluAdd  = 3'd4,
    AluAdc  = 3'd5,
    AluSub  = 3'd6,
    AluSbc  = 3'd7
  } alu_e;

  typedef enum logic [3:0] {
    ActNone   = 4'd0,
    ActStore  = 4'd1,
    ActPut    = 4'd2,   // to Q
    ActPutSum = 4'd3,   // and to the checksum
    ActPutCrc = 4'd4,   // and to the CRC
    ActSum    = 4'd5,   // to checksum and CRC alone
    ActOut    = 4'd6,
    ActEvent  = 4'd7,
    ActJump   = 4'd8,
    ActJumpZ  = 4'd9,
    ActJumpNz = 4'd10,
    ActJumpC  = 4'd11,
    ActJumpNc = 4'd12,
    ActJumpN  = 4'd13,
    ActCall   = 4'd14,
    ActReturn = 4'd15
  } act_e;

  // Ports and outputs of its own; those of a core begin at 8.
  typedef enum logic [6:0] {
    PortA     = 7'd0,   // the accumulator
    PortHalf  = 7'd1,   // and half of it, what is shifted out to the carry
    PortSum   = 7'd2,
    PortCrcHi = 7'd3,   // complemented, as a packet carries it
    PortCrcLo = 7'd4,
    PortProductLo = 7'd5,
    PortProductHi = 7'd6
  } port_e;

  typedef enum logic [5:0] {
    OutP     = 6'd0,   // where it reads
    OutQ     = 6'd1,   // where it writes
    OutCount = 6'd2,   // of repeats, less than 0
    OutSum   = 6'd3,
    OutCrc   = 6'd4,   // begins afresh
    OutSend  = 6'd5,   // from P on -count words of 64 bits; bytes of the last modulo 8
    OutFactor = 6'd6   // the product is that of A and this
  } out_e;

  // ------------------------------------------------------------------ instructions
  typedef enum logic [2:0] {
    Fetch,     // behind a jump: the ROM shows where it leads
    Operand,
    Read,      // memory or a port
    Execute,
    Output
  } phase_e;

  phase_e            phase_q;
  logic              sending_q, first, act_now, advance, again_q, jumps_q;
  logic [PcBits-1:0] pc_q, link_q;  // pc_q: of the next instruction
  logic [35:0]       fetched, instr_q;
  logic [15:0]       k;
  logic [AddrBits-1:0] target;
  src_e              src;
  alu_e              alu;
  act_e              act;
  logic              is_port, is_memory, is_at_p, is_step, is_again;

  assign first   = phase_q == Operand && !sending_q;
  assign act_now = phase_q == Execute;

  ctl_rom #(
    .Program(Program)
  ) u_rom (.clk_i(clk_i), .addr_i(pc_q), .data_o(fetched));

  assign {act, alu, src, target, k} = {act_e'(instr_q[35:32]), alu_e'(instr_q[31:29]),
                                       src_e'(instr_q[28:26]), instr_q[24:16], instr_q[15:0]};
  assign is_port   = src == SrcPort && k[6:3] != '0;  // of others
  assign is_memory = src[2];
  assign is_at_p   = is_memory && k[11];
  assign is_step   = is_memory && k[12];
  assign is_again  = is_memory && k[15];

  // A, and what is known of it.
  logic [15:0] a_q;
  logic        carry_q, is_zero, is_taken;
  assign is_zero = a_q == '0;

  always_comb begin
    unique case (act)
      ActJump, ActCall, ActReturn: is_taken = 1'b1;
      ActJumpZ:                    is_taken = is_zero;
      ActJumpNz:                   is_taken = !is_zero;
      ActJumpC:                    is_taken = carry_q;
      ActJumpNc:                   is_taken = !carry_q;
      ActJumpN:                    is_taken = a_q[15];
      default:                     is_taken = 1'b0;
    endcase
  end

  logic [CountBits-1:0] count_q;
  logic                 is_last;
  assign is_last = &count_q;

  assign advance = phase_q == Fetch || phase_q == Output
                   || (act_now && act != ActOut && !again_q && !jumps_q);

  always_ff @(posedge clk_i) begin
    if (first) begin
      again_q <= is_again && !is_last;
      jumps_q <= is_taken;
    end
    if (first && act == ActCall) link_q <= pc_q;
    if (first && is_taken) pc_q <= act == ActReturn ? link_q : k[PcBits-1:0];
    else if (advance) pc_q <= pc_q + PcBits'(1);
    if (advance) instr_q <= fetched;

    unique case (phase_q)
      Operand: if (!sending_q) phase_q <= is_memory || is_port ? Read : Execute;
      Read:    phase_q <= Execute;
      Execute: phase_q <= act == ActOut ? Output : jumps_q ? Fetch : Operand;
      default: phase_q <= Operand;
    endcase
    // As behind a jump to 0, by an instruction that does nothing.
    if (rst_i) begin
      phase_q <= Execute;
      instr_q <= '0;
      again_q <= 1'b0;
      jumps_q <= 1'b1;
      pc_q    <= '0;
    end
  end

  // ------------------------------------------------------------------ the operand
  logic [AddrBits-1:0] p_q, q_q, addr;
  logic [1:0]          part_q;
  logic [15:0]         direct_q, read_q;  // one is zero
  logic [15:0]         operand, own, sum_q, read_data;
  logic [31:0]         crc_q, product_q;
  logic [63:0]         work;

  assign operand     = direct_q | read_q;
  assign port_o      = k[6:0];
  assign port_read_o = first && src == SrcPort;
  assign part_o      = k[10];
  assign addr        = is_at_p || sending_q ? p_q : k[AddrBits-1:0];
  assign addr_o      = addr;

  always_comb begin
    unique case (k[2:0])
      PortA[2:0]:     own = a_q;
      PortHalf[2:0]:  own = {1'b0, a_q[15:1]};
      PortSum[2:0]:   own = sum_q;
      PortCrcHi[2:0]: own = ~crc_q[31:16];
      PortProductLo[2:0]: own = product_q[15:0];
      PortProductHi[2:0]: own = product_q[31:16];
      default:                own = ~crc_q[15:0];
    endcase
  end

  function automatic logic [15:0] part(input logic [63:0] word, input logic [1:0] which);
    unique case (which)
      2'd0: part = word[63:48];
      2'd1: part = word[47:32];
      2'd2: part = word[31:16];
      2'd3: part = word[15:0];
    endcase
  endfunction

  always_comb begin
    unique case (src)
      SrcWork:     read_data = part(work, part_q);
      SrcFrame:    read_data = part(frame_i, part_q);
      SrcTemplate: read_data = part(template_i, part_q);
      default:     read_data = port_i;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (first) direct_q <= src[0] ? own : k;
    if (phase_q == Read) direct_q <= '0;
    if (phase_q == Read) read_q <= read_data;
    if (first) read_q <= '0;
    part_q <= addr[1:0];
  end

  // ------------------------------------------------------------------ ALU
  logic [15:0] total;
  logic        is_less, carry_in, carry_out, below;
  assign is_less  = alu[1];
  assign carry_in = alu[0] ? carry_q : is_less;
  // The carry comes from below.
  assign {carry_out, total, below} = {1'b0, a_q, 1'b1}
                                     + {1'b0, operand ^ {16{is_less}}, carry_in};

  always_ff @(posedge clk_i) begin
    if (act_now && alu != AluKeep) begin
      unique case (alu)
        AluLoad: a_q <= operand;
        AluAnd:  a_q <= a_q & operand;
        AluXor:  a_q <= a_q ^ operand;
        default: a_q <= total;
      endcase
    end
    // A half leaves its lowest bit in the carry.
    if (act_now && alu[2]) carry_q <= carry_out;
    else if (act_now && src == SrcPort && k[6:0] == PortHalf) carry_q <= a_q[0];
  end

  // ------------------------------------------------------------------ product
  // Both factors stand from the cycle before: the registers of a multiplier's inputs cost no cycle.
  logic [15:0] factor_a_q, factor_b_q;
  always_ff @(posedge clk_i) begin
    factor_a_q <= a_q;
    factor_b_q <= operand;
    if (out_we_o && out_o == OutFactor) product_q <= factor_a_q * factor_b_q;
  end

  // ------------------------------------------------------------------ checksum and CRC
  logic        is_sum, is_crc, is_put, is_load_sum, sum_carry_q, low_q, high_q;
  logic [15:0] crc_word_q;
  logic [7:0]  crc_byte;

  assign is_put = act_now && (act == ActPut || act == ActPutSum || act == ActPutCrc);
  assign is_sum = act_now && (act == ActPutSum || act == ActPutCrc || act == ActSum);
  assign is_crc = act_now && (act == ActPutCrc || act == ActSum);
  assign is_load_sum = out_we_o && out_o == OutSum;

  // A carry is added with the next word. What is loaded adds to nothing.
  logic        sum_below;
  logic [16:0] sum;
  assign {sum, sum_below} = {1'b0, operand, 1'b1}
                            + {1'b0, is_load_sum ? 16'd0 : sum_q, sum_carry_q && !is_load_sum};

  // CRC-32C over a byte. `CrcMasks` has for each bit of the register what it is the parity of.
  function automatic logic [31:0] crc_step(input logic [7:0] x);
    logic [31:0] c;
    c = {24'd0, x};
    for (int i = 0; i < 8; i++) c = {1'b0, c[31:1]} ^ (c[0] ? crc_pkg::Crc32cPoly : 32'd0);
    crc_step = c;
  endfunction

  function automatic logic [32*8-1:0] crc_masks();
    logic [31:0] column;
    for (int n = 0; n < 8; n++) begin
      column = crc_step(8'd1 << n);
      for (int i = 0; i < 32; i++) crc_masks[8*i+n] = column[i];
    end
  endfunction

  localparam logic [32*8-1:0] CrcMasks = crc_masks();

  logic [7:0]  crc_in;
  logic [31:0] crc_d;
  assign crc_byte = high_q ? crc_word_q[15:8] : crc_word_q[7:0];
  assign crc_in   = crc_q[7:0] ^ crc_byte;
  always_comb begin
    for (int i = 0; i < 32; i++) crc_d[i] = ^(crc_in & CrcMasks[8*i+:8]);
    crc_d ^= {8'd0, crc_q[31:8]};
  end

  always_ff @(posedge clk_i) begin
    if (is_sum || is_load_sum) {sum_carry_q, sum_q} <= sum;
    high_q <= is_crc;
    low_q  <= high_q;
    if (is_crc) crc_word_q <= operand;
    if (high_q || low_q) crc_q <= crc_d;
    if (out_we_o && out_o == OutCrc) crc_q <= '1;
  end

  // ------------------------------------------------------------------ what is written
  assign out_we_o      = phase_q == Output;
  assign out_o         = target[5:0];
  assign out_data_o    = operand;
  assign event_o       = act_now && act == ActEvent;
  assign event_which_o = target[4:0];

  logic [AddrBits-1:0] waddr;
  logic                write;
  assign write = is_put || (act_now && act == ActStore);
  assign waddr = is_put ? q_q : target;

  // ------------------------------------------------------------------ sending
  logic       read, valid_q, last_q, is_held, is_over;
  logic [2:0] bytes_q;

  assign is_over = valid_q && last_q && m_axis_tready;
  assign read    = sending_q && !last_q && (!valid_q || m_axis_tready);
  // At the padding until one word is left behind it.
  assign is_held = p_q[AddrBits-1:2] == q_q[AddrBits-1:2] && count_q != -CountBits'(2);

  always_ff @(posedge clk_i) begin
    if (out_we_o && out_o == OutSend) begin
      sending_q <= 1'b1;
      bytes_q   <= operand[2:0];
    end
    if (is_over) sending_q <= 1'b0;
    if (read) begin
      valid_q <= 1'b1;
      last_q  <= is_last;
    end else if (m_axis_tready) begin
      valid_q <= 1'b0;
      last_q  <= 1'b0;
    end
    if (rst_i) begin
      sending_q <= 1'b0;
      valid_q   <= 1'b0;
      last_q    <= 1'b0;
    end
  end

  // P, Q and the count.
  logic p_step, p_word;
  assign p_word = read && !is_held;
  assign p_step = act_now && is_step;

  always_ff @(posedge clk_i) begin
    if (p_step) p_q[1:0] <= p_q[1:0] + 2'd1;
    if (p_word || (p_step && (&p_q[1:0]))) p_q[AddrBits-1:2] <= p_q[AddrBits-1:2] + 7'd1;
    if (out_we_o && out_o == OutP) p_q <= operand[AddrBits-1:0];
    if (is_put) q_q <= q_q + AddrBits'(1);
    if (out_we_o && out_o == OutQ) q_q <= operand[AddrBits-1:0];
    if (read || (act_now && is_again)) count_q <= count_q + CountBits'(1);
    if (out_we_o && out_o == OutCount) count_q <= operand[CountBits-1:0];
  end

  // ------------------------------------------------------------------ work memory
  // What is read in a cycle of a write is not used: the operand is read in the phase before.
  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *) logic [63:0] work_mem[128];
  always_ff @(posedge clk_i) begin
    for (int i = 0; i < 4; i++) begin
      if (write && waddr[1:0] == 2'(i)) work_mem[waddr[AddrBits-1:2]][48-16*i+:16] <= operand;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!sending_q || read) work <= work_mem[addr[AddrBits-1:2]];
  end

  assign m_axis_tvalid = valid_q;
  assign m_axis_tdata  = bits_pkg::be64(work);
  assign m_axis_tkeep  = last_q ? 8'hFF >> (3'd0 - bytes_q) : 8'hFF;
  assign m_axis_tlast  = last_q;

`ifdef FORMAL
  `include "ctl_cpu_props.svh"
`endif

endmodule

`default_nettype wire

// The L2 cache behind its ports: one channel of writes, one of reads, and ACB to DRAM.
//
// 2^SetBits sets of Ways lines of 2^DwordBits dwords. Each line has a tag, a bit for each dword
// that is valid, and a dirty bit. A write of a whole dword needs no fetch: it takes a line, and
// makes its dword valid. A read, or a write of some bytes, of a dword that is not valid fetches the
// line, this dword first; what is valid already stays. Sets replace their lines in turn. The dwords
// of a dirty line are copied to a FIFO of two lines, one a cycle, while the line's new dwords are
// written behind the copy. The valid ones go to DRAM from there, ahead of the next fetch.
//
// One fetch at a time. Under it both channels serve hits; a channel waits with its own miss.
//
// A read and a write of one dword in the same cycle: the read gives what was there before. An err
// of DRAM is the answer to the access that began the fetch; a dword whose fetch failed is not
// valid. ev_write_failed_o: DRAM refused a dword, which is lost. An address outside answers err.
//
// flush_i, until flush_done_o: each line is written back and no longer valid, and DRAM has
// answered. Channels go on meanwhile; what they take behind flush_i may be in the cache again.
//
// Throughput: a write and a read a cycle, also while writes of whole dwords take lines, dirty ones
// as long as the FIFO has room for a line. Latency: the answer stands 2 cycles after a hit was
// taken; a fetch adds 4 and that of DRAM, 1 cycle for each dword in the FIFO, and up to 9 for a copy
// under way. Back-pressure: channels wait for ready; answers are not held back. After a reset the
// first 2^SetBits cycles clear the lines. One clock.
`default_nettype none

module nic_l2_cache #(
    parameter int unsigned AddressBits = 30,  // of bytes
    parameter int unsigned Page        = 0,  // the first byte is at Page << AddressBits
    parameter int unsigned SetBits     = 7,
    parameter int unsigned Ways        = 4,  // a power of two
    parameter int unsigned DwordBits   = 3,  // log2 of the dwords of a line
    parameter int unsigned IdBits      = 2,
    parameter int unsigned InFlight    = 16  // requests to DRAM, a power of two
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input  wire logic                                write_valid_i,
    output      logic                                write_ready_o,
    input  wire logic                  [IdBits-1:0] write_id_i,
    input  wire nic_pkg::acb_request_t              write_i,
    output      logic                                written_valid_o,
    output      logic                  [IdBits-1:0] written_id_o,
    output      logic                                written_err_o,

    input  wire logic                                read_valid_i,
    output      logic                                read_ready_o,
    input  wire logic                   [IdBits-1:0] read_id_i,
    input  wire nic_pkg::acb_request_t               read_i,
    output      logic                                answer_valid_o,
    output      logic                   [IdBits-1:0] answer_id_o,
    output      nic_pkg::acb_response_t              answer_o,

    input  wire logic flush_i,
    output      logic flush_done_o,  // for one cycle

    output      logic                   request_valid_o,
    input  wire logic                   request_ready_i,
    output      nic_pkg::acb_request_t  request_o,
    input  wire logic                   response_valid_i,
    output      logic                   response_ready_o,
    input  wire nic_pkg::acb_response_t response_i,

    output logic ev_fetch_o,        // of a line, or of what is not valid in it
    output logic ev_take_o,         // of a line, by a write without a fetch
    output logic ev_write_back_o,   // of a line
    output logic ev_write_failed_o
);

  localparam int unsigned Sets = 1 << SetBits;
  localparam int unsigned Dwords = 1 << DwordBits;
  localparam int unsigned LineBits = AddressBits - 3 - DwordBits;  // of a line's address
  localparam int unsigned TagBits = LineBits - SetBits;
  localparam int unsigned WayBits = $clog2(Ways);
  localparam int unsigned StepBits = SetBits + WayBits;
  localparam int unsigned Fw = $clog2(InFlight);
  localparam int unsigned BankBits = SetBits + WayBits + DwordBits - 1;

  if (Ways < 2 || Ways != 1 << WayBits || InFlight < 2 || InFlight != 1 << Fw) begin : g_bad_ways
    $error("Ways and InFlight must be powers of two, from 2 on");
  end
  if (AddressBits > 35 || 3 + DwordBits + SetBits + WayBits >= AddressBits || DwordBits < 1 ||
      SetBits < 1 || 64'(Page) << AddressBits >= 64'd1 << 36) begin : g_bad_address
    $error("the memory must be larger than the cache, and within 36 bits of address");
  end

  typedef struct packed {
    logic                 flush;    // not an access: line.tag names the way to write back
    logic                 barrier;  // with flush: none, but all of it is done
    logic                 bad;      // an address outside
    logic [IdBits-1:0]    id;
    logic [TagBits-1:0]   tag;
    logic [SetBits-1:0]   set;
    logic [DwordBits-1:0] dword;
    logic [7:0]           mask;
    logic [63:0]          data;
  } access_t;

  typedef struct packed {
    logic               present;
    logic [TagBits-1:0] tag;
    logic [Dwords-1:0]  valid;
  } line_t;

  localparam int unsigned LineWidth = 1 + TagBits + Dwords;

  // An access_t, field by field.
  function automatic access_t access(input nic_pkg::acb_request_t request,
                                     input logic [IdBits-1:0] id);
    access = {
      2'b00, request.address[35:AddressBits] != (36 - AddressBits)'(Page), id,
      request.address[AddressBits-1:3], request.mask, request.data
    };
  endfunction

  typedef enum logic [2:0] {
    Clear,  // the lines, behind a reset
    Idle,
    Look,   // which line the miss takes; the channels wait
    Wait,   // until a copy can begin
    Fetch,
    Drain   // until DRAM has answered all writes
  } state_e;

  state_e state_q, state_d;
  logic is_open;  // hits are served
  assign is_open = state_q != Clear && state_q != Look;

  // ------------------------------------------------------------------ channels

  // An access stands in *1_q until it is served; one that came meanwhile waits in *0_q.
  access_t write_in, write0_q, write1_q, read0_q, read1_q;
  logic write0_valid_q, write1_valid_q, read0_valid_q, read1_valid_q;
  logic write_comes, write_serve, write_moves, read_comes, read_serve;
  logic steps, flushing_q, step_open_q;
  logic [StepBits:0] step_q;  // of the flush: the way, then the set; at last its end

  assign steps = flushing_q && !step_open_q && !write0_valid_q;
  assign write_ready_o = !write0_valid_q && !steps;
  assign read_ready_o = !read0_valid_q;
  assign write_comes = steps || (write_valid_i && write_ready_o);
  assign read_comes = read_valid_i && read_ready_o;

  always_comb begin
    write_in = access(write_i, write_id_i);
    if (steps) begin
      write_in.flush = 1'b1;
      write_in.barrier = step_q[StepBits];
      write_in.bad = 1'b0;
      write_in.tag = TagBits'(step_q[StepBits-1:SetBits]);
      write_in.set = step_q[SetBits-1:0];
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      write0_valid_q <= 1'b0;
      write1_valid_q <= 1'b0;
      read0_valid_q  <= 1'b0;
      read1_valid_q  <= 1'b0;
    end else begin
      write0_valid_q <= (write0_valid_q || write_comes) && write1_valid_q && !write_moves;
      write1_valid_q <= (write1_valid_q && !write_moves) || write0_valid_q || write_comes;
      read0_valid_q  <= (read0_valid_q || read_comes) && read1_valid_q && !read_serve;
      read1_valid_q  <= (read1_valid_q && !read_serve) || read0_valid_q || read_comes;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!write0_valid_q) write0_q <= write_in;
    if (!write1_valid_q || write_moves) write1_q <= write0_valid_q ? write0_q : write_in;
    if (!read0_valid_q) read0_q <= access(read_i, read_id_i);
    if (!read1_valid_q || read_serve)
      read1_q <= read0_valid_q ? read0_q : access(read_i, read_id_i);
  end

  // ------------------------------------------------------------------ lines

  // Of each way what the sets of both channels have, and what is written.
  logic [Ways-1:0][LineWidth-1:0] write_lines, read_lines;
  logic [Ways-1:0] write_dirty, read_dirty, write_match, read_match, write_hit, read_hit;
  logic [Ways-1:0] line_writes, write_turn, miss_turn;
  logic [SetBits-1:0] line_set, clear_q;
  logic [TagBits-1:0] line_tag;
  logic write_may_hit, write_may_take, miss_takes, is_flush;

  // The line that a miss fetches, and of it the dwords that are valid.
  logic [Ways-1:0] miss_way_q;
  logic [SetBits-1:0] miss_set_q;
  logic [TagBits-1:0] miss_tag_q;
  logic [Dwords-1:0] miss_valid_q, fill_valid;
  logic [DwordBits-1:0] miss_dword_q, fill_dword;
  logic fills, stores;  // a dword of it comes

  for (genvar w = 0; w < int'(Ways); w++) begin : g_way
    line_t write_line, read_line, line_in;

    (* ram_style = "distributed" *)
    logic [LineWidth-1:0] lines[Sets];
    (* ram_style = "distributed" *)
    logic dirty[Sets];
    always_ff @(posedge clk_i) if (line_writes[w]) lines[line_set] <= line_in;
    // A fetch leaves the dirty bit.
    always_ff @(posedge clk_i) if (line_writes[w] && !fills) dirty[line_set] <= is_open;

    assign write_line     = lines[write1_q.set];
    assign read_line      = lines[read1_q.set];
    assign write_lines[w] = write_line;
    assign read_lines[w]  = read_line;
    assign write_dirty[w] = dirty[write1_q.set];
    assign read_dirty[w]  = dirty[read1_q.set];
    assign write_match[w] = write_line.present && write_line.tag == write1_q.tag;
    assign read_match[w]  = read_line.present && read_line.tag == read1_q.tag;
    assign write_hit[w]   = write_match[w] && (write_line.valid[write1_q.dword] ||
        (&write1_q.mask && !(state_q == Fetch && miss_set_q == write1_q.set && miss_way_q[w])));
    assign read_hit[w]    = read_match[w] && read_line.valid[read1_q.dword];

    assign line_in.present = state_q != Clear && !(state_q == Look && is_flush);
    assign line_in.tag     = line_tag;
    assign line_in.valid   = !is_open ? '0 : fills ? fill_valid :
        Dwords'(1) << write1_q.dword | (write_match[w] ? write_line.valid : '0);
    assign line_writes[w]  = state_q == Clear || (miss_takes && miss_turn[w]) ||
        (stores && miss_way_q[w]) || (write_may_hit && write_hit[w]) ||
        (write_may_take && write_match == '0 && write_turn[w]);
  end

  (* ram_style = "distributed" *)
  logic [WayBits-1:0] turns[Sets];  // the way that the set's next line takes
  logic [WayBits-1:0] write_way, miss_way, line_way;

  // ------------------------------------------------------------------ serve

  logic write_fails_q, read_fails_q;  // the fetch of what stands there failed
  logic write_goes, write_takes, write_misses, read_misses, write_stores;

  // A line that leaves for DRAM is copied, a dword a cycle.
  logic evict_ready, evict_q, copy_last;
  logic [SetBits-1:0] evict_set_q;
  logic [WayBits-1:0] evict_way_q;
  logic [TagBits-1:0] evict_tag_q;
  logic [Dwords-1:0] evict_valid_q, copy_left_q;  // copy_left_q: not to be written yet
  logic [DwordBits-1:0] copy_dword_q, copy_end_q;

  // A write that was served, on its way to its bank.
  logic store_q;
  logic [SetBits-1:0] store_set_q;
  logic [WayBits-1:0] store_way_q;
  logic [DwordBits-1:0] store_dword_q;
  logic [7:0] store_mask_q;
  logic [63:0] store_data_q;

  // A write hits, or is of a whole dword and takes a line in the same cycle: not under a miss, and
  // over a dirty line not before its copy can begin. No dword is written before it is copied.
  assign write_turn = Ways'(1) << write_way;
  assign write_goes = write1_valid_q && is_open && !fills && !write1_q.flush &&
      !(evict_set_q == write1_q.set && copy_left_q[write1_q.dword]);
  assign write_may_hit = write_goes && !write1_q.bad && !write_fails_q;
  assign write_may_take = write_may_hit && state_q == Idle && &write1_q.mask &&
      (evict_ready || (write_dirty & write_turn) == '0);
  assign write_takes = write_may_take && write_match == '0;
  assign write_stores = write_takes || (write_may_hit && |write_hit);
  assign write_serve = write_stores || (write_goes && (write1_q.bad || write_fails_q));
  assign write_misses = write1_valid_q && (write1_q.flush ||
      (write_hit == '0 && !(&write1_q.mask) && !write1_q.bad && !write_fails_q));

  // A read waits for a copy from its bank, and for a write of its dword.
  assign read_serve = read1_valid_q && is_open &&
      !(evict_q && copy_dword_q[0] == read1_q.dword[0]) &&
      !(store_q && {store_set_q, store_dword_q} == {read1_q.set, read1_q.dword}) &&
      (|read_hit || read1_q.bad || read_fails_q);
  assign read_misses = read1_valid_q && read_hit == '0 && !read1_q.bad && !read_fails_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      written_valid_o <= 1'b0;
      answer_valid_o  <= 1'b0;
    end else begin
      written_valid_o <= write_serve;
      answer_valid_o  <= read_serve;
    end
  end

  logic answer_bank_q;
  always_ff @(posedge clk_i) begin
    written_id_o  <= write1_q.id;
    written_err_o <= write1_q.bad || write_fails_q;
    answer_id_o   <= read1_q.id;
    answer_o.err  <= read1_q.bad || read_fails_q;
    answer_bank_q <= read1_q.dword[0];
  end

  // ------------------------------------------------------------------ a miss

  // The channel that it is of, and what it takes.
  logic is_read_q, looks, hits, finds, miss_dirty;
  access_t missed;
  line_t found;

  always_comb begin
    missed    = is_read_q ? read1_q : write1_q;
    is_flush  = !is_read_q && write1_q.flush;
    hits      = is_read_q ? |read_hit : |write_hit;
    finds     = is_read_q ? |read_match : |write_match;
    write_way = turns[write1_q.set];
    miss_way  = is_read_q ? turns[read1_q.set] : write_way;
    if (is_flush) miss_way = write1_q.tag[WayBits-1:0];
    miss_turn  = Ways'(1) << miss_way;
    miss_dirty = ((is_read_q ? read_dirty : write_dirty) & miss_turn) != '0;
    found      = '0;
    for (int w = 0; w < int'(Ways); w++) begin
      if (is_read_q ? read_match[w] : write_match[w])
        found |= is_read_q ? read_lines[w] : write_lines[w];
    end
  end

  assign looks      = state_q == Look && evict_ready;
  assign miss_takes = looks && (is_flush ? !write1_q.barrier : !finds);

  logic [DwordBits:0] sent_q, came_q;  // dwords of the fetch
  logic [DwordBits+1:0] held_q;  // dwords that are copied, and not sent
  logic [Fw:0] writes_q, in_flight_q;  // without an answer
  logic is_drained;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Clear: if (&clear_q) state_d = Idle;
      Idle: if (write_misses || read_misses) state_d = Look;
      Look: begin
        if (!evict_ready) state_d = Wait;
        else if (is_flush) state_d = write1_q.barrier ? Drain : Idle;
        else state_d = hits ? Idle : Fetch;
      end
      Wait: if (evict_ready) state_d = (is_read_q ? read_misses : write_misses) ? Look : Idle;
      Fetch: if (fills && &came_q[DwordBits-1:0]) state_d = Idle;
      Drain: if (flush_done_o) state_d = Idle;
      default: state_d = Idle;
    endcase
  end

  assign write_moves  = write_serve || (looks && is_flush);
  assign flush_done_o = state_q == Drain && is_drained && writes_q == '0;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q       <= Clear;
      clear_q       <= '0;
      is_read_q     <= 1'b0;
      write_fails_q <= 1'b0;
      read_fails_q  <= 1'b0;
      flushing_q    <= 1'b0;
      step_open_q   <= 1'b0;
    end else begin
      state_q <= state_d;
      clear_q <= clear_q + 1'b1;
      if (state_q == Idle) is_read_q <= read_misses && (!write_misses || !is_read_q);
      if (write_serve) write_fails_q <= 1'b0;
      if (read_serve) read_fails_q <= 1'b0;
      if (fills && response_i.err && came_q == '0) begin
        write_fails_q <= !is_read_q;
        read_fails_q  <= is_read_q;
      end
      flushing_q <= flushing_q ? !flush_done_o : flush_i;
      if (steps) step_open_q <= 1'b1;
      if (flush_done_o || (looks && is_flush && !write1_q.barrier)) step_open_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    step_q <= !flushing_q ? '0 : step_q + (StepBits + 1)'(steps);
    if (state_q == Look) begin
      miss_way_q   <= finds ? (is_read_q ? read_match : write_match) : miss_turn;
      miss_set_q   <= missed.set;
      miss_tag_q   <= missed.tag;
      miss_dword_q <= missed.dword;
      miss_valid_q <= found.valid;
      sent_q       <= '0;
      came_q       <= '0;
    end
    if (stores) miss_valid_q[fill_dword] <= 1'b1;
    if (fills) came_q <= came_q + 1'b1;
    if (request_valid_o && request_ready_i && request_o.read) sent_q <= sent_q + 1'b1;
  end

  // What is written of lines: cleared, taken by a miss, fetched, or by a write.
  always_comb begin
    line_set   = write1_q.set;
    line_tag   = write1_q.tag;
    line_way   = write_way;
    fill_valid = miss_valid_q | Dwords'(1) << fill_dword;
    if (state_q == Clear) begin
      line_set = clear_q;
    end else if (state_q == Look) begin
      line_set = missed.set;
      line_tag = missed.tag;
      line_way = miss_way;
    end else if (fills) begin
      line_set = miss_set_q;
      line_tag = miss_tag_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Clear) turns[line_set] <= '0;
    else if ((miss_takes && !is_flush) || write_takes) turns[line_set] <= line_way + 1'b1;
  end

  // ------------------------------------------------------------------ eviction

  logic evict_starts;
  line_t evicted;

  assign evict_starts = (miss_takes && miss_dirty) ||
      (write_takes && (write_dirty & write_turn) != '0);
  assign copy_last = copy_dword_q == copy_end_q;
  assign evict_ready = (!evict_q || copy_last) && held_q[DwordBits+1:DwordBits] == '0;
  assign is_drained = !evict_q && held_q == '0;

  always_comb begin
    evicted = '0;
    for (int w = 0; w < int'(Ways); w++) begin
      if (line_way == WayBits'(w))
        evicted |= state_q == Look && is_read_q ? read_lines[w] : write_lines[w];
    end
  end

  // It begins at the dword that is written: that one and the next are copied before their write is
  // in its bank.
  always_ff @(posedge clk_i) begin
    if (rst_i) evict_q <= 1'b0;
    else evict_q <= evict_starts || (evict_q && !copy_last);
  end

  always_ff @(posedge clk_i) begin
    if (evict_starts) begin
      evict_set_q   <= line_set;
      evict_way_q   <= line_way;
      evict_tag_q   <= evicted.tag;
      evict_valid_q <= evicted.valid;
      copy_dword_q  <= write1_q.dword;
      copy_end_q    <= write1_q.dword - 1'b1;
    end else begin
      copy_dword_q <= copy_dword_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) copy_left_q <= '0;
    else if (evict_starts)
      copy_left_q <= ~(Dwords'(1) << write1_q.dword |
                       Dwords'(1) << DwordBits'(write1_q.dword + 1'b1));
    else copy_left_q <= copy_left_q & ~(Dwords'(1) << DwordBits'(copy_dword_q + 2'd2));
  end

  // ------------------------------------------------------------------ data

  function automatic logic [WayBits-1:0] index(input logic [Ways-1:0] way);
    index = '0;
    for (int w = 0; w < int'(Ways); w++) if (way[w]) index |= WayBits'(w);
  endfunction

  function automatic logic [BankBits-1:0] bank_address(input logic [SetBits-1:0] set,
                                                       input logic [WayBits-1:0] way,
                                                       input logic [DwordBits-1:0] dword);
    bank_address = BankBits'({set, way, dword} >> 1);
  endfunction

  logic [1:0][63:0] bank_q;
  logic [BankBits-1:0] data_address, hit_address, copy_address;
  logic [63:0] data_in;
  logic [7:0] data_mask;
  logic data_bank;

  // Under a fetch a write waits for its bank.
  always_ff @(posedge clk_i) begin
    if (rst_i) store_q <= 1'b0;
    else if (!fills) store_q <= write_stores;
  end

  always_ff @(posedge clk_i) begin
    if (!fills) begin
      store_set_q   <= write1_q.set;
      store_way_q   <= write_match == '0 ? write_way : index(write_match);
      store_dword_q <= write1_q.dword;
      store_mask_q  <= write1_q.mask;
      store_data_q  <= write1_q.data;
    end
  end

  assign data_address = fills ? bank_address(miss_set_q, index(miss_way_q), fill_dword) :
      bank_address(store_set_q, store_way_q, store_dword_q);
  assign data_bank    = fills ? fill_dword[0] : store_dword_q[0];
  assign data_in      = fills ? response_i.data : store_data_q;
  assign data_mask    = fills ? {8{stores}} : store_mask_q & {8{store_q}};
  assign hit_address  = bank_address(read1_q.set, index(read_match), read1_q.dword);
  assign copy_address = bank_address(evict_set_q, evict_way_q, copy_dword_q);

  // By the lowest bit of the dword, so that a copy leaves one for reads. A copy in the cycle of a
  // write gives the old value.
  for (genvar b = 0; b < 2; b++) begin : g_bank
    logic is_copied;
    assign is_copied = evict_q && copy_dword_q[0] == 1'(b);

    (* ram_style = "block" *)
    logic [63:0] mem[1<<BankBits];
    always_ff @(posedge clk_i) begin
      for (int i = 0; i < 8; i++) begin
        if (data_mask[i] && data_bank == 1'(b)) mem[data_address][8*i+:8] <= data_in[8*i+:8];
      end
    end
    always_ff @(posedge clk_i) bank_q[b] <= mem[is_copied ? copy_address : hit_address];
  end

  assign answer_o.data = bank_q[answer_bank_q];

  // ------------------------------------------------------------------ DRAM

  // Dwords that were copied, with their address. There is room for two lines.
  localparam int unsigned CopyBits = AddressBits - 3;

  logic copies, copied_q, writes, request_taken, is_answer;
  logic [CopyBits-1:0] copied_address_q, write_address;
  logic [DwordBits+1:0] wr_q, rd_q;
  logic [63:0] write_data;

  (* ram_style = "distributed" *)
  logic [CopyBits+63:0] copied[2*Dwords];
  always_ff @(posedge clk_i) begin
    copied_address_q <= {evict_tag_q, evict_set_q, copy_dword_q};
    if (copied_q)
      copied[wr_q[DwordBits:0]] <= {copied_address_q, bank_q[copied_address_q[0]]};
  end

  assign copies = evict_q && evict_valid_q[copy_dword_q];
  assign {write_address, write_data} = copied[rd_q[DwordBits:0]];
  assign writes = wr_q != rd_q;

  assign request_valid_o = !in_flight_q[Fw] &&
      (writes || (state_q == Fetch && !sent_q[DwordBits] && is_drained));
  assign request_taken = request_valid_o && request_ready_i;
  assign request_o.lock = 1'b0;
  assign request_o.read = !writes;
  assign request_o.mask = '1;
  assign request_o.address[35:AddressBits] = (36 - AddressBits)'(Page);
  assign request_o.address[AddressBits-1:3] = writes ? write_address :
      {miss_tag_q, miss_set_q, miss_dword_q + sent_q[DwordBits-1:0]};
  assign request_o.address[2:0] = '0;
  assign request_o.data = write_data;

  // Writes are answered first: no eviction begins under a fetch.
  assign response_ready_o = 1'b1;
  assign is_answer  = response_valid_i && writes_q != '0;
  assign fills      = response_valid_i && state_q == Fetch && writes_q == '0;
  assign fill_dword = miss_dword_q + came_q[DwordBits-1:0];
  assign stores     = fills && !response_i.err && !miss_valid_q[fill_dword];

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      copied_q    <= 1'b0;
      held_q      <= '0;
      wr_q        <= '0;
      rd_q        <= '0;
      writes_q    <= '0;
      in_flight_q <= '0;
    end else begin
      copied_q    <= copies;
      held_q      <= held_q + (DwordBits + 2)'(copies) -
          (DwordBits + 2)'(request_taken && writes);
      wr_q        <= wr_q + (DwordBits + 2)'(copied_q);
      rd_q        <= rd_q + (DwordBits + 2)'(request_taken && writes);
      writes_q    <= writes_q + (Fw + 1)'(request_taken && writes) - (Fw + 1)'(is_answer);
      in_flight_q <= in_flight_q + (Fw + 1)'(request_taken) - (Fw + 1)'(response_valid_i);
    end
  end

  assign ev_fetch_o        = looks && !hits && !is_flush;
  assign ev_take_o         = write_takes;
  assign ev_write_back_o   = evict_starts;
  assign ev_write_failed_o = is_answer && response_i.err;

`ifdef FORMAL
  `include "nic_l2_cache_props.svh"
`endif

endmodule

`default_nettype wire

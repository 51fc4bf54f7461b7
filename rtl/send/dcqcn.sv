// The reaction point of DCQCN: which rate each flow keeps (docs/congestion.md).
//
// Bit for bit the machine of samplewire_proto::rate::Dcqcn. The state of one flow is in registers;
// where there are more, it is loaded from a block RAM for a visit of another flow than the one before,
// and stored behind it. A visit takes the time as of its first cycle, handles what is due by then, and then one event: the
// start of a flow, a notification of congestion, a departure, or none. Visits without an event go
// round the flows without a pause.
//
// An event waits with valid until ready, and its flow holds still meanwhile. Round trip and bytes are
// those of the cycle of ready: the bytes of a departure may grow until then, up to 2^16 - 1, since
// the sum of several counts as one departure. Start is taken before notification, and notification
// before departure.
//
// Throughput: an expiry or event takes at most 16 cycles, the check of what is due included. Alpha
// and timer expire once in a round of at most 11 cycles: periods of Flows * 22 cycles and more are
// kept without delay. A visit handles at most 255 rounds; what is left follows in the next. Latency:
// an event waits for the visit before it and, of several flows, for one without an event.
//
// Time: an expiry may be late by up to 2^SpanWidth ns, and each flow is visited within 2^RttWidth ns.
// A clock that is set makes expiries come early or late by at most 2^SpanWidth ns, and a cut late by
// at most 2^RttWidth ns.
//
// The parameters hold what DcqcnParams::check wants, and stand from a flow's start on. If they change
// later, minimum <= R_C <= R_T <= line holds again from the flow's next start on. After rst_i all
// flows start. Does not space packets (pacer). One clock; one DSP.
`default_nettype none

module dcqcn #(
    parameter int unsigned Flows      = 1,
    parameter int unsigned RateWidth  = 24,
    parameter int unsigned AlphaBits  = 16,  // 1 is 2^AlphaBits
    parameter int unsigned SpanWidth  = 20,
    parameter int unsigned RttWidth   = 32,
    parameter int unsigned BytesWidth = 26,
    parameter int unsigned SizeWidth  = 16,
    localparam int unsigned FlowWidth = Flows > 1 ? $clog2(Flows) : 1
) (
    input wire logic        clk_i,
    input wire logic        rst_i,
    input wire logic [63:0] time_ns_i,

    // samplewire_proto::rate::DcqcnParams.
    input wire logic [           4:0] gain_shift_i,
    input wire logic [ SpanWidth-1:0] alpha_period_i,
    input wire logic [ SpanWidth-1:0] rise_period_i,
    input wire logic [ SpanWidth-1:0] cut_interval_i,
    input wire logic [BytesWidth-1:0] rise_bytes_i,
    input wire logic [           4:0] recovery_stages_i,
    input wire logic [ RateWidth-1:0] additive_i,
    input wire logic [ RateWidth-1:0] hyper_i,
    input wire logic [ RateWidth-1:0] minimum_i,
    input wire logic [ RateWidth-1:0] start_i,
    input wire logic [ RateWidth-1:0] first_cut_i,
    input wire logic [ RateWidth-1:0] line_i,

    input  wire logic                 start_valid_i,
    output      logic                 start_ready_o,
    input  wire logic [FlowWidth-1:0] start_flow_i,
    input  wire logic                 note_valid_i,
    output      logic                 note_ready_o,
    input  wire logic [FlowWidth-1:0] note_flow_i,
    input  wire logic [ RttWidth-1:0] note_rtt_ns_i,
    input  wire logic                 dep_valid_i,
    output      logic                 dep_ready_o,
    input  wire logic [FlowWidth-1:0] dep_flow_i,
    input  wire logic [SizeWidth-1:0] dep_bytes_i,

    // Of flow_o, the flow of the visit, from its load to the end, where is_visited_o is high. A pulse
    // of ev_o: the rate is a new one, or has been cut, or a notification has been ignored.
    output logic [FlowWidth-1:0] flow_o,
    output logic                 is_visited_o,
    output logic [RateWidth-1:0] rate_o,
    output logic [RateWidth-1:0] target_o,
    output logic [  AlphaBits:0] alpha_o,
    output logic                 ev_o,
    output logic [          2:0] cause_o
);

  if (Flows < 1 || AlphaBits > 16 || AlphaBits >= RateWidth) begin : g_sizes
    $error("dcqcn: Flows is 1 or more, AlphaBits at most 16 and below RateWidth");
  end
  if (SpanWidth >= RttWidth || SizeWidth >= BytesWidth + 1 || RateWidth >= BytesWidth) begin : g_w
    $error("dcqcn: spans fit into round trips, packets and rates into the byte counter");
  end

  // Why the rate is what it is: cause_o.
  localparam logic [2:0] CauseStart = 3'd0;
  localparam logic [2:0] CauseTimer = 3'd1;
  localparam logic [2:0] CauseBytes = 3'd2;
  localparam logic [2:0] CauseCut = 3'd3;
  localparam logic [2:0] CauseIgnored = 3'd4;

  localparam int unsigned TimeWidth = RttWidth + 1;
  localparam int unsigned DueWidth = SpanWidth + 1;
  localparam int unsigned SumWidth = BytesWidth + 1;
  localparam int unsigned AlphaWidth = AlphaBits + 1;
  localparam int unsigned ProductWidth = RateWidth + AlphaWidth;

  typedef logic [RateWidth-1:0] rate_t;
  typedef logic [TimeWidth-1:0] time_t;
  typedef logic [DueWidth-1:0] due_t;
  typedef logic [SumWidth-1:0] sum_t;
  typedef logic [AlphaWidth-1:0] alpha_t;

  typedef enum logic [4:0] {
    PhasePick,  // stores the flow before, chooses the next and its event
    PhaseLoad,
    PhaseCheckAlpha,
    PhaseCheckTimer,
    PhaseCheckCut,  // whether a cut is allowed again; what comes next
    PhaseExpireAlpha,
    PhaseCount,  // an expiry of the timer, or of the byte counter if it has one
    PhaseStage,
    PhaseAdd,
    PhaseCompareLine,
    PhaseLimitLine,
    PhaseTarget,
    PhaseRise,
    PhaseBytes,  // a departure
    PhaseCompareBytes,
    PhaseSpan,  // a cut
    PhaseReduce,
    PhaseCompareFirst,
    PhaseLimitFirst,
    PhaseStart,
    PhaseStarted,
    PhaseCompareMinimum,  // a cut or a start
    PhaseLimitMinimum,
    PhaseSettle
  } phase_e;

  typedef enum logic [1:0] {
    KindTime,
    KindStart,
    KindNotification,
    KindDeparture
  } kind_e;

  // One bit a phase would turn each choice of an operand into many gates.
  (* fsm_encoding = "none" *) phase_e phase_q;
  phase_e phase_d;
  kind_e kind_q, kind_d;
  logic [FlowWidth-1:0] flow_q, flow_d, round_q;
  logic starting_q;  // since the reset, flow by flow
  logic is_asked_q;  // its start, by start_valid_i
  logic was_event_q;
  logic [7:0] rounds_q;
  time_t now_q;

  // The flow's state.
  rate_t rate_q, target_q;
  alpha_t alpha_q;
  logic [4:0] timer_count_q, byte_count_q;
  sum_t sent_q;  // since the byte counter's last expiry
  due_t alpha_due_q, rise_due_q;
  time_t cut_from_q;
  logic blocked_q;  // no cut before cut_from_q
  logic has_cut_q;

  typedef struct packed {
    rate_t                 rate;
    rate_t                 target;
    alpha_t                alpha;
    logic [4:0]            timer_count;
    logic [4:0]            byte_count;
    logic [BytesWidth-1:0] sent;
    due_t                  alpha_due;
    due_t                  rise_due;
    time_t                 cut_from;
    logic                  blocked;
    logic                  has_cut;
  } flow_t;
  localparam int unsigned FlowBits =
      2 * RateWidth + AlphaWidth + 12 + BytesWidth + 2 * DueWidth + TimeWidth;
  flow_t saved;

  // Within a visit.
  logic [RateWidth:0] next_q;  // what is to be the rate or the target
  logic [ProductWidth-1:0] product_q;
  logic rest_q;  // the product has bits behind the point
  logic is_alpha_due_q, is_timer_due_q, is_negative_q, by_bytes_q;

  // ------------------------------------------------------------------ what comes next
  logic is_scan, is_rounds_end;
  assign is_scan       = Flows > 1 && was_event_q;
  assign is_rounds_end = &rounds_q;
  always_comb begin
    kind_d = KindTime;
    flow_d = round_q;
    if (starting_q) begin
      kind_d = KindStart;
    end else if (!is_scan) begin
      if (start_valid_i) begin
        kind_d = KindStart;
        flow_d = start_flow_i;
      end else if (note_valid_i) begin
        kind_d = KindNotification;
        flow_d = note_flow_i;
      end else if (dep_valid_i) begin
        kind_d = KindDeparture;
        flow_d = dep_flow_i;
      end
    end
  end

  always_comb begin
    phase_d = PhasePick;
    unique case (phase_q)
      PhasePick: begin
        if (kind_d == KindStart) phase_d = PhaseStart;
        else phase_d = Flows > 1 && flow_d != flow_q ? PhaseLoad : PhaseCheckAlpha;
      end
      PhaseLoad:       phase_d = PhaseCheckAlpha;
      PhaseCheckAlpha: phase_d = PhaseCheckTimer;
      PhaseCheckTimer: phase_d = PhaseCheckCut;
      PhaseCheckCut: begin
        unique case (kind_q)
          KindNotification: phase_d = PhaseSpan;
          KindDeparture:    phase_d = PhaseBytes;
          default:          phase_d = PhasePick;
        endcase
        if (is_timer_due_q && !is_rounds_end) phase_d = PhaseCount;
        if (is_alpha_due_q && !is_rounds_end) phase_d = PhaseExpireAlpha;
      end
      PhaseExpireAlpha: phase_d = is_timer_due_q ? PhaseCount : PhaseCheckAlpha;
      PhaseCount:       phase_d = by_bytes_q && is_negative_q ? PhasePick : PhaseStage;
      PhaseStage:       phase_d = PhaseAdd;
      PhaseAdd:         phase_d = PhaseCompareLine;
      PhaseCompareLine: phase_d = PhaseLimitLine;
      PhaseLimitLine:   phase_d = PhaseTarget;
      PhaseTarget:      phase_d = PhaseRise;
      PhaseRise:        phase_d = by_bytes_q ? PhasePick : PhaseCheckAlpha;
      PhaseBytes:       phase_d = PhaseCompareBytes;
      PhaseCompareBytes:   phase_d = PhaseCount;
      PhaseSpan:        phase_d = blocked_q ? PhasePick : PhaseReduce;
      PhaseReduce:      phase_d = PhaseCompareFirst;
      PhaseCompareFirst: phase_d = PhaseLimitFirst;
      PhaseLimitFirst:  phase_d = PhaseCompareMinimum;
      PhaseStart:       phase_d = PhaseStarted;
      PhaseStarted:     phase_d = PhaseCompareMinimum;
      PhaseCompareMinimum: phase_d = PhaseLimitMinimum;
      PhaseLimitMinimum: phase_d = PhaseSettle;
      default:          phase_d = PhasePick;  // PhaseSettle
    endcase
  end

  always_ff @(posedge clk_i) begin
    phase_q <= phase_d;
    if (phase_q == PhasePick) begin
      kind_q      <= kind_d;
      flow_q      <= flow_d;
      now_q       <= time_ns_i[TimeWidth-1:0];
      was_event_q <= kind_d != KindTime;
      rounds_q    <= '0;
      is_asked_q  <= !starting_q;
      if (kind_d == KindTime || starting_q) begin
        round_q <= round_q + 1'b1;
        if (round_q == FlowWidth'(Flows - 1)) begin
          round_q    <= '0;
          starting_q <= 1'b0;
        end
      end
    end
    if (phase_q == PhaseCheckCut) rounds_q <= rounds_q + 1'b1;
    if (rst_i) begin
      phase_q    <= PhasePick;
      round_q    <= '0;
      starting_q <= 1'b1;
    end
  end

  assign start_ready_o = phase_q == PhaseStart && is_asked_q;
  assign note_ready_o  = phase_q == PhaseSpan;
  assign dep_ready_o   = phase_q == PhaseBytes;

  // ------------------------------------------------------------------ times
  // Spans are at most half of what the bits of a time hold, so the sign says which of two is later.
  // What takes a sum of several adds them up from 0: one source fewer for each operand. The operands
  // of a phase are chosen in the one before it; of those that may follow one, not more than the ones
  // that are named add times.
  (* fsm_encoding = "none" *) logic [1:0] time_x_pick_q, time_y_pick_q;
  logic [1:0] time_x_pick, time_y_pick;
  logic is_check_q, is_check, is_span;
  time_t time_x, time_y, time_sum;
  logic unused_time;
  always_comb begin
    time_x_pick = 2'd0;
    time_y_pick = 2'd0;
    is_check    = 1'b0;
    unique case (phase_q)
      PhasePick, PhaseLoad, PhaseRise: is_check = 1'b1;  // PhaseCheckAlpha
      PhaseCheckAlpha: begin
        time_x_pick = 2'd1;
        is_check    = 1'b1;
      end
      PhaseCheckTimer: begin
        time_x_pick = 2'd2;
        is_check    = 1'b1;
      end
      PhaseCheckCut: begin
        {time_x_pick, time_y_pick} = {2'd3, 2'd3};  // PhaseSpan
        if (is_timer_due_q && !is_rounds_end) {time_x_pick, time_y_pick} = {2'd1, 2'd2};
        if (is_alpha_due_q && !is_rounds_end) {time_x_pick, time_y_pick} = {2'd0, 2'd1};
      end
      PhaseExpireAlpha: begin  // PhaseCount or PhaseCheckAlpha
        if (is_timer_due_q) {time_x_pick, time_y_pick} = {2'd1, 2'd2};
        is_check = !is_timer_due_q;
      end
      PhaseReduce:                   {time_x_pick, time_y_pick} = {2'd2, 2'd3};
      PhaseCompareFirst:             time_x_pick = 2'd2;
      PhaseLimitFirst, PhaseStarted: time_y_pick = 2'd1;
      PhaseCompareMinimum:           time_x_pick = 2'd1;
      PhaseLimitMinimum:             {time_x_pick, time_y_pick} = {2'd1, 2'd2};
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    time_x_pick_q <= time_x_pick;
    time_y_pick_q <= time_y_pick;
    is_check_q    <= is_check;
  end

  // In PhaseSpan, and where no product or time is taken.
  assign is_span = time_x_pick_q == 2'd3;
  always_comb begin
    unique case (time_x_pick_q)
      2'd0:    time_x = time_t'(alpha_due_q);
      2'd1:    time_x = time_t'(rise_due_q);
      2'd2:    time_x = cut_from_q;
      default: time_x = time_t'(note_rtt_ns_i);
    endcase
    unique case (time_y_pick_q)
      2'd0:    time_y = now_q;
      2'd1:    time_y = time_t'(alpha_period_i);
      2'd2:    time_y = time_t'(rise_period_i);
      default: time_y = time_t'(cut_interval_i);
    endcase
  end

  // A check subtracts one more: negative where the first is not later than the second.
  assign {time_sum, unused_time} = {time_x, 1'b1} +
      {time_y ^ {TimeWidth{is_check_q || is_span}}, is_span};

  always_ff @(posedge clk_i) begin
    unique case (phase_q)
      PhaseLoad: begin
        alpha_due_q <= saved.alpha_due;
        rise_due_q  <= saved.rise_due;
        cut_from_q  <= saved.cut_from;
        blocked_q   <= saved.blocked;
      end
      PhaseCheckAlpha: is_alpha_due_q <= time_sum[DueWidth-1];
      PhaseCheckTimer: is_timer_due_q <= time_sum[DueWidth-1];
      PhaseCheckCut:   if (time_sum[TimeWidth-1]) blocked_q <= 1'b0;
      PhaseExpireAlpha, PhaseStarted, PhaseCompareMinimum: alpha_due_q <= time_sum[DueWidth-1:0];
      PhaseCount:      if (!by_bytes_q) rise_due_q <= time_sum[DueWidth-1:0];
      PhaseLimitMinimum: rise_due_q <= time_sum[DueWidth-1:0];
      // The round trip less D, or 0 where that is negative; then D and now on top of it.
      PhaseSpan: begin
        if (!blocked_q) begin
          cut_from_q  <= time_sum;
          alpha_due_q <= '0;
          rise_due_q  <= '0;
        end
      end
      PhaseReduce: begin
        alpha_due_q <= time_sum[DueWidth-1:0];
        if (cut_from_q[TimeWidth-1]) cut_from_q <= '0;
      end
      PhaseCompareFirst, PhaseLimitFirst: cut_from_q <= time_sum;
      PhaseStart: begin
        alpha_due_q <= '0;
        rise_due_q  <= '0;
      end
      PhaseSettle: begin
        rise_due_q <= time_sum[DueWidth-1:0];
        blocked_q  <= kind_q != KindStart;
      end
      default: ;
    endcase
  end

  // ------------------------------------------------------------------ alpha
  // What is left of alpha, rounded down, when it falls, so that it reaches 0. When it rises, what is
  // left, rounded up, and g: g (1 - alpha) up is g less g alpha down.
  alpha_t gain, left;  // g, 1 - g
  always_comb begin
    for (int unsigned n = 0; n < AlphaWidth; n++) begin
      gain[n] = n < AlphaBits && gain_shift_i[3:0] == 4'(AlphaBits - n);
      left[n] = n < AlphaBits && (~|gain_shift_i[3:0] ||
                (AlphaBits < 16 + n && gain_shift_i[3:0] >= 4'(AlphaBits - n)));
    end
  end

  rate_t factor_q;  // chosen a phase ahead, as operands are: the rate does not change in between
  alpha_t alpha_sum;
  logic is_gain, unused_alpha;
  assign is_gain = phase_q == PhaseLimitFirst;
  assign {alpha_sum, unused_alpha} = {product_q[AlphaBits+:AlphaWidth], 1'b1} +
      {gain & {AlphaWidth{is_gain}}, rest_q && is_gain};

  always_ff @(posedge clk_i) begin
    factor_q  <= time_x_pick == 2'd3 ? rate_q : rate_t'(left);
    product_q <= factor_q * alpha_q;
    rest_q    <= |product_q[AlphaBits-1:0];
    unique case (phase_q)
      PhaseLoad:                         alpha_q <= saved.alpha;
      PhaseStart:                        alpha_q <= {1'b1, {AlphaBits{1'b0}}};
      PhaseExpireAlpha, PhaseLimitFirst: alpha_q <= alpha_sum;
      default: ;
    endcase
  end

  // ------------------------------------------------------------------ stages
  always_ff @(posedge clk_i) begin
    unique case (phase_q)
      PhaseLoad: begin
        timer_count_q <= saved.timer_count;
        byte_count_q  <= saved.byte_count;
        has_cut_q     <= saved.has_cut;
      end
      PhaseCheckCut:  by_bytes_q <= 1'b0;
      PhaseCompareBytes: by_bytes_q <= 1'b1;
      PhaseCount: begin
        if (!by_bytes_q && !(&timer_count_q)) timer_count_q <= timer_count_q + 1'b1;
        if (by_bytes_q && !is_negative_q && !(&byte_count_q)) byte_count_q <= byte_count_q + 1'b1;
      end
      PhaseSettle: begin
        timer_count_q <= '0;
        byte_count_q  <= '0;
        has_cut_q     <= kind_q != KindStart;
      end
      default: ;
    endcase
  end

  // ------------------------------------------------------------------ rates and bytes
  // Registers take the sum or one of its operands alone; twice the next rate is halved like any other
  // sum. The operands are chosen a phase ahead, as those of times: a parameter then stands
  // in parameter_q.
  (* fsm_encoding = "none" *) logic [1:0] x_pick_q, y_from_q;
  logic [1:0] x_pick, y_from;
  logic [2:0] y_pick;
  logic is_minus_q, is_plus_q, is_minus, is_plus;  // less y; one more
  logic is_hyper, is_additive, unused_sum;
  sum_t x, y, parameter_d, parameter_q, sum;
  assign is_hyper    = timer_count_q > recovery_stages_i && byte_count_q > recovery_stages_i;
  assign is_additive = timer_count_q >= recovery_stages_i || byte_count_q >= recovery_stages_i;

  // Where the second operand comes from, and which parameter it is.
  localparam logic [1:0] FromNext = 2'd0;
  localparam logic [1:0] FromPacket = 2'd1;
  localparam logic [1:0] FromParameter = 2'd2;
  localparam logic [1:0] FromProduct = 2'd3;
  localparam logic [2:0] ParameterLine = 3'd0;
  localparam logic [2:0] ParameterFirstCut = 3'd1;
  localparam logic [2:0] ParameterMinimum = 3'd2;
  localparam logic [2:0] ParameterStart = 3'd3;
  localparam logic [2:0] ParameterAdditive = 3'd4;
  localparam logic [2:0] ParameterHyper = 3'd5;
  localparam logic [2:0] ParameterBytes = 3'd6;
  localparam logic [2:0] ParameterZero = 3'd7;

  // A comparison is negative where x is not above y; half of the way is rounded up.
  always_comb begin
    x_pick   = 2'd0;
    y_pick   = ParameterLine;
    y_from   = FromParameter;
    is_minus = 1'b0;
    is_plus  = 1'b0;
    unique case (phase_q)
      PhasePick: y_pick = ParameterStart;  // PhaseStart
      // PhaseCount and PhaseCompareBytes; PhaseSpan or PhaseBytes
      PhaseCheckCut, PhaseExpireAlpha, PhaseBytes, PhaseCompareBytes: begin
        {x_pick, y_pick}    = {2'd3, ParameterBytes};
        {is_minus, is_plus} = 2'b11;
        if (phase_q == PhaseCheckCut && (!is_timer_due_q || is_rounds_end)) begin
          if (kind_q == KindNotification) x_pick = 2'd2;
          y_from              = FromPacket;
          {is_minus, is_plus} = 2'b00;
        end
      end
      PhaseStage: begin
        x_pick = 2'd1;
        y_pick = is_hyper ? ParameterHyper : is_additive ? ParameterAdditive : ParameterZero;
      end
      PhaseAdd: is_minus = 1'b1;
      PhaseTarget: begin
        {x_pick, y_from} = {2'd2, FromNext};
        is_plus          = 1'b1;
      end
      PhaseSpan: begin
        {x_pick, y_from}    = {2'd2, FromProduct};
        {is_minus, is_plus} = 2'b11;
      end
      PhaseReduce: begin
        y_pick   = ParameterFirstCut;
        is_minus = 1'b1;
      end
      PhaseCompareFirst: y_pick = ParameterFirstCut;
      PhaseLimitFirst, PhaseStarted: begin
        y_pick   = ParameterMinimum;
        is_minus = 1'b1;
      end
      PhaseCompareMinimum: y_pick = ParameterMinimum;
      PhaseLimitMinimum:   y_from = FromNext;
      default: ;
    endcase
    unique case (y_pick)
      ParameterLine:     parameter_d = sum_t'(line_i);
      ParameterFirstCut: parameter_d = sum_t'(first_cut_i);
      ParameterMinimum:  parameter_d = sum_t'(minimum_i);
      ParameterStart:    parameter_d = sum_t'(start_i);
      ParameterAdditive: parameter_d = sum_t'(additive_i);
      ParameterHyper:    parameter_d = sum_t'(hyper_i);
      ParameterBytes:    parameter_d = sum_t'(rise_bytes_i);
      default:           parameter_d = '0;  // ParameterZero
    endcase
  end

  always_ff @(posedge clk_i) begin
    x_pick_q    <= x_pick;
    y_from_q    <= y_from;
    parameter_q <= parameter_d;
    is_minus_q  <= is_minus;
    is_plus_q   <= is_plus;
  end

  always_comb begin
    unique case (x_pick_q)
      2'd0:    x = sum_t'(next_q);
      2'd1:    x = sum_t'(target_q);
      2'd2:    x = sum_t'(rate_q);
      default: x = sent_q;
    endcase
    unique case (y_from_q)
      FromNext:      y = sum_t'(next_q);
      FromPacket:    y = sum_t'(dep_bytes_i);
      FromParameter: y = parameter_q;
      default:       y = sum_t'(product_q[ProductWidth-1:AlphaWidth]);  // FromProduct
    endcase
  end
  assign {sum, unused_sum} = {x, 1'b1} + {y ^ {SumWidth{is_minus_q}}, is_plus_q};

  always_ff @(posedge clk_i) begin
    is_negative_q <= sum[SumWidth-1];
    unique case (phase_q)
      PhaseAdd, PhaseReduce: next_q <= sum[RateWidth:0];
      PhaseStart:            next_q <= y[RateWidth:0];
      PhaseLimitLine:        if (!is_negative_q) next_q <= y[RateWidth:0];
      PhaseLimitFirst:       if (!is_negative_q && !has_cut_q) next_q <= y[RateWidth:0];
      PhaseLimitMinimum:     if (is_negative_q) next_q <= y[RateWidth:0];
      default: ;
    endcase
    unique case (phase_q)
      PhaseLoad:              rate_q <= saved.rate;
      PhaseRise, PhaseSettle: rate_q <= sum[RateWidth:1];
      default: ;
    endcase
    unique case (phase_q)
      PhaseLoad:   target_q <= saved.target;
      PhaseTarget: target_q <= x[RateWidth-1:0];
      PhaseSpan:   if (!blocked_q) target_q <= x[RateWidth-1:0];
      PhaseSettle: if (kind_q == KindStart) target_q <= x[RateWidth-1:0];
      default: ;
    endcase
    unique case (phase_q)
      PhaseLoad:      sent_q <= sum_t'(saved.sent);
      PhaseBytes:     sent_q <= sum;
      PhaseCount:     if (by_bytes_q && !is_negative_q) sent_q <= sum;
      PhaseSettle:    sent_q <= '0;
      default: ;
    endcase
  end

  // ------------------------------------------------------------------ the flows that wait
  if (Flows > 1) begin : g_flows
    // A flow that is visited again is not loaded: no read is used in the cycle of a write to its flow.
    (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *)
    logic [FlowBits-1:0] flow_mem[Flows];
    logic [FlowBits-1:0] saved_q;
    assign saved = saved_q;
    always_ff @(posedge clk_i) begin
      saved_q <= flow_mem[flow_d];
      if (phase_q == PhasePick) begin
        flow_mem[flow_q] <= {rate_q, target_q, alpha_q, timer_count_q, byte_count_q,
                             sent_q[BytesWidth-1:0], alpha_due_q, rise_due_q, cut_from_q,
                             blocked_q, has_cut_q};
      end
    end
  end else begin : g_flow
    assign saved = '0;
  end

  // ------------------------------------------------------------------ output
  logic ev_q, is_rise_q, is_same_q;
  always_ff @(posedge clk_i) begin
    ev_q      <= 1'b0;
    is_rise_q <= phase_q == PhaseRise;
    is_same_q <= next_q[RateWidth-1:0] == rate_q;
    unique case (phase_q)
      PhaseRise: begin
        ev_q    <= 1'b1;
        cause_o <= by_bytes_q ? CauseBytes : CauseTimer;
      end
      PhaseSpan: begin
        ev_q    <= blocked_q;
        cause_o <= CauseIgnored;
      end
      PhaseSettle: begin
        ev_q    <= 1'b1;
        cause_o <= kind_q == KindStart ? CauseStart : CauseCut;
      end
      default: ;
    endcase
    if (rst_i) ev_q <= 1'b0;
  end

  assign ev_o     = ev_q && !(is_rise_q && is_same_q);
  assign flow_o   = flow_q;
  assign is_visited_o = phase_q == PhasePick;
  assign rate_o   = rate_q;
  assign target_o = target_q;
  assign alpha_o  = alpha_q;

`ifdef FORMAL
  `include "dcqcn_props.svh"
`endif

endmodule

`default_nettype wire

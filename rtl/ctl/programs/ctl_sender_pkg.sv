// Written by rtl/ctl/assemble.py from rtl/ctl/programs/sender.toml; not edited by hand.
`default_nettype none

package ctl_sender_pkg;

  typedef enum logic [6:0] {
    PortFlags    = 7'd8,  // bits: flags
    PortMac      = 7'd9,  // 16 bits of the keyed function's value
    PortTimeHi   = 7'd10,  // as it was when the low half was read
    PortTimeLo   = 7'd11,
    PortStampHi  = 7'd12,  // the departure that tx_sched gave
    PortStampLo  = 7'd13,
    PortTakenHi  = 7'd14,  // when the newest REPORT came
    PortTakenLo  = 7'd15,
    PortIndex3   = 7'd16,  // of the next sample to depart
    PortIndex2   = 7'd17,
    PortIndex1   = 7'd18,
    PortIndex0   = 7'd19,
    PortLost3    = 7'd20,  // samples
    PortLost2    = 7'd21,
    PortLost1    = 7'd22,
    PortLost0    = 7'd23,
    PortOldestHi = 7'd24,  // seq
    PortOldestLo = 7'd25,
    PortSentHi   = 7'd26,  // seq
    PortSentLo   = 7'd27,
    PortNextHi   = 7'd28,  // seq
    PortNextLo   = 7'd29,
    PortRepeats  = 7'd30,  // departures of DATA but the first of each seq, modulo 2^16
    PortConfig   = 7'd64  // from here on: registers
  } port_e;

  typedef enum logic [3:0] {
    FlagReason0  = 4'd0,  // of our CLOSE
    FlagReason1  = 4'd1,
    FlagAlive    = 4'd2,  // stays: a valid REPORT came
    FlagTaken    = 4'd3,  // stays: a newer one was taken
    FlagClose    = 4'd4,  // stays: the call to close
    FlagDue      = 4'd5,  // a MARK is owed
    FlagFrame    = 4'd6,  // a frame waits
    FlagGrant    = 4'd7,  // the place is ours
    FlagAllSent  = 4'd8,
    FlagReleased = 4'd9,
    FlagTxBusy   = 4'd10,  // DATA that was chosen has not left
    FlagMacBusy  = 4'd11,
    FlagEnable   = 4'd12
  } flag_e;

  typedef enum logic [5:0] {
    OutState     = 6'd8,  // state_e
    OutControl   = 6'd9,  // bits: controls
    OutClear     = 6'd10,  // bits: flags
    OutPulse     = 6'd11,  // bits: pulses
    OutTagHi     = 6'd12,
    OutTagLo     = 6'd13,
    OutPeerTagHi = 6'd14,
    OutPeerTagLo = 6'd15,
    OutPeerMac2  = 6'd16,
    OutPeerMac1  = 6'd17,
    OutPeerMac0  = 6'd18,
    OutPeerIpHi  = 6'd19,
    OutPeerIpLo  = 6'd20,
    OutPeerPort  = 6'd21,
    OutWindowHi  = 6'd22,
    OutWindowLo  = 6'd23,
    OutRttHi     = 6'd24,
    OutRttLo     = 6'd25,
    OutMac       = 6'd32  // 16 words of the keyed function: 8 of the key, 8 of its blocks
  } out_e;

  typedef enum logic [3:0] {
    ControlFlush = 4'd0,
    ControlHold  = 4'd1,  // no DATA is chosen
    ControlIdle  = 4'd2  // nothing was said for as long as an idle stream may be silent
  } control_e;

  typedef enum logic [2:0] {
    PulseWant    = 3'd0,  // requests the place
    PulseDone    = 3'd1,  // gives it back
    PulseLeft    = 3'd2,  // a MARK or CLOSE has its departure
    PulseRestart = 3'd3,  // of the MARKs
    PulseRelease = 3'd4,  // of the frame that was read
    PulseMac     = 3'd5,  // the keyed function begins
    PulseMacNext = 3'd6  // the next 16 bits of its value, 4 cycles later
  } pulse_e;

  typedef enum logic [4:0] {
    EventOpens        = 5'd0,
    EventChallenged   = 5'd1,
    EventAccepted     = 5'd2,
    EventRepeated     = 5'd3,
    EventRefused      = 5'd4,
    EventLate         = 5'd5,
    EventTakeover     = 5'd6,
    EventUnknown      = 5'd7,
    EventUnanswered   = 5'd8,
    EventMalformed    = 5'd9,
    EventUnexpected   = 5'd10,
    EventCloseRefused = 5'd11,
    EventMark         = 5'd12,
    EventFinished     = 5'd13,
    EventClosed       = 5'd14,
    EventSilent       = 5'd15,
    EventHalfOpen     = 5'd16,
    EventBreaker      = 5'd17,
    EventControl      = 5'd18,  // a packet of the session that is no MARK has left
    EventArp          = 5'd19,
    EventIcmp         = 5'd20,
    EventSuppressed   = 5'd21
  } event_e;

endpackage

`default_nettype wire

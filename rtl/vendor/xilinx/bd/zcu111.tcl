# Block design for the ZCU111: one converter of a dual tile to 10G or 25G Ethernet. Not tried in
# Vivado.
#
#   vivado -mode batch -source rtl/vendor/xilinx/ip/package.tcl -tclargs OUT/ip xczu28dr-ffvg1517-2-e
#   vivado -mode batch -source rtl/vendor/xilinx/bd/zcu111.tcl -tclargs OUT [10|25]
#
# ADC tile 224: 3.93216 GS/s. At 25G decimated by 8 and 2 samples a clock: 15.7 Gb/s of I and Q; at
# 10G the same, of which the gate, or a filter before the sender, is to leave 9 Gb/s. The core runs
# in the MAC's transmit clock, 156.25 MHz at 10G and 390.625 MHz at 25G. The ring of 256 slots takes
# 64 of the 80 blocks of UltraRAM, four columns of 16: a reply takes 7 cycles. SFP0 is lane 0 of GTY
# bank 128; compare the sites with the board's schematics before the first build.
set out [file normalize [lindex $argv 0]]
set line_gbps [lindex [concat $argv 25] 1]
source [file join [file dirname [file normalize [info script]]] cells.tcl]
if {$line_gbps == 10} {
    set num 32
    set den 5
} elseif {$line_gbps == 25} {
    set num 64
    set den 25
} else {
    error "the line's rate is 10 or 25, not $line_gbps"
}

samplewire_project zcu111 xczu28dr-ffvg1517-2-e xilinx.com:zcu111:part0:1.4 $out
add_ps

add_cell mac xilinx.com:ip:xxv_ethernet [list \
    CONFIG.CORE {Ethernet MAC+PCS/PMA 64-bit} \
    CONFIG.LINE_RATE $line_gbps \
    CONFIG.NUM_OF_CORES 1 \
    CONFIG.BASE_R_KR BASE-R \
    CONFIG.INCLUDE_AXI4_INTERFACE 1 \
    CONFIG.INCLUDE_SHARED_LOGIC 1 \
    CONFIG.GT_GROUP_SELECT Quad_X0Y1 \
    CONFIG.LANE1_GT_LOC X0Y4 \
    CONFIG.GT_REF_CLK_FREQ 156.25 \
    CONFIG.GT_DRP_CLK 100 \
]
add_sender samplewire_board_64 {
    CONFIG.Slots 256
    CONFIG.SlotBytes 8192
    CONFIG.RingStyle ultra
    CONFIG.RdLatency 7
    CONFIG.AdcSamples 2
} mac/tx_clk_out_0 $num $den

join_pins mac/rx_clk_out_0 mac/rx_core_clk_0 sender/mac_rx_clk_i
join_pins mac/user_tx_reset_0 sender/mac_tx_rst_i
join_pins mac/user_rx_reset_0 sender/mac_rx_rst_i
join_interfaces sender/m_axis_tx mac/axis_tx_0
join_interfaces mac/axis_rx_0 sender/s_axis_rx
join_pins ps/pl_clk0 mac/dclk mac/s_axi_aclk_0
join_pins rst_ps/peripheral_reset mac/sys_reset
join_pins rst_ps/peripheral_aresetn mac/s_axi_aresetn_0
join_pins zero/dout mac/tx_reset_0 mac/rx_reset_0 mac/gtwiz_reset_tx_datapath_0 \
    mac/gtwiz_reset_rx_datapath_0
# 5 takes the clocks from the transceiver's programmable dividers.
add_cell clock_select xilinx.com:ip:xlconstant {CONFIG.CONST_WIDTH 3 CONFIG.CONST_VAL 5}
join_pins clock_select/dout mac/txoutclksel_in_0 mac/rxoutclksel_in_0
add_cell preamble xilinx.com:ip:xlconstant {CONFIG.CONST_WIDTH 56 CONFIG.CONST_VAL 0}
join_pins preamble/dout mac/tx_preamblein_0
join_interfaces registers/M01_AXI mac/s_axi_0
expose mac/gt_serial_port Master xilinx.com:interface:gt_rtl:1.0
expose mac/gt_ref_clk Slave xilinx.com:interface:diff_clock_rtl:1.0 {CONFIG.FREQ_HZ 156250000}

add_converter 0 {
    CONFIG.ADC0_Enable 1
    CONFIG.ADC0_PLL_Enable true
    CONFIG.ADC0_Refclk_Freq 245.760
    CONFIG.ADC0_Sampling_Rate 3.93216
    CONFIG.ADC0_Outclk_Freq 245.760
    CONFIG.ADC0_Fabric_Freq 245.760
    CONFIG.ADC_Slice00_Enable true
    CONFIG.ADC_Slice01_Enable true
    CONFIG.ADC_Data_Type00 1
    CONFIG.ADC_Data_Type01 1
    CONFIG.ADC_Data_Width00 2
    CONFIG.ADC_Data_Width01 2
    CONFIG.ADC_Decimation_Mode00 8
    CONFIG.ADC_Decimation_Mode01 8
    CONFIG.ADC_Mixer_Type00 2
    CONFIG.ADC_Mixer_Type01 2
    CONFIG.ADC_Mixer_Mode00 0
    CONFIG.ADC_Mixer_Mode01 0
}
finish mac/s_axi_0/Reg

# Block design for the RFSoC 4x2: one converter of a dual tile to 100G Ethernet. Not tried in Vivado.
#
#   vivado -mode batch -source rtl/vendor/xilinx/ip/package.tcl -tclargs OUT/ip xczu48dr-ffvg1517-2-e
#   vivado -mode batch -source rtl/vendor/xilinx/bd/rfsoc4x2.tcl -tclargs OUT
#
# ADC tile 226: 4.9152 GS/s, decimated by 2, I and Q in 8 samples a clock of 307.2 MHz: 78.6 Gb/s.
# CMAC with RS-FEC in GTY bank 128; the core runs in its transmit clock of 322.265625 MHz. The ring
# of 256 slots takes 64 of the 80 blocks of UltraRAM, in rows of 8: a reply takes 4 cycles.
# The sites are those of the board's schematics; compare them before the first build.
set out [file normalize [lindex $argv 0]]
source [file join [file dirname [file normalize [info script]]] cells.tcl]

samplewire_project rfsoc4x2 xczu48dr-ffvg1517-2-e realdigital.org:rfsoc4x2:part0:1.0 $out
add_ps

add_cell mac xilinx.com:ip:cmac_usplus {
    CONFIG.CMAC_CAUI4_MODE 1
    CONFIG.NUM_LANES 4x25
    CONFIG.USER_INTERFACE AXIS
    CONFIG.OPERATING_MODE Duplex
    CONFIG.CMAC_CORE_SELECT CMACE4_X0Y0
    CONFIG.GT_GROUP_SELECT X0Y4~X0Y7
    CONFIG.LANE1_GT_LOC X0Y4
    CONFIG.LANE2_GT_LOC X0Y5
    CONFIG.LANE3_GT_LOC X0Y6
    CONFIG.LANE4_GT_LOC X0Y7
    CONFIG.GT_REF_CLK_FREQ 156.25
    CONFIG.INCLUDE_RS_FEC 1
    CONFIG.ENABLE_AXI_INTERFACE 1
    CONFIG.INCLUDE_STATISTICS_COUNTERS 1
    CONFIG.TX_FLOW_CONTROL 0
    CONFIG.RX_FLOW_CONTROL 0
}
add_sender samplewire_board_512 {
    CONFIG.Slots 256
    CONFIG.SlotBytes 8192
    CONFIG.RingStyle ultra
    CONFIG.RdLatency 4
    CONFIG.AdcSamples 8
} mac/gt_txusrclk2 512 165

join_pins mac/gt_rxusrclk2 mac/rx_clk sender/mac_rx_clk_i
join_pins mac/usr_tx_reset sender/mac_tx_rst_i
join_pins mac/usr_rx_reset sender/mac_rx_rst_i
join_interfaces sender/m_axis_tx mac/axis_tx
join_interfaces mac/axis_rx sender/s_axis_rx
join_pins ps/pl_clk0 mac/init_clk mac/s_axi_aclk
join_pins rst_ps/peripheral_reset mac/sys_reset mac/s_axi_sreset
join_pins zero/dout mac/core_tx_reset mac/core_rx_reset mac/core_drp_reset mac/drp_clk \
    mac/gtwiz_reset_tx_datapath mac/gtwiz_reset_rx_datapath
join_interfaces registers/M01_AXI mac/s_axi
expose mac/gt_serial_port Master xilinx.com:interface:gt_rtl:1.0
expose mac/gt_ref_clk Slave xilinx.com:interface:diff_clock_rtl:1.0 {CONFIG.FREQ_HZ 156250000}

add_converter 2 {
    CONFIG.ADC0_Enable 0
    CONFIG.ADC2_Enable 1
    CONFIG.ADC2_PLL_Enable true
    CONFIG.ADC2_Refclk_Freq 491.520
    CONFIG.ADC2_Sampling_Rate 4.9152
    CONFIG.ADC2_Outclk_Freq 307.200
    CONFIG.ADC2_Fabric_Freq 307.200
    CONFIG.ADC_Slice00_Enable false
    CONFIG.ADC_Slice01_Enable false
    CONFIG.ADC_Slice20_Enable true
    CONFIG.ADC_Slice21_Enable true
    CONFIG.ADC_Data_Type20 1
    CONFIG.ADC_Data_Type21 1
    CONFIG.ADC_Data_Width20 8
    CONFIG.ADC_Data_Width21 8
    CONFIG.ADC_Decimation_Mode20 2
    CONFIG.ADC_Decimation_Mode21 2
    CONFIG.ADC_Mixer_Type20 2
    CONFIG.ADC_Mixer_Type21 2
    CONFIG.ADC_Mixer_Mode20 0
    CONFIG.ADC_Mixer_Mode21 0
}
finish mac/s_axi/Reg

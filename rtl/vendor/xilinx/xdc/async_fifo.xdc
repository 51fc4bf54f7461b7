# Clock crossings of async_fifo. Not tried in Vivado.
#
# Scoped to each instance (SCOPED_TO_REF async_fifo). The bits of a Gray-coded pointer arrive within
# a period of the faster clock, so that no two of its steps are seen mixed.
set wr_clock [get_clocks -of_objects [get_ports wr_clk_i]]
set rd_clock [get_clocks -of_objects [get_ports rd_clk_i]]
set wr_ns [get_property -min PERIOD $wr_clock]
set rd_ns [get_property -min PERIOD $rd_clock]
set shorter_ns [expr {min($wr_ns, $rd_ns)}]

set_max_delay -datapath_only -from [get_cells {wr_gray_q_reg[*]}] \
    -to [get_cells {i_sync_to_rd/meta_q_reg[*]}] $shorter_ns
set_bus_skew -from [get_cells {wr_gray_q_reg[*]}] \
    -to [get_cells {i_sync_to_rd/meta_q_reg[*]}] $shorter_ns

set_max_delay -datapath_only -from [get_cells {rd_gray_q_reg[*]}] \
    -to [get_cells {i_sync_to_wr/meta_q_reg[*]}] $shorter_ns
set_bus_skew -from [get_cells {rd_gray_q_reg[*]}] \
    -to [get_cells {i_sync_to_wr/meta_q_reg[*]}] $shorter_ns

# Storage in LUTs: a word was written two edges of rd_clk_i before it is read. Block RAM has no such
# path, and may have taken the register in.
set_max_delay -quiet -datapath_only -from $wr_clock \
    -to [get_cells -quiet {rd_data_q_reg[*]}] $rd_ns

# Clock crossings of word_cdc. Not tried in Vivado.
#
# Scoped to each instance (SCOPED_TO_REF word_cdc). The word stands still from two edges of to_clk_i
# before it is read; what reads it lies outside, so its paths end at that clock.
set from_clock [get_clocks -of_objects [get_ports from_clk_i]]
set to_clock [get_clocks -of_objects [get_ports to_clk_i]]
set from_ns [get_property -min PERIOD $from_clock]
set to_ns [get_property -min PERIOD $to_clock]
set shorter_ns [expr {min($from_ns, $to_ns)}]

set_max_delay -datapath_only -from [get_cells {sent_q_reg}] \
    -to [get_cells {i_sync_to/meta_q_reg[*]}] $shorter_ns
set_max_delay -datapath_only -from [get_cells {answer_q_reg}] \
    -to [get_cells {i_sync_from/meta_q_reg[*]}] $shorter_ns
set_max_delay -datapath_only -from [get_cells {data_q_reg[*]}] -to $to_clock $to_ns

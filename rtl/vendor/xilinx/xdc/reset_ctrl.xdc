# Clock crossings of reset_ctrl, and of its two sides. Not tried in Vivado.
#
# Scoped to each instance (SCOPED_TO_REF reset_ctrl). The two bits of a state, of which one changes
# at a time, arrive within a period of the faster clock.
set a_clock [get_clocks -of_objects [get_ports a_clk_i]]
set b_clock [get_clocks -of_objects [get_ports b_clk_i]]
set a_ns [get_property -min PERIOD $a_clock]
set b_ns [get_property -min PERIOD $b_clock]
set shorter_ns [expr {min($a_ns, $b_ns)}]

set_max_delay -datapath_only -from [get_cells {i_a/state_q_reg[*]}] \
    -to [get_cells {i_sync_to_b/meta_q_reg[*]}] $shorter_ns
set_bus_skew -from [get_cells {i_a/state_q_reg[*]}] \
    -to [get_cells {i_sync_to_b/meta_q_reg[*]}] $shorter_ns

set_max_delay -datapath_only -from [get_cells {i_b/state_q_reg[*]}] \
    -to [get_cells {i_sync_to_a/meta_q_reg[*]}] $shorter_ns
set_bus_skew -from [get_cells {i_b/state_q_reg[*]}] \
    -to [get_cells {i_sync_to_a/meta_q_reg[*]}] $shorter_ns

# The clock crossing of event_cdc. Not tried in Vivado.
#
# Scoped to each instance (SCOPED_TO_REF event_cdc). The bits of the Gray-coded count arrive within a
# period of the faster clock, so that no two of its steps are seen mixed.
set from_clock [get_clocks -of_objects [get_ports from_clk_i]]
set to_clock [get_clocks -of_objects [get_ports to_clk_i]]
set from_ns [get_property -min PERIOD $from_clock]
set to_ns [get_property -min PERIOD $to_clock]
set shorter_ns [expr {min($from_ns, $to_ns)}]

set_max_delay -datapath_only -from [get_cells {gray_q_reg[*]}] \
    -to [get_cells {i_sync/meta_q_reg[*]}] $shorter_ns
set_bus_skew -from [get_cells {gray_q_reg[*]}] \
    -to [get_cells {i_sync/meta_q_reg[*]}] $shorter_ns

# sync_bits, any source: the first flop is reached within a period of its clock. Not tried in Vivado.
#
# Scoped to each instance (SCOPED_TO_REF sync_bits). Read before the files of the cells that contain
# it: theirs are tighter where two clocks share a Gray code, and the last one of two equals counts.
# set_false_path would override them, in any order.
set sources [all_fanin -flat -startpoints_only [get_pins {meta_q_reg[*]/D}]]
set own_clock [get_clocks -of_objects [get_ports clk_i]]
set_max_delay -quiet -datapath_only -from $sources -to [get_cells {meta_q_reg[*]}] \
    [get_property -min PERIOD $own_clock]

# What the block designs of the boards share. Not tried in Vivado.

# A project of a board whose catalogue has the wrappers, in $out/ip.
proc samplewire_project {name part board out} {
    create_project -force -part $part $name [file join $out $name]
    set_property board_part $board [current_project]
    set_property ip_repo_paths [file join $out ip] [current_project]
    update_ip_catalog
    create_bd_design $name
}

# A cell of the newest version of a core in the catalogue.
proc add_cell {name core {properties {}}} {
    set found [get_ipdefs -all -filter "VLNV =~ $core:* && UPGRADE_VERSIONS == \"\""]
    if {[llength $found] != 1} {
        error "[llength $found] cores are called $core"
    }
    set cell [create_bd_cell -type ip -vlnv $found $name]
    if {$properties ne ""} {
        set_property -dict $properties $cell
    }
}

# A net over pins, the driver first.
proc join_pins {args} {
    set pins [list]
    foreach pin $args {
        lappend pins [get_bd_pins $pin]
    }
    connect_bd_net {*}$pins
}

proc join_interfaces {one other} {
    connect_bd_intf_net [get_bd_intf_pins $one] [get_bd_intf_pins $other]
}

# An interface of a cell as a port of the board.
proc expose {pin mode type {properties {}}} {
    set name [lindex [split $pin /] end]
    set port [create_bd_intf_port -mode $mode -vlnv $type $name]
    if {$properties ne ""} {
        set_property -dict $properties $port
    }
    connect_bd_intf_net [get_bd_intf_ports $name] [get_bd_intf_pins $pin]
}

# A reset in the clock of a net, from the PS.
proc add_reset {name clock} {
    add_cell $name xilinx.com:ip:proc_sys_reset
    join_pins $clock $name/slowest_sync_clk
    join_pins ps/pl_resetn0 $name/ext_reset_in
}

# The PS, its clock of 100 MHz and what gives registers to the PL: samplewire, the MAC, converters.
proc add_ps {} {
    add_cell ps xilinx.com:ip:zynq_ultra_ps_e
    apply_bd_automation -rule xilinx.com:bd_rule:zynq_ultra_ps_e \
        -config {apply_board_preset 1} [get_bd_cells ps]
    set_property -dict {
        CONFIG.PSU__USE__M_AXI_GP0 1
        CONFIG.PSU__USE__M_AXI_GP1 0
        CONFIG.PSU__USE__M_AXI_GP2 0
        CONFIG.PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ 100
    } [get_bd_cells ps]
    add_reset rst_ps ps/pl_clk0
    add_cell registers xilinx.com:ip:smartconnect {
        CONFIG.NUM_SI 1
        CONFIG.NUM_MI 3
        CONFIG.NUM_CLKS 2
    }
    join_pins ps/pl_clk0 ps/maxihpm0_fpd_aclk registers/aclk
    join_pins rst_ps/peripheral_aresetn registers/aresetn
    join_interfaces ps/M_AXI_HPM0_FPD registers/S00_AXI
    add_cell zero xilinx.com:ip:xlconstant {CONFIG.CONST_WIDTH 1 CONFIG.CONST_VAL 0}
}

# The sender in the clock of the MAC's transmit side, with a time that begins at its reset.
proc add_sender {wrapper properties clock num den} {
    add_cell sender samplewire:rtl:$wrapper $properties
    add_cell time_base samplewire:rtl:samplewire_ns_clock [list CONFIG.Num $num CONFIG.Den $den]
    add_reset rst_core $clock
    join_pins $clock sender/clk_i sender/mac_tx_clk_i time_base/clk_i registers/aclk1
    join_pins rst_core/peripheral_reset sender/rst_i time_base/rst_i
    join_pins time_base/time_ns_o sender/time_ns_i
    # A PPS or SYSREF takes the place of the constant.
    join_pins zero/dout sender/sync_i
    join_interfaces registers/M00_AXI sender/s_axil
}

# One converter of a dual tile: it gives I and Q on streams of their own, I first.
proc add_converter {tile properties} {
    add_cell converter xilinx.com:ip:usp_rf_data_converter $properties
    set clock converter/clk_adc$tile
    add_reset rst_adc $clock
    join_pins $clock converter/m${tile}_axis_aclk sender/adc_clk_i
    join_pins rst_adc/peripheral_aresetn converter/m${tile}_axis_aresetn
    join_pins rst_adc/peripheral_reset sender/adc_rst_i
    join_interfaces converter/m${tile}0_axis sender/s_axis_adc_0
    join_interfaces converter/m${tile}1_axis sender/s_axis_adc_1
    join_pins ps/pl_clk0 converter/s_axi_aclk
    join_pins rst_ps/peripheral_aresetn converter/s_axi_aresetn
    join_interfaces registers/M02_AXI converter/s_axi
    expose converter/adc${tile}_clk Slave xilinx.com:interface:diff_clock_rtl:1.0
    expose converter/vin${tile}_01 Slave xilinx.com:interface:diff_analog_io_rtl:1.0
    expose converter/sysref_in Slave \
        xilinx.com:display_usp_rf_data_converter:diff_pins_rtl:1.0
}

# Where Linux finds the registers: linux/sender.py has the same addresses.
proc finish {mac_segment} {
    foreach {segment offset range} [list \
        sender/s_axil/reg0 0xA0000000 0x00001000 \
        $mac_segment 0xA0010000 0x00010000 \
        converter/s_axi/Reg 0xA0040000 0x00040000] {
        assign_bd_address -offset $offset -range $range \
            -target_address_space [get_bd_addr_spaces ps/Data] [get_bd_addr_segs $segment]
    }
    validate_bd_design
    save_bd_design
}

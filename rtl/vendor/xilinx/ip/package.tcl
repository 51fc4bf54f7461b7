# Packages the wrappers as IP for the catalogue. Not tried in Vivado.
#
#   vivado -mode batch -source rtl/vendor/xilinx/ip/package.tcl -tclargs OUT PART [WRAPPER...]
#
# OUT gets a folder for each wrapper, all of them without a name; add it to the ip_repo_paths of a
# project. Interfaces and clocks come from the attributes in the wrappers.
if {[llength $argv] < 2} {
    error "usage: -tclargs OUT PART \[WRAPPER...\]"
}
set out [file normalize [lindex $argv 0]]
set part [lindex $argv 1]
set xilinx [file dirname [file dirname [file normalize [info script]]]]
set root [file dirname [file dirname [file dirname $xilinx]]]
source [file join $xilinx ip files.tcl]
set wrappers [lrange $argv 2 end]
if {$wrappers eq ""} {
    set wrappers [lsort [array names samplewire_files]]
}

# Constraints of the cells among the sources. Those of sync_bits come first: the files of the cells
# that contain it are to count where both name a path.
proc add_constraints {xilinx sources} {
    set cells [list]
    foreach path [glob -directory [file join $xilinx xdc] *.xdc] {
        lappend cells [file rootname [file tail $path]]
    }
    set others [lsearch -all -inline -not -exact [lsort $cells] sync_bits]
    foreach cell [concat sync_bits $others] {
        if {[lsearch -glob $sources "*/$cell.sv"] < 0} {
            continue
        }
        add_files -fileset constrs_1 -norecurse [file join $xilinx xdc $cell.xdc]
        set constraints [get_files $cell.xdc]
        set_property SCOPED_TO_REF $cell $constraints
        # The clocks are those of the design around, after synthesis.
        set_property USED_IN {implementation} $constraints
        set_property PROCESSING_ORDER LATE $constraints
    }
}

proc restrict {core name values} {
    set parameter [ipx::get_user_parameters $name -of_objects $core]
    set_property value_validation_type list $parameter
    set_property value_validation_list $values $parameter
}

proc package_wrapper {wrapper root xilinx out part files} {
    create_project -force -part $part $wrapper [file join $out projects $wrapper]
    set sources [list]
    foreach path $files {
        lappend sources [file join $root $path]
    }
    add_files -norecurse $sources
    set_property top $wrapper [current_fileset]
    add_constraints $xilinx $sources
    update_compile_order -fileset sources_1

    ipx::package_project -root_dir [file join $out $wrapper] -vendor samplewire -library rtl \
        -taxonomy /Communication_&_Networking -import_files -force
    set core [ipx::current_core]
    set_property name $wrapper $core
    set_property version 1.0 $core
    set_property display_name $wrapper $core
    set_property description "Samplewire: $wrapper" $core
    set_property supported_families {zynquplusRFSOC Production zynquplus Production \
        virtexuplus Production kintexuplus Production} $core
    # ns_clock has neither a ring nor registers.
    if {$wrapper ne "samplewire_ns_clock"} {
        restrict $core RingStyle {ultra block}
        restrict $core Slots {16 32 64 128 256 512 1024}
        restrict $core SlotBytes {2048 4096 8192}
        # An AXI slave is found without its address map if no port of it says how large it is.
        if {[ipx::get_memory_maps s_axil -of_objects $core] eq ""} {
            ipx::add_memory_map s_axil $core
            set_property slave_memory_map_ref s_axil \
                [ipx::get_bus_interfaces s_axil -of_objects $core]
            ipx::add_address_block reg0 [ipx::get_memory_maps s_axil -of_objects $core]
        }
        # The least that the PS addresses; the registers repeat in it.
        set_property range 4096 [ipx::get_address_blocks reg0 \
            -of_objects [ipx::get_memory_maps s_axil -of_objects $core]]
    }
    ipx::create_xgui_files $core
    ipx::update_checksums $core
    ipx::check_integrity $core
    ipx::save_core $core
    close_project
}

foreach wrapper $wrappers {
    if {![info exists samplewire_files($wrapper)]} {
        error "there is no wrapper $wrapper"
    }
    package_wrapper $wrapper $root $xilinx $out $part $samplewire_files($wrapper)
}

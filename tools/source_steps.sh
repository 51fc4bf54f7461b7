# shellcheck shell=bash
# The source against its rules, as steps; to be sourced after steps.sh. That in Rust is apart.

types() {
    (cd python && ../.venv/bin/mypy --no-error-summary)
}

. tools/firmware_steps.sh
if [ -x .venv/bin/ruff ]; then
    step "ruff" .venv/bin/ruff check --quiet bench tools rtl python soapy firmware
    step "ruff format" .venv/bin/ruff format --quiet --check bench tools rtl python soapy firmware
else
    skip "ruff" "it is not in .venv"
fi
if [ -x .venv/bin/mypy ]; then
    step "types of the Python package" types
else
    skip "types of the Python package" "mypy is not in .venv"
fi
if [ -x .tools/web/node_modules/.bin/tsc ]; then
    step "scripts of the web page" tools/web/lint.sh
else
    skip "scripts of the web page" "TypeScript is not in .tools: tools/setup.sh web"
fi
step "figures of the measurements" python3 -m unittest discover --start-directory bench
step "reading of the pages' examples" python3 -m unittest discover --start-directory tools/examples
step "vectors are what their generator writes" python3 vectors/generate.py --check
step "histories of congestion control are what their generator writes" \
    python3 vectors/dcqcn.py --check
step "RoCE frames are what their generator writes" python3 vectors/roce.py --check
step "frames of the block transfer are what their generator writes" python3 vectors/block.py --check
if .venv/bin/python -c 'import scapy' 2>/dev/null; then
    step "RoCE frames as scapy and tshark read them" .venv/bin/python vectors/check_roce.py
else
    skip "RoCE frames as scapy and tshark read them" "scapy is not in .venv"
fi
step "counters are what their generator writes" python3 tools/statistics.py --check
if .venv/bin/python -c 'import grafana_foundation_sdk' 2>/dev/null; then
    step "dashboard and alerts are what their generator writes" \
        .venv/bin/python tools/grafana.py --check
else
    skip "dashboard and alerts" "grafana-foundation-sdk is not in .venv: tools/setup.sh python"
fi
step "generator of the counters" python3 -m unittest discover --start-directory tools
. tools/rtl_source_steps.sh

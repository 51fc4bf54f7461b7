#!/usr/bin/env bash
# Runs each fuzz target for FUZZ_SECONDS (60). Needs Rust's nightly: sanitizers are not in stable.
# What it finds goes to out/fuzz; fuzz/corpus is read and left as it is.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tools/steps.sh

fuzz_target() {
    local found=out/fuzz/$1
    mkdir -p "$found/corpus"
    cargo +nightly fuzz run --target-dir out/fuzz/target "$1" \
        "$found/corpus" "fuzz/corpus/$1" -- \
        -max_len=2048 -max_total_time="${FUZZ_SECONDS:-60}" -artifact_prefix="$found/" \
        -verbosity=0 -print_final_stats=1
}

export PATH=$PWD/.tools/bin:$PATH
if ! cargo +nightly --version >/dev/null 2>&1; then
    skip "fuzzing" "Rust's nightly is missing: rustup toolchain install nightly"
elif ! command -v cargo-fuzz >/dev/null; then
    skip "fuzzing" "cargo-fuzz could not be built"
else
    for target in $(cargo +nightly fuzz list); do
        step "fuzz $target" fuzz_target "$target"
    done
fi
finish

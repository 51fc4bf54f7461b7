#!/usr/bin/env bash
# Everything that must hold, lint included. Needs no terminal and no network of its own.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tools/steps.sh

# The target directory may be set by the environment or by cargo's configuration.
target=$(cargo metadata --no-deps --format-version 1 |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])') || exit 1

# samplewire-proto below std and alloc; see the file that is compiled last.
no_std() {
    local dir=$target/no_std
    cargo build --quiet -p samplewire-proto --no-default-features --lib --target-dir "$dir" &&
        rustc --edition 2024 --crate-type staticlib -C panic=abort \
            -L dependency="$dir/debug/deps" \
            --extern samplewire_proto="$dir/debug/libsamplewire_proto.rlib" \
            -o "$dir/no_std.a" tools/no_std.rs
}

bare() {
    cargo build --quiet -p samplewire-proto --no-default-features --lib --target "$1"
}

example() {
    local package=$1 name=$2
    shift 2
    cargo run --quiet --profile test -p "$package" --example "$name" -- "$@"
}

data=$(realpath -m "${SAMPLEWIRE_TEST_DATA:-../shared/data}")
if [ -d "$data" ]; then
    export SAMPLEWIRE_TEST_DATA=$data
else
    skip "tests on real recordings" "there is no folder $data; set SAMPLEWIRE_TEST_DATA"
fi
command -v tshark >/dev/null || skip "captures as tshark reads them" "there is no tshark"

. tools/source_steps.sh
step "proto without std and alloc" no_std
bare_target=$(rustup target list --installed 2>/dev/null | grep -m1 -- -none-)
if [ -n "$bare_target" ]; then
    step "proto for $bare_target" bare "$bare_target"
else
    skip "proto for a bare target" "none is installed, e.g. thumbv7em-none-eabihf"
fi
step "cargo test" cargo test --workspace --no-fail-fast
step "example record_counter" example samplewire record_counter
step "example throughput" example samplewire throughput --seconds 0.5 \
    --fault data:loss=0.01,corrupt=0.001 --fault feedback:loss=0.01
step "example raw_udp" example samplewire-io raw_udp --seconds 0.2
if .venv/bin/python -c 'import sigmf' 2>/dev/null; then
    cargo build --quiet --profile test -p samplewire-cli
    step "recordings as the sigmf package reads them" \
        .venv/bin/python tools/check_sigmf.py "$target/debug/samplewire"
else
    skip "recordings as the sigmf package reads them" "the package is not in .venv"
fi
. tools/concurrency_steps.sh
. tools/rtl_steps.sh
finish

#!/usr/bin/env bash
# arm.sh [CRATE...] [-- OPTION...]: unit tests of crates on aarch64, in QEMU, with options of the test
# program. By default of those whose code differs by processor, or by the width of its words; and then
# the whole workspace must compile.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER='qemu-aarch64 -L /usr/aarch64-linux-gnu'
if [ $# = 0 ]; then
    cargo check --quiet --workspace --target aarch64-unknown-linux-gnu
    set -- samplewire-proto samplewire-circuit samplewire-blocks
fi
packages=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    packages+=("--package=$1")
    shift
done
cargo test --quiet "${packages[@]}" --lib --target aarch64-unknown-linux-gnu "$@"

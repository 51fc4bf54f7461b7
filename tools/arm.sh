#!/usr/bin/env bash
# arm.sh [CRATE...]: unit tests of crates on aarch64, in QEMU. By default of those whose code differs by
# processor, or by the width of its words.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER='qemu-aarch64 -L /usr/aarch64-linux-gnu'
[ $# -gt 0 ] || set -- samplewire-proto samplewire-circuit samplewire-blocks
cargo test --quiet "${@/#/--package=}" --lib --target aarch64-unknown-linux-gnu

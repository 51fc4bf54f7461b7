#!/usr/bin/env bash
# The link over DPDK, which the workspace is built without: clippy, and its tests over interfaces of the
# kernel. Needs libdpdk-dev.
set -euo pipefail
cd "$(dirname "$0")/.."
# Of the whole workspace, as its other steps build it: other features would build all again.
features=(--quiet --workspace --features samplewire-dpdk/dpdk --test dpdk)
if cargo clippy --version >/dev/null 2>&1; then
    cargo clippy "${features[@]}" --example dpdk_receive -- -D warnings
fi
exec cargo test "${features[@]}"

#!/usr/bin/env bash
# Builds the images of the NIC's processors, writes them to out/firmware and prints their sizes.
set -euo pipefail
cd "$(dirname "$0")/.."

target=riscv32im-unknown-none-elf
# Where sources lie on this machine is no part of an image.
flags=()
for sources in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/; do
    flags+=("--remap-path-prefix=$sources=")
done
flags+=("--remap-path-prefix=$PWD/=")
export RUSTFLAGS="${flags[*]}"

cd firmware/nic
cargo build --quiet --locked --release --package samplewire-nic-images --target "$target"
folder=$(cargo metadata --no-deps --format-version 1 |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
cd ../..
python3 firmware/nic/images.py "$folder/$target/release" out/firmware

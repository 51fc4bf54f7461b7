#!/usr/bin/env bash
# Everything that must hold, lint included. Needs no terminal and no network of its own.
#
#   tools/test.sh [--set-up PART...]    installs these parts (tools/setup.sh) beside the first steps
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tools/steps.sh

set_up=
if [ "${1:-}" = --set-up ]; then
    # It may ask for a password.
    tools/setup.sh "${@:2}" <&0 &
    set_up=$!
fi
set --

# A fresh checkout is built once.
[ -z "${CI:-}" ] || export CARGO_INCREMENTAL=0

# The target directory may be set by the environment or by cargo's configuration.
target=$(cargo metadata --no-deps --format-version 1 |
    sed 's/.*"target_directory":"\([^"]*\)".*/\1/') || exit 1

# The protocol crates below std and alloc; see the file that is compiled last.
no_std() {
    local built=$target/debug
    cargo build --quiet -p samplewire-proto -p samplewire-roce --no-default-features --lib &&
        rustc --edition 2024 --crate-type staticlib -C panic=abort \
            -L dependency="$built/deps" \
            --extern samplewire_proto="$built/libsamplewire_proto.rlib" \
            --extern samplewire_roce="$built/libsamplewire_roce.rlib" \
            -o "$built/no_std.a" tools/no_std.rs
}

# Where nothing but core is there.
bare() {
    cargo build --quiet -p samplewire-proto -p samplewire-roce --no-default-features --lib \
        --target "$1"
}

# The command and the Python package have no code of their own for a processor. `make arm` runs tests.
# What is in C is compiled, and not run: it need not be fast.
arm_compiles() {
    cargo check --quiet -p samplewire-ffi -p samplewire-record -p samplewire-switch --target "$arm" \
        --config 'profile.dev.package.zstd-sys.opt-level = 0'
}

# Of those that tools/cargo_tests.py has built.
example() {
    local name=$1
    shift
    "$target/debug/examples/$name" "$@"
}

. tools/rust_source_steps.sh
[ -z "$set_up" ] || wait "$set_up" || exit 1

data=$(realpath -m "${SAMPLEWIRE_TEST_DATA:-../shared/data}")
if [ -d "$data" ]; then
    export SAMPLEWIRE_TEST_DATA=$data
else
    skip "tests on real recordings" "there is no folder $data; set SAMPLEWIRE_TEST_DATA"
fi
command -v tshark >/dev/null || skip "captures as tshark reads them" "there is no tshark"
command -v valgrind >/dev/null || skip "programs in C under valgrind" "there is no valgrind"

# What only computes runs beside the tests of streams, which mostly wait.
# `make rtl` has it.
rtl_bench_512=no
. tools/rtl_steps.sh
rtl_models
if reason=$(python3 bench/instructions/instructions.py --can-run); then
    beside host "instructions of the host" python3 bench/instructions/instructions.py --check
else
    skip "instructions of the host" "$reason"
fi
. tools/source_steps.sh
step "proto and roce without std and alloc" no_std
has_target() { [ -d "$(rustc --print sysroot)/lib/rustlib/$1" ]; }
bare=thumbv7em-none-eabihf arm=aarch64-unknown-linux-gnu
if has_target $bare; then
    step "proto and roce for $bare" bare $bare
else
    skip "proto and roce for $bare" "rustup target add $bare"
fi
if has_target $arm && command -v aarch64-linux-gnu-gcc >/dev/null; then
    step "the libraries compile for $arm" arm_compiles
else
    skip "the libraries for $arm" "its library or gcc-aarch64-linux-gnu is missing"
fi
. tools/concurrency_steps.sh
step "cargo test" python3 tools/cargo_tests.py
if pkg-config --exists 'libdpdk >= 22.11' 2>/dev/null; then
    step "link over DPDK" tools/dpdk.sh
else
    skip "link over DPDK" "libdpdk-dev is missing: tools/setup.sh dpdk"
fi
step "example record_counter" example record_counter
step "example throughput" example throughput --seconds 0.5 \
    --fault data:loss=0.01,corrupt=0.001 --fault feedback:loss=0.01
step "example raw_udp" example raw_udp --seconds 0.2
step "examples of README and docs" python3 tools/check_examples.py "$target/debug/samplewire"
if .venv/bin/python -c 'import sigmf' 2>/dev/null; then
    step "recordings as the sigmf package reads them" \
        .venv/bin/python tools/check_sigmf.py "$target/debug/samplewire"
else
    skip "recordings as the sigmf package reads them" "the package is not in .venv"
fi
if /usr/bin/python3 -c 'from gnuradio import zeromq' 2>/dev/null; then
    step "bridge against GNU Radio" \
        /usr/bin/python3 tools/check_gnuradio.py "$target/debug/samplewire"
else
    skip "bridge against GNU Radio" "it is not installed"
fi
if reason=$(python3 tools/attacks/check.py --can-run); then
    step "attacks with raw packets" python3 tools/attacks/check.py "$target/debug/samplewire"
else
    skip "attacks with raw packets" "$reason"
fi
if reason=$(python3 tools/rdma/check.py --can-run); then
    step "streams over RDMA between two namespaces" \
        python3 tools/rdma/check.py "$target/debug/samplewire"
else
    skip "streams over RDMA between two namespaces" "$reason"
fi
if reason=$(python3 bench/incast.py --can-run); then
    # Other steps run beside it: the command alone asks for more.
    step "three devices share a port of a switch in slow motion" \
        python3 bench/incast.py --seconds 8 --jain 0.95 --utilisation 0.9 "$target/debug/samplewire"
else
    skip "three devices share a port of a switch in slow motion" "$reason"
fi
if reason=$(python3 tools/guest/check.py --can-run); then
    step "RDMA with the Soft-RoCE of a guest" \
        python3 tools/guest/check.py "$target/debug/samplewire" --short --only roce --only listen
else
    skip "RDMA with the Soft-RoCE of a guest" "$reason"
fi
if reason=$(.venv/bin/python tools/web/check.py --can-run 2>&1); then
    step "web page in a browser" \
        .venv/bin/python tools/web/check.py "$target/debug/examples/virtual_stream"
else
    skip "web page in a browser" "$reason"
fi
if reason=$(python3 tools/prometheus/check.py --can-run); then
    step "Prometheus evaluates every panel and alert" \
        python3 tools/prometheus/check.py "$target/debug/samplewire"
else
    skip "Prometheus evaluates every panel and alert" "$reason"
fi
if [ -x .venv/bin/maturin ] &&
    .venv/bin/python -c 'import matplotlib, numpy, pytest' 2>/dev/null; then
    step "Python package" tools/package.sh
else
    skip "Python package" "maturin, NumPy, matplotlib or pytest is not in .venv: tools/setup.sh package"
fi
soapy() {
    # `cargo test` has built the command here, and the library in deps.
    ln -f "$target/debug/deps/libsamplewire_c.a" "$target/debug" &&
        tools/soapy.sh test "$target/debug"
}
if command -v cmake >/dev/null && [ -e /usr/include/SoapySDR/Device.hpp ]; then
    step "module for SoapySDR" soapy
else
    skip "module for SoapySDR" "cmake or libsoapysdr-dev is missing: tools/setup.sh soapy"
fi
# The program that `cargo test` has built is fast enough for a board that is simulated.
export SAMPLEWIRE_BIN=$target/debug/samplewire
rtl_boards
finish

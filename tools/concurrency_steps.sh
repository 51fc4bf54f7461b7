# shellcheck shell=bash
# Threads and unsafe code as steps; to be sourced after steps.sh. With --full among the arguments of
# the script that sources it: what takes minutes too.

concurrency_target=$(cargo metadata --no-deps --format-version 1 |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')

# loom PACKAGE: every interleaving of its models, and every order weakened
loom() {
    RUSTFLAGS='--cfg loom' CARGO_TARGET_DIR=$concurrency_target/loom \
        cargo test --quiet -p "$1" --lib loom
}

# Isolation would refuse the clock, files and descriptors that the tests use.
miri() {
    MIRIFLAGS=-Zmiri-disable-isolation CARGO_TARGET_DIR=$concurrency_target/miri \
        cargo +nightly miri test --quiet "$@"
}

# sanitizer KIND CARGO-TEST-ARGUMENTS...: the standard library is built with it too
sanitizer() {
    local kind=$1
    shift
    RUSTFLAGS=-Zsanitizer=$kind CARGO_TARGET_DIR=$concurrency_target/$kind \
        cargo +nightly test --quiet -Zbuild-std --target "$concurrency_host" "$@"
}

beside threads "loom: the pool and channels" loom samplewire-circuit
if [ "${1:-}" = --full ]; then
    # Seconds for a model, and minutes to build what stands around them.
    step "loom: the hash of a file that grows" loom samplewire-record
fi

if cargo +nightly miri --version >/dev/null 2>&1; then
    beside threads "Miri: the pool and borrowed samples" miri -p samplewire-circuit --lib --test borrowed \
        -- --skip graph::
    if [ "${1:-}" = --full ]; then
        step "Miri: graphs" miri -p samplewire-circuit
        # Miri knows no ppoll, sendmmsg and recvmmsg.
        step "Miri: addresses and batches" miri -p samplewire-io --lib -- address:: batch:: runs::
        step "Miri: quanta of a stream" miri -p samplewire --lib -- payload_ring:: retransmit_buffer::
    fi
else
    skip "Miri" "it is missing: rustup +nightly component add miri"
fi

if [ "${1:-}" = --full ]; then
    settle
    concurrency_host=$(rustc -vV | sed -n 's/^host: //p')
    if [ -d "$(rustc +nightly --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library" ]; then
        step "ThreadSanitizer: the pool" sanitizer thread -p samplewire-circuit --lib
        # It makes a thread too slow for the test of which packets a disk that stops has missed.
        step "ThreadSanitizer: links" sanitizer thread -p samplewire-io --lib -- --skip stopped_disk
        # Nor does it leave a source time for its clock: this one counts what missed its deadline.
        step "ThreadSanitizer: streams" \
            sanitizer thread -p samplewire --lib --test stream --test sessions -- --skip deadline_of_2_ms
        step "AddressSanitizer: links and their system calls" \
            sanitizer address -p samplewire-io --lib --test udp --test links
    else
        skip "ThreadSanitizer, AddressSanitizer" "Rust's nightly or its rust-src is missing"
    fi
fi

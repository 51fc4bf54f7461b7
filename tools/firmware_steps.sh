# shellcheck shell=bash
# The firmware's source and its tests on this machine, as steps; to be sourced after steps.sh. `make
# firmware` builds the images.

firmware_cargo() {
    (cd firmware/nic && cargo "$@")
}

if cargo fmt --version >/dev/null 2>&1; then
    step "rustfmt of the firmware" firmware_cargo fmt --all --check
fi
firmware_target=riscv32im-unknown-none-elf
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$firmware_target" ]; then
    skip "clippy of the firmware" "rustup target add $firmware_target"
elif cargo clippy --version >/dev/null 2>&1; then
    step "clippy of the firmware" firmware_cargo clippy --quiet --locked \
        --package samplewire-nic-runtime --package samplewire-nic-images \
        --target "$firmware_target" -- -D warnings
fi
step "tests of the firmware" firmware_cargo test --quiet --locked \
    --package samplewire-nic-driver --package samplewire-nic-apps \
    --features samplewire-nic-driver/model

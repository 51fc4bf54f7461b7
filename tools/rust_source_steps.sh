# shellcheck shell=bash
# The source in Rust against its rules, as steps; to be sourced after steps.sh. They need Rust alone.

if cargo fmt --version >/dev/null 2>&1; then
    step "rustfmt" cargo fmt --all --check
else
    skip "rustfmt" "cargo fmt is missing"
fi
if cargo clippy --version >/dev/null 2>&1; then
    step "clippy" cargo clippy --quiet --workspace --all-targets -- -D warnings
else
    skip "clippy" "cargo clippy is missing"
fi
step "documentation" make --silent --no-print-directory doc

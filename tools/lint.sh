#!/usr/bin/env bash
# The source and the dependencies against their rules.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tools/steps.sh
. tools/rust_source_steps.sh
. tools/source_steps.sh

deny=.tools/bin/cargo-deny
if [ -x "$deny" ]; then
    firmware=(--manifest-path firmware/nic/Cargo.toml)
    step "licences, bans, sources" "$deny" --color never --locked check licenses bans sources
    step "licences, bans, sources of the firmware" \
        "$deny" --color never --locked "${firmware[@]}" check --config deny.toml licenses bans sources
    # The database of advisories is fetched; if it cannot be, the step is skipped with a message.
    if timeout 120 "$deny" --color never fetch db 2>/dev/null; then
        step "advisories" "$deny" --color never --locked check --disable-fetch advisories
        step "advisories of the firmware" \
            "$deny" --color never --locked "${firmware[@]}" check --config deny.toml \
            --disable-fetch advisories
    else
        skip "advisories" "their database cannot be fetched here"
    fi
else
    skip "licences, bans, sources, advisories" "cargo-deny could not be built"
fi
finish

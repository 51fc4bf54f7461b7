#!/usr/bin/env bash
# The source and the dependencies against their rules.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tools/steps.sh
. tools/source_steps.sh

deny=.tools/bin/cargo-deny
if [ -x "$deny" ]; then
    step "licences, bans, sources" "$deny" --color never --locked check licenses bans sources
    # The database of advisories is fetched; if it cannot be, the step is skipped with a message.
    if timeout 120 "$deny" --color never fetch db 2>/dev/null; then
        step "advisories" "$deny" --color never --locked check --disable-fetch advisories
    else
        skip "advisories" "their database cannot be fetched here"
    fi
else
    skip "licences, bans, sources, advisories" "cargo-deny could not be built"
fi
finish

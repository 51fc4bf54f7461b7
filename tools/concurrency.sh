#!/usr/bin/env bash
# Threads and unsafe code: model checking, Miri, ThreadSanitizer.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tools/steps.sh
. tools/concurrency_steps.sh --full
finish

#!/usr/bin/env bash
# What must hold of the RTL; with --full its long matrix and proofs.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tools/steps.sh

. tools/rtl_source_steps.sh
. tools/rtl_steps.sh
rtl_models
rtl_boards
finish

# shellcheck shell=bash
# Steps of a check, to be sourced: each is announced and run, and one that fails does not keep the
# others from running.

passed=0
failed=()
skipped=()
took=()

# step NAME COMMAND...
step() {
    local name=$1
    shift
    printf '\n== %s\n' "$name"
    local start=$SECONDS
    if "$@"; then
        passed=$((passed + 1))
    else
        failed+=("$name")
    fi
    took+=("$((SECONDS - start)) s: $name")
}

# skip NAME WHY
skip() {
    printf '\n== %s\nskipped: %s\n' "$1" "$2"
    skipped+=("$1: $2")
}

# Says how all steps went, and fails when one did.
finish() {
    printf '\n'
    local line
    printf '%s\n' "${took[@]}" | sort -rn | head -8 | sed 's/^/took     /'
    for line in "${skipped[@]}"; do printf 'skipped  %s\n' "$line"; done
    for line in "${failed[@]}"; do printf 'FAILED   %s\n' "$line"; done
    printf 'steps: %d passed, %d failed, %d skipped\n' "$passed" "${#failed[@]}" "${#skipped[@]}"
    [ "${#failed[@]}" = 0 ]
}

# shellcheck shell=bash
# Steps of a check, to be sourced: each is announced and run, and one that fails does not keep the
# others from running. What takes one core may run beside the steps that follow it.

passed=0
failed=()
skipped=()
took=()
begun=()

# step NAME COMMAND...
step() {
    local name=$1
    shift
    printf '\n== %s\n' "$name"
    local start=$SECONDS
    "$@"
    count "$?" "$((SECONDS - start))" "$name"
}

# count STATUS SECONDS NAME
count() {
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
    else
        failed+=("$3")
    fi
    took+=("$2 s: $3")
}

# begin NAME COMMAND...: a step beside those that follow, up to `settle`. It takes only the time that
# they leave: most tests of streams wait, and some measure.
begin() {
    local name=$1 log
    shift
    log=$(mktemp)
    {
        local start=$SECONDS status
        renice -n 19 -p "$BASHPID" >/dev/null
        "$@"
        status=$?
        printf '%s' "$((SECONDS - start))" >"$log.took"
        exit "$status"
    } >"$log" 2>&1 &
    begun+=("$! $log $name")
}

# Waits for the steps that were begun, and reports each like any step.
settle() {
    local one pid log name status
    for one in "${begun[@]}"; do
        read -r pid log name <<<"$one"
        wait "$pid"
        status=$?
        printf '\n== %s\n' "$name"
        cat "$log"
        count "$status" "$(cat "$log.took")" "$name"
        rm -f "$log" "$log.took"
    done
    begun=()
}

# skip NAME WHY
skip() {
    printf '\n== %s\nskipped: %s\n' "$1" "$2"
    skipped+=("$1: $2")
}

# Says how all steps went, and fails when one did.
finish() {
    settle
    printf '\n'
    local line
    printf '%s\n' "${took[@]}" | sort -rn | head -8 | sed 's/^/took     /'
    for line in "${skipped[@]}"; do printf 'skipped  %s\n' "$line"; done
    for line in "${failed[@]}"; do printf 'FAILED   %s\n' "$line"; done
    printf 'steps: %d passed, %d failed, %d skipped\n' "$passed" "${#failed[@]}" "${#skipped[@]}"
    [ "${#failed[@]}" = 0 ]
}

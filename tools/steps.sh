# shellcheck shell=bash
# Steps of a check, to be sourced: each is announced and run, and one that fails does not keep the
# others from running. What takes one core may run beside the steps that follow it.

passed=0
failed=()
skipped=()
skipped_steps=0
skipped_tests=0
took=()
begun=()

# step NAME COMMAND...
step() {
    local name=$1 log status printer _
    shift
    log=$(mktemp)
    printf '\n== %s\n' "$name"
    local start=$SECONDS
    # What a step runs sees the locals here, so they have no names such as `out`.
    local step_output
    exec {step_output}> >(exec tee "$log")
    printer=$!
    # In this shell: what a function of the caller sets stays set.
    export SAMPLEWIRE_SKIPS=$log.skips
    "$@" >&"$step_output" 2>&1 {step_output}>&-
    status=$?
    unset SAMPLEWIRE_SKIPS
    exec {step_output}>&-
    # All is printed soon, unless a process that outlives the step still holds its output.
    for _ in {1..50}; do
        kill -0 "$printer" 2>/dev/null || break
        sleep 0.1
    done
    count "$status" "$((SECONDS - start))" "$name" "$log"
    rm -f "$log"
}

# count STATUS SECONDS NAME LOG
count() {
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
    else
        # The end of its output states the reason, also where only the summary is kept.
        failed+=("$3"$'\n'"$(tail -n 12 "$4" | cut -c1-300 | sed 's/^/         /')")
    fi
    took+=("$2 s: $3")
    local count line
    count=$(skips_of "$4")
    if [ "$count" != 0 ]; then
        skipped+=("$3: $count of its tests")
        skipped_tests=$((skipped_tests + count))
    fi
    # Tests in Rust that find out as they run add a line each (crates/samplewire-testing).
    local skips=$4.skips
    [ -e "$skips" ] || return 0
    while IFS= read -r line; do
        skipped+=("$3: $line")
        skipped_tests=$((skipped_tests + 1))
    done <"$skips"
    rm -f "$skips"
}

# skips_of LOG: tests that pytest, unittest or cargo skipped, by their summaries
skips_of() {
    grep -E '^test result: | passed.* in [0-9.]+s|^OK \(skipped=' "$1" |
        grep -Eo '[0-9]+ (skipped|ignored)|skipped=[0-9]+' | grep -Eo '[0-9]+' |
        awk '{ sum += $1 } END { print sum + 0 }'
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
        export SAMPLEWIRE_SKIPS=$log.skips
        "$@"
        status=$?
        printf '%s %s\n' "$status" "$((SECONDS - start))" >"$log.ended"
    } >"$log" 2>&1 &
    begun+=("$! $log $name")
}

# Waits for the steps that were begun, and prints and counts each as any other.
settle() {
    local one pid log name status seconds
    for one in "${begun[@]}"; do
        read -r pid log name <<<"$one"
        # Its status is in a file: the system may have given its number to a later process, which the
        # shell then knows by it.
        wait "$pid"
        status=1 seconds=0
        [ ! -e "$log.ended" ] || read -r status seconds <"$log.ended"
        printf '\n== %s\n' "$name"
        cat "$log"
        count "$status" "$seconds" "$name" "$log"
        rm -f "$log" "$log.ended"
    done
    begun=()
}

# skip NAME WHY
skip() {
    printf '\n== %s\nskipped: %s\n' "$1" "$2"
    skipped+=("$1: $2")
    skipped_steps=$((skipped_steps + 1))
}

# Prints the time of each step, what was skipped and what failed; fails when a step did.
finish() {
    settle
    printf '\n'
    local line
    printf '%s\n' "${took[@]}" | sort -rn | sed 's/^/took     /'
    for line in "${skipped[@]}"; do printf 'skipped  %s\n' "$line"; done
    for line in "${failed[@]}"; do printf 'FAILED   %s\n' "$line"; done
    printf 'steps: %d passed, %d failed, %d skipped; tests skipped within steps: %d\n' \
        "$passed" "${#failed[@]}" "$skipped_steps" "$skipped_tests"
    [ "${#failed[@]}" = 0 ]
}

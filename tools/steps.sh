# shellcheck shell=bash
# Steps of a check, to be sourced: each is announced and run, and one that fails does not keep the
# others from running. What only computes may run beside the steps that follow it. The summary has the
# time and the processor time of each.

passed=0
failed=()
skipped=()
skipped_steps=0
skipped_tests=0
took=()
begun=()
# The last of each lane: process and log.
declare -A lanes=()
# Processes of those that were begun, once the shell has waited for them.
declare -A reaped=()
# What `time` prints: seconds, and processor seconds in programs and in the kernel.
TIMEFORMAT='%0R %U %S'
times='^[0-9]+ -?[0-9.]+ -?[0-9.]+$'
# With a point in each locale.
if [ "${LC_ALL:-}" ]; then export LANG=$LC_ALL; fi
unset LC_ALL
LC_NUMERIC=C
step_logs=$(mktemp -d) || exit
# No step outlives the shell, unless SIGKILL ends it. Bash runs the first trap at once when SIGTERM or
# SIGHUP ends it, and the second when the current step has ended: Ctrl-C reaches the step too. All stay in
# one process group, because a set-up in another one could not ask for a password.
trap 'end_below "$$"; rm -rf "$step_logs"' EXIT
trap 'exit 130' INT

# end_below PROCESS: ends all that it has started. A process that is stopped starts no other.
end_below() {
    local child
    for child in $(ps -o pid= --ppid "$1"); do
        kill -STOP "$child" 2>/dev/null
        end_below "$child"
        kill "$child" 2>/dev/null
        kill -CONT "$child" 2>/dev/null
    done
}

# step NAME COMMAND...
step() {
    local name=$1 log status printer _
    shift
    log=$(mktemp "$step_logs/XXXXXX")
    printf '\n== %s\n' "$name"
    # What a step runs sees the locals here, so they have no names such as `out`.
    local step_output
    exec {step_output}> >(exec tee -a "$log")
    printer=$!
    # In this shell: what a function of the caller sets stays set.
    export SAMPLEWIRE_SKIPS=$log.skips
    reap >/dev/null
    { time "$@" >&"$step_output" 2>&1 {step_output}>&-; } 2>"$log.time"
    status=$?
    reap >>"$log.time"
    unset SAMPLEWIRE_SKIPS
    exec {step_output}>&-
    # All is printed soon, unless a process that outlives the step still holds its output.
    for _ in {1..50}; do
        kill -0 "$printer" 2>/dev/null || break
        sleep 0.1
    done
    add_messages "$log"
    count "$status" "$name" "$log"
    rm -f "$log" "$log.time"
}

# Prints the times of begun steps that ended since the last call, below zero: the shell has waited for
# their processes, and has counted them with the step that it ran meanwhile.
reap() {
    local one pid log _
    for one in "${begun[@]}"; do
        read -r pid log _ <<<"$one"
        if [ -z "${reaped[$pid]:-}" ] && [ -e "$log.ended" ] && ! kill -0 "$pid" 2>/dev/null; then
            reaped[$pid]=yes
            sed -nE "/$times/s/ / -/gp" "$log.time"
        fi
    done
}

# add_messages LOG: prints and adds what bash has written among the times, such as "Killed"
add_messages() {
    grep -Ev "$times" "$1.time" | tee -a "$1"
}

# count STATUS NAME LOG
count() {
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
    else
        # The end of its output states the reason, also where only the summary is kept.
        failed+=("$2"$'\n'"$(tail -n 12 "$3" | cut -c1-300 | sed 's/^/         /')")
    fi
    took+=("$(grep -E "$times" "$3.time" | awk 'NR == 1 { wall = $1 } { cpu += $2 + $3 }
        END { printf "%d s, %.0f s of processor time", wall, cpu }'): $2")
    local count line
    count=$(skips_of "$3")
    if [ "$count" != 0 ]; then
        skipped+=("$2: $count of its tests")
        skipped_tests=$((skipped_tests + count))
    fi
    # Tests in Rust that find out as they run add a line each (crates/samplewire-testing).
    local skips=$3.skips
    [ -e "$skips" ] || return 0
    while IFS= read -r line; do
        skipped+=("$2: $line")
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

# beside LANE NAME COMMAND...: a step beside those that follow, up to `settle`, and after those that are
# in this lane already. It takes only the time that others leave: most tests of streams wait, and some
# measure.
beside() {
    local lane=$1 name=$2 log
    shift 2
    log=$(mktemp "$step_logs/XXXXXX")
    {
        local status before_pid before_log
        trap 'exit 130' INT
        chrt --idle --pid 0 "$BASHPID" 2>/dev/null || renice -n 19 -p "$BASHPID" >/dev/null
        read -r before_pid before_log <<<"${lanes[$lane]:-}"
        while [ "$before_pid" ] && [ ! -e "$before_log.ended" ] && kill -0 "$before_pid" 2>/dev/null; do
            sleep 0.2
        done
        # SIGKILL may have ended the shell.
        kill -0 "$$" || exit
        export SAMPLEWIRE_SKIPS=$log.skips
        # The step keeps the standard error that it has here.
        { time "$@" 2>&3 3>&-; } 3>&2 2>"$log.time"
        status=$?
        printf '%s\n' "$status" >"$log.ended"
    } >"$log" 2>&1 &
    begun+=("$! $log $name")
    lanes[$lane]="$! $log"
}

# Waits for the steps that were begun, and prints and counts each as any other.
settle() {
    local one pid log name status
    for one in "${begun[@]}"; do
        read -r pid log name <<<"$one"
        [ -e "$log.ended" ] || printf '\nwaiting for %s\n' "$name"
        # Its status is in a file: the system may have given its number to a later process, which the
        # shell then knows by it.
        wait "$pid"
        status=1
        [ ! -e "$log.ended" ] || read -r status <"$log.ended"
        printf '\n== %s\n' "$name"
        add_messages "$log" >/dev/null
        cat "$log"
        count "$status" "$name" "$log"
        rm -f "$log" "$log.ended" "$log.time"
    done
    begun=() lanes=() reaped=()
}

# skip NAME WHY
skip() {
    printf '\n== %s\nskipped: %s\n' "$1" "$2"
    skipped+=("$1: $2")
    skipped_steps=$((skipped_steps + 1))
}

# Prints the times of each step and of all, what was skipped and what failed; fails when a step did.
finish() {
    settle
    printf '\n'
    local line
    printf '%s\n' "${took[@]}" | sort -rn | sed 's/^/took     /'
    printf '%s\n' "${took[@]}" | awk '{ sum += $3 } END { print "took     " sum " s of processor time in all" }'
    for line in "${skipped[@]}"; do printf 'skipped  %s\n' "$line"; done
    for line in "${failed[@]}"; do printf 'FAILED   %s\n' "$line"; done
    printf 'steps: %d passed, %d failed, %d skipped; tests skipped within steps: %d\n' \
        "$passed" "${#failed[@]}" "$skipped_steps" "$skipped_tests"
    [ "${#failed[@]}" = 0 ]
}

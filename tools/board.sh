#!/usr/bin/env bash
# The virtual board: builds it, gives it a network, and says how to receive from it.
#
#   tools/board.sh [--width 64|512] [--carriage udp|rdma] [--full] [--udp PORT | --unix PATH]
#                  [--nic IMAGE [--cores N] [--memory local|dram|l2] [--nic-1.1] [--fifo BYTES]]
#                  [option of the board]...
#
# With --nic the board has a NIC with soft cores beside its stream. IMAGE is one of firmware/nic, or the
# path of a flat binary; it is built first. The cores are 1, 2 or 4. --fifo is the room for received frames that
# wait for the NIC: a power of two from 4096 to 65536 bytes [16384]. Below 16384 the NIC sends frames of up to
# 2,048 bytes.
# With --carriage rdma it writes into the memory of `samplewire roce listen`; with --full too, `samplewire
# roce write` and `send` fill the board's. The connection's lines
# are in out/rtl/sim, board.line and board.peer, if --line and --peer do not say otherwise.
# As root it sits on a TAP device in the network namespace samplewire-board; as anyone else in a
# user namespace of its own, or where none is to be had, or with --udp, at a UDP port of loopback. With
# --unix its Ethernet is a datagram socket, for `samplewire nic COMMAND unix:PATH`.
# Ctrl-C ends it and removes what was made.
set -euo pipefail
cd "$(dirname "$0")/.."

space=samplewire-board
tap=tap0
host_address=10.64.0.1/24
out=${OUT:-$PWD/out/rtl/sim}
width=64
udp=
socket=
target=
full=
carriage=udp
nic=
cores=1
memory=local
rings=
fifo=
options=()
while [ $# -gt 0 ]; do
    case $1 in
        --width) width=$2 && shift ;;
        --carriage) carriage=$2 && options+=("$1" "$2") && shift ;;
        --udp) udp=$2 && shift ;;
        --unix) socket=$2 && shift ;;
        --full) full=1 ;;
        --nic) nic=$2 && shift ;;
        --cores) cores=$2 && shift ;;
        --memory) memory=${2/dram/outside} && shift ;;
        --nic-1.1) rings=1 ;;
        --fifo) fifo=${2:-} && shift ;;
        --help | -h) sed -n '4,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" && options+=("$1") ;;
        --trace) target=trace && options+=("$1" "$2") && shift ;;
        *) options+=("$1") ;;
    esac
    shift
done

say() { printf 'board: %s\n' "$*"; }

# The command samplewire, as it can be called from any terminal that is in this folder.
client() {
    local built
    command -v samplewire >/dev/null && echo samplewire && return
    built=$(cargo metadata --no-deps --format-version 1 2>/dev/null |
        sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
    for built in "$built/release/samplewire" "$built/debug/samplewire"; do
        [ ! -x "$built" ] || { echo "$built" && return; }
    done
    echo "cargo run --quiet --release -p samplewire-cli --"
}

# The other end of the wire; the board brings the device up. The kernel's own chatter stays away.
make_tap() {
    "$@" ip link set lo up
    "$@" ip tuntap add "$tap" mode tap
    "$@" sysctl -q -w "net.ipv6.conf.$tap.disable_ipv6=1" 2>/dev/null || true
    "$@" ip link set "$tap" mtu 9000 up
    "$@" ip address add "$host_address" dev "$tap"
}

run_as_root() {
    # One that was killed leaves its namespace behind; one that lives has processes in it.
    if ip netns pids "$space" 2>/dev/null | grep -q .; then
        say "the namespace $space is in use: another board runs there"
        exit 1
    fi
    ip netns delete "$space" 2>/dev/null || true
    ip netns add "$space"
    trap 'ip netns delete $space' EXIT
    make_tap ip netns exec "$space"
    export SAMPLEWIRE_BOARD_COMMAND="${SUDO_USER:+sudo }ip netns exec $space $(client)"
    run ip netns exec "$space" "$board" --tap "$tap" "${options[@]}"
}

# The rest of this file, as the root of a user namespace.
run_as_user() {
    make_tap env
    export SAMPLEWIRE_BOARD_COMMAND="nsenter -t $$ -U -n --preserve-credentials $(client)"
    run "$board" --tap "$tap" "${options[@]}"
}

# Ctrl-C goes to the board too; its end is waited for, so that what was made is removed after it.
run() {
    "$@" &
    local child=$!
    trap : INT
    trap 'kill -TERM $child 2>/dev/null' TERM
    local status=0
    while kill -0 "$child" 2>/dev/null; do
        wait "$child" && status=0 || status=$?
    done
    trap - INT TERM
    return "$status"
}

if [ -n "${SAMPLEWIRE_BOARD_INSIDE:-}" ]; then
    board=$SAMPLEWIRE_BOARD_INSIDE
    run_as_user
    exit
fi

case $cores in 1 | 2 | 4) ;; *) say "--cores: \`$cores\` is not 1, 2 or 4" && exit 1 ;; esac
case $memory in local | outside | l2) ;; *) say "--memory: \`$memory\` is not local, dram or l2" && exit 1 ;; esac
case $fifo in
    4096 | 8192 | 16384 | 32768 | 65536 | "") ;;
    *) say "--fifo: \`$fifo\` is no power of two from 4096 to 65536" && exit 1 ;;
esac
[ -z "$fifo" ] || [ -n "$nic" ] || { say "--fifo needs --nic" && exit 1; }
[ "$fifo" != 16384 ] || fifo=
kind=
if [ -n "$nic" ]; then
    if [[ $nic != */* ]]; then
        make --no-print-directory firmware
        [ -f "out/firmware/$nic.bin" ] || { say "no image of firmware/nic is called $nic"; exit 1; }
        nic=out/firmware/$nic.bin
    fi
    options+=(--nic "$nic")
    [ "$memory" = local ] || kind=_$memory
    kind=_soc_$cores$kind${rings:+_rings}${fifo:+_fifo_$fifo}
fi

make -f rtl/sim/Makefile --no-print-directory OUT="$out" W="$width" CARRIAGE="$carriage" \
    FULL="$full" SOC="${nic:+1}" CORES="$cores" MEMORY="$memory" RINGS="$rings" FIFO="$fifo" ${target:-board}
board=$out/board_$width$kind${target:+_$target}
if [ "$carriage" = rdma ]; then
    board=$out/board_rdma${full:+_full}${target:+_$target}
    case " ${options[*]} " in
        *" --line "*) ;;
        *) options+=(--line "$out/board.line") ;;
    esac
    case " ${options[*]} " in
        *" --peer "*) ;;
        # The line of a connection before this one.
        *) rm -f "$out/board.peer" && options+=(--peer "$out/board.peer") ;;
    esac
fi

case " ${options[*]} " in
    *" --registers "*) ;;
    *)
        options+=(--registers "$out/board.registers")
        say "registers at $out/board.registers"
        ;;
esac

SAMPLEWIRE_BOARD_COMMAND=$(client)
export SAMPLEWIRE_BOARD_COMMAND
if [ -n "$socket" ]; then
    run "$board" --unix "$socket" "${options[@]}"
elif [ -n "$udp" ]; then
    run "$board" --udp "$udp" "${options[@]}"
elif [ ! -e /dev/net/tun ]; then
    say "there is no /dev/net/tun: no TAP device, UDP instead"
    run "$board" --udp 9100 "${options[@]}"
elif [ "$(id -u)" = 0 ] && ip netns list >/dev/null 2>&1; then
    run_as_root
elif [ -w /dev/net/tun ] && unshare -rn ip tuntap add "$tap" mode tap 2>/dev/null; then
    SAMPLEWIRE_BOARD_INSIDE=$board exec unshare -rn --kill-child "$0" "${options[@]}"
else
    say "no right to make a TAP device: UDP instead; as root there is Ethernet"
    run "$board" --udp 9100 "${options[@]}"
fi

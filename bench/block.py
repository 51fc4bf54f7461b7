"""A file by block transfer over raw Ethernet, against bare AF_PACKET frames, in turn.

    python3 bench/block.py [--rounds N] [--megabytes N] [--patience S] [--out FILE]

All over a pair of veth devices in two network namespaces, which are made for it and removed; that
needs root, ip, tc and ethtool. The file goes from memory to memory, by `samplewire nic send` and
`nic receive`. The bare frames are as long and as many, by one send and one recv each (the example
`raw_ether`). Rates are of frames that the receiver took, 1,500 bytes each. Exit: 0 when what must
hold does, 1 when it does not, 2 when a program failed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import kept
import machine
import netns
import turns
from netns import DEVICE, MACS, Wire
from programs import LOOK_S, Ended, Started, build, build_with, wait_all
from turns import Case, Figure, Group, Outcome, ProgramError

FRAME_BYTES = 1_500
PACKET_BYTES = 1_477
"""Of the file in a frame (docs/block.md)."""
ETHER_TYPE = "88b5"
READY_WITHIN_S = 5.0
OVER_WITHIN_S = 60.0
MEMORY = Path("/dev/shm")

GROUP = Group(
    name="block",
    why="frames of 1,500 bytes one way between two namespaces",
    payload_bytes=FRAME_BYTES,
    cases=(
        Case(name="block", what="nic send to nic receive", program="samplewire"),
        Case(name="raw", what="send and recv of AF_PACKET", program="raw_ether"),
    ),
    figures=(
        Figure(name="block", case="block"),
        Figure(name="raw", case="raw"),
        Figure(name="block / raw", case="block", base="raw", least=0.6),
        Figure(name="block", case="block", of="cpu_s_per_gb"),
        Figure(name="raw", case="raw", of="cpu_s_per_gb"),
    ),
)


def main() -> int:
    """Runs both by turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="of both in turn (default 7)")
    parser.add_argument("--megabytes", type=int, default=200, help="of the file (default 200)")
    parser.add_argument("--patience", type=float, default=0.0, help="seconds (default 0)")
    parser.add_argument("--out", type=Path, help="default: bench/results/DATE-block-MACHINE.json")
    arguments = parser.parse_args()
    if arguments.rounds < turns.ROUNDS_LEAST or not 1 <= arguments.megabytes <= 1_000:
        parser.error(f"at least {turns.ROUNDS_LEAST} rounds of 1 to 1,000 MB")
    if not netns.is_ready():
        return 2
    try:
        executables = build([("samplewire-io", "raw_ether")])
        executables |= build_with(["-p", "samplewire-cli"], kept.ROOT)
        with (
            tempfile.TemporaryDirectory(dir=MEMORY) as folder,
            netns.wire(mtu_bytes=FRAME_BYTES, has_gro=False, loss=0.0) as wire,
        ):
            file = Path(folder) / "in"
            file.write_bytes(bytes(range(250)) * (arguments.megabytes * 4_000))

            def measure(group: Group, case: Case) -> Outcome:
                run = block if case.name == "block" else raw
                return run(wire, executables[case.program], file)

            patience_end = time.monotonic() + arguments.patience
            runs = turns.run_group(GROUP, arguments.rounds, patience_end, measure)
    except (ProgramError, OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    _, missed = turns.report(
        "block", [GROUP], runs, arguments.out, file_bytes=arguments.megabytes * 1_000_000
    )
    return 1 if missed else 0


def block(wire: Wire, program: Path, file: Path) -> Outcome:
    """The file from memory to memory; its bytes are compared."""
    out = file.with_name("out")
    receive = [program, "nic", "receive", out, DEVICE, "--linger", "100ms", "--json"]
    send = [program, "nic", "send", file, DEVICE, "--peer", MACS[1], "--json"]
    far, near, kernel_s = both(wire, receive, send)
    said = {"receiver": json.loads(far.text), "sender": json.loads(near.text)}
    if subprocess.run(["cmp", "-s", file, out], check=False).returncode:
        raise ProgramError("the file that came is another")
    out.unlink()
    frames = said["receiver"]["packets"]
    return outcome(frames, said["receiver"]["seconds"], (far, near), kernel_s, said)


def raw(wire: Wire, program: Path, file: Path) -> Outcome:
    """As many frames; those that the receiver had no room for do not count."""
    frames = -(-file.stat().st_size // PACKET_BYTES)
    far, near, kernel_s = both(
        wire, [program, "receive", DEVICE], [program, "send", DEVICE, str(frames)]
    )
    said = {"receiver": json.loads(far.text), "sender": json.loads(near.text)}
    received = said["receiver"]
    return outcome(received["frames"], received["seconds"], (far, near), kernel_s, said)


def both(wire: Wire, receive: list, send: list) -> tuple[Ended, Ended, float]:
    """Runs a receiver, and a sender once it is there; also the CPU time of the kernel's threads."""
    kernel_s = machine.softirq_threads_s()
    with Started([*wire.receiver, *map(str, receive)]) as far:
        wait_open(far)
        with Started([*wire.sender, *map(str, send)]) as near:
            ended = wait_all([far, near], OVER_WITHIN_S)
    return ended[0], ended[1], machine.softirq_threads_s() - kernel_s


def wait_open(program: Started) -> None:
    """Waits until a socket in the program's namespace takes the frames."""
    end = time.monotonic() + READY_WITHIN_S
    while ETHER_TYPE not in Path(f"/proc/{program.pid}/net/packet").read_text():
        if time.monotonic() > end:
            raise ProgramError("the receiver opens no socket")
        time.sleep(LOOK_S)


def outcome(
    frames: int, seconds: float, ends: tuple[Ended, Ended], kernel_s: float, said: dict
) -> Outcome:
    """What a run has been, from its frames."""
    return Outcome(
        rate_bps=8 * FRAME_BYTES * frames / seconds,
        taken_bytes=FRAME_BYTES * frames,
        cpu_s=sum(end.cpu_s for end in ends) + kernel_s,
        beyond_window_bytes=0,
        said=said,
    )


if __name__ == "__main__":
    sys.exit(main())

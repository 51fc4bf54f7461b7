"""A wire loses what it is to lose, and leaves nothing behind."""

import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import netns
import programs
from netns import Losses
from turns import ProgramError

COUNT = 4_000

PORT = 9_471

SEND = f"""
import socket
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range({COUNT}):
    to.sendto(bytes(1_000), ("{netns.RECEIVER_IP}", {PORT}))
"""

RECEIVE = f"""
import socket
at = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
at.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
at.bind(("{netns.RECEIVER_IP}", {PORT}))
at.settimeout(1)
count = 0
try:
    while at.recv(2_000):
        count += 1
except TimeoutError:
    print(count)
"""


def why_not() -> str:
    """Why no wire can be made here; empty where one can."""
    reason = netns.missing()
    if not reason:
        try:
            with netns.wire(mtu_bytes=1_500, has_gro=False, loss=0.0):
                pass
        except ProgramError as error:
            return str(error)
    return reason


class Counters(unittest.TestCase):
    def test_tc_and_ethtool_are_read(self) -> None:
        answer = '[{"kind":"noqueue","packets":0},{"kind":"clsact","packets":90,"drops":3}]'
        self.assertEqual(netns.parse_clsact(answer), Losses(packets=90, lost=3))
        with self.assertRaisesRegex(ProgramError, "no clsact"):
            netns.parse_clsact('[{"kind":"noqueue","packets":0}]')
        queues = [f"rx_queue_{n}_xdp_packets: 50\n rx_queue_{n}_xdp_drops: 2" for n in range(2)]
        self.assertEqual(netns.parse_xdp("\n".join(queues)), Losses(packets=100, lost=4))

    def test_another_loss_than_was_asked_for_is_an_error(self) -> None:
        Losses(packets=10_000, lost=130).check(0.01)
        for lost in (0, 30, 170):
            with self.assertRaisesRegex(ProgramError, f"{lost} of 10000 packets"):
                Losses(packets=10_000, lost=lost).check(0.01)


class Made(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        if reason := why_not():
            raise unittest.SkipTest(reason)

    def lossy(self, *, has_gro: bool) -> None:
        with netns.wire(mtu_bytes=1_500, has_gro=has_gro, loss=0.1) as wire:
            before = wire.losses()
            python = [sys.executable, "-c"]
            with programs.Started([*wire.receiver, *python, RECEIVE]) as receiver:
                receiver.wait_listening(PORT, 5)
                with programs.Started([*wire.sender, *python, SEND]) as sender:
                    ended = programs.wait_all([receiver, sender], 20)
            losses = wire.losses().since(before)
        losses.check(0.1)
        self.assertEqual(losses.packets, COUNT)
        self.assertEqual(int(ended[0].text), COUNT - losses.lost)

    def test_every_packet_is_received_or_counted_as_lost(self) -> None:
        self.lossy(has_gro=False)

    def test_so_it_is_before_packets_are_joined(self) -> None:
        if not shutil.which("clang"):
            self.skipTest("there is no clang")
        self.lossy(has_gro=True)

    def test_what_a_killed_run_has_left_goes_with_the_next(self) -> None:
        with subprocess.Popen(["true"]) as gone:
            pass
        left = f"{netns.PREFIX}{gone.pid}-sender"
        netns.run("ip", "netns", "add", left)
        # Until it is waited for, a process that was killed is still listed.
        with subprocess.Popen(["sleep", "60"]) as killed:
            listed = f"{netns.PREFIX}{killed.pid}-receiver"
            netns.run("ip", "netns", "add", listed)
            killed.kill()
            os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
            netns.remove_left()
        self.assertFalse({left, listed} & {path.name for path in Path("/run/netns").iterdir()})

    def test_nothing_is_left_after_a_failure(self) -> None:
        before = set(Path("/run/netns").iterdir())
        with (
            self.assertRaises(ProgramError),
            netns.wire(mtu_bytes=1_500, has_gro=False, loss=0.0) as wire,
            programs.Started([*wire.sender, "sleep", "60"]) as sleeper,
        ):
            programs.wait_all([sleeper], 0.1)
        self.assertEqual(set(Path("/run/netns").iterdir()), before)
        self.assertFalse(Path(f"/proc/{sleeper.pid}").exists())


if __name__ == "__main__":
    unittest.main()

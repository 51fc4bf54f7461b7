"""tools/board.sh: values that it refuses before it builds anything."""

import subprocess
import unittest
from pathlib import Path

BOARD = Path(__file__).resolve().parent / "board.sh"


def board(*arguments: str) -> tuple[int, str]:
    """Its exit status, and what it says first."""
    done = subprocess.run(
        [BOARD, *arguments], check=False, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout.splitlines()[0]


class Values(unittest.TestCase):
    """Options with values that mean nothing."""

    def test_fifo_of_another_size_is_refused(self) -> None:
        """Also below and above the sizes that there are."""
        for size in ("5000", "2048", "131072", "0", "-4096", "4096k", "4 KiB"):
            words = f"board: --fifo: `{size}` is no power of two from 4096 to 65536"
            self.assertEqual(board("--nic", "stack", "--fifo", size), (1, words))

    def test_fifo_without_a_nic_is_refused(self) -> None:
        """The FIFO is the NIC's."""
        self.assertEqual(board("--fifo", "4096"), (1, "board: --fifo needs --nic"))

    def test_cores_and_memory_are_those_that_are_built(self) -> None:
        """The messages name the value."""
        words = "board: --cores: `3` is not 1, 2 or 4"
        self.assertEqual(board("--nic", "stack", "--cores", "3"), (1, words))
        words = "board: --memory: `disk` is not local, dram or l2"
        self.assertEqual(board("--nic", "stack", "--memory", "disk"), (1, words))


if __name__ == "__main__":
    unittest.main()

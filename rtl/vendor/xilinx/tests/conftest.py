"""The modules of rtl/vendor/xilinx, importable by name."""

import sys
from pathlib import Path

VENDOR = Path(__file__).resolve().parent.parent
RTL = VENDOR.parents[1]
folders = ("wrappers", "linux", "tests")
sys.path[:0] = [*(str(VENDOR / f) for f in folders), str(RTL / "regs")]

"""The modules of rtl/vendor/xilinx, importable by name."""

import sys
from pathlib import Path

VENDOR = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(VENDOR / folder) for folder in ("wrappers", "linux", "tests")]

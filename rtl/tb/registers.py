"""The configuration that registers hold, as the packed struct sw_regs_pkg::cfg_t."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "regs"))

import samplewire_regs as regs

CONFIG_WIDTHS: dict[str, int] = {}
for _register in regs.REGISTERS.values():
    if _register.access in ("rw", "wo"):
        for _field in _register.fields:
            if not _field.is_in_memory:
                end = _field.part + _field.bits
                CONFIG_WIDTHS[_field.name] = max(CONFIG_WIDTHS.get(_field.name, 0), end)


def unpack(value: int, widths: dict[str, int]) -> dict[str, int]:
    """Fields of a packed struct, the first in the highest bits."""
    fields = {}
    low = sum(widths.values())
    for name, bits in widths.items():
        low -= bits
        fields[name] = value >> low & ((1 << bits) - 1)
    return fields


def pack(values: dict[str, int], widths: dict[str, int]) -> int:
    """Opposite of `unpack`."""
    packed = 0
    for name, bits in widths.items():
        packed = packed << bits | values[name]
    return packed


def config_reset(*, is_wide: bool) -> dict[str, int]:
    """The configuration before anything is written, at 64 or (`is_wide`) 512 bits."""
    return {
        f.name: f.reset_wide if is_wide else f.reset
        for register in regs.REGISTERS.values()
        for f in register.fields
        if f.name in CONFIG_WIDTHS
    }

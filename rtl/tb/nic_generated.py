"""Frames, settings and counters of nic_generator and nic_checker, as nic_pkg words them."""

import struct

# Fields and bits, from the highest down: nic_pkg.
CFG = {
    "enable": 1, "swap": 1, "bytes_min": 14, "bytes_max": 14, "bytes_step": 14, "gap_cycles": 24,
    "frames": 32, "to": 48, "from": 48, "ether_type": 16,
}  # fmt: skip
GENERATOR = {"frames": 32, "bytes": 48, "cycles": 48}
CHECKER = {
    "frames": 32, "bytes": 48, "cycles": 48, "lost": 32, "duplicated": 32, "late": 32,
    "altered": 32, "foreign": 32, "trip_min": 32, "trip_max": 32, "trip_sum": 64,
}  # fmt: skip
# Addresses with their first byte in the low bits.
TO, FROM, KIND = 0x0100_005E_0002, 0x0F0E_0D0C_0B0A, 0x88B5
FAULTS = ("lost", "duplicated", "late", "altered", "foreign")
MASK = (1 << 64) - 1


def packed(fields, values):
    total = 0
    for name, bits in fields.items():
        assert values[name] < 1 << bits
        total = total << bits | values[name]
    return total


def unpacked(fields, value):
    found = {}
    for name, bits in reversed(fields.items()):
        found[name] = value & ((1 << bits) - 1)
        value >>= bits
    return found


def generated(length, number, stamp):
    """The frame as nic_pkg words it."""
    frame = TO.to_bytes(6, "little") + FROM.to_bytes(6, "little") + struct.pack("!HH", KIND, length)
    frame += struct.pack("<II", number, stamp)
    word = (stamp << 32 | number) ^ 0x9E3779B97F4A7C15
    while len(frame) < length:
        frame += word.to_bytes(8, "little")
        word ^= word << 13 & MASK
        word ^= word >> 7
        word ^= word << 17 & MASK
    return frame[:length]


def only(found, **faults):
    """Whether the checker found these faults and no others."""
    return {name: found[name] for name in FAULTS} == dict.fromkeys(FAULTS, 0) | faults

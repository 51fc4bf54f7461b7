"""Registers, written by generate.py from common.toml, congestion.toml and tx.toml."""

# fmt: off
from typing import NamedTuple


class Field(NamedTuple):
    """Bits of a register from `shift` up: those of the value `name` from `part` up.

    `is_constant`: a parameter of the build. `is_in_memory`: in csr's memory alone.
    """

    name: str
    shift: int
    bits: int
    part: int
    reset: int
    reset_wide: int  # at W = 512
    is_constant: bool = False
    is_in_memory: bool = False


class Register(NamedTuple):
    """One 32-bit register; `access` is ro, rw, wo or pulse."""

    offset: int
    access: str
    fields: tuple[Field, ...]


REGISTERS = {
    "id": Register(0x000, "ro", (
        Field("id", 0, 32, 0, 0x0, 0x0, is_constant=True),
    )),
    "version": Register(0x004, "ro", (
        Field("minor", 0, 16, 0, 0x0, 0x0, is_constant=True),
        Field("major", 16, 16, 0, 0x0, 0x0, is_constant=True),
    )),
    "geometry": Register(0x008, "ro", (
        Field("width", 0, 16, 0, 0x0, 0x0, is_constant=True),
        Field("slot_bytes", 16, 16, 0, 0x0, 0x0, is_constant=True),
    )),
    "slots": Register(0x00C, "ro", (
        Field("slots", 0, 32, 0, 0x0, 0x0, is_constant=True),
    )),
    "capability": Register(0x010, "ro", (
        Field("nack_depth", 0, 16, 0, 0x0, 0x0, is_constant=True),
        Field("channels", 16, 8, 0, 0x0, 0x0, is_constant=True),
        Field("counters", 24, 8, 0, 0x0, 0x0, is_constant=True),
    )),
    "state": Register(0x014, "ro", (
        Field("state", 0, 3, 0, 0x0, 0x0),
        Field("stream_tag_valid", 3, 1, 0, 0x0, 0x0),
        Field("gate_armed", 4, 1, 0, 0x0, 0x0),
        Field("sync_armed", 5, 1, 0, 0x0, 0x0),
        Field("sync_count", 6, 8, 0, 0x0, 0x0),
    )),
    "stream_tag": Register(0x018, "ro", (
        Field("stream_tag", 0, 32, 0, 0x0, 0x0),
    )),
    "peer_ip": Register(0x01C, "ro", (
        Field("peer_ip", 0, 32, 0, 0x0, 0x0),
    )),
    "peer_port": Register(0x020, "ro", (
        Field("peer_port", 0, 16, 0, 0x0, 0x0),
        Field("ring_fill", 16, 16, 0, 0x0, 0x0),
    )),
    "oldest": Register(0x024, "ro", (
        Field("oldest", 0, 32, 0, 0x0, 0x0),
    )),
    "sent": Register(0x028, "ro", (
        Field("sent", 0, 32, 0, 0x0, 0x0),
    )),
    "next": Register(0x02C, "ro", (
        Field("next", 0, 32, 0, 0x0, 0x0),
    )),
    "limit": Register(0x030, "ro", (
        Field("limit", 0, 32, 0, 0x0, 0x0),
    )),
    "rtt": Register(0x034, "ro", (
        Field("rtt", 0, 32, 0, 0x0, 0x0),
    )),
    "report_number": Register(0x038, "ro", (
        Field("report_number", 0, 32, 0, 0x0, 0x0),
    )),
    "core": Register(0x03C, "ro", (
        Field("core", 0, 8, 0, 0x0, 0x0, is_constant=True),
    )),
    "rate": Register(0x040, "ro", (
        Field("rate", 0, 24, 0, 0x0, 0x0),
    )),
    "rate_target": Register(0x044, "ro", (
        Field("rate_target", 0, 24, 0, 0x0, 0x0),
    )),
    "alpha": Register(0x048, "ro", (
        Field("alpha", 0, 17, 0, 0x0, 0x0),
    )),
    "event_count": Register(0x04C, "ro", (
        Field("event_count", 0, 32, 0, 0x0, 0x0),
    )),
    "event_time_lo": Register(0x050, "ro", (
        Field("event_time_lo", 0, 32, 0, 0x0, 0x0),
    )),
    "event_time_hi": Register(0x054, "ro", (
        Field("event_time_hi", 0, 13, 0, 0x0, 0x0),
        Field("event_cause", 13, 3, 0, 0x0, 0x0),
    )),
    "event_rate": Register(0x058, "ro", (
        Field("event_rate", 0, 24, 0, 0x0, 0x0),
    )),
    "command": Register(0x080, "pulse", (
        Field("snapshot", 0, 1, 0, 0x0, 0x0),
        Field("close", 1, 1, 0, 0x0, 0x0),
        Field("gate_open", 2, 1, 0, 0x0, 0x0),
        Field("gate_close", 3, 1, 0, 0x0, 0x0),
        Field("sync_set", 4, 1, 0, 0x0, 0x0),
        Field("sync_latch", 5, 1, 0, 0x0, 0x0),
        Field("sync_cancel", 6, 1, 0, 0x0, 0x0),
    )),
    "control": Register(0x084, "rw", (
        Field("enable", 0, 1, 0, 0x0, 0x0),
        Field("loopback", 1, 2, 0, 0x0, 0x0),
        Field("source", 3, 2, 0, 0x0, 0x0),
    )),
    "mac_lo": Register(0x088, "rw", (
        Field("mac", 0, 32, 0, 0x25357495200, 0x25357495200),
    )),
    "mac_hi": Register(0x08C, "rw", (
        Field("mac", 0, 16, 32, 0x25357495200, 0x25357495200),
    )),
    "ip": Register(0x090, "rw", (
        Field("ip", 0, 32, 0, 0x0, 0x0),
    )),
    "port": Register(0x094, "rw", (
        Field("port", 0, 16, 0, 0x238C, 0x238C),
    )),
    "payload": Register(0x098, "rw", (
        Field("payload_bytes", 0, 16, 0, 0x580, 0x580),
    )),
    "pace_rate": Register(0x09C, "rw", (
        Field("pace_rate", 0, 24, 0, 0x0, 0x0),
    )),
    "pace_burst": Register(0x0A0, "rw", (
        Field("pace_burst_ns", 0, 20, 0, 0x4E20, 0x4E20),
    )),
    "silence": Register(0x0A4, "rw", (
        Field("dead_ms", 0, 16, 0, 0x3A98, 0x3A98),
        Field("idle_ms", 16, 16, 0, 0x64, 0x64),
    )),
    "template_words": Register(0x0A8, "rw", (
        Field("template_words", 0, 7, 0, 0x0, 0x0),
    )),
    "boot_lo": Register(0x0AC, "rw", (
        Field("boot_id", 0, 32, 0, 0x0, 0x0, is_in_memory=True),
    )),
    "boot_hi": Register(0x0B0, "rw", (
        Field("boot_id", 0, 32, 32, 0x0, 0x0, is_in_memory=True),
    )),
    "secret_0": Register(0x0B4, "wo", (
        Field("secret", 0, 32, 0, 0x0, 0x0, is_in_memory=True),
    )),
    "secret_1": Register(0x0B8, "wo", (
        Field("secret", 0, 32, 32, 0x0, 0x0, is_in_memory=True),
    )),
    "secret_2": Register(0x0BC, "wo", (
        Field("secret", 0, 32, 64, 0x0, 0x0, is_in_memory=True),
    )),
    "secret_3": Register(0x0C0, "wo", (
        Field("secret", 0, 32, 96, 0x0, 0x0, is_in_memory=True),
    )),
    "source_index_lo": Register(0x0C4, "rw", (
        Field("source_index", 0, 32, 0, 0x0, 0x0),
    )),
    "source_index_hi": Register(0x0C8, "rw", (
        Field("source_index", 0, 32, 32, 0x0, 0x0),
    )),
    "source_count_lo": Register(0x0CC, "rw", (
        Field("source_count", 0, 32, 0, 0x0, 0x0),
    )),
    "source_count_hi": Register(0x0D0, "rw", (
        Field("source_count", 0, 32, 32, 0x0, 0x0),
    )),
    "source_rate": Register(0x0D4, "rw", (
        Field("source_rate", 0, 24, 0, 0x0, 0x0),
    )),
    "scratch": Register(0x0D8, "rw", (
        Field("scratch", 0, 32, 0, 0x0, 0x0, is_in_memory=True),
    )),
    "event_index": Register(0x0DC, "rw", (
        Field("event_index", 0, 9, 0, 0x0, 0x0),
    )),
    "tai_index_lo": Register(0x0E0, "rw", (
        Field("tai_index", 0, 32, 0, 0x0, 0x0, is_in_memory=True),
    )),
    "tai_index_hi": Register(0x0E4, "rw", (
        Field("tai_index", 0, 32, 32, 0x0, 0x0, is_in_memory=True),
    )),
    "tai_time_lo": Register(0x0E8, "rw", (
        Field("tai_time", 0, 32, 0, 0x0, 0x0, is_in_memory=True),
    )),
    "tai_time_hi": Register(0x0EC, "rw", (
        Field("tai_time", 0, 32, 32, 0x0, 0x0, is_in_memory=True),
    )),
    "tai_period_lo": Register(0x0F0, "rw", (
        Field("tai_period", 0, 32, 0, 0x0, 0x0, is_in_memory=True),
    )),
    "tai_period_hi": Register(0x0F4, "rw", (
        Field("tai_period", 0, 32, 32, 0x0, 0x0, is_in_memory=True),
    )),
    "tai_number": Register(0x0F8, "rw", (
        Field("tai_number", 0, 16, 0, 0x0, 0x0, is_in_memory=True),
    )),
    "rate_control": Register(0x100, "rw", (
        Field("rate_mode", 0, 2, 0, 0x2, 0x2),
        Field("gain_shift", 2, 5, 0, 0x8, 0x8),
        Field("recovery_stages", 7, 5, 0, 0x5, 0x5),
    )),
    "alpha_period": Register(0x104, "rw", (
        Field("alpha_period_ns", 0, 20, 0, 0xD6D8, 0xD6D8),
    )),
    "rise_period": Register(0x108, "rw", (
        Field("rise_period_ns", 0, 20, 0, 0xD6D8, 0xD6D8),
    )),
    "cut_interval": Register(0x10C, "rw", (
        Field("cut_interval_ns", 0, 20, 0, 0xC350, 0xC350),
    )),
    "rise_bytes": Register(0x110, "rw", (
        Field("rise_bytes", 0, 26, 0, 0xF4240, 0x1E8480),
    )),
    "rate_additive": Register(0x114, "rw", (
        Field("rate_additive", 0, 24, 0, 0x29, 0x52),
    )),
    "rate_hyper": Register(0x118, "rw", (
        Field("rate_hyper", 0, 24, 0, 0x333, 0x666),
    )),
    "rate_minimum": Register(0x11C, "rw", (
        Field("rate_minimum", 0, 24, 0, 0x52, 0x52),
    )),
    "rate_start": Register(0x120, "rw", (
        Field("rate_start", 0, 24, 0, 0x14000, 0xC8000),
    )),
    "rate_first_cut": Register(0x124, "rw", (
        Field("rate_first_cut", 0, 24, 0, 0x14000, 0xC8000),
    )),
    "rate_line": Register(0x128, "rw", (
        Field("rate_line", 0, 24, 0, 0x14000, 0xC8000),
    )),
}
ID_VALUE = 0x53574952
COUNTERS_OFFSET = 0x200
TEMPLATE_OFFSET = 0x400
COUNTERS_WORDS = 64
TEMPLATE_WORDS = 64
COUNTERS = (
    "sync_index",
    "sync_time",
    "time",
    "samples_lost",
    "packets",
    "retransmissions",
    "marks",
    "control_frames",
    "budget_stalls",
    "requests_refused",
    "requests_skipped",
    "reports",
    "reports_refused",
    "congestion",
    "cuts",
    "overflows",
    "opens",
    "challenged",
    "accepted",
    "refused",
    "takeovers",
    "ended_by_peer",
    "ended_finished",
    "ended_silent",
    "ended_broken",
    "ended_half_open",
    "unknown",
    "frames_received",
    "frames_bad",
    "frames_runt",
    "frames_oversize",
    "frames_foreign",
    "fragments",
    "ip_checksum",
    "udp_checksum",
    "lengths",
    "corrupted",
    "malformed",
    "no_room",
    "arp_replies",
    "icmp_replies",
    "replies_suppressed",
    "mac_tx_dropped",
    "mac_rx_dropped",
    "writes_refused",
)
VALUES = 4  # entries before the first event

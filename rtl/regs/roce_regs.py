"""Registers, written by generate.py from common.toml, congestion.toml and roce.toml."""

# fmt: off
from samplewire_regs import Field, Register

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
        Field("queue", 16, 8, 0, 0x0, 0x0, is_constant=True),
        Field("counters", 24, 8, 0, 0x0, 0x0, is_constant=True),
    )),
    "slots": Register(0x00C, "ro", (
        Field("slots", 0, 32, 0, 0x0, 0x0, is_constant=True),
    )),
    "memory": Register(0x010, "ro", (
        Field("memory_bytes", 0, 32, 0, 0x0, 0x0, is_constant=True),
    )),
    "state": Register(0x014, "ro", (
        Field("is_running", 0, 1, 0, 0x0, 0x0),
        Field("is_refused", 1, 1, 0, 0x0, 0x0),
        Field("has_failed", 2, 1, 0, 0x0, 0x0),
        Field("status", 3, 3, 0, 0x0, 0x0),
    )),
    "posted": Register(0x018, "ro", (
        Field("posted", 0, 32, 0, 0x0, 0x0),
    )),
    "completed": Register(0x01C, "ro", (
        Field("completed", 0, 32, 0, 0x0, 0x0),
    )),
    "receiver": Register(0x020, "ro", (
        Field("is_full", 0, 1, 0, 0x0, 0x0, is_constant=True),
        Field("has_fault", 1, 1, 0, 0x0, 0x0),
        Field("fault", 2, 3, 0, 0x0, 0x0),
    )),
    "queue_pairs": Register(0x024, "ro", (
        Field("qps", 0, 8, 0, 0x0, 0x0, is_constant=True),
        Field("event_qp", 8, 4, 0, 0x0, 0x0),
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
        Field("flush", 1, 1, 0, 0x0, 0x0),
    )),
    "control": Register(0x084, "rw", (
        Field("run", 0, 1, 0, 0x0, 0x0),
        Field("loopback", 1, 2, 0, 0x0, 0x0),
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
        Field("port", 0, 16, 0, 0xC000, 0xC000),
    )),
    "peer_mac_lo": Register(0x098, "rw", (
        Field("peer_mac", 0, 32, 0, 0x0, 0x0),
    )),
    "pace_rate": Register(0x09C, "rw", (
        Field("pace_rate", 0, 24, 0, 0x0, 0x0),
    )),
    "pace_burst": Register(0x0A0, "rw", (
        Field("pace_burst_ns", 0, 20, 0, 0x4E20, 0x4E20),
    )),
    "peer_mac_hi": Register(0x0A4, "rw", (
        Field("peer_mac", 0, 16, 32, 0x0, 0x0),
    )),
    "peer_ip": Register(0x0A8, "rw", (
        Field("peer_ip", 0, 32, 0, 0x0, 0x0),
    )),
    "local_qp": Register(0x0AC, "rw", (
        Field("local_qp", 0, 24, 0, 0x2, 0x2),
    )),
    "remote_qp": Register(0x0B0, "rw", (
        Field("remote_qp", 0, 24, 0, 0x2, 0x2),
    )),
    "first_psn": Register(0x0B4, "rw", (
        Field("first_psn", 0, 24, 0, 0x0, 0x0),
    )),
    "retry": Register(0x0B8, "rw", (
        Field("mtu", 0, 3, 0, 0x5, 0x5),
        Field("timeout", 3, 5, 0, 0xE, 0xE),
        Field("retries", 8, 3, 0, 0x7, 0x7),
        Field("rnr_retries", 11, 3, 0, 0x7, 0x7),
        Field("congested_acks_cut", 14, 1, 0, 0x0, 0x0),
    )),
    "window": Register(0x0BC, "rw", (
        Field("window", 0, 16, 0, 0x40, 0x40),
        Field("ack_every", 16, 16, 0, 0x10, 0x10),
    )),
    "rkey": Register(0x0C0, "rw", (
        Field("rkey", 0, 32, 0, 0x0, 0x0),
    )),
    "region_lo": Register(0x0C4, "rw", (
        Field("region", 0, 32, 0, 0x0, 0x0),
    )),
    "region_hi": Register(0x0C8, "rw", (
        Field("region", 0, 32, 32, 0x0, 0x0),
    )),
    "message": Register(0x0CC, "rw", (
        Field("message_bytes", 0, 32, 0, 0x1000, 0x1000),
    )),
    "region_slots": Register(0x0D0, "rw", (
        Field("region_slots", 0, 32, 0, 0x1, 0x1),
    )),
    "receive": Register(0x0D4, "rw", (
        Field("peer_psn", 0, 24, 0, 0x0, 0x0),
        Field("rnr_timer", 24, 5, 0, 0xC, 0xC),
    )),
    "local_key": Register(0x0D8, "rw", (
        Field("local_key", 0, 32, 0, 0x0, 0x0),
    )),
    "event_index": Register(0x0DC, "rw", (
        Field("event_index", 0, 9, 0, 0x0, 0x0),
    )),
    "local_region_lo": Register(0x0E0, "rw", (
        Field("local_region", 0, 32, 0, 0x0, 0x0),
    )),
    "local_region_hi": Register(0x0E4, "rw", (
        Field("local_region", 0, 32, 32, 0x0, 0x0),
    )),
    "local_bytes_lo": Register(0x0E8, "rw", (
        Field("local_bytes", 0, 32, 0, 0x0, 0x0),
    )),
    "local_bytes_hi": Register(0x0EC, "rw", (
        Field("local_bytes", 0, 32, 32, 0x0, 0x0),
    )),
    "local_rights": Register(0x0F0, "rw", (
        Field("may_write", 0, 16, 0, 0x0, 0x0),
    )),
    "notification": Register(0x0F4, "rw", (
        Field("cnp_interval_ns", 0, 20, 0, 0xC350, 0xC350),
    )),
    "queue_pair": Register(0x0F8, "rw", (
        Field("select", 0, 4, 0, 0x0, 0x0),
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
COUNTERS_WORDS = 64
COUNTERS = (
    "sync_index",
    "sync_time",
    "time",
    "samples_lost",
    "packets",
    "retransmissions",
    "messages",
    "messages_failed",
    "acks",
    "answers_outside",
    "answers_dropped",
    "sequence_naks",
    "rnr_naks",
    "naks_repeated",
    "timeouts",
    "cnps",
    "acks_marked",
    "cuts",
    "frames_bad",
    "frames_runt",
    "frames_oversize",
    "frames_foreign",
    "fragments",
    "ip_checksum",
    "udp_checksum",
    "lengths",
    "versions",
    "corrupted",
    "partition_keys",
    "strangers",
    "opcodes",
    "syndromes",
    "requests",
    "receives",
    "duplicates",
    "out_of_order",
    "not_ready",
    "faults",
    "after_fault",
    "unexpected",
    "requests_dropped",
    "requests_marked",
    "cnps_sent",
    "no_room",
    "arp_replies",
    "icmp_replies",
    "replies_suppressed",
    "mac_tx_dropped",
    "mac_rx_dropped",
    "writes_refused",
)
VALUES = 4  # entries before the first event

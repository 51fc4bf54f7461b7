"""The NIC's registers, written by generate.py from nic.toml."""

# fmt: off
from samplewire_regs import Field, Register

REGISTERS = {
    "control": Register(0x000, "rw", (
        Field("enable", 0, 1, 0, 0x0, 0x0),
        Field("enable_mac", 1, 1, 0, 0x0, 0x0),
        Field("enable_irq", 2, 1, 0, 0x0, 0x0),
    )),
    "servers": Register(0x004, "rw", (
        Field("servers", 0, 3, 0, 0x1, 0x1),
    )),
    "debug_1": Register(0x008, "rw", (
        Field("debug", 0, 2, 0, 0x0, 0x0),
    )),
    "debug_2": Register(0x00C, "ro", (
        Field("debug_mismatches", 0, 16, 0, 0x0, 0x0),
        Field("debug_checked", 16, 15, 0, 0x0, 0x0),
        Field("debug_busy", 31, 1, 0, 0x0, 0x0),
    )),
    "depth": Register(0x010, "ro", (
        Field("depth", 0, 8, 0, 0x0, 0x0, is_constant=True),
    )),
    "receive_0": Register(0x020, "queue", (
        Field("pointer", 0, 32, 0, 0x0, 0x0),
    )),
    "receive_level_0": Register(0x024, "ro", (
        Field("level", 0, 7, 0, 0x0, 0x0),
    )),
    "receive_1": Register(0x028, "queue", (
        Field("pointer", 0, 32, 0, 0x0, 0x0),
    )),
    "receive_level_1": Register(0x02C, "ro", (
        Field("level", 0, 7, 0, 0x0, 0x0),
    )),
    "receive_2": Register(0x030, "queue", (
        Field("pointer", 0, 32, 0, 0x0, 0x0),
    )),
    "receive_level_2": Register(0x034, "ro", (
        Field("level", 0, 7, 0, 0x0, 0x0),
    )),
    "receive_3": Register(0x038, "queue", (
        Field("pointer", 0, 32, 0, 0x0, 0x0),
    )),
    "receive_level_3": Register(0x03C, "ro", (
        Field("level", 0, 7, 0, 0x0, 0x0),
    )),
    "transmit_0": Register(0x040, "queue", (
        Field("pointer", 0, 32, 0, 0x0, 0x0),
    )),
    "transmit_level_0": Register(0x044, "ro", (
        Field("level", 0, 7, 0, 0x0, 0x0),
    )),
    "transmit_1": Register(0x048, "queue", (
        Field("pointer", 0, 32, 0, 0x0, 0x0),
    )),
    "transmit_level_1": Register(0x04C, "ro", (
        Field("level", 0, 7, 0, 0x0, 0x0),
    )),
    "transmit_2": Register(0x050, "queue", (
        Field("pointer", 0, 32, 0, 0x0, 0x0),
    )),
    "transmit_level_2": Register(0x054, "ro", (
        Field("level", 0, 7, 0, 0x0, 0x0),
    )),
    "transmit_3": Register(0x058, "queue", (
        Field("pointer", 0, 32, 0, 0x0, 0x0),
    )),
    "transmit_level_3": Register(0x05C, "ro", (
        Field("level", 0, 7, 0, 0x0, 0x0),
    )),
    "free": Register(0x060, "queue", (
        Field("pointer", 0, 32, 0, 0x0, 0x0),
    )),
    "free_level": Register(0x064, "ro", (
        Field("level", 0, 7, 0, 0x0, 0x0),
    )),
    "lock": Register(0x068, "queue", (
        Field("lock", 0, 1, 0, 0x0, 0x0),
    )),
    "push_result": Register(0x06C, "ro", (
        Field("push_result", 0, 3, 0, 0x0, 0x0),
    )),
    "base": Register(0x080, "rw", (
        Field("base", 0, 32, 0, 0x0, 0x0),
    )),
    "buffer_size": Register(0x084, "rw", (
        Field("buffer_bits", 0, 3, 0, 0x4, 0x4),
    )),
    "buffers": Register(0x088, "rw", (
        Field("buffers", 0, 15, 0, 0x40, 0x40),
    )),
    "address_high": Register(0x08C, "rw", (
        Field("address_high", 0, 4, 0, 0x0, 0x0),
    )),
    "filter": Register(0x090, "rw", (
        Field("filter", 0, 4, 0, 0x3, 0x3),
    )),
    "mode": Register(0x094, "rw", (
        Field("mode", 0, 2, 0, 0x0, 0x0),
    )),
    "lock_cycles": Register(0x098, "rw", (
        Field("lock_cycles", 0, 24, 0, 0x10000, 0x10000),
    )),
    "choice": Register(0x09C, "rw", (
        Field("choice", 0, 2, 0, 0x0, 0x0),
    )),
    "data_frames": Register(0x0A0, "rw", (
        Field("ethertype", 0, 16, 0, 0x88B5, 0x88B5),
        Field("udp_port", 16, 16, 0, 0x238C, 0x238C),
    )),
    "command": Register(0x0A4, "pulse", (
        Field("snapshot", 0, 1, 0, 0x0, 0x0),
    )),
    "route": Register(0x0A8, "rw", (
        Field("route", 0, 2, 0, 0x0, 0x0),
    )),
    "share": Register(0x0AC, "rw", (
        Field("share", 0, 8, 0, 0xD, 0xD),
    )),
    "mac_lo": Register(0x340, "rw", (
        Field("mac", 0, 32, 0, 0x5249575302, 0x5249575302),
    )),
    "mac_hi": Register(0x344, "rw", (
        Field("mac", 0, 16, 32, 0x5249575302, 0x5249575302),
    )),
    "packets_transmitted": Register(0x348, "ro", (
        Field("packets_transmitted", 0, 32, 0, 0x0, 0x0),
    )),
    "packets_received": Register(0x34C, "ro", (
        Field("packets_received", 0, 32, 0, 0x0, 0x0),
    )),
    "status": Register(0x350, "ro", (
        Field("started", 0, 1, 0, 0x0, 0x0),
    )),
    "generator": Register(0x354, "rw", (
        Field("generate_on", 0, 1, 0, 0x0, 0x0),
        Field("swap", 1, 1, 0, 0x0, 0x0),
    )),
    "bytes_min": Register(0x358, "rw", (
        Field("bytes_min", 0, 14, 0, 0x40, 0x40),
    )),
    "bytes_max": Register(0x35C, "rw", (
        Field("bytes_max", 0, 14, 0, 0x40, 0x40),
    )),
    "bytes_step": Register(0x360, "rw", (
        Field("bytes_step", 0, 14, 0, 0x0, 0x0),
    )),
    "gap_cycles": Register(0x364, "rw", (
        Field("gap_cycles", 0, 24, 0, 0x7D, 0x7D),
    )),
    "frames": Register(0x368, "rw", (
        Field("frames", 0, 32, 0, 0x0, 0x0),
    )),
    "to_lo": Register(0x36C, "rw", (
        Field("to", 0, 32, 0, 0x0, 0x0),
    )),
    "to_hi": Register(0x370, "rw", (
        Field("to", 0, 16, 32, 0x0, 0x0),
    )),
    "from_lo": Register(0x374, "rw", (
        Field("from", 0, 32, 0, 0x0, 0x0),
    )),
    "from_hi": Register(0x378, "rw", (
        Field("from", 0, 16, 32, 0x0, 0x0),
        Field("generated_type", 16, 16, 0, 0x88B5, 0x88B5),
    )),
    "generated_frames": Register(0x380, "ro", (
        Field("generated_frames", 0, 32, 0, 0x0, 0x0),
    )),
    "generated_bytes_lo": Register(0x388, "ro", (
        Field("generated_bytes", 0, 32, 0, 0x0, 0x0),
    )),
    "generated_bytes_hi": Register(0x38C, "ro", (
        Field("generated_bytes", 0, 16, 32, 0x0, 0x0),
    )),
    "generated_cycles_lo": Register(0x390, "ro", (
        Field("generated_cycles", 0, 32, 0, 0x0, 0x0),
    )),
    "generated_cycles_hi": Register(0x394, "ro", (
        Field("generated_cycles", 0, 16, 32, 0x0, 0x0),
    )),
    "checked_frames": Register(0x398, "ro", (
        Field("checked_frames", 0, 32, 0, 0x0, 0x0),
    )),
    "checked_bytes_lo": Register(0x3A0, "ro", (
        Field("checked_bytes", 0, 32, 0, 0x0, 0x0),
    )),
    "checked_bytes_hi": Register(0x3A4, "ro", (
        Field("checked_bytes", 0, 16, 32, 0x0, 0x0),
    )),
    "checked_cycles_lo": Register(0x3A8, "ro", (
        Field("checked_cycles", 0, 32, 0, 0x0, 0x0),
    )),
    "checked_cycles_hi": Register(0x3AC, "ro", (
        Field("checked_cycles", 0, 16, 32, 0x0, 0x0),
    )),
    "lost": Register(0x3B0, "ro", (
        Field("lost", 0, 32, 0, 0x0, 0x0),
    )),
    "duplicated": Register(0x3B8, "ro", (
        Field("duplicated", 0, 32, 0, 0x0, 0x0),
    )),
    "late": Register(0x3C0, "ro", (
        Field("late", 0, 32, 0, 0x0, 0x0),
    )),
    "altered": Register(0x3C8, "ro", (
        Field("altered", 0, 32, 0, 0x0, 0x0),
    )),
    "foreign": Register(0x3D0, "ro", (
        Field("foreign", 0, 32, 0, 0x0, 0x0),
    )),
    "trip_min": Register(0x3D8, "ro", (
        Field("trip_min", 0, 32, 0, 0x0, 0x0),
    )),
    "trip_max": Register(0x3E0, "ro", (
        Field("trip_max", 0, 32, 0, 0x0, 0x0),
    )),
    "trip_sum_lo": Register(0x3E8, "ro", (
        Field("trip_sum", 0, 32, 0, 0x0, 0x0),
    )),
    "trip_sum_hi": Register(0x3EC, "ro", (
        Field("trip_sum", 0, 32, 32, 0x0, 0x0),
    )),
    "counter": Register(0x3FC, "ro", (
        Field("counter", 0, 32, 0, 0x0, 0x0),
    )),
}
COUNTERS_OFFSET = 0x100
COUNTERS = (
    "zero_0",
    "zero_1",
    "time",
    "zero_3",
    "received",
    "bad",
    "too_long",
    "filtered",
    "queue_full",
    "write_failed",
    "disabled",
    "sent",
    "bad_length",
    "read_failed",
    "bad_push",
    "full_push",
    "locked_op",
    "revoked",
    "refused",
    "mac_rx_dropped",
    "mac_tx_dropped",
    "mac_rx_bad",
    "attach_rx",
    "attach_rx_no_room",
    "attach_rx_cut",
    "attach_tx",
    "attach_tx_dropped",
    "write_back_failed",
    "failed_op",
)

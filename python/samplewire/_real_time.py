"""What the I/O thread of a stream may have of the machine."""

from dataclasses import dataclass
from typing import Literal

Waits = Literal["asleep", "spinning", "both-spinning", "inline"]
"""How the I/O thread and the program wait."""

Link = Literal["auto", "udp", "xdp", "xdp-generic"]
"""How packets pass the kernel; see `receive`."""

Carriage = Literal["data", "rdma"]
"""How packets of samples travel; see `receive`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealTime:
    """Choices for the thread and the memory of a stream; nothing unless set.

    What the system does not grant is no error: the stream runs without it, and `granted` lists it.

    Attributes
    ----------
    cpu : int, optional
        Keeps the I/O thread on this CPU, numbered from 0.
    priority : int, optional
        Schedules the I/O thread by SCHED_FIFO with this priority, 1 (the least) to 99. Needs
        CAP_SYS_NICE or a limit of that height (`ulimit -r`).
    lock_memory : bool
        Keeps all memory that the process has when the stream is opened from being swapped out.
        Needs CAP_IPC_LOCK or a limit of that size (`ulimit -l`).
    huge_pages : bool
        Takes the memory of the stream in huge pages.
    timer_slack_s : float, optional
        How much later than due the I/O thread's timers may end, in seconds, 1e-9 to 1; default the
        system's, 50e-6 as a rule.
    coalesce_s : float, optional
        How long an I/O thread that has nothing left to do rests, in seconds, 1e-9 to 0.01; default
        the next packet wakes it. Fewer turns for the same packets, each up to so much later.
    waits : str
        `asleep`: both sleep. `spinning`: the I/O thread looks without a pause and takes a CPU for
        itself. `both-spinning`: so does the program's thread while it waits, without the GIL.
        `inline`: there is no I/O thread, the program's calls send, receive and repair; a program
        that stays away for 15 s loses the stream.

    Examples
    --------
    >>> RealTime(cpu=0, coalesce_s=50e-6).waits
    'asleep'
    """

    cpu: int | None = None
    priority: int | None = None
    lock_memory: bool = False
    huge_pages: bool = False
    timer_slack_s: float | None = None
    coalesce_s: float | None = None
    waits: Waits = "asleep"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An option that the system did not grant.

    Attributes
    ----------
    what : str
        The option, e.g. `SCHED_FIFO 50`.
    why : str
        The reason, as the system reports it.
    capability : str or None
        The capability of the program that would grant it, e.g. `cap_sys_nice`, if there is one.
    command : str
        A command that would grant it.
    """

    what: str
    why: str
    capability: str | None
    command: str

    def __str__(self) -> str:
        return f"no {self.what}: {self.why}"


@dataclass(frozen=True, slots=True)
class Granted:
    """The `RealTime` options that a stream got, as the kernel confirmed them.

    Attributes
    ----------
    cpu : int or None
        The CPU that the I/O thread is pinned to.
    priority : int or None
        Its priority under SCHED_FIFO.
    locked_bytes : int or None
        Bytes of the process that are locked in memory.
    pages : str or None
        The pages of the stream's memory, if huge pages were requested: `huge`, `transparent`
        (huge pages that the kernel joined) or `small`.
    timer_slack_s, coalesce_s : float or None
        How late the thread's timers may end, and how long it sleeps without work, in seconds, if
        set.
    waits : str
        How the stream waits.
    link : str or None
        The path of packets at present, with the reason if AF_XDP was requested and is not used;
        None for `udp`.
    refused : tuple of Refusal
        The options that were requested and not granted.
    summary : str
        The above in one line, as `str` returns it, e.g. `CPU 1, SCHED_FIFO 50`.
    """

    cpu: int | None
    priority: int | None
    locked_bytes: int | None
    pages: str | None
    timer_slack_s: float | None
    coalesce_s: float | None
    waits: Waits
    link: str | None
    refused: tuple[Refusal, ...]
    summary: str

    def __str__(self) -> str:
        return self.summary

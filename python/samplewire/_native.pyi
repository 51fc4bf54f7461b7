"""The native half of the package; everything here is wrapped or exported by the Python half."""

from collections.abc import Iterator
from os import PathLike
from types import TracebackType
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from samplewire._aligned import AlignedBlock
from samplewire._emulate import Supply
from samplewire._errors import OptionError
from samplewire._listen import Listening
from samplewire._options import Opening
from samplewire._real_time import Granted
from samplewire._records import (
    DeviceInfo,
    FaultCounts,
    FoundDevice,
    Gap,
    Played,
    PlayEvent,
    PortStats,
    RdmaProbe,
    Reading,
    ReceiverStats,
    Recording,
    SessionEnd,
    StreamCounts,
    Tag,
    TransmitterStats,
)

WINDOW_RANGE: str
__version__: str

@final
class Block:
    """A run of samples without a gap inside, in the memory that the receiver filled.

    Its memory is given back, and with it the credit to send more, when the block is released or
    forgotten and no array looks at it any more. It is its own context manager, which releases it.
    """

    @property
    def index(self) -> int:
        """Index of the first sample; of a block without samples, the index after its gaps."""

    @property
    def end(self) -> int:
        """The index after the last sample."""

    @property
    def samples(self) -> NDArray[Any]:
        """The samples where they lie, without a copy and not to be written.

        Shaped `(n, channels)`, with I and Q as a last axis of 2 for sc8, uc8 and sc16, in steps of
        the converter. The array keeps the memory, also when the block is released.

        Raises
        ------
        ReleasedError
            The block was released.
        """

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The gaps just before the first sample, in order."""

    @property
    def tags(self) -> tuple[Tag, ...]:
        """What changed at which of the samples, and at the index after the last."""

    @property
    def is_released(self) -> bool:
        """Whether the block was released."""

    def complex(self) -> NDArray[Any]:
        """A copy as complex64 shaped `(n, channels)`, at full scale 1.0; of complex formats.

        Raises
        ------
        ReleasedError
            The block was released.
        TypeError
            The format is real.
        """

    def real(self) -> NDArray[Any]:
        """A copy as float32 shaped `(n, channels)`, at full scale 1.0; of real formats.

        Raises
        ------
        ReleasedError
            The block was released.
        TypeError
            The format is complex.
        """

    def release(self) -> None:
        """Give the memory back, as soon as no array looks at it; `samples` then raises."""

    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...  # noqa: ANN401 - a capsule, which has no name in `types` before 3.13
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __enter__(self) -> Block: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

@final
class Lease: ...

@final
class Receiver:
    def __new__(cls, opening: Opening) -> Receiver: ...
    @property
    def info(self) -> DeviceInfo: ...
    @property
    def granted(self) -> Granted: ...
    @property
    def memory_bytes(self) -> int: ...
    def take(self, timeout: float | None = None) -> Block | None: ...
    def read(self, count: int, timeout: float | None) -> Reading: ...
    def wait_ready(self, timeout: float) -> bool: ...
    def stats(self) -> ReceiverStats: ...
    def close(self) -> None: ...
    def __iter__(self) -> Iterator[Block]: ...
    def __next__(self) -> Block: ...

@final
class AlignedReceiver:
    def __new__(cls, opening: Opening) -> AlignedReceiver: ...
    @property
    def info(self) -> DeviceInfo: ...
    @property
    def infos(self) -> tuple[DeviceInfo, ...]: ...
    @property
    def granted(self) -> Granted: ...
    @property
    def memory_bytes(self) -> int: ...
    def take(self, timeout: float | None = None) -> AlignedBlock | None: ...
    def read(self, count: int, timeout: float | None) -> AlignedBlock: ...
    def wait_ready(self, timeout: float) -> bool: ...
    def stats(self) -> tuple[ReceiverStats, ...]: ...
    def counts(self) -> tuple[StreamCounts, ...]: ...
    def port_stats(self) -> PortStats: ...
    def close(self) -> None: ...
    def __iter__(self) -> Iterator[AlignedBlock]: ...
    def __next__(self) -> AlignedBlock: ...

@final
class Listener:
    def __new__(cls, listening: Listening) -> Listener: ...
    @property
    def address(self) -> str: ...
    @property
    def granted(self) -> Granted: ...
    def accept(self, timeout: float | None) -> Transmitter | None: ...
    def close(self) -> None: ...

@final
class Transmitter:
    def __new__(cls, opening: Opening) -> Transmitter: ...
    @property
    def info(self) -> DeviceInfo | None: ...
    @property
    def peer(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def channels(self) -> int: ...
    @property
    def first_index(self) -> int: ...
    @property
    def granted(self) -> Granted: ...
    @property
    def next_index(self) -> int: ...
    def send(self, arrays: Iterator[tuple[NDArray[np.uint8], str]], first: int) -> int: ...
    def wait_played(self, index: int, timeout: float | None) -> bool: ...
    def next_event(self, timeout: float | None) -> PlayEvent | None: ...
    def stats(self) -> TransmitterStats: ...
    def finish(self) -> SessionEnd | None: ...
    def cancel(self) -> SessionEnd | None: ...

@final
class Device:
    def __new__(
        cls,
        address: str,
        supply: Supply,
        *,
        streams: int,
        plays: str | None,
        paced: bool,
        faults: list[str],
        window: int,
        payload_bytes: int | None,
        control: tuple[str, int | None],
        carriage: str,
    ) -> Device: ...
    @property
    def address(self) -> str: ...
    def played(self) -> list[Played]: ...
    def faults(self) -> FaultCounts | None: ...
    def failures(self) -> list[str]: ...
    def close(self) -> None: ...

def read_number(kind: str, text: str) -> float: ...
def format_name(name: str) -> str: ...
def convert(from_format: str, to_format: str, data: bytes) -> bytes: ...
def to_floats(from_format: str, data: NDArray[np.uint8]) -> NDArray[np.float32]: ...
def probe(address: str, stream: int, timeout: float) -> DeviceInfo: ...
def probe_rdma(address: str, stream: int, timeout: float) -> RdmaProbe: ...
def out_of_range(option: str, value: object, range: str) -> OptionError: ...
def find(port: int, timeout: float) -> tuple[tuple[FoundDevice, ...], tuple[str, ...], bool]: ...
def record(
    opening: Opening,
    path: str | PathLike[str],
    *,
    samples: int | None,
    seconds: float | None,
    format: str | None,
    overwrite: bool,
    compress: bool,
    sha512: bool,
) -> Recording: ...

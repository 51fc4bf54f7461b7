"""Iterating over the blocks of a receiver."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

B = TypeVar("B")
S = TypeVar("S", bound="BlockReceiver[Any]")
B_co = TypeVar("B_co", covariant=True)


class Native(Protocol[B_co]):
    """What gives blocks."""

    def __iter__(self) -> Iterator[B_co]: ...
    def take(self, timeout: float | None = None) -> B_co | None: ...
    def wait_ready(self, timeout: float) -> bool: ...
    def close(self) -> None: ...


class BlockReceiver(Generic[B]):
    """A receiver of blocks: an iterator, also an asynchronous one, and its own context manager."""

    def __init__(self, source: Native[B]) -> None:
        self._source = source
        self._streak = 0

    def blocks(self, timeout: float | None = None) -> Iterator[B]:
        """Iterate over blocks until the stream ends.

        Parameters
        ----------
        timeout : float, optional
            How long to wait for each, in seconds; default without end.

        Yields
        ------
        Block or AlignedBlock
            Samples without a gap inside.

        Raises
        ------
        WaitTimeoutError
            Nothing came within `timeout`.
        EndedError
            The stream broke off.
        """
        if timeout is None:
            return iter(self._source)
        return iter(lambda: self._source.take(timeout), None)

    def close(self) -> None:
        """End the stream; blocks that are held stay good. Waits about a second at most."""
        self._source.close()

    def __iter__(self) -> Iterator[B]:
        return iter(self._source)

    def __aiter__(self) -> AsyncIterator[B]:
        return self

    async def __anext__(self) -> B:
        # A stream that is never empty leaves others their turns.
        self._streak = (self._streak + 1) % _STREAK_MAX
        if self._streak == 0:
            await asyncio.sleep(0)
        while not self._source.wait_ready(0.0):
            # A wait that is cancelled ends soon after, and what it found is kept.
            await asyncio.get_running_loop().run_in_executor(None, self._source.wait_ready, 0.05)
        block = self._source.take(None)
        if block is None:
            raise StopAsyncIteration
        return block

    def __enter__(self: S) -> S:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


_STREAK_MAX = 64
"""Blocks that an asynchronous iteration takes before others have their turn."""

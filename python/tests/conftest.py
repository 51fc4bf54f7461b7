"""Devices over loopback for the tests."""

from collections.abc import Iterator

import pytest
import samplewire as sw


@pytest.fixture
def counter() -> Iterator[sw.Device]:
    """A device that counts without end, and loses what finds no room."""
    with sw.emulate("counter", rate_hz=1e6) as device:
        yield device


@pytest.fixture
def flood() -> Iterator[sw.Device]:
    """A device that counts as fast as it goes."""
    with sw.emulate("counter", rate_hz=1e6, paced=False, payload_bytes=8_000) as device:
        yield device

"""Samples as floating-point numbers at full scale 1.0."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from samplewire import _native

_COMPLEX = ("sc8", "uc8", "sc16", "fc32")


def to_floats(
    samples: NDArray[Any], format: str, dtype: Literal["complex64", "float32"]
) -> NDArray[Any]:
    """A copy of samples shaped `(n, channels)`, or with I and Q as a last axis; `(n, channels)`.

    Raises
    ------
    TypeError
        The format is real and the type complex, or the other way round.
    """
    if format in _COMPLEX and dtype != "complex64":
        raise TypeError(f"{format} samples are complex: use complex()")
    if format not in _COMPLEX and dtype != "float32":
        raise TypeError(f"{format} samples are real: use real()")
    data = np.ascontiguousarray(samples).reshape(-1).view(np.uint8)
    return _native.to_floats(format, data).view(dtype).reshape(samples.shape[:2])

"""Pictures of samples and streams; needs the extra `samplewire[plot]`, which is matplotlib.

Each function draws into the axes that it is given, or into new ones, and returns them.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from samplewire._records import Gap, ReceiverStats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def spectra(
    samples: NDArray[Any], rate_hz: float, *, bins: int = 1_024
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Power over frequency, of one stretch of samples after another.

    Parameters
    ----------
    samples : numpy.ndarray
        One channel, complex or real, at full scale 1.0.
    rate_hz : float
        Sample rate in hertz.
    bins : int
        Samples of a stretch, and frequencies of it.

    Returns
    -------
    frequency_hz : numpy.ndarray
        Shaped `(bins,)`, from the centre, in hertz.
    power_db : numpy.ndarray
        Shaped `(stretches, bins)`, in decibels under a complex tone at full scale.

    Raises
    ------
    TypeError
        The samples are integers.
    ValueError
        There are fewer samples than bins, or more than one channel.

    Examples
    --------
    >>> import numpy as np
    >>> tone = np.exp(2j * np.pi * 0.25 * np.arange(4_096))
    >>> frequency_hz, power_db = spectra(tone, 1e6, bins=256)
    >>> float(frequency_hz[power_db[0].argmax()]), power_db.shape, round(float(power_db.max()), 6)
    (250000.0, (16, 256), 0.0)
    """
    flat = np.asarray(samples)
    if flat.dtype.kind in "iu":
        raise TypeError(
            f"samples are {flat.dtype}: pass floats at full scale 1.0, e.g. block.complex()[:, 0]"
        )
    if flat.ndim != 1:
        raise ValueError(f"samples are shaped {flat.shape}: pass one channel, e.g. samples[:, 0]")
    stretches = len(flat) // bins
    if bins < 1 or stretches == 0:
        raise ValueError(f"{len(flat)} samples are too few for {bins} bins")
    window = np.hanning(bins + 1)[:-1] if bins > 1 else np.ones(1)
    rows = flat[: stretches * bins].reshape(stretches, bins) * window
    spectrum = np.fft.fftshift(np.fft.fft(rows, axis=1), axes=1) / window.sum()
    power_db = 20 * np.log10(np.maximum(np.abs(spectrum), 1e-12))
    return np.fft.fftshift(np.fft.fftfreq(bins, 1 / rate_hz)), power_db


def spectrum(
    samples: NDArray[Any],
    rate_hz: float,
    *,
    centre_hz: float = 0.0,
    bins: int = 1_024,
    axes: "Axes | None" = None,
) -> "Axes":
    """Mean power over frequency; see `spectra`."""
    axes = axes or _new_axes()
    frequency_hz, power_db = spectra(samples, rate_hz, bins=bins)
    mean_db = 10 * np.log10(np.mean(10 ** (power_db / 10), axis=0))
    axes.plot((centre_hz + frequency_hz) / 1e6, mean_db)
    axes.set(xlabel="frequency in MHz", ylabel="power in dBFS")
    return axes


def waterfall(
    samples: NDArray[Any],
    rate_hz: float,
    *,
    centre_hz: float = 0.0,
    bins: int = 1_024,
    axes: "Axes | None" = None,
) -> "Axes":
    """Power over frequency and time, the first samples at the top; see `spectra`."""
    axes = axes or _new_axes()
    frequency_hz, power_db = spectra(samples, rate_hz, bins=bins)
    span_ms = len(power_db) * bins / rate_hz * 1e3
    left, right = (centre_hz + frequency_hz[[0, -1]]) / 1e6
    axes.imshow(power_db, aspect="auto", extent=(left, right, span_ms, 0.0))
    axes.set(xlabel="frequency in MHz", ylabel="time in ms")
    return axes


def gap_timeline(
    gaps: Iterable[Gap],
    rate_hz: float,
    *,
    first_index: int = 0,
    axes: "Axes | None" = None,
) -> "Axes":
    """Where indexes are missing, a row for each cause, over the time since `first_index` in s."""
    axes = axes or _new_axes()
    rows: dict[str, list[tuple[float, float]]] = {}
    for gap in gaps:
        start_s = (gap.first - first_index) / rate_hz
        rows.setdefault(gap.cause, []).append((start_s, gap.count / rate_hz))
    for row, spans in enumerate(rows.values()):
        axes.broken_barh(spans, (row - 0.4, 0.8))
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set(xlabel="time in s", ylabel="cause")
    return axes


def repairs(
    times_s: Sequence[float],
    stats: Sequence[ReceiverStats],
    *,
    axes: "Axes | None" = None,
) -> "Axes":
    """Packets repaired and given up between looks at `Receiver.stats`, over their times in s."""
    axes = axes or _new_axes()
    for name in ("repaired", "skipped"):
        counts = [getattr(it, name) for it in stats]
        axes.step(times_s[1:], np.diff(counts), label=name)
    axes.legend()
    axes.set(xlabel="time in s", ylabel="packets")
    return axes


def _new_axes() -> "Axes":
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'samplewire[plot]'") from error
    return pyplot.subplots()[1]

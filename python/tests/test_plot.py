"""Pictures, where matplotlib is there."""

import numpy as np
import pytest
import samplewire as sw
from samplewire import plot

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def test_spectrum_and_waterfall_show_the_tone() -> None:
    source = sw.emulate("tone:250k", format="fc32", rate_hz=1e6, samples=10_000)
    with source as device, sw.receive(device.address) as rx:
        samples = rx.read(10_000).complex()[:, 0]
    axes = plot.spectrum(samples, 1e6, centre_hz=100e6, bins=256)
    frequency_mhz, power_db = axes.lines[0].get_data()
    assert abs(np.asarray(frequency_mhz)[np.argmax(power_db)] - 100.25) < 0.01
    axes = plot.waterfall(samples, 1e6, bins=256)
    shown = axes.images[0].get_array()
    assert shown is not None
    assert shown.shape == (39, 256)
    with pytest.raises(ValueError, match="too few"):
        plot.spectrum(samples[:10], 1e6)


def test_wrong_samples_are_refused_with_the_right_call() -> None:
    with sw.emulate("counter", rate_hz=1e6) as device, sw.receive(device.address) as rx:
        reading = rx.read(2_000)
    for draw in (plot.spectra, plot.spectrum, plot.waterfall):
        with pytest.raises(TypeError, match=r"int16: .*block\.complex\(\)\[:, 0\]"):
            draw(reading.samples, 1e6)
        with pytest.raises(ValueError, match=r"shaped \(2000, 1\): .*samples\[:, 0\]"):
            draw(reading.complex(), 1e6)
        draw(reading.complex()[:, 0], 1e6)


def test_gaps_have_a_row_for_each_cause() -> None:
    gaps = [sw.Gap(100, 10, 0, "deadline"), sw.Gap(200, 0, 5, "source overflow")]
    axes = plot.gap_timeline([*gaps, sw.Gap(300, 1, 0, "deadline")], 1e3)
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["deadline", "source overflow"]


def test_repairs_are_counted_between_looks() -> None:
    with sw.emulate("counter", rate_hz=1e6) as device, sw.receive(device.address) as rx:
        stats = [rx.stats(), rx.stats(), rx.stats()]
    axes = plot.repairs([0.0, 0.1, 0.2], stats)
    assert len(axes.lines) == 2

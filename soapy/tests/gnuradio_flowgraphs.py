"""GNU Radio through SoapySDR: what it records and transmits is what the device has.

usage: gnuradio_flowgraphs.py SAMPLEWIRE MODULES

SAMPLEWIRE is the command, MODULES the folder of libSoapySamplewire.so. To be run by the Python that
Debian's GNU Radio is for.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pmt
from gnuradio import blocks, gr, soapy

COMMAND = Path(sys.argv[1] if len(sys.argv) > 2 else "target/debug/samplewire")
LOSS = ("--fault", "data:loss=0.01,corrupt=0.001", "--fault", "feedback:loss=0.01")
DATA = Path(os.environ.get("SAMPLEWIRE_TEST_DATA", Path(__file__).parents[3] / "shared/data"))
RATE_HZ = 1_000_000

# A head of GNU Radio ends when there is more than it takes.
TWICE = ("--loop", "2", "--source")


@contextlib.contextmanager
def device(*options: object) -> Iterator[str]:
    """Start a device in a process of its own; give SoapySDR's arguments for it."""
    command = [COMMAND, "emulate", "--listen", "127.0.0.1:0", *map(str, options)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        first = process.stdout.readline()
        address = first.rpartition("listening on ")[2].strip()
        if ":" not in address:
            raise RuntimeError(first + process.stdout.read())
        yield f"driver=samplewire,addr={address}"
    finally:
        process.terminate()
        process.communicate()


def source(args: str, kind: str, stream_args: str = "") -> gr.block:
    """Make GNU Radio's source for one channel."""
    return soapy.source(args, kind, 1, "", stream_args, [""], [""])


def run(*chain: gr.block) -> None:
    """Run a flowgraph of blocks in a row until its head is reached."""
    top = gr.top_block()
    top.connect(*chain)
    top.run()


class Records(unittest.TestCase):
    """The source."""

    @unittest.skipUnless(DATA.is_dir(), f"there is no folder {DATA}; set SAMPLEWIRE_TEST_DATA")
    def test_recording_is_that_of_the_device_through_loss(self) -> None:
        meta = DATA / "modes1.sigmf-meta"
        sent = np.fromfile(meta.with_suffix(".sigmf-data"), np.uint8)
        with tempfile.TemporaryDirectory() as folder, device(*TWICE, meta, *LOSS) as args:
            recorded = Path(folder, "recorded.fc32")
            block = source(args, "fc32")
            block.set_sample_rate(0, 2e6)
            head = blocks.head(gr.sizeof_gr_complex, len(sent) // 2)
            run(block, head, blocks.file_sink(gr.sizeof_gr_complex, str(recorded)))
            floats = np.fromfile(recorded, np.float32)
        # The zero of uc8 is at 127.5, and full scale is 127.5 from there.
        np.testing.assert_array_equal(np.rint(floats * 127.5 + 127.5).astype(np.uint8), sent)

    @unittest.skipUnless(DATA.is_dir(), f"there is no folder {DATA}; set SAMPLEWIRE_TEST_DATA")
    def test_bytes_of_a_recording_are_those_of_its_file(self) -> None:
        sent = Path(DATA, "modes1.sigmf-data").read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            raw, recorded = Path(folder, "sent.raw"), Path(folder, "recorded.sc8")
            raw.write_bytes(sent)
            options = (*TWICE, raw, "--format", "sc8", "--rate", "2M")
            with device(*options, *LOSS) as args:
                head = blocks.head(2, len(sent) // 2)
                run(source(args, "sc8"), head, blocks.file_sink(2, str(recorded)))
            self.assertEqual(recorded.read_bytes(), sent)

    def test_rx_time_is_the_index_of_its_sample_also_after_gaps(self) -> None:
        count = 400_000
        options = ("--source", "counter", "--rate", f"max:{RATE_HZ}", "--fault", "data:loss=0.1")
        with tempfile.TemporaryDirectory() as folder, device(*options) as args:
            recorded = Path(folder, "recorded.sc16")
            tags = blocks.tag_debug(4, "rx_time", "rx_time")
            tags.set_display(False)
            tags.set_save_all(True)
            top = gr.top_block()
            head = blocks.head(4, count)
            top.connect(source(args, "sc16", "delivery=best-effort"), head)
            top.connect(head, blocks.file_sink(4, str(recorded)))
            top.connect(head, tags)
            top.run()
            samples = np.fromfile(recorded, np.uint32)
            times = {tag.offset: tag.value for tag in tags.current_tags()}
        # A counter's samples say their own index.
        self.assertEqual(len(samples), count)
        begins = [0, *(np.flatnonzero(np.diff(samples) != 1) + 1)]
        self.assertGreater(len(begins), 1, "nothing was lost")
        self.assertEqual(sorted(times), begins)
        for offset, value in times.items():
            seconds = pmt.to_uint64(pmt.tuple_ref(value, 0))
            fraction = pmt.to_double(pmt.tuple_ref(value, 1))
            self.assertEqual(seconds * RATE_HZ + round(fraction * RATE_HZ), samples[offset])


class Transmits(unittest.TestCase):
    """The sink."""

    def test_what_is_played_is_what_the_flowgraph_sent_through_loss(self) -> None:
        sent = np.arange(1, 300_001, dtype=np.uint32)
        with tempfile.TemporaryDirectory() as folder:
            file, played = Path(folder, "sent.sc16"), Path(folder, "played.raw")
            sent.tofile(file)
            options = ("--play", played, "--rate", f"max:{RATE_HZ}", "--format", "sc16")
            with device(*options, *LOSS) as args:
                sink = soapy.sink(args, "sc16", 1, "", "", [""], [""])
                run(blocks.file_source(4, str(file)), sink)
            np.testing.assert_array_equal(np.fromfile(played, np.uint32), sent)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    os.environ["SOAPY_SDR_PLUGIN_PATH"] = sys.argv[2]
    unittest.main(argv=sys.argv[:1])

"""Examples of the package's and the manual's text."""

import doctest
import importlib
import re
from pathlib import Path
from typing import Any

import pytest
import samplewire

MODULES = [
    "",
    "._device_string",
    "._emulate",
    "._listen",
    "._options",
    ".plot",
    "._real_time",
    "._receive",
    "._records",
    "._transmit",
]


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_docstrings(module: str) -> None:
    tested = doctest.testmod(importlib.import_module(f"samplewire{module}"))
    assert tested.failed == 0
    assert tested.attempted > 0


def test_examples_of_the_manual() -> None:
    manual = Path(__file__).parents[2] / "docs" / "python.md"
    tested = doctest.testfile(str(manual), module_relative=False, encoding="utf-8")
    assert tested.failed == 0
    assert tested.attempted > 5


def test_example_of_the_readme() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    device = samplewire.emulate("counter", rate_hz=1e6, samples=10_000)
    assert "127.0.0.1:9100" in code
    names: dict[str, Any] = {}
    exec(code.replace("127.0.0.1:9100", device.address), names)
    assert names["block"].index + len(names["block"]) == 10_000


def test_package_says_that_it_is_typed_and_which_version_it_is() -> None:
    assert (Path(samplewire.__file__).parent / "py.typed").is_file()
    assert samplewire.__version__.count(".") == 2

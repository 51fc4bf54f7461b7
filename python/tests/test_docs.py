"""Examples of the package's and the manual's text."""

import doctest
import importlib
from pathlib import Path

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


def test_package_says_that_it_is_typed_and_which_version_it_is() -> None:
    assert (Path(samplewire.__file__).parent / "py.typed").is_file()
    assert samplewire.__version__.count(".") == 2

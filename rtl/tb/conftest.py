"""`--full` runs the long matrix; without it a case marked `full` is skipped."""

import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "ctl")]


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="the long matrix of parameters")


def pytest_configure(config):
    config.addinivalue_line("markers", "full: part of the long matrix only")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--full"):
        return
    skip = pytest.mark.skip(reason="in the long matrix: --full")
    for item in items:
        if "full" in item.keywords:
            item.add_marker(skip)

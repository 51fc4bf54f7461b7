"""Reads `statistics.toml` and writes what is generated from it; see `tools/statistics.py`."""

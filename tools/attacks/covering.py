"""A covering array: few rows in which every pair of values of two fields appears together."""

from collections.abc import Iterator
from itertools import combinations

Row = dict[str, object]
Choice = tuple[str, int]
"""A field and the position of one of its values."""


def rows(fields: dict[str, list]) -> list[Row]:
    """Rows that hold every pair of values of any two fields, greedily and always the same.

    Parameters
    ----------
    fields
        The values that each field can take, at least one each.
    """
    open_pairs = dict.fromkeys(_pairs(fields))
    found = []
    while open_pairs:
        row = dict(next(iter(open_pairs)))
        for name, values in fields.items():
            if name not in row:
                row[name] = max(
                    range(len(values)), key=lambda at, name=name: _gain(row, (name, at), open_pairs)
                )
        for pair in combinations([(name, row[name]) for name in fields], 2):
            open_pairs.pop(pair, None)
        found.append({name: values[row[name]] for name, values in fields.items()})
    return found


def _pairs(fields: dict[str, list]) -> Iterator[tuple[Choice, Choice]]:
    for one, other in combinations(fields, 2):
        for at in range(len(fields[one])):
            for other_at in range(len(fields[other])):
                yield (one, at), (other, other_at)


def _gain(row: dict[str, int], choice: Choice, open_pairs: dict) -> int:
    """How many pairs that no row has yet this choice adds to a row."""
    return sum((each, choice) in open_pairs or (choice, each) in open_pairs for each in row.items())

"""The blocks of a page of docs/ that a program writes, each between two comments."""


def replace(text: str, marker: str, writer: str, block: str) -> str:
    """The text of a page with a block between its markers.

    Parameters
    ----------
    marker
        The block's name in the comments, once in a page.
    writer
        The program that writes it, from the root of the repository.
    """
    begin, end = f"<!-- {marker}: written by {writer} -->", f"<!-- end of {marker} -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"a page of docs/ needs each marker once: {begin} {end}")
    before, rest = text.split(begin)
    return f"{before}{begin}\n\n{block}\n{end}{rest.split(end)[1]}"

"""How much two pictures of one page differ."""

import io

from PIL import Image, ImageChops

NOTICED = 24
"""Of 255, in any colour: less than this is how text is smoothed, not what it says."""


def difference(one: bytes, other: bytes) -> float:
    """The share of pixels (0 to 1) that differ visibly. Raises AssertionError where the sizes differ."""
    left, right = (Image.open(io.BytesIO(data)).convert("RGB") for data in (one, other))
    assert left.size == right.size, (left.size, right.size)
    bands = ImageChops.difference(left, right).split()
    most = ImageChops.lighter(ImageChops.lighter(bands[0], bands[1]), bands[2])
    return sum(most.histogram()[NOTICED:]) / (left.width * left.height)


def colours(data: bytes) -> int:
    """How many colours a picture has: an empty page has one."""
    with Image.open(io.BytesIO(data)) as picture:
        return len(picture.convert("RGB").getcolors(1 << 24) or [])

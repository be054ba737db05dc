"""WebP made of PNG: the same picture, cut where WebP ends."""

import io

import pytest
from PIL import Image

from comity.capture.webp import MAX_PIXELS, from_png


def png(width: int, height: int, mode: str = "RGB") -> bytes:
    out = io.BytesIO()
    Image.linear_gradient("L").resize((width, height)).convert(mode).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P"])
def test_picture_stays_what_it_was(mode: str) -> None:
    made = Image.open(io.BytesIO(from_png(png(40, 30, mode))))
    assert (made.format, made.size, made.mode) == ("WEBP", (40, 30), "RGB")
    assert abs(int(made.convert("L").getpixel((20, 29)) or 0) - 255) < 12  # type: ignore[arg-type]
    assert int(made.convert("L").getpixel((20, 0)) or 0) < 12  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("size", "kept"), [((8, MAX_PIXELS + 5), (8, MAX_PIXELS)), ((MAX_PIXELS + 1, 8), (MAX_PIXELS, 8))]
)
def test_picture_too_long_for_the_format_is_cut(size: tuple[int, int], kept: tuple[int, int]) -> None:
    assert Image.open(io.BytesIO(from_png(png(*size)))).size == kept

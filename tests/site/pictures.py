# ruff: noqa: E501 - markup, drawings and prose are not broken where a line of code would be.
"""Pictures made from arithmetic: landscapes as PNG, emblems as SVG. The same name gives the same bytes."""

import math
import struct
import zlib
from dataclasses import dataclass
from functools import lru_cache

Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Palette:
    """The light of a place: sky from top to horizon, the sun, and hills from far to near."""

    sky_top: Colour
    sky_low: Colour
    sun: Colour
    hills: tuple[Colour, Colour, Colour]


PALETTES: dict[str, Palette] = {
    "lighthouse": Palette((38, 70, 110), (244, 190, 150), (255, 236, 200), ((96, 124, 150), (58, 88, 118), (24, 44, 66))),
    "tea": Palette((214, 226, 198), (250, 244, 226), (226, 94, 74), ((158, 186, 140), (104, 144, 96), (54, 92, 62))),
    "clouds": Palette((92, 150, 214), (232, 242, 250), (255, 255, 246), ((206, 222, 238), (176, 200, 226), (140, 172, 206))),
    "stations": Palette((60, 52, 96), (238, 160, 128), (255, 214, 150), ((132, 94, 130), (88, 66, 106), (42, 36, 64))),
    "orchard": Palette((128, 190, 214), (252, 234, 190), (255, 224, 120), ((154, 186, 104), (112, 150, 72), (66, 100, 46))),
    "post": Palette((10, 34, 66), (34, 112, 140), (190, 240, 226), ((24, 84, 112), (16, 58, 86), (8, 30, 52))),
}  # fmt: skip
SKY_STEPS = 200
HORIZON = 0.62
"""Where the sky ends, as a share of the height; the far hills cover the rest."""
SUN, HILL = SKY_STEPS, SKY_STEPS + 1


@lru_cache(maxsize=256)
def landscape(palette_name: str, variant: int, width: int, height: int) -> bytes:
    """A PNG (ISO/IEC 15948, palette colour) of hills under a sun; `variant` moves both."""
    palette = PALETTES[palette_name]
    sky = bytes(min(SKY_STEPS - 1, int(row / (height * HORIZON) * SKY_STEPS)) for row in range(height))
    sun_x, sun_y = width * (0.2 + 0.6 * ((variant * 37) % 100) / 100), height * (0.22 + 0.05 * (variant % 5))
    radius = height * 0.09
    columns = []
    for x in range(width):
        column = bytearray(sky)
        if abs(x - sun_x) < radius:
            half = math.sqrt(radius**2 - (x - sun_x) ** 2)
            top, low = round(sun_y - half), round(sun_y + half)
            column[top:low] = bytes((SUN,)) * (low - top)
        for layer in range(3):
            edge = min(height, max(0, round(height * hill_line(x / width, layer, variant))))
            column[edge:] = bytes((HILL + layer,)) * (height - edge)
        columns.append(bytes(column))
    upright = b"".join(columns)
    # Every height-th byte of the columns, laid end to end, is one row: the picture turned without a Python loop.
    rows = b"".join(b"\0" + upright[row::height] for row in range(height))
    return png(width, height, colours_of(palette), rows)


def hill_line(across: float, layer: int, variant: int) -> float:
    phase = variant * 1.7 + layer * 2.3
    wave = math.sin(across * (4 + layer) + phase) * 0.06 + math.sin(across * (11 + 3 * layer) + phase * 2) * 0.025
    return 0.52 + 0.14 * layer + wave


def colours_of(palette: Palette) -> bytes:
    blend = [
        tuple(round(top + (low - top) * step / (SKY_STEPS - 1)) for top, low in zip(palette.sky_top, palette.sky_low, strict=True))
        for step in range(SKY_STEPS)
    ]  # fmt: skip
    return b"".join(bytes(colour) for colour in (*blend, palette.sun, *palette.hills))


def png(width: int, height: int, colours: bytes, rows: bytes) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (chunk(b"IHDR", header), chunk(b"PLTE", colours), chunk(b"IDAT", zlib.compress(rows, 6)), chunk(b"IEND", b""))
    )


EMBLEMS: dict[str, str] = {
    "lighthouse": '<rect width="100" height="100" rx="22" fill="#8fb0cf"/><path d="M40 88 45 34h10l5 54z" fill="#f6efe2"/><path d="M43 56h14l1.4 12H41.600z" fill="#c94f3d"/>'
    '<path d="M42 34h16v-3H42zM45 20h10v11H45z" fill="#26466e"/><path d="M43 20 50 12l7 8z" fill="#c94f3d"/>'
    '<path d="M55 24 92 14v20zM45 24 8 14v20z" fill="#ffe9a8" opacity=".75"/><path d="M10 88q20-8 40 0t40 0v6H10z" fill="#3a5876"/>',
    "tea": '<path d="M22 46h56q-2 36-28 36T22 46z" fill="#36603f"/><ellipse cx="50" cy="46" rx="28" ry="7" fill="#9cc47f"/>'
    '<path d="M38 36q-5-7 0-13t0-13M50 36q-5-7 0-13t0-13M62 36q-5-7 0-13t0-13" fill="none" stroke="#8aa58a" stroke-width="3" stroke-linecap="round"/>'
    '<rect x="36" y="82" width="28" height="5" rx="2" fill="#264a30"/>',
    "clouds": '<circle cx="68" cy="32" r="15" fill="#ffdf8a"/><path d="M24 72a15 15 0 0 1 2-30 21 21 0 0 1 40-4 17 17 0 0 1 10 34z" fill="#fff" stroke="#7aa3d0" stroke-width="3"/>'
    '<path d="M32 82h36M40 90h20" stroke="#7aa3d0" stroke-width="3" stroke-linecap="round"/>',
    "stations": '<rect x="20" y="26" width="60" height="44" rx="9" fill="#c96f4f"/><rect x="27" y="34" width="20" height="15" rx="3" fill="#ffe6bd"/>'
    '<rect x="53" y="34" width="20" height="15" rx="3" fill="#ffe6bd"/><path d="M20 56h60" stroke="#f5d3b0" stroke-width="4"/>'
    '<circle cx="34" cy="73" r="6" fill="#2a2440"/><circle cx="66" cy="73" r="6" fill="#2a2440"/><path d="M8 84h84M16 84v6M38 84v6M62 84v6M84 84v6" stroke="#58426a" stroke-width="4"/>',
    "orchard": '<path d="M50 34c-22-14-36 6-30 28s20 30 30 23c10 7 24-1 30-23S72 20 50 34z" fill="#c8473f"/>'
    '<path d="M50 34q0-12 8-18" stroke="#5b3d22" stroke-width="4" fill="none" stroke-linecap="round"/><path d="M55 26q8-14 24-10-4 15-24 10z" fill="#709648"/>'
    '<path d="M30 50q2-9 10-11" stroke="#f3b2a6" stroke-width="4" fill="none" stroke-linecap="round"/>',
    "post": '<rect width="100" height="100" rx="22" fill="#0f3f5e"/><rect x="16" y="34" width="60" height="40" rx="5" fill="#e9f6f2"/><path d="M16 38 46 58 76 38" fill="none" stroke="#16607a" stroke-width="4"/>'
    '<path d="M76 54q14-12 18 0-4 12-18 0z" fill="#2f9a94"/><circle cx="84" cy="26" r="5" fill="#bff0e2"/><circle cx="72" cy="16" r="3" fill="#bff0e2"/>'
    '<path d="M8 88q10-8 20 0t20 0 20 0 24 0" fill="none" stroke="#2f9a94" stroke-width="4"/>',
}


def emblem(name: str) -> bytes:
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100" role="img">{EMBLEMS[name]}</svg>'.encode()

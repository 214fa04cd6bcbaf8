"""The colors of the points of a map, and a small picture of it for links to its page."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np

from grnf.maps.point_columns import Column
from grnf.typing import FloatArray

COLORS: dict[str, list[Any]] = {
    "classes": [
        ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9",
         "#e69f00", "#7a5ea8", "#5b5b5b", "#8c510a", "#94a800"],
        ["#4ba3e3", "#ff8345", "#2fc79a", "#e596c3", "#9bd7ff",
         "#ffc247", "#b59be0", "#c4c4c4", "#c98d4b", "#d5e65a"],
    ],
    "ramp": [
        [[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [122, 209, 81], [226, 208, 20]],
        [[128, 86, 180], [92, 112, 200], [62, 150, 178], [50, 188, 148], [140, 222, 100], [253, 231, 60]],
    ],
    "elements": [
        {"N": "#2a4fd6", "O": "#c81e1e", "S": "#8a6d00", "F": "#2a7d2a", "Cl": "#2a7d2a", "Br": "#8b3a1d",
         "I": "#6a2c91", "P": "#b35900"},
        {"N": "#8da6ff", "O": "#ff7d7d", "S": "#e6c84a", "F": "#79d279", "Cl": "#79d279", "Br": "#dd8f6d",
         "I": "#c58de6", "P": "#ffa94d"},
    ],
}  # fmt: skip
"""Of a light and of a dark page: classes (safe for the color-blind: Okabe and Ito, and four more), numbers
from small to large (similar to viridis), atoms."""
WIDTH, HEIGHT, RADIUS, MARGIN = 600, 315, 3, 12
LEVELS = 20
"""Colors of numbers in the picture."""
MOST_POINTS = 50_000


def preview(positions: FloatArray, column: Column | None) -> str:
    """Return a map as a PNG image of 600 x 315 pixels in a data URI, one color for each class or level."""
    some = np.arange(0, len(positions), max(1, len(positions) // MOST_POINTS))
    codes, colors = _codes(column, len(positions))
    pixels = np.zeros((HEIGHT, WIDTH), np.uint8)
    extent = np.maximum(np.abs(positions).max(axis=0, initial=1e-3), 1e-3)
    scale = min((WIDTH / 2 - MARGIN) / extent[0], (HEIGHT / 2 - MARGIN) / extent[1])
    x, y = np.rint([WIDTH / 2, HEIGHT / 2] + [scale, -scale] * positions[some]).astype(np.int64).T
    for dx in range(-RADIUS, RADIUS + 1):
        for dy in range(-RADIUS, RADIUS + 1):
            if dx * dx + dy * dy <= RADIUS * RADIUS:
                pixels[y + dy, x + dx] = codes[some] + 1
    return "data:image/png;base64," + base64.b64encode(_png(pixels, [[255] * 3, *colors])).decode("ascii")


def _codes(column: Column | None, n: int) -> tuple[Any, list[list[int]]]:
    """Return the number of each point's color, and the colors. The last one is for missing values."""
    palette = [list(bytes.fromhex(color[1:])) for color in COLORS["classes"][0]]
    gray = [201, 206, 212]
    if column is None:
        return np.zeros(n, np.uint8), palette
    if column.kind == "category":
        codes = column.codes()[0]
        return np.where(codes == 255, len(palette), codes % len(palette)), [*palette, gray]
    values, steps = column.numbers(), COLORS["ramp"][0]
    at = np.linspace(0, len(steps) - 1, LEVELS)
    ramp = np.stack([np.interp(at, range(len(steps)), part) for part in zip(*steps, strict=True)], axis=1)
    present = np.isfinite(values)
    low, high = np.percentile(values[present], [1, 99]) if present.any() else (0.0, 1.0)
    share = np.clip((np.where(present, values, low) - low) / ((high - low) or 1.0), 0, 1)
    codes = np.where(present, np.rint(share * (LEVELS - 1)), LEVELS).astype(np.uint8)
    return codes, [*np.rint(ramp).astype(int).tolist(), gray]


def _png(pixels: Any, colors: list[list[int]]) -> bytes:
    """Return an image of numbers of colors as a PNG file."""
    head = struct.pack(">2I5B", pixels.shape[1], pixels.shape[0], 8, 3, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + row.tobytes() for row in pixels), 9)
    chunks = {
        b"IHDR": head,
        b"PLTE": bytes(part for color in colors for part in color),
        b"IDAT": rows,
        b"IEND": b"",
    }
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks.items()
    )

"""Just enough PNG to tell a picture from a blank page, with the standard library alone."""

import struct
import zlib


def _chunks(data):
    at = 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        yield kind, data[at + 8 : at + 8 + length]
        at += 12 + length


def _unfilter(kind, line, above, step):
    out = bytearray(line)
    for i in range(len(out)):
        left = out[i - step] if i >= step else 0
        up = above[i]
        corner = above[i - step] if i >= step else 0
        if kind == 1:
            out[i] = (out[i] + left) & 255
        elif kind == 2:
            out[i] = (out[i] + up) & 255
        elif kind == 3:
            out[i] = (out[i] + (left + up) // 2) & 255
        elif kind == 4:
            estimate = left + up - corner
            best = min((left, up, corner), key=lambda v: abs(estimate - v))
            out[i] = (out[i] + best) & 255
    return out


def pixels(data):
    """The rows of an 8-bit RGB or RGBA picture, each a list of (r, g, b)."""
    header, compressed = None, b""
    for kind, body in _chunks(data):
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            compressed += body
    width, height, bits, colour, _, _, interlaced = header
    assert bits == 8 and colour in (2, 6) and not interlaced, "not a picture that browsers make"
    step = 3 if colour == 2 else 4
    raw = zlib.decompress(compressed)
    above = bytearray(width * step)
    rows = []
    for y in range(height):
        start = y * (width * step + 1)
        above = _unfilter(raw[start], raw[start + 1 : start + 1 + width * step], above, step)
        rows.append([tuple(above[x : x + 3]) for x in range(0, width * step, step)])
    return rows


def distinct_colours(data):
    return len({colour for row in pixels(data) for colour in row})

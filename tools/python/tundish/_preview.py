"""The first rows of a batch, for people: a table of text, and of HTML with pictures in notebooks."""
import base64
import html
import struct
import zlib

VALUES = 6  # of a row that are shown


def _png(rows):
    """A picture of u8, [height, width, 1 or 3], as bytes of PNG."""
    height, width, channels = rows.shape
    lines = b"".join(b"\0" + rows[y].tobytes() for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def _is_picture(spec):
    return spec.dtype == "u8" and not spec.ragged and len(spec.shape) == 3 and spec.shape[2] in (1, 3)


def _is_text(spec):
    return spec.dtype == "u8" and spec.ragged and len(spec.shape) == 1


def _show(spec, row, length):
    if spec.ragged:
        row = row[:length]
    if _is_text(spec):
        text = bytes(row.tolist()).decode(errors="replace")
        return repr(text if len(text) <= 40 else text[:37] + "...")
    values = row.reshape(-1)
    words = [f"{value:.6g}" if spec.dtype[0] in "fb" and spec.dtype != "bool" else str(value) for value in values[:VALUES].tolist()]
    return " ".join(words + ["..."] * (len(values) > VALUES))


class Preview:
    """Rows of the batch that the feed gives next: text as str(), a table in notebooks."""

    def __init__(self, batch, spec, rows):
        replica = batch.replicas[0]
        self._spec, self._title = spec, f"step {batch.step}, epoch {batch.epoch}: {min(rows, replica.rows)} of {batch.rows} rows"
        self._names = [f"{name} {one.dtype}" + (f"[{','.join('<=' * (one.ragged and not i) + str(axis) for i, axis in enumerate(one.shape))}]"
                                                if one.shape else "") for name, one in spec.items()]
        self._rows = []
        arrays = {name: replica[name].numpy() for name in spec}
        for place in range(min(rows, replica.rows)):
            self._rows.append([(arrays[name][place].copy(), replica.lengths[name][place] if one.ragged else None)
                               for name, one in spec.items()])

    def _cells(self):
        return [[_show(one, *cell) for one, cell in zip(self._spec.values(), row)] for row in self._rows]

    def __str__(self):
        lines = [self._names, *self._cells()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self._names))]
        return "\n".join([self._title] + ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines])

    __repr__ = __str__

    def _repr_html_(self):
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self._names)
        body = []
        for row, cells in zip(self._rows, self._cells()):
            body.append("".join(
                f'<td><img src="data:image/png;base64,{base64.b64encode(_png(value)).decode()}"></td>' if _is_picture(one)
                else f"<td>{html.escape(cell)}</td>" for one, (value, _), cell in zip(self._spec.values(), row, cells)))
        return (f"<p>{html.escape(self._title)}</p><table><tr>{head}</tr>" + "".join(f"<tr>{line}</tr>" for line in body) + "</table>")

#!/usr/bin/env python3
"""Arrays of every dtype in every byte order, written by NumPy, come out of the whole pipeline with
the same numbers, or are refused.

No byte of a number equals another one of it, so that swapped bytes never pass.
"""
import numpy

from command import FEED, FED, holds, main, run, same, topology

INTEGERS = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]
FLOATS = ["f2", "f4", "f8"]
ROWS, SHAPE = 37, (3, 2)


def numbers(code, shape):
    """All bytes of each number differ, and its sign does from number to number."""
    size = int(code[1])
    count = int(numpy.prod(shape))
    kept = numpy.arange(count * size, dtype="u1").reshape(count, size) * 7 + 1
    if code[0] == "f":  # an exponent in the middle of its range: finite, and not 0
        kept[:, -1] = numpy.where(numpy.arange(count) % 2, 0x3a, 0xba)
    array = kept.reshape(-1).view("<" + code).reshape(shape)
    assert numpy.isfinite(array).all() if code[0] == "f" else True
    if size > 1:
        swapped = array.view("u1").reshape(*shape, size)
        assert (swapped[..., ::-1] != swapped).any(axis=-1).all(), code
    return array


def fed(folder, path, *words):
    """What the pipeline feeds, in its order; shuffled, so that each row is looked up by itself."""
    status, _, err = run("head", path, "--steps", "99", "--npz", folder / "fed.npz", *words)
    same(status, 0, err)
    with numpy.load(folder / "fed.npz") as arrays:
        return {name: arrays[name] for name in arrays.files if not name.startswith("_")}


def compare(got, wanted, order, what):
    """Bit by bit, in the machine's byte order."""
    same(got.dtype, wanted.dtype.newbyteorder("="), what)
    native = wanted.astype(wanted.dtype.newbyteorder("="))[order]
    assert got.shape == native.shape, (what, got.shape, native.shape)
    assert (got.view("u1") == native.view("u1")).all(), what


def little(array):
    """As NumPy stores it with `<`, checked."""
    array = array.astype(array.dtype.newbyteorder("<"))
    assert array.dtype.str[0] in "<|", array.dtype.str
    return array


def test_npy_little_endian_is_fed_as_it_is(folder):
    # Single numbers too: they are copied in another way.
    for access, shape in (("map", (ROWS, *SHAPE)), ("map", (ROWS,)), ("read", (ROWS, *SHAPE))):
        made = {"row": numpy.arange(ROWS, dtype="<u4"), "bool": numpy.arange(ROWS) % 3 == 0}
        made.update({code: little(numbers(code, shape)) for code in INTEGERS + FLOATS})
        for name, array in made.items():
            numpy.save(folder / f"{name}.npy", array)
        path = topology(folder, columns=" ".join(made), actors=FEED % "", links=FED,
                        read=f", shuffle: global, access: {access}", batch="size: 8")
        got = fed(folder, path)
        order = got["row"]
        same(sorted(order.tolist()), list(range(ROWS)))
        assert order.tolist() != list(range(ROWS))
        for name, array in made.items():
            compare(got[name], array, order, f"{name}, access: {access}")


def test_npy_big_endian_is_refused_with_what_to_do(folder):
    """It is never read as little-endian; what the message says makes it usable."""
    for code in INTEGERS + FLOATS:
        array = numbers(code, (ROWS, *SHAPE))
        big = array.astype(">" + code)
        numpy.save(folder / "x.npy", big)
        path = topology(folder, columns="x", actors=FEED % "", links=FED, batch="size: 8")
        if array.itemsize > 1:
            same(numpy.load(folder / "x.npy").dtype.str, ">" + code)
            for access in ("map", "read"):
                status, _, err = run("run", path, "--set", f"read.access={access}")
                same(status, 78, code)
                holds(err, f"{folder}/x.npy: has type '>{code}', which is big-endian",
                      f"array.astype('<{code}')")
            numpy.save(folder / "x.npy", big.astype("<" + code))
        compare(fed(folder, path)["x"], array, numpy.arange(ROWS), code)


def test_idx_is_big_endian(folder):
    for code, kind in (("u1", 8), ("i1", 9), ("i2", 11), ("i4", 12), ("f4", 13), ("f8", 14)):
        array = numbers(code, (ROWS, *SHAPE))
        head = bytes([0, 0, kind, array.ndim]) + numpy.array(array.shape, ">u4").tobytes()
        (folder / "x.idx").write_bytes(head + array.astype(">" + code).tobytes())
        path = topology(folder, actors=FEED % "", links=FED, batch="size: 8")
        path.write_text(path.read_text().replace(
            'npy: {x: "${data}/x.npy", y: "${data}/y.npy"}', 'idx: {x: "${data}/x.idx"}'))
        compare(fed(folder, path)["x"], array, numpy.arange(ROWS), f"idx {code}")


def test_raw_is_little_endian(folder):
    fields = [(f"c_{code}", "<" + code) for code in INTEGERS + FLOATS]
    table = numpy.zeros(ROWS, numpy.dtype(fields))
    for name, code in fields:
        table[name] = numbers(code[1:], (ROWS,))
    table.tofile(folder / "x.bin")
    columns = ", ".join(f"{name}: {code[1]}{8 * int(code[2])}" for name, code in fields)
    for access in ("map", "read"):
        path = topology(folder, actors=FEED % "", links=FED, batch="size: 8",
                        read=f", access: {access}")
        path.write_text(path.read_text().replace(
            'npy: {x: "${data}/x.npy", y: "${data}/y.npy"}',
            f"raw: {{files: \"${{data}}/x.bin\", columns: {{{columns}}}}}"))
        got = fed(folder, path)
        for name, _ in fields:
            compare(got[name], table[name], numpy.arange(ROWS), f"{name}, access: {access}")


main(globals())

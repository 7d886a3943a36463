#!/usr/bin/env python3
"""Shows the columns of the first batch of a topology with NumPy.

    numpy_head.py FILE [OVERLAY...]"""
import sys

import numpy
import tundish


def main(*files):
    with tundish.feed(*files) as feed:
        for batch in feed:
            for replica in batch.replicas:
                print(f"step {batch.step}, replica {replica.id}: {replica.rows} rows")
                for name, tensor in replica.items():
                    array = numpy.from_dlpack(tensor)
                    print(f"  {name} {array.dtype}{list(array.shape)}  min {array.min():g}  max {array.max():g}"
                          f"  mean {array.mean():g}")
            break


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Ports of loopback that no other test takes, and no connection as its own end.

Tests run beside each other, and a port is used some time after it was found free.  So every process
locks a block of ports, as long as it lives, and gives out each of them once.  All are below those that
Linux gives to connections (net.ipv4.ip_local_port_range, from 32768).
"""
import fcntl
import os
import pathlib
import socket
import tempfile

FIRST, BLOCK, BLOCKS = 20000, 64, 190
_locks = []  # open files
_next = _end = 0


def _take_block():
    """Locks another block; others may have been locked by this process before."""
    global _next, _end
    folder = pathlib.Path(tempfile.gettempdir()) / f"tundish-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    for i in range(BLOCKS):
        block = (os.getpid() + i) % BLOCKS
        lock = open(folder / str(block), "w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        _locks.append(lock)
        _next, _end = FIRST + block * BLOCK, FIRST + (block + 1) * BLOCK
        return
    raise AssertionError(f"every block of ports is locked in {folder}")


def _are_free(address, first, count):
    probes = []
    try:
        for port in range(first, first + count):
            probes.append(socket.socket())
            probes[-1].bind((address, port))
        return True
    except OSError:
        return False
    finally:
        for probe in probes:
            probe.close()


def free_range(address, count=8):
    """The first of some consecutive ports that are free."""
    global _next
    assert count <= BLOCK
    while True:
        if _next + count > _end:
            _take_block()
        first = _next
        if _are_free(address, first, count):
            _next += count
            return first
        _next += 1


def free_port():
    return free_range("127.0.0.1", 1)

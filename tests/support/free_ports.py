"""Ports of loopback that no other test takes, and no connection as its own end.

Tests run beside each other, and a port is used some time after it was found free.  So every process
locks a block of ports, as long as it lives, and gives out each of them once.  All are below those that
Linux gives to connections (net.ipv4.ip_local_port_range, from 32768).  Tests of other checkouts have the
same ports, so the locks are in one folder, whatever TMPDIR is.
"""
import fcntl
import os
import pathlib
import socket

FIRST, BLOCK, BLOCKS = 20000, 64, 190
_locks = {}  # open files
_next = _end = 0


def _lock(block):
    """Whether this process has locked a block, now or before."""
    folder = pathlib.Path(f"/tmp/tundish-ports-{os.getuid()}")
    folder.mkdir(exist_ok=True)
    lock = _locks.get(block) or open(folder / str(block), "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return False
    _locks[block] = lock
    return True


def _take_block():
    """Locks another block; others may have been locked by this process before."""
    global _next, _end
    for i in range(BLOCKS):
        block = (os.getpid() + i) % BLOCKS
        if block not in _locks and _lock(block):
            _next, _end = FIRST + block * BLOCK, FIRST + (block + 1) * BLOCK
            return
    raise AssertionError("every block of ports is locked")


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


def locks(first, count):
    """Whether these ports are free, and no other process has locked one of them."""
    blocks = {(port - FIRST) // BLOCK for port in range(first, first + count)}
    return all(map(_lock, blocks)) and _are_free("127.0.0.1", first, count)


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

"""Ctrl-C in a loop over a feed drains the open sessions; a second one stops them.  Elsewhere it is
Python's KeyboardInterrupt.

The main thread may be waiting inside of the library, where Python runs no handler: a thread of its
own then reads that the signal came.  A program that has a handler for SIGINT, or opens its sessions
on other threads, keeps what it has."""
import os
import signal
import threading
import weakref

from . import _library

_sessions = weakref.WeakSet()
_lock = threading.RLock()  # a session that is in _sessions is open
_wakeup = None             # where Python writes the numbers of signals


def add(session):
    global _wakeup
    with _lock:
        _sessions.add(session)
        if (_wakeup is not None or threading.current_thread() is not threading.main_thread()
                or signal.getsignal(signal.SIGINT) is not signal.default_int_handler):
            return
        read, write = os.pipe()
        os.set_blocking(write, False)
        other = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        if other != -1:  # an event loop reads them
            signal.set_wakeup_fd(other)
            os.close(read)
            os.close(write)
            return
        try:
            threading.Thread(target=_watch, args=(read,), name="tundish signals", daemon=True).start()
        except RuntimeError:  # the system allows no further thread
            signal.set_wakeup_fd(-1)
            os.close(read)
            os.close(write)
            raise
        _wakeup = write
        signal.signal(signal.SIGINT, _handle)


def remove(session):
    """Before it closes."""
    global _wakeup
    with _lock:
        _sessions.discard(session)
        if _wakeup is None or _sessions or threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGINT) is _handle:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        other = signal.set_wakeup_fd(-1)
        if other != _wakeup:
            signal.set_wakeup_fd(other)
        os.close(_wakeup)
        _wakeup = None


def close_all():
    for session in list(_sessions):
        session.close(check=False)


def _handle(*_):
    with _lock:
        fresh = [session for session in _sessions if not session.interrupted]
        for session in fresh:
            session.interrupted = True
            session.drain()
    if not any(session.loops for session in fresh):
        for session in fresh:
            session.interrupted = False
        raise KeyboardInterrupt


def _watch(read):
    seen = weakref.WeakSet()
    while number := os.read(read, 1):
        with _lock:
            for session in list(_sessions) if number[0] == signal.SIGINT else []:
                (_library.session_stop if session in seen else _library.session_drain)(session.handle)
                seen.add(session)
    os.close(read)

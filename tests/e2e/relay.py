"""A tcp relay that fails on request: it listens at ports of one address and forwards to another.

A failure concerns the connections that exist when it is requested; `hold` and `delay` also concern
later ones.
"""
import collections
import select
import socket
import threading
import time

DIALLER, TARGET = 0, 1


class Relay:
    """Passes connections to (here, port) on to (target, port), for every port."""

    def __init__(self, here, target, ports):
        self.target = target
        self.lock = threading.Lock()
        self.pairs = []  # [dialler, target, port, swallow, late]; a closed side is None
        self.to_close = []  # sides to be closed by the thread that looks at them
        self.held = set()  # (port, side): what that side sends waits
        self.delays = {}  # seconds for what a side sends, by (port, side)
        self.fatal = []  # (side, text): a connection ends when that side sends the text
        self.listeners = {}
        for port in ports:
            listener = socket.create_server((here, port))
            self.listeners[listener] = port
        self.wake, self.woken = socket.socketpair()
        self.ended = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def close(self):
        self.ended = True
        self.wake.send(b".")
        self.thread.join()
        for pair in self.pairs:
            for side in (DIALLER, TARGET):
                self.shut(pair, side)
        for one in (*self.listeners, self.wake, self.woken):
            one.close()

    def fail(self, how, ports=None):
        """Makes the connections to these ports fail: close, silence, dialler, target (half-open).

        Returns how many there were.
        """
        with self.lock:
            chosen = [pair for pair in self.pairs
                      if (ports is None or pair[2] in ports) and not pair[3]
                      and None not in pair[:2]]
            for pair in chosen:
                pair[3] = True
                if how in ("close", "dialler"):
                    self.to_close.append((pair, DIALLER))
                if how in ("close", "target"):
                    self.to_close.append((pair, TARGET))
        self.wake.send(b".")
        return len(chosen)

    def hold(self, side, ports):
        """What that side of connections to these ports sends, now and later, waits for `release`."""
        with self.lock:
            self.held = {(port, side) for port in ports}
        self.wake.send(b".")

    def release(self):
        """Passes on all that waits: nothing is lost."""
        with self.lock:
            self.held = set()
        self.wake.send(b".")

    def delay(self, side, ports, seconds):
        """Forwards what that side sends to these ports so much later; the relay acknowledges at once."""
        with self.lock:
            self.delays.update({(port, side): seconds for port in ports})

    def lose(self, side, text):
        """The next connection on which that side sends this text ends, and the text is lost."""
        with self.lock:
            self.fatal.append((side, text))

    def is_fatal(self, side, data):
        found = [one for one in self.fatal if one[0] == side and one[1] in data]
        self.fatal = [one for one in self.fatal if one not in found]
        return bool(found)

    @staticmethod
    def shut(pair, side):
        if pair[side] is not None:
            pair[side].close()
            pair[side] = None

    def pump(self, pair, side):
        try:
            data = pair[side].recv(65536)
        except OSError:
            data = b""
        if not data or self.is_fatal(side, data):
            self.shut(pair, side)
            data = b""
        seconds = self.delays.get((pair[2], side), 0)
        if seconds > 0 or pair[4][side]:
            pair[4][side].append((time.monotonic() + seconds, data))
        else:
            self.forward(pair, side, data)

    def forward(self, pair, side, data):
        """Passes on what that side sent; no bytes: it has closed."""
        if pair[3]:
            return
        if not data:
            self.shut(pair, 1 - side)
        elif pair[1 - side] is not None:
            try:
                pair[1 - side].sendall(data)
            except OSError:
                self.shut(pair, DIALLER)
                self.shut(pair, TARGET)

    def forward_late(self):
        """Passes on all that is due; seconds until more is, None: there is none."""
        now, wait = time.monotonic(), None
        for pair in self.pairs:
            for side in (DIALLER, TARGET):
                late = pair[4][side]
                while late and late[0][0] <= now:
                    self.forward(pair, side, late.popleft()[1])
                if late and (wait is None or late[0][0] - now < wait):
                    wait = late[0][0] - now
        return wait

    def accept(self, listener):
        dialler, _ = listener.accept()
        port = self.listeners[listener]
        target = socket.socket()
        try:
            target.connect((self.target, port))
        except OSError:
            dialler.close()
            target.close()
            return
        for one in (dialler, target):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pairs.append([dialler, target, port, False,
                           (collections.deque(), collections.deque())])

    def run(self):
        while not self.ended:
            with self.lock:
                for pair, side in self.to_close:
                    self.shut(pair, side)
                self.to_close.clear()
                wait = self.forward_late()
                sides = {pair[side]: (pair, side) for pair in self.pairs
                         for side in (DIALLER, TARGET)
                         if pair[side] is not None and (pair[2], side) not in self.held}
            ready, _, _ = select.select([*sides, *self.listeners, self.woken], [], [], wait)
            with self.lock:
                for one in ready:
                    if one is self.woken:
                        one.recv(64)
                    elif one in self.listeners:
                        self.accept(one)
                    else:
                        pair, side = sides[one]
                        if pair[side] is one and (pair[2], side) not in self.held:
                            self.pump(pair, side)

"""How a process of worker.py starts and ends, and how copies of it become others.  It follows worker.py in one text."""
import contextlib
import ctypes
import faulthandler
import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import sys

SERVE = 2  # what a first message may ask for
PR_SET_PDEATHSIG = 1
PIDFD_OPEN = 434  # on all machines
GUARD = "import os, select; select.select([3], [], []); os.killpg(0, 9)  # tundish.guard"


def refuse(channel, text):
    channel.send(struct.pack("<Q", REFUSED) + text.encode(errors="replace")[:480].decode(errors="ignore").encode())


def end_with_parent(does=True):
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL if does else 0, 0, 0, 0)


def open_process(pid):
    """A file that can be read once the process has ended; -1: the system has no such files."""
    return ctypes.CDLL(None).syscall(PIDFD_OPEN, pid, 0)


def become_guard(process):
    """Waits for the end of a process, then ends its group; it is small, and lets go of all else."""
    os.dup2(process, SOCKET)
    for file in (MEMORY, PROGRAM):
        os.close(file)
    null = os.open(os.devnull, os.O_RDWR)
    for file in range(3):
        os.dup2(null, file)
    os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", GUARD])


def guard_group():
    """What functions start, such as by Popen, would outlive this process if it is killed with the one that started it.
    A process in its group ends them then; it is not a child, for which a function could wait."""
    this = open_process(os.getpid())
    if this < 0 or not sys.executable:
        return  # a system without such descriptors
    between = os.fork()
    if between == 0:
        with contextlib.suppress(BaseException):
            if os.fork() == 0:
                become_guard(this)
        os._exit(0)
    os.waitpid(between, 0)
    os.close(this)


def leave_alone():
    """In a process that the function of the user forked, such as one of a pool: it ends with this one."""
    os.close(SOCKET)
    end_with_parent()


def guard_forks():
    """Returns a function that ends a process which the function of the user forked, and which came back here."""
    owner = os.getpid()
    os.register_at_fork(after_in_child=leave_alone)
    return lambda: os.getpid() == owner or os._exit(0)


class Copy:
    """A copy of the server; `process` can be read once it has ended."""

    def __init__(self, pid, leash, process):
        self.pid, self.leash, self.process = pid, leash, process

    def tell(self, number):
        with contextlib.suppress(OSError):
            self.leash.send(struct.pack("<q", number), socket.MSG_NOSIGNAL)

    def tell_end(self):
        """The status, as of waitpid."""
        end = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        self.tell(end.si_status << 8 if end.si_code == os.CLD_EXITED else end.si_status)

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.leash.close()
        os.close(self.process)


class Server:
    """A process that has imported the module: it forks for each request, and the copy becomes an interpreter.

    A request has four files: socket, memory and program of the interpreter, and a leash.  On that the server tells the
    process id of the copy, then how it ended.  The server waits for it when the other end of the leash is closed.
    """

    def __init__(self, channel):
        self.channel, self.copies, self.poll, self.pid = channel, {}, select.poll(), os.getpid()
        self.starter = open_process(os.getppid())

    def run(self):
        """Returns in a copy: its channel; or None when there is nothing to serve."""
        for file in (SOCKET, self.starter):
            self.poll.register(file, select.POLLIN)
        while True:
            file = self.poll.poll()[0][0]
            if file == self.starter:
                return None
            if file != SOCKET:
                self.attend(file)
                continue
            files = self.take()
            if len(files) < 4:
                return None
            channel = self.copy(files)
            if channel:
                return channel

    def take(self):
        space = socket.CMSG_SPACE(4 * 4)
        data = self.channel.recvmsg(1, space)[1]
        return struct.unpack("4i", data[0][2]) if data and len(data[0][2]) == 16 else ()

    def copy(self, files):
        try:
            pid = os.fork()
        except OSError:
            pid = -1
        if pid == 0:
            return self.become(files)
        for file in files[:3 if pid > 0 else 4]:
            os.close(file)
        if pid < 0:
            return None  # its starter sees the end of the leash
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)  # the copy does so, too, but may be killed with its group before
        copy = Copy(pid, socket.socket(fileno=files[3]), open_process(pid))
        for file in (copy.leash.fileno(), copy.process):
            self.copies[file] = copy
            self.poll.register(file, select.POLLIN)
        copy.tell(pid)
        return None

    def attend(self, file):
        copy = self.copies[file]
        self.forget(file)
        if file == copy.process:
            copy.tell_end()
            return
        if self.copies.get(copy.process) is copy:
            self.forget(copy.process)
        copy.end()

    def forget(self, file):
        self.poll.unregister(file)
        del self.copies[file]

    def become(self, files):
        """In a copy: its own files in place of those of the server."""
        os.setpgid(0, 0)
        end_with_parent()
        if os.getppid() != self.pid:
            os._exit(0)
        self.channel.detach()
        for file in (self.starter, files[3], *self.copies):
            os.close(file)
        for copy in self.copies.values():
            copy.leash.detach()
        for place, file in zip((SOCKET, MEMORY, PROGRAM), files):
            os.dup2(file, place)
            os.close(file)
        os.lseek(PROGRAM, 0, os.SEEK_END)  # a crash writes its stack there
        guard_group()
        return socket.socket(fileno=SOCKET)


def open_files():
    return set(os.listdir("/proc/self/fd"))


def has_children():
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def serve(channel, setup):
    """Imports the module and makes copies of this process; returns in a copy, or None."""
    files, drawn = open_files(), numpy.random.get_state()[1].tobytes()
    try:
        importlib.import_module(setup["call"].partition(":")[0])
    except BaseException as error:
        return refuse(channel, describe(error))
    if len(os.listdir("/proc/self/task")) > 1 or open_files() != files or has_children():
        return refuse(channel, "the import leaves threads, files or processes, which copies would lack or share")
    server = Server(channel)
    if server.starter < 0:
        return refuse(channel, "this system has no files for processes")
    gc.collect()
    gc.freeze()  # a collection in a copy would write to, and so copy, the memory of all objects
    end_with_parent(False)  # but with the process, not with the thread, that started this one
    channel.send(struct.pack("<Q", OK))
    channel = server.run()
    if channel and numpy.random.get_state()[1].tobytes() == drawn:
        numpy.random.seed()  # its state is of the server, and would be the same in each copy
    return channel


def prepare():
    end_with_parent()
    guard_group()
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("500")  # where memory runs out, this process ends and not the run
    faulthandler.enable(file=PROGRAM, all_threads=False)  # the end of that file says where it crashed
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout = sys.stderr
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # each worker computes on one thread, with the same bits on any machine


def begin(channel, memory):
    """What is to be done, and with what; None: the process that started this one has ended."""
    first = channel.recv(8 * WORDS_MAX)
    if not first:
        return None, None
    words = struct.unpack("<3Q", first)
    memory.see(words[2])
    return words[0], json.loads(memory.map[:words[1]])


def program_folders():
    """Where a program in Python that has started the run has its modules."""
    return [folder for folder in os.environ.get("TUNDISH_PYTHONPATH", "").split(":") if folder]


def find_modules(setup):
    """Where modules are, and NumPy."""
    global numpy
    sys.argv[:] = [setup["call"]]
    sys.path[:0] = [setup["directory"], *program_folders()]
    try:
        import numpy
    except ImportError as error:
        raise Wrong(f"NumPy is missing in {interpreter()} ({error}): install it with "
                    f"`{sys.executable} -m pip install numpy`, or name another interpreter by `python:` at the top "
                    "of the topology") from None


def main():
    prepare()
    channel, memory = socket.socket(fileno=SOCKET), Memory()
    order, setup = begin(channel, memory)
    if setup is None:
        return None
    try:
        find_modules(setup)
        if order == SERVE:
            channel, memory = serve(channel, setup), Memory()
            _, setup = begin(channel, memory) if channel else (None, None)
            if setup is None:
                return None
        function = Function(setup, memory, lambda: channel.send(struct.pack("<Q", PROGRESS)))
    except Wrong as wrong:
        return refuse(channel, describe_wrong(setup["call"], wrong))
    channel.send(struct.pack("<Q", OK) + f"{interpreter()}, NumPy {numpy.__version__}".encode())
    with contextlib.suppress(ConnectionError):  # the process that started this one was killed
        answer_calls(channel, memory, function)


def answer_calls(channel, memory, function):
    buffer = bytearray(8 * WORDS_MAX)
    while True:
        size = channel.recv_into(buffer)
        if size == 0:
            return None
        words = struct.unpack_from(f"<{size // 8}Q", buffer)
        memory.see(words[2])
        try:
            reply = function.call(words)
            channel.send(struct.pack(f"<{len(reply)}Q", *reply))
        except Wrong as wrong:
            function.stay_alone()
            refuse(channel, describe_wrong(function.name, wrong))
        except BaseException as error:
            function.stay_alone()
            refuse(channel, f"{function.name}: {describe(error)}")


if __name__ == "__main__":
    main()

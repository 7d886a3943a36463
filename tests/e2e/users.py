#!/usr/bin/env python3
"""Processes of other users of the machine: refused at both ends, by name of user and host.  So are those
of another network namespace, whose users cannot be known.

Usage: users.py NAME...; without a name it lists them.  Needs root, who can be another user, and a build
that user `daemon` can read.  Each process of `daemon` is tried TUNDISH_TEST_TRIES times (2).
"""
import os
import shutil
import signal
import subprocess
import sys

from faults import Cluster, one_sentence, until
from named import in_folder, run_named
from run import BUILD, ROOT, TUNDISH

TRIES = int(os.environ.get("TUNDISH_TEST_TRIES", "2"))
DAEMON = ["setpriv", "--reuid", "1", "--regid", "1", "--clear-groups"]
THREE = """port: {port}
{settings}
hosts:
  a: {{address: 127.0.0.1, transport: tcp, actors: [read, batch]}}
  b: {{address: 127.0.0.1, transport: tcp, actors: [prep], workers: {{prep: 2}}}}
  c: {{address: 127.0.0.1, transport: tcp, actors: [feed]}}
"""
POOL = """port: {port}
{settings}
hosts:
  a: {{actors: [read, batch, feed]}}
  p[0-1]: {{actors: [prep]}}
"""
ISOLATED = """port: {port}
{settings}
actors:
  prep: {{isolate: process}}
"""
# A host of a program of Python; what fails is its last line.
PROGRAM = """import sys
sys.path.insert(0, {module!r})
import tundish
try:
    with tundish.Session(*sys.argv[2:], host=sys.argv[1]) as session:
        session.wait()
except tundish.Error as error:
    sys.exit(str(error))
"""
HOSTS = """port: {port}
{settings}
hosts:
  a: {{transport: TRANSPORT, actors: [feed]}}
  b: {{transport: TRANSPORT, actors: [read, batch]}}
  c: {{transport: TRANSPORT, actors: [prep]}}
"""


class Users(Cluster):
    """A cluster whose hosts are run by root or by daemon."""

    made = []

    def __init__(self, folder, overlay=THREE, settings=""):
        folder.chmod(0o755)
        super().__init__(folder, overlay=overlay, settings=settings)
        self.made.append(self)
        for name in ("root", "daemon"):
            (folder / name).mkdir(exist_ok=True)
        shutil.chown(folder / "daemon", 1, 1)
        self.program, self.module = folder / "program.py", folder / "module"
        self.program.write_text(PROGRAM.format(module=str(self.module)))

    def begin(self, user, *words, name, command=(TUNDISH,), inside=None):
        """Starts the command for a user, in the network namespace of a process; its output is in
        NAME.log."""
        home = self.folder / user
        env = {**os.environ, "XDG_RUNTIME_DIR": str(home), "TMPDIR": str(home), "HOME": str(home),
               "TUNDISH_LIBRARY": str(self.module / "libtundish.so")}
        line = [*(["nsenter", "-t", inside.pid, "-n"] if inside else []),
                *(DAEMON if user == "daemon" else []), *command, *words]
        with open(self.folder / f"{name}.log", "w") as log:
            self.hosts[name] = subprocess.Popen(list(map(str, line)), stdout=log, stderr=log, cwd=ROOT,
                                                env=env)

    def program_host(self, user, host, name=None, overlay=None):
        """Starts a program of Python as a host of the run, with a module that another user can read."""
        if not self.module.exists():
            shutil.copytree(ROOT / "tools/python", self.module)
            shutil.copy(BUILD / "libtundish.so", self.module)
        self.begin(user, self.program, host, self.graph, overlay or self.overlay, name=name or host,
                   command=(sys.executable,))

    def host(self, user, host, name=None, overlay=None):
        words = ["run", self.graph, overlay or self.overlay, "--host", host]
        if host == "a" and user == "root" and name is None:
            words += ["--metrics", self.metrics, "--report", self.report]
        self.begin(user, *words, name=name or host)

    def tries(self, user, host, leader="a", code=75, logged=True, start=None):
        """A process of that user is refused as `host`, and says so, as does the leader: once a minute."""
        other = "root" if user == "daemon" else "daemon"
        before = self.said(leader).count("refused")
        for _ in range(TRIES):
            (start or self.host)(user, host, name="tried")
            self.ends("tried", code)
            one_sentence(self.said("tried"), "refused", f"listens is run by user {other}",
                         f"connects by user {user}", "users:")
        del self.hosts["tried"]
        if not logged:
            return ""
        until(lambda: self.all_said(),
              lambda: self.said(leader).count("refused") + self.said(leader).count("times") > before)
        last = [line for line in self.said(leader).splitlines() if "refused" in line][-1]
        assert f"connects is run by user {user}" in last, last
        return last


def test_a_host_of_another_user(run):
    run = Users(run)
    run.host("root", "a")
    run.hears("a", "waiting for b, c")
    assert "host b from 127.0.0.1 was refused" in run.tries("daemon", "b")
    run.tries("daemon", "c", logged=False)
    for host in "bc":
        run.host("root", host)
    run.reaches(100)
    run.tries("daemon", "b", logged=False)
    run.goes_on()
    run.drains()


def test_a_host_of_root(run):
    run = Users(run)
    run.host("daemon", "a")
    run.hears("a", "waiting for b, c")
    assert "host b from 127.0.0.1 was refused" in run.tries("root", "b")
    assert run.hosts["a"].poll() is None, run.said("a")


def test_users_that_are_listed(run):
    run = Users(run, settings="security: {users: [daemon]}")
    run.host("root", "a")
    for host in "bc":
        run.host("daemon", host)
    run.reaches(100)
    run.drains()


def test_a_user_that_is_listed_and_not_there(run):
    run = Users(run, settings="security: {users: [daemon-1]}")
    done = subprocess.run([str(TUNDISH), "validate", run.graph, run.overlay], capture_output=True,
                          text=True)
    assert done.returncode == 0 and "this machine has no user `daemon-1`" in done.stderr, done


def test_a_pool_member(run):
    run = Users(run, overlay=POOL)
    run.host("root", "a")
    for host in ("p0", "p1"):
        run.host("root", host)
    run.reaches(100)
    assert "a process that asks to join was refused" in run.tries("daemon", "p+")
    assert "host p0 from 127.0.0.1 was refused" in run.tries("daemon", "p0")
    run.goes_on()
    run.drains()


def test_an_isolated_process(run):
    run = Users(run, overlay=ISOLATED)
    run.begin("root", "run", run.graph, run.overlay, "--metrics", run.metrics, "--report",
              run.report, name="a")
    run.reaches(100)
    assert "host local.prep.0 from 127.0.0.1 was refused" in run.tries("daemon", "local.prep.0")
    run.goes_on()
    run.drains()


def test_a_program_of_another_user(run):
    """As a host of each kind, and as the leader."""
    run = Users(run)
    run.host("root", "a")
    run.hears("a", "waiting for b, c")
    said = run.tries("daemon", "b", code=1, start=run.program_host)
    assert "host b from 127.0.0.1 was refused" in said, said
    run.tries("daemon", "c", code=1, logged=False, start=run.program_host)
    for host in "bc":
        run.host("root", host)
    run.reaches(100)
    run.tries("daemon", "b", code=1, logged=False, start=run.program_host)
    run.goes_on()
    run.drains()


def test_a_program_of_another_user_that_leads(run):
    run = Users(run)
    run.program_host("daemon", "a")
    assert "host b from 127.0.0.1 was refused" in run.tries("root", "b"), run.all_said()
    run.tries("root", "c", code=1, logged=False, start=run.program_host)
    assert run.hosts["a"].poll() is None, run.said("a")


def test_a_program_of_another_user_in_a_pool(run):
    run = Users(run, overlay=POOL)
    run.host("root", "a")
    for host in ("p0", "p1"):
        run.host("root", host)
    run.reaches(100)
    said = run.tries("daemon", "p0", code=1, start=run.program_host)
    assert "host p0 from 127.0.0.1 was refused" in said, said
    run.goes_on()
    run.drains()


def test_a_program_of_another_user_as_an_isolated_process(run):
    run = Users(run, overlay=ISOLATED)
    run.begin("root", "run", run.graph, run.overlay, "--metrics", run.metrics, "--report",
              run.report, name="a")
    run.reaches(100)
    run.tries("daemon", "local.prep.0", code=1, start=run.program_host)
    run.goes_on()
    run.drains()


def between_actors(folder, transport, program=False):
    """The leader admits host c of daemon; host b, whose actors it meets, does not."""
    for _ in range(TRIES):
        run = Users(folder, overlay=HOSTS.replace("TRANSPORT", transport),
                    settings="security: {users: [daemon]}")
        strict = run.folder / "strict.yaml"
        strict.write_text(run.overlay.read_text().replace("security: {users: [daemon]}", ""))
        run.host("root", "a")
        run.host("root", "b", overlay=strict)
        (run.program_host if program else run.host)("daemon", "c")
        for host in "abc":
            run.hosts[host].wait(60)
        assert run.steps() == 0, run.all_said()
        for host in "abc":  # the warning of an actor that refuses may come too late for a log
            one_sentence(run.said(host), "prep.0 was refused by ", " of host b: ",
                         "connects is run by user daemon", "listens by user root")
        run.close()


def test_ports_of_actors(folder):
    between_actors(folder, "tcp")


def test_local_sockets_of_actors(folder):
    between_actors(folder, "ipc")


def test_ports_of_actors_and_a_program(folder):
    between_actors(folder, "tcp", program=True)


# --- other network namespaces ------------------------------------------------------------------


class Namespaces:
    """Two network namespaces, of which the second reaches the loopback address of the first."""

    def __init__(self):
        self.processes = [subprocess.Popen(["unshare", "-n", "sleep", "600"]) for _ in range(2)]
        home = os.readlink("/proc/self/ns/net")
        for process in self.processes:
            until("a network namespace", lambda: os.readlink(f"/proc/{process.pid}/ns/net") != home)
        self.first, self.second = self.processes
        self.ip(self.first, f"link add v1 type veth peer name v2 netns {self.second.pid}")
        self.ip(self.first, "link set lo up")
        for process, name, number in ((self.first, "v1", 1), (self.second, "v2", 2)):
            self.ip(process, f"addr add 10.77.0.{number}/24 dev {name}")
            self.ip(process, f"link set {name} up")
            self.do(process, "sh", "-c", f"echo 1 >/proc/sys/net/ipv4/conf/{name}/route_localnet")
        self.ip(self.second, "route add 127.0.0.1/32 dev v2 src 10.77.0.2")

    @staticmethod
    def do(process, *words):
        subprocess.run(["nsenter", "-t", str(process.pid), "-n", *words], check=True)

    def ip(self, process, words):
        self.do(process, "ip", *words.split())

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()


def between_namespaces(test):
    """Calls a test with two namespaces; where there can be none it is left out."""
    def wrapped(folder):
        if shutil.which("ip") is None or subprocess.run(["unshare", "-n", "true"]).returncode != 0:
            print("there are no network namespaces here")
            sys.exit(77)
        spaces = Namespaces()
        try:
            test(folder, spaces)
        finally:
            for run in Users.made:
                run.close()
            spaces.close()
    return wrapped


def loose(run):
    """The overlay of a process that itself admits everybody."""
    path = run.folder / "loose.yaml"
    path.write_text(run.overlay.read_text() + "insecure: true\n")
    return path


def within(run, user, host, inside, overlay=None, name=None):
    words = ["--metrics", run.metrics, "--report", run.report] if (name or host) == "a" else []
    run.begin(user, "run", run.graph, overlay or run.overlay, "--host", host, *words,
              name=name or host, inside=inside)


def is_refused(run, user, host, spaces, overlay, *words):
    for _ in range(TRIES):
        within(run, user, host, spaces.second, overlay, name="tried")
        run.ends("tried", 75)
        one_sentence(run.said("tried"), "cannot be known", "in another network namespace",
                     "insecure: true", *words)
    del run.hosts["tried"]


@between_namespaces
def test_another_network_namespace(folder, spaces):
    """Whose processes are, cannot be known there: they are as those of another machine, of any user."""
    run = Users(folder)
    within(run, "root", "a", spaces.first)
    run.hears("a", "waiting for b, c")
    for user in ("daemon", "root"):
        is_refused(run, user, "b", spaces, loose(run), "the side that connects")
        is_refused(run, user, "b", spaces, run.overlay, "the side that ")
    run.hears("a", "host b from 10.77.0.2 was refused: the user who runs the side that connects "
                   "cannot be known")
    for host in "bc":
        within(run, "root", host, spaces.first)
    run.reaches(100)
    is_refused(run, "daemon", "b", spaces, loose(run), "the side that connects")
    run.goes_on()
    run.drains()


@between_namespaces
def test_another_network_namespace_that_is_allowed(folder, spaces):
    run = Users(folder, settings="insecure: true")
    for host, user, inside in (("a", "root", spaces.first), ("c", "root", spaces.first),
                               ("b", "daemon", spaces.second)):
        within(run, user, host, inside)
    run.reaches(100)
    run.drains()


@between_namespaces
def test_ports_of_actors_and_another_network_namespace(folder, spaces):
    """The leader admits host c; host b, whose actors it meets, does not."""
    for _ in range(TRIES):
        run = Users(folder, overlay=HOSTS.replace("TRANSPORT", "tcp"))
        within(run, "root", "a", spaces.first, loose(run))
        within(run, "root", "b", spaces.first)
        within(run, "daemon", "c", spaces.second, loose(run))
        for host in "abc":
            run.hosts[host].wait(60)
        assert run.steps() == 0, run.all_said()
        for host in "abc":
            one_sentence(run.said(host), "prep.0 was refused by ", " of host b: ", "cannot be known")
        run.close()


def test_two_people_who_start_the_same_files(run):
    run = Users(run)
    run.begin("root", "up", run.graph, run.overlay, "--metrics", run.metrics, "--report",
              run.report, name="a")
    run.reaches(100)
    for _ in range(TRIES):
        run.begin("daemon", "up", run.graph, run.overlay, name="second")
        assert run.hosts.pop("second").wait(60) in (1, 75), run.all_said()
        assert f"127.0.0.1:{run.port} is in use by a program of user root" in run.said("second"), \
            run.said("second")
    run.goes_on()
    run.hosts["a"].send_signal(signal.SIGINT)
    run.ends("a", 130)


def closed(test):
    """Calls a test, whose processes end with it."""
    try:
        in_folder(test)
    finally:
        for run in Users.made:
            run.close()


def main():
    if os.geteuid() != 0 or shutil.which("setpriv") is None or \
            subprocess.run([*DAEMON, str(TUNDISH), "--version"], capture_output=True).returncode != 0:
        print("only root can be another user, who must be able to run the command")
        return 77
    return run_named(globals(), sys.argv[1:], closed)


if __name__ == "__main__":
    sys.exit(main())

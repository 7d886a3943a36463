"""What the commands of a test printed and how they ended, for the log of a test that fails.

Importing this makes subprocess note it.  Output that goes to a file is read from there, also after
the file was removed.
"""
import os
import subprocess
import sys

SHOWN = 8  # commands, the last ones; earlier ones if they failed
TAIL = 4000  # characters of each output

_started = []
_popen = subprocess.Popen


def _file_of(target):
    """A file to read what a command writes to `target`, if it is a file."""
    try:
        number = target if isinstance(target, int) else target.fileno()
        path = f"/proc/self/fd/{number}"
        return open(path, "rb") if number >= 0 and os.path.isfile(path) else None
    except (AttributeError, OSError, ValueError):
        return None


def _text(output):
    if output is None:
        return ""
    return output.decode(errors="replace") if isinstance(output, bytes) else output


class Popen(_popen):
    def __init__(self, args, *more, **options):
        self._outputs = {"stdout": None, "stderr": None}
        self._files = {name: _file_of(options.get(name)) for name in self._outputs}
        _started.append(self)
        super().__init__(args, *more, **options)

    def communicate(self, *more, **options):
        try:
            told = super().communicate(*more, **options)
        except subprocess.TimeoutExpired as late:
            self._outputs = {"stdout": late.stdout, "stderr": late.stderr}
            raise
        self._outputs = dict(zip(("stdout", "stderr"), told))
        return told

    def describe(self):
        words = self.args if isinstance(self.args, (str, bytes)) else " ".join(map(str, self.args))
        code = self.poll() if getattr(self, "pid", None) else "not started"
        lines = [f"$ {_text(words)}", f"exit code: {'still running' if code is None else code}"]
        seen = None
        for name, output in self._outputs.items():
            file = self._files[name]
            if file is not None and seen is not None and os.path.sameopenfile(seen, file.fileno()):
                continue  # both outputs go to one file
            if file is not None:
                seen = file.fileno()
                file.seek(0)
                output = file.read()
            text = _text(output)
            if text:
                lines.append(f"{name}: {'...' if len(text) > TAIL else ''}{text[-TAIL:].rstrip()}")
        return "\n".join(lines)


subprocess.Popen = Popen


def forget():
    """A test begins."""
    for command in _started:
        for file in filter(None, command._files.values()):
            file.close()
    _started.clear()


def show():
    """Prints the commands of the test that has just failed."""
    last = _started[-SHOWN:]
    for command in _started:
        if command in last or getattr(command, "returncode", None) not in (0, None):
            print(command.describe(), flush=True)


def _end(*error):
    """A script that ends by an exception."""
    sys.__excepthook__(*error)
    show()


sys.excepthook = _end

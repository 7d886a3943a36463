"""The glibc that files need, by the versions of the symbols that they ask for, and a wheel's tag for it."""
import re
import subprocess

# Versions that are not numbers: relocations in the short form came with glibc 2.36.
NAMED = {"ABI_DT_RELR": (2, 36)}


def needed_glibc(text):
    """The highest version that `readelf --version-info` prints among what a file needs, as (2, 28), or (0, 0) if the
    file runs with any; ValueError if no release promises it."""
    needs = text.partition("Version needs section")[2]
    found = {(0, 0)}
    for name in re.findall(r"\bName: GLIBC_(\S+)", needs):
        if name not in NAMED and not re.fullmatch(r"\d+(\.\d+)+", name):
            raise ValueError(f"it needs GLIBC_{name}, which no release promises")
        found.add(NAMED.get(name) or tuple(map(int, name.split(".")))[:2])
    return max(found)


def needed_by(files):
    """The highest of several files."""
    versions = []
    for file in files:
        done = subprocess.run(["readelf", "--wide", "--version-info", file], capture_output=True, text=True,
                              env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
        if done.returncode != 0:
            raise ValueError(f"{file}: {done.stderr.strip()}")
        try:
            versions.append(needed_glibc(done.stdout))
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
    return max(versions)


def platform_tag(version, machine):
    """What pip compares with the machine (PEP 600)."""
    return f"manylinux_{version[0]}_{version[1]}_{machine}"

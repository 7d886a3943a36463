"""What a wheel of the Python module has, and how it is written."""
import base64
import hashlib
import pathlib
import re
import subprocess
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# What is built: the plugin is that of examples/fashion.
PROGRAMS = ["libtundish.so", "tundish", "mlp.so"]
# The name by which programs that are linked with the library ask for it: a wheel has no links.
IN_WHEEL = {"libtundish.so": "libtundish.so.0"}
TARGETS = ["tundish", "tundish_command", "mlp"]

METADATA = """Metadata-Version: 2.1
Name: tundish
Version: {version}
Summary: Feeds training data to PyTorch, JAX and NumPy: an actor runtime in C
License: Apache-2.0
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme}"""
WHEEL = "Wheel-Version: 1.0\nGenerator: tools/wheel\nRoot-Is-Purelib: false\nTag: py3-none-{platform}\n"


def project_version():
    return re.search(r"project\(tundish VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def metadata(version):
    return METADATA.format(version=version, readme=(ROOT / "README.md").read_text()).encode()


def contents(folder, version, platform, licences_of_libraries):
    """What is in the wheel, with the programs of a folder: by name, (bytes, whether it is a program)."""
    files, info = {}, f"tundish-{version}.dist-info"
    for source in sorted((ROOT / "tools/python/tundish").glob("*.py")):
        files[f"tundish/{source.name}"] = source.read_bytes(), False
    files["tundish/tensorflow.txt"] = (ROOT / "tools/reference/tensorflow.txt").read_bytes(), False
    for header in sorted((ROOT / "runtime/tundish").glob("*.h")):
        files[f"tundish/include/tundish/{header.name}"] = header.read_bytes(), False
    for name in PROGRAMS:
        files[f"tundish/{IN_WHEEL.get(name, name)}"] = (folder / name).read_bytes(), True
    files[f"{info}/METADATA"] = metadata(version), False
    files[f"{info}/WHEEL"] = WHEEL.format(platform=platform).encode(), False
    files[f"{info}/entry_points.txt"] = b"[console_scripts]\ntundish = tundish.__main__:main\n", False
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes(), False
    for package, text in sorted(licences_of_libraries.items()):
        files[f"{info}/licenses/{package}"] = text, False
    record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
                     for name, (data, _) in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode(), False
    return files


def copy_programs(build, folder):
    """Copies the programs without what only debuggers read."""
    for name in PROGRAMS:
        subprocess.run(["strip", "--strip-unneeded", build / name, "-o", folder / name], check=True)


def write_wheel(path, files):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, (data, program) in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100755 if program else 0o100644) << 16  # a regular file: pip before 21 looks
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, data)

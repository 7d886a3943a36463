"""What pip calls (PEP 517): builds Tundish with cmake in a source tree, and packs it as a wheel for this machine.

The libraries are those of the machine: tools/setup installs what Debian has of them.
"""
import io
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile

from wheel_files import ROOT, TARGETS, contents, copy_programs, metadata, project_version, write_wheel


def get_requires_for_build_wheel(config_settings=None):
    """pip installs cmake for the build if the machine has none."""
    return [] if shutil.which("cmake") else ["cmake"]


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """So that pip need not build it to learn its version."""
    version = project_version()
    folder = pathlib.Path(metadata_directory) / f"tundish-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_bytes(metadata(version))
    return folder.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    version, platform = project_version(), f"linux_{os.uname().machine}"
    name = f"tundish-{version}-py3-none-{platform}.whl"
    with tempfile.TemporaryDirectory() as place:
        build = pathlib.Path(place) / "build"
        subprocess.run(["cmake", "-G", "Unix Makefiles", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release"], check=True)
        subprocess.run(["cmake", "--build", build, "--parallel", str(os.cpu_count()), "--target", *TARGETS], check=True)
        copy_programs(build, pathlib.Path(place))
        write_wheel(pathlib.Path(wheel_directory) / name, contents(pathlib.Path(place), version, platform, {}))
    return name


def build_sdist(sdist_directory, config_settings=None):
    """All files of the last commit, with their changes."""
    version = project_version()
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], stdout=subprocess.PIPE, text=True, check=True).stdout
    name, folder = f"tundish-{version}.tar.gz", f"tundish-{version}"
    with tarfile.open(pathlib.Path(sdist_directory) / name, "w:gz", format=tarfile.PAX_FORMAT) as out:
        information = tarfile.TarInfo(f"{folder}/PKG-INFO")
        information.size = len(metadata(version))
        out.addfile(information, io.BytesIO(metadata(version)))
        for file in filter(None, listed.split("\0")):
            out.add(ROOT / file, f"{folder}/{file}", recursive=False)
    return name

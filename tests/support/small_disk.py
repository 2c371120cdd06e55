"""A file system of a few hundred megabytes, for a server that is to fill it."""
import contextlib
import errno
import os
import pathlib
import subprocess

import pytest

from tests.support.palimpsest import BIN


@contextlib.contextmanager
def small_disk(folder, megabytes):
    """Mounts an ext4 in a file, or a tmpfs where loop devices don't work; skips the test where neither may be mounted."""
    folder = pathlib.Path(folder)
    image, at = folder / "image", folder / "disk"
    at.mkdir()

    def run(*command):
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    with open(image, "wb") as file:
        file.truncate(megabytes << 20)
    mounted = run("mkfs.ext4", "-q", "-m", "0", str(image)) and run("mount", "-o", "loop", str(image), str(at))
    mounted = mounted or run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(at))
    if not mounted:
        image.unlink()
        pytest.skip("no right to mount a small file system")
    try:
        yield at
    finally:
        run("umount", "-l", str(at))
        image.unlink()


def seeming_disk(under, seems_free):
    """The environment of a server to which the disk seems to have as many free bytes as the file `seems_free` says, while there is one."""
    return {**os.environ, "LD_PRELOAD": str(BIN / "disk_figures.so"), "DISK_FIGURES_UNDER": str(under), "DISK_FIGURES_FREE": str(seems_free)}


def free_bytes(at):
    figures = os.statvfs(at)
    return figures.f_bavail * figures.f_frsize


def fill(at, name="stranger"):
    """Another program takes the room that is free now, and not what the server frees while the file grows. Returns its file."""
    stranger = at / name
    with open(stranger, "wb") as file:
        room = free_bytes(at)
        while room > 0:
            try:
                os.posix_fallocate(file.fileno(), 0, room)
                break
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                room -= 64 << 10  # the file system keeps some for itself
    return stranger

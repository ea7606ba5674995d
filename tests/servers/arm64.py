"""The libraries of an arm64 Debian of this machine's release, to compile against and to run with: packages unpacked.

Nothing of them is installed or run, so that neither root is needed nor a kernel that runs foreign programs. Containers
need both: `binfmt_registered`.
"""

import contextlib
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from lib import places
from servers import cache

TRIPLET = "aarch64-linux-gnu"
EMULATOR = "qemu-aarch64-static"
_MIRROR = "http://deb.debian.org/debian"
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
# An emulated program finds the files of its sysroot in place of the machine's: only these are wanted.
_KEPT = ("lib", "usr")
_KEPT_OF_USR = ("include", "lib")

_APT = """
Dir "{folder}";
Dir::Etc "etc";
Dir::State "state";
Dir::State::status "{folder}/status";
Dir::Cache "cache";
APT::Architecture "arm64";
APT::Architectures {{ "arm64"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "";
"""

_CROSS = """
[binaries]
c = '{triplet}-gcc'
ar = '{triplet}-ar'
strip = '{triplet}-strip'
pkgconfig = 'pkg-config' # Meson before 1.3
pkg-config = 'pkg-config'
exe_wrapper = ['{emulator}', '-L', '{sysroot}']

[built-in options]
c_args = ['--sysroot={sysroot}']
c_link_args = ['--sysroot={sysroot}']

[properties]
sys_root = '{sysroot}'
pkg_config_libdir = '{sysroot}/usr/lib/{triplet}/pkgconfig'

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
"""


def libraries():
    """Debian's packages with the headers of what walpost and its tests are linked with."""
    named = re.search(r'^libraries="(.*?)"', (places.TREE / "tests" / "install").read_text(), re.MULTILINE | re.DOTALL)
    return named[1].split()


def sysroot():
    release = platform.freedesktop_os_release()["VERSION_CODENAME"]
    wanted = hashlib.sha256(" ".join(libraries()).encode()).hexdigest()[:12]
    return cache.filled(f"arm64-{release}-{wanted}", lambda folder: _fill(folder, release))


def cross_file():
    """For meson: how programs for arm64 are compiled and run here."""
    root = sysroot()
    text = _CROSS.format(triplet=TRIPLET, emulator=EMULATOR, sysroot=root)
    path = places.cache() / f"{root.name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.ini"
    if not path.exists():
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(text)
        part.rename(path)
    return path


def run(root, *command, **options):
    """Emulates a program of the Debian in `root`; what it said."""
    program, *arguments = command
    return subprocess.run([EMULATOR, "-L", root, root / program, *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True, **options).stdout


_BINFMT = Path("/proc/sys/fs/binfmt_misc")
# ELF of 64 bits, little-endian, a program or a shared object, for machine 183; but for its ABI and version.
_MAGIC = rb"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
_MASK = rb"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"


@contextlib.contextmanager
def binfmt_registered():
    """Meanwhile this machine runs programs for arm64 as its own, in containers too. OSError: it cannot be had."""
    if not (_BINFMT / "register").exists():
        subprocess.run(["mount", "-t", "binfmt_misc", "binfmt_misc", _BINFMT], capture_output=True)
    name = f"walpost-arm64-{os.getpid()}"
    # F: the emulator is opened now, so that it need not be in a container.
    (_BINFMT / "register").write_bytes(
        b":".join([b"", name.encode(), b"M", b"", _MAGIC, _MASK, shutil.which(EMULATOR).encode(), b"F"]))
    try:
        yield
    finally:
        (_BINFMT / name).write_text("-1")


def unpack(folder, release, *packages):
    """Packages, by name or as files, and all that they depend on, in a folder."""
    with tempfile.TemporaryDirectory() as work:
        for archive in [*_fetched(Path(work), release, packages), *(p for p in packages if os.path.isabs(p))]:
            cache.run("dpkg-deb", "--extract", str(archive), str(folder))
    if not (folder / "lib").exists():  # where packages have it in /usr already
        (folder / "lib").symlink_to("usr/lib")
    for path in folder.rglob("*"):
        if path.is_symlink() and (target := path.readlink()).is_absolute():
            path.unlink()
            path.symlink_to(os.path.relpath(folder / target.relative_to("/"), path.parent))


def _fill(folder, release):
    unpack(folder, release, "libc6-dev", *libraries())
    for place, kept in ((folder, _KEPT), (folder / "usr", _KEPT_OF_USR)):
        for path in place.iterdir():
            if path.name not in kept:
                shutil.rmtree(path)


def _fetched(work, release, packages):
    """The packages and all that they depend on, as files."""
    for place in ("etc/apt.conf.d", "etc/preferences.d", "state/lists/partial", "cache/archives/partial"):
        (work / place).mkdir(parents=True)
    (work / "status").touch()
    (work / "etc/sources.list").write_text(f"deb [signed-by={_KEYS}] {_MIRROR} {release} main\n")
    (work / "apt.conf").write_text(_APT.format(folder=work))
    environment = {**os.environ, "APT_CONFIG": str(work / "apt.conf")}
    cache.fetch("apt-get", "-qq", "update", env=environment)
    cache.fetch("apt-get", "-qq", "-y", "--download-only", "install", *map(str, packages), env=environment)
    return sorted((work / "cache/archives").glob("*.deb"))

#!/usr/bin/env python3
"""Fetches what a guest runs from Debian's packages into .tools/guest; nothing is installed.

A guest is a virtual machine with Debian's kernel, whose Soft-RoCE (`rdma_rxe`) is the foreign peer
of our RoCE. Packages are unpacked once, and again when the list changes. Of the kernel only its
image and the modules that a guest loads are kept. Prints the reason and ends with 1 where
something is missing; `--can-run` only looks.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / ".tools/guest"
FILES, KERNEL, MODULES, STAMP = (STORE / name for name in ("files", "vmlinuz", "modules", "stamp"))

QEMU = "qemu-system-x86_64"
KERNEL_PACKAGE = "linux-image-amd64"
"""Depends on the package that has the kernel."""

PACKAGES = {
    "busybox-static": "the guest's shell",
    "iproute2": "rdma, tc and nstat",
    "ibverbs-providers": "the verbs of rxe",
    "ibverbs-utils": "ibv_rc_pingpong, ibv_devinfo",
    "perftest": "ib_write_bw",
    "python3.11-minimal": "peer.py runs in it",
    "libpython3.11-minimal": "",
    "libpython3.11-stdlib": "",
    "libpython3.11": "",
    "python3-pyverbs": "the verbs of peer.py",
    # Libraries of these.
    "libc6": "",
    "libbpf1": "",
    "libbsd0": "",
    "libcap2": "",
    "libelf1": "",
    "libexpat1": "",
    "libffi8": "",
    "libgcc-s1": "",
    "libibumad3": "",
    "libibverbs1": "",
    "libmd0": "",
    "libmnl0": "",
    "libnl-3-200": "",
    "libnl-route-3-200": "",
    "libpci3": "",
    "libpcre2-8-0": "",
    "librdmacm1": "",
    "libselinux1": "",
    "libtirpc3": "",
    "libudev1": "",
    "libxtables12": "",
    "zlib1g": "",
}

LOADED = ("virtio_pci", "virtio_net", "crc32_generic", "rdma_rxe")
"""Modules that a guest loads, besides those that they need."""

WANTED = "\n".join([KERNEL_PACKAGE, *PACKAGES, *LOADED, ""])


class MissingError(Exception):
    """Something is not here, and cannot be fetched."""


def missing() -> str:
    """What a guest needs and is not here; empty where nothing is missing."""
    if not shutil.which(QEMU):
        return f"{QEMU} is missing: apt-get install qemu-system-x86"
    if not STAMP.exists() or STAMP.read_text() != WANTED:
        return "the guest's packages are missing: tools/setup.sh roce"
    return ""


def fetch() -> None:
    """Unpacks the packages into a new folder, which then takes the place of the store."""
    for program in ("apt-get", "dpkg"):
        if not shutil.which(program):
            raise MissingError(f"there is no {program} here to fetch the guest's packages with")
    STORE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=STORE.parent) as made:
        folder = Path(made)
        # apt drops its rights for a download only where others can write.
        folder.chmod(0o777)
        kernel = download(folder)
        image = folder / "kernel"
        store = folder / "store"
        store.mkdir()
        for package in folder.glob("*.deb"):
            is_kernel = package.name.startswith(f"{kernel}_")
            run("dpkg", "-x", str(package), str(image if is_kernel else store / FILES.name))
        keep_kernel(image, store)
        (store / STAMP.name).write_text(WANTED)
        shutil.rmtree(STORE, ignore_errors=True)
        store.rename(STORE)


def download(folder: Path) -> str:
    """Fetches all packages and returns the name of the kernel's."""
    try:
        return download_listed(folder)
    except MissingError:
        # The lists may be absent, or older than the archive; only root can renew them.
        if os.geteuid() != 0:
            raise
    run("apt-get", "-qq", "update")
    return download_listed(folder)


def download_listed(folder: Path) -> str:
    kernel = kernel_package()
    run("apt-get", "-qq", "download", kernel, *PACKAGES, folder=folder)
    return kernel


def kernel_package() -> str:
    found = re.search(r"Depends: (linux-image-\S+)", run("apt-cache", "depends", KERNEL_PACKAGE))
    if not found:
        raise MissingError(f"{KERNEL_PACKAGE} depends on no kernel that apt knows")
    return found[1]


def keep_kernel(image: Path, store: Path) -> None:
    """Keeps the kernel and numbered modules: the order in which each finds what it needs."""
    shutil.copy(next(image.glob("boot/vmlinuz-*")), store / KERNEL.name)
    modules = {path.stem: path for path in image.rglob("*.ko")}
    order: list[str] = []

    def add(name: str) -> None:
        if name in order:
            return
        if name not in modules:
            raise MissingError(f"Debian's kernel has no module {name}")
        depends = re.search(rb"\0depends=([^\0]*)\0", modules[name].read_bytes())
        for needed in depends[1].decode().split(",") if depends and depends[1] else ():
            add(needed)
        order.append(name)

    for name in LOADED:
        add(name)
    (store / MODULES.name).mkdir()
    for number, name in enumerate(order):
        shutil.copy(modules[name], store / MODULES.name / f"{number:02}-{name}.ko")


def run(*words: str, folder: Path | None = None) -> str:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=environment)
    if done.returncode:
        said = (done.stderr.strip() or "no reason given").splitlines()[-1]
        raise MissingError(f"{' '.join(words[:3])}: {said}")
    return done.stdout


def main() -> int:
    reason = missing()
    if reason and shutil.which(QEMU) and "--can-run" not in sys.argv[1:]:
        try:
            fetch()
            reason = missing()
        except MissingError as error:
            reason = str(error)
    print(reason, end="\n" if reason else "")
    return int(bool(reason))


if __name__ == "__main__":
    sys.exit(main())

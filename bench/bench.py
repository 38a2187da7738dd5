# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions that the benchmarks share: run commands and print medians.

Each command is run as a whole process (or pipeline).  The rounds are
interleaved (A B C A B C ...), so that a change of the machine's speed favours
no command.  Ratios are between medians of one table.  Absolute times depend on
the machine.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# recipes of mkaged for badly laid out images
RECIPES = {
    "alternating": "size 128M\n"
    "mosaic /db size 32M written 4K unwritten 4K\n",
    "holes": "size 512M\n"
    "scatter /film frags 1897 blocks 13 gap 13\n",
    "small": "size 640M\n"
    "interleave /a count 4000 rounds 4 blocks 2\n"
    "interleave /b count 1000 rounds 5 blocks 3\n",
    "rate": "size 3500M\n"
    "scatter /big frags 1024 blocks 256 gap 256 shuffle\n",
}


class Command:
    def __init__(self, name, argv, cold=True, warm=True, status=(0,)):
        self.name, self.argv, self.status = name, argv, status
        self.modes = [m for m, on in (("cold", cold), ("warm", warm)) if on]


def tool(name):
    """Returns the path of the real program, because libtool's wrapper is a shell
    script."""
    os.environ["LD_LIBRARY_PATH"] = os.path.abspath("lib/e4layout/.libs")
    folder = "e2fsck" if name == "e4check" else "misc"
    real = f"{folder}/.libs/{name}"
    return real if os.path.exists(real) else f"{folder}/{name}"


def write_out():
    """Writes the dirty pages of two filesystems to disk: those of the current
    directory and of the temporary directory, which has the images."""
    subprocess.run(["sync", "-f", ".", tempfile.gettempdir()], check=True)


def drop_caches():
    write_out()
    with open("/proc/sys/vm/drop_caches", "w") as f:
        f.write("3")


def can_drop_caches():
    return os.access("/proc/sys/vm/drop_caches", os.W_OK)


def measure(command, stdout=subprocess.DEVNULL):
    reader, writer = os.pipe()
    child = subprocess.run(["bench/measured", str(writer), *command.argv],
                           stdin=subprocess.DEVNULL, pass_fds=[writer],
                           stdout=stdout, stderr=subprocess.PIPE)
    os.close(writer)
    with open(reader) as f:
        took = {k: float(v) for k, v in (l.split() for l in f)}
    if child.returncode not in command.status:
        sys.exit(f"{command.name}: exit {child.returncode}: "
                 f"{child.stderr.decode(errors='replace').strip()}")
    return {"wall": took["wall"], "cpu": took["cpu"],
            "rss": took["rss"] / 1024, "reads": took.get("syscr", 0),
            "rchar": took.get("rchar", 0) / 2**20,
            "disk": took.get("read_bytes", 0) / 2**20}


def medians(samples):
    return {k: statistics.median(s[k] for s in samples) for k in samples[0]}


def side_by_side(commands, mode, runs):
    """Returns medians by command name, in the order given."""
    commands = [c for c in commands if mode in c.modes]
    samples = {c.name: [] for c in commands}
    if mode == "warm":
        for c in commands:
            measure(c)
    for _ in range(runs):
        for c in commands:
            if mode == "cold":
                drop_caches()
            samples[c.name].append(measure(c))
    return {name: medians(s) for name, s in samples.items()}


def table(title, results, reference):
    """Prints a row per command, with the ratio of its time to the time of the
    command *reference*."""
    base = results[reference]["wall"]
    print(f"\n{title}")
    print(f"{'':<26}{'seconds':>9}{'ratio':>8}{'cpu s':>8}{'peak MiB':>10}"
          f"{'reads':>9}{'read MiB':>10}{'disk MiB':>10}")
    for name, r in results.items():
        print(f"{name:<26}{r['wall']:>9.3f}{r['wall'] / base:>8.2f}"
              f"{r['cpu']:>8.2f}{r['rss']:>10.1f}{r['reads']:>9.0f}"
              f"{r['rchar']:>10.1f}{r['disk']:>10.1f}")
    sys.stdout.flush()


def machine():
    with open("/proc/loadavg") as f:
        load = f.read().split()[0]
    print(f"{os.cpu_count()} processors, Linux {os.uname().release}, "
          f"load {load} at the start")


def run(*argv):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)


def output(*argv):
    return subprocess.run(argv, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def recipe(text, image):
    """Makes the image of a recipe."""
    with tempfile.NamedTemporaryFile("w", prefix="e4l-recipe-") as f:
        f.write(text)
        f.flush()
        run("tests/tools/mkaged", f.name, image)


def layout(image):
    """Returns the layout of the files in an image."""
    files = json.loads(output(tool("e4frag"), "-q", "--json", image))["files"]
    return {k: files[k] for k in ("extents", "fragments", "fragmented",
                                  "excess_extents", "tree_blocks")}


class Mounted:
    def __init__(self, image, where, *options):
        self.image, self.where = image, where
        self.options = ",".join(("loop",) + options)

    def __enter__(self):
        os.makedirs(self.where, exist_ok=True)
        run("mount", "-o", self.options, self.image, self.where)
        return self.where

    def __exit__(self, *_):
        run("umount", self.where)


def aged_image(image, mnt, scale, *options):
    """Builds the aged image.  As root, the kernel ages the image; otherwise,
    mkaged makes the image.

    *options* are options of mke2fs.
    """
    if os.geteuid() != 0:
        run("tests/tools/mkaged", f"{TOP}/tests/recipes/aged.recipe", image)
        return
    with open(image, "w") as f:
        f.truncate(scale * 2**33 // 100 & -4096)
    run("mke2fs", "-q", "-F", "-t", "ext4", *options, image)
    with Mounted(image, mnt) as where:
        run("bench/age", where, str(scale))


def used_percent(mnt):
    vfs = os.statvfs(mnt)
    return 100 * (1 - vfs.f_bfree / vfs.f_blocks)


def fill(mnt, percent):
    """Makes PERCENT of the filesystem used.  Removes every third file while more
    is in use; then appends to 40 files alternately while less is in use."""
    files = sorted(os.path.join(d, n) for d, _, names in os.walk(mnt)
                   for n in names)
    for path in files[::3]:
        if used_percent(mnt) <= percent:
            break
        os.unlink(path)
    fds = [os.open(f"{mnt}/fill{i}", os.O_RDWR | os.O_CREAT) for i in range(40)]
    while used_percent(mnt) < percent:
        for fd in fds:
            os.write(fd, b"f" * 16384)
            os.fdatasync(fd)
    for fd in fds:
        os.close(fd)


def written_mib(device):
    """Returns the MiB written to a device so far."""
    with open(f"/sys/block/{os.path.basename(device)}/stat") as f:
        return int(f.read().split()[6]) / 2048

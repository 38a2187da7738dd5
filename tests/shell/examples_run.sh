#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The commands in doc/recipes.md and in the section EXAMPLES of each manual page end
# with exit status 0.  Image files stand for the devices.  Commands that need a mount,
# systemd or a network are skipped by name.  documents.sh runs the commands of README.md.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
no_leak_check
require_program python3 mke2fs e2fsck jq

# The tools are in PATH.  Replacements of less, git and e2fsck print a file,
# print a fixed date, and ask no questions.
mkdir "$work/bin" "$work/run" "$work/devices"
for tool in "$e4check" "$e4debug" "$e4frag" "$e4repack" "$mke4fs" "$tune4fs"; do
	printf '#!/bin/sh\nexec "%s" "$@"\n' "$tool" >"$work/bin/$(basename "$tool")"
done
printf '#!/bin/sh\nexec cat\n' >"$work/bin/less"
printf '#!/bin/sh\necho 1700000000\n' >"$work/bin/git"
printf '#!/bin/sh\nexec "%s" -p "$@"\n' "$(command -v e2fsck)" >"$work/bin/e2fsck"
chmod +x "$work"/bin/*

aged "$work/image" <<'END'
size 64M
mosaic /db/pages size 2M written 8K unwritten 8K random
mosaic /srv/db/pages size 2M written 8K unwritten 8K random
mosaic /pgdata/pages size 1M written 8K unwritten 8K random
mosaic /vm/disk.img size 2M written 4K unwritten 4K
interleave /mail count 60 rounds 4 blocks 1
tree /home/mail dirs 10 files 15 size 1K-6K
many /var/cache count 400 size 4K-40K
delete /var/cache percent 70
END

# These directories and archives are copied by the examples.
mkdir -p "$work/run/rootfs/boot" "$work/run/rootfs/usr/lib/systemd" \
	"$work/run/rootfs/sbin" "$work/run/overlay"
seq 20000 >"$work/run/rootfs/usr/lib/systemd/systemd"
echo init >"$work/run/rootfs/sbin/init"
echo kernel >"$work/run/rootfs/boot/vmlinuz"
tar -C "$work/run/rootfs" -cf "$work/run/rootfs.tar" .
gzip -c "$work/run/rootfs.tar" >"$work/run/rootfs.tar.zst"

cat >"$work/examples.py" <<'END'
import glob, os, re, shutil, subprocess, sys
top, work, archives, mounted = sys.argv[1:]
# A test without root and network cannot run these commands.
SKIPPED = {
    "mount": r"^mount |&& mount ",
    "umount": r"^umount ",
    "systemd": r"^systemctl ",
    "device mapper": r"^veritysetup open ",
    "LVM": r"^lvreduce ",
    "network": r"^skopeo |oci:debian|config\.json$",
}
# A command whose TARGET is a mount point; "" stands for a host without mounts.
ON_MOUNT = r"^(tune4fs|e4repack|e4frag)\b(?!.*/dev/).* /(srv|home)(?=[ |/]|$)"
ROFF = {r"\-": "-", r"\(aq": "'", r"\(dq": '"', r"\e": "\\"}

def recipes():
    text = open(f"{top}/doc/recipes.md").read()
    for block in re.findall(r"(?:^    .*\n)+", text, re.M):
        block = re.sub(r"(?m)^    ", "", block)
        if not block.startswith("$ "):
            yield "recipes.md", re.sub(r"\\\n\s*", "", block).strip().split("\n")

def pages():
    for page in sorted(glob.glob(f"{top}/misc/*.8") + glob.glob(f"{top}/e2fsck/*.8") +
                       glob.glob(f"{top}/debugfs/*.8")):
        text = re.search(r"(?ms)^\.SH EXAMPLES\n(.*?)^\.SH ", open(page).read())[1]
        for group in re.findall(r"(?m)^\.TP\n((?:\.B .*\n(?:\.TQ\n)?)+)", text):
            commands = re.findall(r"(?m)^\.B (.*)$", group)
            for old, new in ROFF.items():
                commands = [c.replace(old, new) for c in commands]
            yield os.path.basename(page), commands

def device(match):
    return f"{work}/devices/" + match[0].replace("/", "_").replace("=", "_")

DEVICE = r"/dev/(?:vg0/\w+|sd[a-zX]\d)|UUID=\.\.\.|\bDEVICE\b|\bdisk\.img\b(?<!/disk\.img)"

def run(page, command, env):
    # An image takes the place of each device.  mke4fs overwrites its device.
    names = {device(m) for m in re.finditer(DEVICE, command)}
    for name in names:
        if not os.path.exists(name):
            shutil.copyfile(f"{work}/image", name)
    command = re.sub(DEVICE, device, command).replace("/var/tmp", work)
    if mounted and re.search(ON_MOUNT, command):
        command = re.sub(r"(?<= )/(srv|home)(?=[ |/]|$)", mounted, command)
        command = command.replace(" --idle", "")    # waits while the host is busy
    if archives == "no" and ".tar" in command:
        print(f"{page}: skipped: libarchive: {command}")
        return
    done = subprocess.run(["sh", "-c", command], cwd=f"{work}/run", env=env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"{page}: {command}: exit status {done.returncode}\n{done.stdout}")

n = skipped = 0
for page, commands in [*recipes(), *pages()]:
    env = {**os.environ, "PATH": f"{work}/bin:{os.environ['PATH']}"}
    for command in commands:
        reason = next((r for r, p in SKIPPED.items() if re.search(p, command)), None)
        n += 1
        if not mounted and re.search(ON_MOUNT, command):
            reason = "a mounted filesystem"
        if reason:
            skipped += 1
            print(f"{page}: skipped: {reason}: {command}")
        elif command.startswith("export "):
            name, value = command[7:].split("=", 1)
            env[name] = subprocess.run(["sh", "-c", f"echo {value}"], env=env, text=True,
                                       stdout=subprocess.PIPE).stdout.strip()
        else:
            run(page, command, env)
print(f"{n} commands, {skipped} skipped")
if n < 60 or skipped > n / 2:
    sys.exit("where are the examples?")
END
archives=yes mounted=
if can_mount; then
	cp "$work/image" "$work/on"
	mount_image "$work/on" "$work/mnt"
	mounted=$work/mnt
fi
built_with ARCHIVE || archives=no
run python3 "$work/examples.py" "$top_srcdir" "$work" "$archives" \
	"$mounted"
cat "$out"
[ "$status" = 0 ] || { show_run; fail "an example does not work"; }

# The session of e4debug in recipes.md prints the lines shown there.
check "$top_builddir/tests/tools/mkaged" \
	"$top_srcdir/tests/recipes/sample.recipe" "$work/sample.img"
sed -n '/^    \$ e4debug/,/^$/s/^    e4debug: //p' "$top_srcdir/doc/recipes.md" \
	>"$work/requests"
sed -n '/^    \$ e4debug/,/^$/s/^    //p' "$top_srcdir/doc/recipes.md" |
	grep -v '^\$\|^e4debug: \|^\[\.\.\.\]' >"$work/shown"
[ "$(wc -l <"$work/requests")" -ge 4 ] || fail "where is the session of e4debug?"
check "$e4debug" -w -z "$work/undo" -f "$work/requests" "$work/sample.img"
while IFS= read -r line; do
	grep -qxF -e "$line" "$out" || { show_run; fail "e4debug does not print: $line"; }
done <"$work/shown"

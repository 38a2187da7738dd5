#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# For container images, the result of mke4fs equals the result of umoci as root.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_archives
require_loop
require_program umoci skopeo python3

cd "$work" || exit
SOURCE_DATE_EPOCH=2000000000	# later than all times of files
export SOURCE_DATE_EPOCH

uuid=01234567-89ab-4def-8123-456789abcdef

# quietly COMMAND...: fails unless COMMAND succeeds
quietly() {
	"$@" >said 2>&1 || {
		cat said >&2
		fail "$*"
	}
}

# take OPTION...: makes img from OPTIONs
take() {
	rm -f img
	check "$mke4fs" -q -U "$uuid" -E "hash_seed=$uuid" "$@" img
}

# refuse SENTENCE OPTION...: fails unless mke4fs fails with SENTENCE
refuse() {
	sentence=$1
	shift
	rm -f img
	mustfail 1 "$mke4fs" -q "$@" img
	says "$sentence"
	one_sentence mke4fs
	[ ! -e img ] || fail "an image is left of $*"
}

# umoci makes twelve layers, each with changes of all kinds.
quietly umoci init --layout oci
quietly umoci new --image oci:made
quietly umoci unpack --image oci:made bundle
for layer in 1 2 3 4 5 6 7 8 9 10 11 12; do
	python3 - bundle/rootfs $layer <<'EOT'
import os, random, shutil, sys
top, layer = sys.argv[1], int(sys.argv[2])
random.seed(layer)

def paths(test):
    return sorted(os.path.join(at, n) for at, dirs, files in os.walk(top)
                  for n in dirs + files if test(os.path.join(at, n)))

def real_dir(p): return os.path.isdir(p) and not os.path.islink(p)
def regular(p): return os.path.isfile(p) and not os.path.islink(p)

def fresh():
    where = random.choice([top] + paths(real_dir))
    if where.count("/") > 6:
        where = top
    p = os.path.join(where, "%s%d" % (random.choice("abcdefgh"),
                                      random.randrange(30)))
    return None if os.path.lexists(p) else p

for n in range(40):
    kind = random.randrange(14)
    p, files = fresh(), paths(regular)
    if kind < 4 and p:
        with open(p, "wb") as f:
            f.write(os.urandom(random.randrange(60000)))
        os.chmod(p, random.choice([0o644, 0o755, 0o4755, 0o600]))
        os.chown(p, random.randrange(3) * 1000, random.randrange(3) * 7)
    elif kind < 6 and p:
        os.mkdir(p)
        os.chmod(p, random.choice([0o755, 0o1777, 0o2750]))
    elif kind == 6 and p:
        os.symlink(random.choice(["/etc", "../x", "a1"]), p)
    elif kind == 7 and p and files:
        os.link(random.choice(files), p)
    elif kind == 8 and files:
        os.unlink(random.choice(files))
    elif kind == 9 and paths(real_dir) and layer % 3 == 0:
        shutil.rmtree(random.choice(paths(real_dir)))
    elif kind == 10 and files:
        with open(random.choice(files), "ab") as f:
            f.write(b"more\n" * 100)
    elif kind == 11 and files:
        os.setxattr(random.choice(files), "user.note", b"n%d" % n)
    elif kind == 12 and p:
        os.mkfifo(p)
    elif kind == 13 and p and files:
        gone = random.choice(files)         # a directory replaces a file
        os.unlink(gone)
        os.mkdir(gone)
        open(os.path.join(gone, "in"), "w").close()
EOT
	quietly umoci repack --refresh-bundle --image oci:made bundle
done
quietly umoci config --image oci:made --config.entrypoint /bin/init \
	--config.env A=b --config.user 1000
# the expected content is the result of umoci
quietly umoci unpack --image oci:made reference
take -d oci:oci:made --oci-config=config.json
# Layers of umoci have no entry for the image's root.
touch -d "@$(stat -c %Y reference/rootfs)" reference/rootfs
equals img reference/rootfs
same 'the configuration' "$(json config.json "d['config']['User']")" 1000
cp img first
take -d oci:oci:made
cmp img first || fail 'the same image twice is not the same'

# mke4fs needs neither root nor, if there is only one image, a tag.
chmod -R a+rX .
cp first unprivileged
if is_root && nobody_reaches "$mke4fs"; then
	mkdir -m 777 theirs
	check as_nobody "$mke4fs" -q -U "$uuid" -E "hash_seed=$uuid" \
		-d oci:"$work/oci" "$work/theirs/img"
	cmp theirs/img first || fail 'without root it is another image'
fi

# The image gives the same result in every form.
quietly skopeo copy --insecure-policy oci:oci:made oci-archive:made.tar:made
quietly skopeo copy --insecure-policy oci:oci:made \
	docker-archive:docker.tar:example/made:1
quietly skopeo copy --insecure-policy --dest-compress-format zstd \
	--dest-compress oci:oci:made oci:zstd:made
for source in oci-archive:made.tar oci-archive:made.tar:made \
	docker-archive:docker.tar docker-archive:docker.tar:example/made:1 \
	oci:zstd:made "oci:oci@$(python3 -c '
import json; print(json.load(open("oci/index.json"))["manifests"][-1]["digest"])
')"; do
	take -d "$source"
	cmp img first || fail "$source is another image"
done
gzip -k made.tar
take -d oci-archive:made.tar.gz
cmp img first || fail 'a packed archive is another image'

# The image is copied below a path, and together with other sources.
mkdir own
echo mine >own/mine
take -d oci:oci:made -d own -d oci:oci:made:/again
debugfs -R 'cat mine' img 2>/dev/null | grep -q mine || fail 'own file'

# buildah makes an image, if its storage works here.
if command -v buildah >/dev/null; then
	buildah="buildah --root $work/storage --runroot $work/run
		--storage-driver vfs"
	# shellcheck disable=SC2086
	if container=$($buildah from scratch 2>/dev/null); then
		quietly $buildah copy "$container" own /usr
		quietly $buildah config --entrypoint '["/x"]' "$container"
		quietly $buildah commit "$container" oci:built:tag
		quietly umoci unpack --image built:tag built-reference
		take -d oci:built
		equals img built-reference/rootfs
	fi
fi

# ------------------------------------------------------------- broken images

# image DIR: makes a small image in the new directory DIR with the Python code
# on stdin
image() {
	rm -rf "$1"
	python3 - "$1" <<EOT
import gzip, hashlib, io, json, os, sys, tarfile
top = sys.argv[1]
os.makedirs(top + "/blobs/sha256")
OCI = "application/vnd.oci.image."
def blob(data, kind=None, **more):
    if not isinstance(data, bytes):
        data = json.dumps(data).encode()
    digest = hashlib.sha256(data).hexdigest()
    with open(top + "/blobs/sha256/" + digest, "wb") as f:
        f.write(data)
    d = {"mediaType": kind, "digest": "sha256:" + digest, "size": len(data)}
    d.update(more)
    return d
def layer(*members, kind=OCI + "layer.v1.tar+gzip", pack=gzip.compress):
    out = io.BytesIO()
    t = tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT)
    for name, data in members:
        i = tarfile.TarInfo(name)
        if data is None:
            i.type = tarfile.DIRTYPE
        elif isinstance(data, str):
            i.type, i.linkname = tarfile.LNKTYPE, data
        else:
            i.size = len(data)
        t.addfile(i, io.BytesIO(data if isinstance(data, bytes) else b""))
    t.close()
    return blob(pack(out.getvalue()), kind)
def config(arch="amd64", **more):
    return blob(dict({"os": "linux", "architecture": arch}, **more),
                OCI + "config.v1+json")
def manifest(layers, c=None, **more):
    return blob({"schemaVersion": 2, "config": c or config(),
                 "layers": layers}, OCI + "manifest.v1+json", **more)
def index(*manifests):
    with open(top + "/index.json", "w") as f:
        json.dump({"schemaVersion": 2, "manifests": manifests}, f)
def path(d):
    return top + "/blobs/sha256/" + d["digest"][7:]
def platform(arch, variant=None, os="linux"):
    p = {"os": os, "architecture": arch}
    return {"platform": dict(p, variant=variant) if variant else p}
with open(top + "/oci-layout", "w") as f:
    f.write('{"imageLayoutVersion": "1.0.0"}')
one = layer(("f", b"one"))
$(cat)
EOT
}

image multi <<'EOT'
def of(arch, variant=None):
    return manifest([layer(("arch", (arch + (variant or "")).encode()))],
                    config(arch), **platform(arch, variant))
inner = blob({"schemaVersion": 2, "manifests": [of("arm64"), of("s390x"),
    of("arm", "v6"), of("arm", "v7"), of("amd64"), of("riscv64"),
    manifest([], **platform("unknown", os="unknown"))]},
    OCI + "index.v1+json",
    annotations={"org.opencontainers.image.ref.name": "all"})
index(inner, manifest([one], annotations={
    "org.opencontainers.image.ref.name": "plain"}))
EOT
for arch in arm64 s390x arm/v6 arm/v7 amd64; do
	take -d oci:multi:all --platform=linux/$arch
	same "the file for $arch" "$(debugfs -R 'cat arch' img 2>/dev/null)" \
		"$(echo $arch | tr -d /)"
done
case $(uname -m) in
x86_64)
	take -d oci:multi:all
	same "this machine's" "$(debugfs -R 'cat arch' img 2>/dev/null)" amd64 ;;
esac
refuse 'no image for the platform linux/mips' -d oci:multi:all \
	--platform=linux/mips
refuse 'the image does not match --platform' -d oci:multi:plain --platform=linux/s390x
refuse 'nowhere: no image of this name in the image layout' -d oci:multi:nowhere
refuse 'several images' -d oci:multi
mustfail 2 "$mke4fs" --platform=linux -d oci:multi img
mustfail 1 "$mke4fs" -q --oci-config=x -d own img
says '--oci-config requires .*image'

broken() {	# broken SENTENCE: the image of the code on stdin is refused
	image bad
	refuse "$1" -d oci:bad
	[ ! -e img ] || fail 'an image is left'
}
broken 'layer 1: blobs/sha256/[0-9a-f]*: the content does not match the digest' <<'EOT'
index(manifest([one]))
data = bytearray(open(path(one), "rb").read())
data[4] ^= 1                    # the time, which gzip does not check
open(path(one), "wb").write(data)
EOT
broken 'layer 1: .*(truncated|smaller|Truncated)' <<'EOT'
index(manifest([one]))
os.truncate(path(one), one["size"] - 10)
EOT
broken 'the content is larger than the size in the descriptor' <<'EOT'
index(manifest([one]))
open(path(one), "ab").write(b"more")
EOT
broken 'layer 2: blobs.*: the file is missing' <<'EOT'
two = layer(("g", b"two"))
index(manifest([one, two]))
os.unlink(path(two))
EOT
broken "layer 1: the media type 'text/plain' is not supported" <<'EOT'
index(manifest([dict(one, mediaType="text/plain")]))
EOT
broken 'layer 1: foreign layers' <<'EOT'
index(manifest([dict(one, urls=["https://example.com/"],
    mediaType="application/vnd.docker.image.rootfs.foreign.diff.tar.gzip")]))
EOT
broken 'a descriptor has no sha256' <<'EOT'
index(manifest([dict(one, digest="sha256:../../../etc/passwd")]))
EOT
broken 'a descriptor has no sha256' <<'EOT'
index(manifest([dict(one, digest="md5:d41d8cd98f00b204e9800998ecf8427e")]))
EOT
broken 'a descriptor has no size' <<'EOT'
index(manifest([dict(one, size=-1)]))
EOT
broken 'manifest: no list of layers' <<'EOT'
index(blob({"config": config()}, OCI + "manifest.v1+json"))
EOT
broken 'config: the media type .* is not supported' <<'EOT'
index(manifest([one], dict(config(), mediaType="application/x-helm")))
EOT
broken 'not a JSON object' <<'EOT'
index(blob(b"{ not", OCI + "manifest.v1+json"))
EOT
broken 'the document is larger than 4 MiB' <<'EOT'
index(blob(b"{" + b" " * (5 << 20) + b"}", OCI + "manifest.v1+json"))
EOT
broken 'indexes are nested more than 8 levels deep' <<'EOT'
d = manifest([one])
for n in range(12):
    d = blob({"manifests": [d]}, OCI + "index.v1+json")
index(d)
EOT
broken 'imageLayoutVersion is not 1' <<'EOT'
index(manifest([one]))
open(top + "/oci-layout", "w").write('{"imageLayoutVersion": "2.0"}')
EOT
broken 'oci-layout: the file is missing' <<'EOT'
os.unlink(top + "/oci-layout")
EOT
broken 'layer 1: a/../b: a path contains ..' <<'EOT'
index(manifest([layer(("a/../b", b""))]))
EOT
broken 'layer 2: b: the target of the hard link, a, does not exist' <<'EOT'
index(manifest([one, layer(("b", "a"))]))
EOT
broken 'longer than 255' <<'EOT'
index(manifest([layer(("n" * 256, b""))]))
EOT
broken 'layer 1: .*neither a directory nor' <<'EOT'
index(manifest([blob(gzip.compress(b"no tar" * 1000),
                     OCI + "layer.v1.tar+gzip")]))
EOT
image bomb <<'EOT'
index(manifest([layer(("zeroes", bytes(30 << 20)))]))
EOT
refuse 'layer 1: zeroes: the unpacked size exceeds 10 MiB' -d oci:bomb \
	--max-size=10M

# Each of 200 layers has a name of 255 bytes, and a link to the previous name.
image many <<'EOT'
layers = [layer(("%0255d" % 0, b"first"))]
for n in range(1, 200):
    layers.append(layer(("%0255d" % n, "%0255d" % (n - 1)),
                        (".wh.%0251d" % n, b"")[:2], ("d/%d" % n, b"x" * n)))
index(manifest(layers))
EOT
"$mke4fs" -q -d oci:many img 2>err || fail '200 layers'
sound img
debugfs -R "stat $(printf '%0255d' 199)" img 2>/dev/null |
	grep -q 'Links: 200' || fail 'links across 200 layers'

# A docker archive has a wrong layer, lacks a layer, or has one layer too many.
python3 - <<'EOT'
import io, json, tarfile
def change(name, what):
    src = tarfile.open("docker.tar")
    dst = tarfile.open(name, "w")
    done = False
    for m in src:
        data = src.extractfile(m).read() if m.isfile() else b""
        if m.isfile() and m.name.endswith(".tar") and not done:
            done = True
            if what == "lost":
                continue
            if what == "wrong":
                data = data[:-1] + b"!"
        if m.name == "manifest.json" and what == "more":
            d = json.loads(data)
            d[0]["Layers"].append(d[0]["Layers"][0])
            data = json.dumps(d).encode()
        m.size = len(data)
        dst.addfile(m, io.BytesIO(data))
    dst.close()
for what in "lost", "wrong", "more":
    change(what + ".tar", what)
EOT
refuse 'the file is missing' -d docker-archive:lost.tar
refuse 'the content does not match the digest' -d docker-archive:wrong.tar
refuse 'the layers differ from those in the configuration' \
	-d docker-archive:more.tar
refuse 'no image of this name' -d docker-archive:docker.tar:other
refuse 'not a regular file' -d oci-archive:own
refuse 'oci-layout: the file is missing' -d oci-archive:docker.tar

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# mke4fs does not copy the image that it writes: the image is omitted from a
# copied directory, and any other source that is the image is refused.  An
# overlayfs, a hard link or a loop device can show the image under another name.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
. "$top_srcdir/tests/shell/mke4fs_common.sh"
require_archives
require_loop
require_program tar

cd "$work"
# has IMAGE PATH: true if the image has the file PATH
has() {
	debugfs -R "stat $2" "$1" 2>/dev/null | grep -q ^Inode
}

# The image is in the copied directory, under its name, a hard link or a
# symbolic link, or on a loop device.  mke4fs does not copy the image into
# itself.
mkdir self
seq 100 >self/a
check "$mke4fs" -q -d self self/img
mkdir self/d
ln self/img self/d/link
ln -s img self/symlink
for target in self/img self/symlink self/d/../img; do
	check "$mke4fs" -q -d self "$target"
	says 'img: omitted: .*the image'
	says 'd/link: omitted: .*the image'
	! has self/img img || fail "$target: the image is in itself"
	! has self/img d/link || fail "$target: the image is in itself"
	for name in a d symlink; do
		has self/img $name || fail "$target: $name is missing"
	done
done
rm self/d/link
attach self/img
check "$mke4fs" -q -F -d self "$loop"
says 'img: omitted: .*the image'
! has "$loop" img || fail 'a loop device: the image is in itself'
lower=$loop
attach "$lower"
check "$mke4fs" -q -F -d self "$loop"
says 'img: omitted: .*the image'
! has "$loop" img || fail 'a loop device over another: the image is in itself'
detach "$loop"
sectors=$(blockdev --getsz "$lower")
if has_program dmsetup && dmsetup create "self-$$" \
	--table "0 $sectors linear $lower 0" 2>/dev/null; then
	defer "dmsetup remove self-$$"
	dmsetup mknodes
	check "$mke4fs" -q -F -d self "/dev/mapper/self-$$"
	says 'img: omitted: .*the image'
	dmsetup remove "self-$$"
	undefer "dmsetup remove self-$$"
else
	skip_part 'no device mapper'
fi
detach "$lower"
clean self/img
rm self/img
check "$mke4fs" -q -d self self/img
[ ! -s "$err" ] || fail 'something is left out of an image that is new'

# mke4fs does not overwrite the filesystem that it copies
ln self/img self/link
sum=$(cksum <self/img)
for from in self/img self/link 'self/img?offset=0'; do
	mustfail 1 "$mke4fs" -q --from="$from" self/img
	one_sentence mke4fs
	says "$(printf '%s' "$from" | tr '?' .): .*the image self/img"
done
same 'the source' "$(cksum <self/img)" "$sum"
rm self/link

# mke4fs does not overwrite the archive that it copies
tar -cf self.tar self
truncate -s 4M self.tar
cp self.tar self.copy
ln self.tar self.link
for source in self.tar self.link layer:self.tar oci-archive:self.tar \
	docker-archive:self.tar; do
	mustfail 1 "$mke4fs" -q -F -d "$source" self.tar
	says 'source .*the image self.tar'
done
# shellcheck disable=SC2016
mustfail 1 sh -c '"$0" -q -F -d - self.tar <self.tar' "$mke4fs"
says '-: .*source .*the image self.tar'
attach self.tar
mustfail 1 "$mke4fs" -q -F -d self.tar "$loop"
says 'self.tar: .*source .*the image'
mustfail 1 "$mke4fs" -q -F -d "$loop" "$loop"
says 'source .*the image'
detach "$loop"
cmp self.tar self.copy || fail 'the archive has changed'
rm self.tar self.link self.copy

# mke4fs does not overwrite a file whose content a manifest names
cp "$work/self/a" content
truncate -s 4M content
cp content content.copy
printf '#mtree\nf type=file mode=0644 contents=%s\n' "$work/content" >manifest
mustfail 1 "$mke4fs" -q -F --manifest=manifest content
says 'content: .*source .*the image content'
attach content
mustfail 1 "$mke4fs" -q -F --manifest=manifest "$loop"
says 'content: .*source .*the image'
detach "$loop"
printf '#mtree\nf type=file mode=0644 size=4194304 contents=%s\n' \
	"$work/content" >manifest
mustfail 1 "$mke4fs" -q -F --manifest=manifest content
says 'content: .*source .*the image content'
cmp content content.copy || fail 'the content has changed'

# Other files that mke4fs reads are a manifest, priorities, and the blobs of a
# container image.
printf '#mtree\nf type=dir mode=0755\n' >mf
printf '5 a\n' >so
mustfail 1 "$mke4fs" -q --manifest=mf mf 4M
says 'mf: .*source .*the image mf'
mustfail 1 "$mke4fs" -q -d self --sort=so so 8M
says 'so: .*source .*the image so'
mkdir -p oci/blobs/sha256
tar -C self -cf oci/layer a
layer=$(sha256sum <oci/layer)
layer=${layer%% *}
mv oci/layer "oci/blobs/sha256/$layer"
# blob JSON: stores the text JSON as a blob, and prints the digest and size for
# a descriptor
blob() {
	sum=$(printf %s "$1" | sha256sum)
	printf %s "$1" >"oci/blobs/sha256/${sum%% *}"
	printf '"digest": "sha256:%s", "size": %u' "${sum%% *}" "${#1}"
}
type=application/vnd.oci.image
config=$(blob '{"architecture": "amd64", "os": "linux", "rootfs":
	{"type": "layers", "diff_ids": ["sha256:'"$layer"'"]}}')
manifest=$(blob '{"schemaVersion": 2, "config": {"mediaType":
	"'$type'.config.v1+json", '"$config"'}, "layers": [{"mediaType":
	"'$type'.layer.v1.tar", "digest": "sha256:'"$layer"'", "size":
	'"$(stat -c %s "oci/blobs/sha256/$layer")"'}]}')
echo '{"imageLayoutVersion": "1.0.0"}' >oci/oci-layout
echo '{"schemaVersion": 2, "manifests": [{"mediaType":
	"'$type'.manifest.v1+json", '"$manifest"'}]}' >oci/index.json
check "$mke4fs" -q --platform=linux/amd64 -d oci:oci ociimg
has ociimg a || fail 'the container image'
cp -r oci oci.copy
for file in oci/index.json oci/oci-layout oci/blobs/sha256/*; do
	run "$mke4fs" -q --platform=linux/amd64 -d oci:oci "$file" 4M
	same "$file: exit status" "$status" 1
	says 'source .*the image '
done
diff -r oci oci.copy || fail 'the container image has changed'

# The other files that mke4fs writes replace neither a source, nor the image,
# nor each other.
tar -cf self.tar -C self a
ln self.tar self.link
ln -s self.tar self.symlink
tar -cf oci.tar -C oci .
printf '#mtree\nf type=file mode=0644 contents=%s\n' "$work/so" >manifest
printf 'a 0 0 0644\n' >fs_config
check "$mke4fs" -q -d self from.img
cp -r oci oci.copy2
sums=$(cksum from.img self.tar oci.tar so mf manifest fs_config)
# overwrites SENTENCE OPTION...: fails unless mke4fs refuses the options and
# changes no file
overwrites() {
	sentence=$1
	shift
	mustfail 1 "$mke4fs" -q --platform=linux/amd64 "$@" new
	one_sentence mke4fs
	says "$sentence"
	[ ! -e new ] || fail "an image is left of $*"
	same "the files after $*" "$(cksum from.img self.tar \
		oci.tar so mf manifest fs_config)" "$sums"
}
hash='source is the hash file of --dm-verity'
oci_config='source is the configuration file of --oci-config'
overwrites "from.img: .*$hash" --from=from.img --dm-verity=from.img
overwrites "from.img.offset=0: .*$hash" --from='from.img?offset=0' \
	--dm-verity=./from.img
for source in self.tar self.link layer:self.tar "$PWD/self.tar:/to"; do
	overwrites "$hash" -d "$source" --dm-verity=self.tar
done
overwrites "$oci_config" -d self -d oci-archive:oci.tar --oci-config=oci.tar
for file in oci/index.json oci/blobs/sha256/*; do
	overwrites "$oci_config" -d oci:oci --oci-config="$file"
	overwrites "$hash" -d oci:oci --dm-verity="$file"
done
diff -r oci oci.copy2 || fail 'the container image has changed'
overwrites "mf: .*$hash" --manifest=mf --dm-verity=mf
overwrites "so: .*$hash" --manifest=manifest --dm-verity=so
overwrites "so: .*$hash" -d self --sort=so --dm-verity=so
overwrites "fs_config: .*$hash" -d self --fs-config=fs_config \
	--dm-verity=fs_config
overwrites '--oci-config and --dm-verity require different files' -d oci:oci \
	--oci-config=both --dm-verity=./both
overwrites 'require different files' -d oci:oci --oci-config=self.tar \
	--dm-verity=self.link
[ ! -e both ] || fail 'an output is left'
for name in new ./new "$work/new"; do
	overwrites 'the configuration file is the image itself' -d oci:oci \
		--oci-config="$name"
	overwrites 'the hash file is the image itself' -d self \
		--dm-verity="$name"
done
overwrites 'self.symlink: --oci-config: not a regular file' -d oci:oci \
	--oci-config=self.symlink
overwrites "oci-config: invalid value ''" -d oci:oci --oci-config=
overwrites 'no/: --oci-config: not a regular file' -d oci:oci --oci-config=no/
overwrites 'no/x: cannot write: No such file' -d oci:oci --oci-config=no/x
check "$mke4fs" -q --platform=linux/amd64 -d oci:oci --oci-config=config \
	--dm-verity=hashes new
if [ ! -s config ] || [ ! -s hashes ]; then
	fail 'an output is missing'
fi
rm self.tar self.link self.symlink new

# An overlayfs shows the files of its directories on a device of its own.
mkdir lower upper work merged
seq 100 >upper/a
seq 200 >lower/b
tar -cf upper/up.tar self
tar -cf lower/low.tar self
check "$mke4fs" -q -d self upper/up.img 8M
check "$mke4fs" -q -d self lower/low.img 8M
if ! mount -t overlay -o "lowerdir=lower,upperdir=upper,workdir=work" merged \
	merged 2>/dev/null; then
	skip_part 'no overlay can be mounted here'
	exit
fi
defer "umount 'merged'"
sums=$(cksum upper/up.* lower/low.*)
# refused TARGET OPTION...: fails unless mke4fs refuses TARGET because it is the
# source
refused() {
	target=$1
	shift
	mustfail 1 "$mke4fs" -q -F "$@" "$target"
	one_sentence mke4fs
	says 'source .*the image'
	same 'the sources' "$(cksum upper/up.* lower/low.*)" "$sums"
}
# looped FILE OTHER: FILE and OTHER are two names of the same files.  mke4fs refuses a
# loop device of FILE as target of OTHER, or as source for OTHER.
looped() {
	attach "$1.img"
	refused "$2.img" --from="$loop"
	refused "$loop" --from="$2.img"
	detach "$loop"
	attach "$1.tar"
	refused "$loop" -d "$2.tar"
	detach "$loop"
}
for file in upper/up lower/low; do
	shown=merged/${file#*/}
	for pair in "$file $shown" "$shown $file"; do
		from=${pair% *}
		to=${pair#* }
		refused "$to.img" --from="$from.img"
		refused "$to.tar" -d "$from.tar"
		refused "$to.tar" -d "layer:$from.tar"
	done
	looped "$file" "$shown"
done
looped merged/up upper/up

# omitted DIRECTORY IMAGE: fails unless IMAGE is omitted from the copy of
# DIRECTORY
omitted() {
	name=${2##*/}
	for target in "$2" loop; do
		[ "$target" = "$2" ] || attach "$2"
		[ "$target" = "$2" ] || target=$loop
		check "$mke4fs" -F -d "$1" "$target"
		says "$name: omitted: .*the image"
		! has "$target" "$name" ||
			fail "$2 from $1: the image is in itself"
		has "$target" a || fail "$2 from $1: a file is missing"
	done
	detach "$loop"
}
for dir in merged upper; do
	omitted "$dir" merged/up.img
	omitted "$dir" upper/up.img
done
omitted merged lower/low.img
# writing through the overlay makes a copy of a lower file
check "$mke4fs" -q -F -d merged merged/low.img
! has merged/low.img low.img || fail 'the image is in itself'
command umount merged
undefer "umount 'merged'"

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the test filesystems, and runs operations on them. */
#include "config.h"
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include "crash.h"
#include "e4layout/format/jbd2.h"
#include "support/undo_guard.h"

/*
 * Files with several user and group IDs, for quotas.  A repack can reduce the
 * number of tree blocks of the files.
 */
static const char owned[] =
	"mosaic /m1 size 300K written 4K unwritten 4K uid 1 gid 7\n"
	"mosaic /m2 size 200K written 4K unwritten 8K uid 70000 gid 7\n"
	"scatter /s1 frags 90 blocks 2 shuffle uid 1\n"
	"scatter /s2 frags 40 blocks 1 gap 2 hole 1 alternate gid 9\n"
	"interleave /d count 12 rounds 4 blocks 1\n";

/*
 * The tree of this file fits in no transaction of the smallest journal.  The
 * blocks of the file are in so many groups that the smallest journal cannot
 * hold all bitmaps.
 */
static const char wide[] =
	"scatter /wide frags 22000 blocks 1 gap 7\n";

/*
 * Files that are moved in several steps.  One file has fragments longer than a
 * step should copy (PART_BLOCKS).
 */
static const char long_files[] =
	"scatter /long frags 30 blocks 24 gap 8 shuffle uid 1\n"
	"scatter /film frags 3 blocks 170 gap 8\n"
	"mosaic /db size 300K written 4K unwritten 8K\n"
	"scatter /sparse frags 12 blocks 20 gap 3 hole 5 alternate gid 9\n";

/* Inline directories and files, whose inodes are far apart. */
static const char inline_files[] =
	"dir /d inline\n"
	"dir /d/sub inline\n"
	"interleave /e count 9 rounds 3 blocks 1\n"
	"file /d/sub/small inline size 60\n"
	"file /d/one size 1K\n"
	"many /f count 20\n"
	"file /d/sub/two size 1K\n"
	"file /d/two size 2K\n"
	"many /g count 20\n"
	"file /d/three size 2K\n";

/*
 * Files in the free extents between small files.  No free extent holds a whole
 * file.
 */
static const char crowded[] =
	"many /small count 700 size 2K-9K perdir 140\n"
	"delete /small every 3\n"
	"goal group 0\n"
	"file /big1 size 260K holes uid 1\n"
	"mosaic /m size 60K written 4K unwritten 8K\n"
	"file /big2 size 300K holes gid 9\n"
	"file /big3 size 200K holes\n"
	"file /rest size 5980K\n";
static const char crowded_clusters[] =
	"many /small count 220 size 20K-90K perdir 140\n"
	"delete /small every 3\n"
	"goal group 0\n"
	"file /big1 size 1000K holes uid 1\n"
	"mosaic /m size 600K written 16K unwritten 32K\n"
	"file /big2 size 1200K holes gid 9\n"
	"file /rest size 5200K\n";

/*
 * A file whose contiguous placement in another group needs more extents than a
 * tree block holds.
 */
static const char long_trees[] =
	"scatter /a frags 120 blocks 36 gap 4 alternate\n";

/*
 * One long free extent, and free extents that are shorter than any file and far
 * apart.
 */
#define HOLE(at) "file /gone/" #at " extents 0+1w@" #at "\n"
static const char sparse[] =
	HOLE(2180) HOLE(2530) HOLE(2880) HOLE(3230)
	HOLE(3580) HOLE(3930) HOLE(4280) HOLE(4630)
	HOLE(4980) HOLE(5330) HOLE(5680) HOLE(6030)
	HOLE(6380) HOLE(6730) HOLE(7080) HOLE(7430)
	HOLE(7780) HOLE(8130) HOLE(8480) HOLE(8830)
	HOLE(9180) HOLE(9530) HOLE(9880) HOLE(10230)
	"many /small count 700 size 8K-18K perdir 140\n"
	"delete /gone\n";

const struct scenario scenarios[] = {
	{ "nocsum-1k", 1024, 8, "-O ^metadata_csum,^64bit -J size=1",
	  JOURNAL_INTERNAL, 0, NULL, 0 },
	{ "csum2-1k", 1024, 8, "-J size=1", JOURNAL_INTERNAL, JBD2_CSUM_V2,
	  NULL, 0 },
	{ "csum3-64bit-1k", 1024, 8, "-O 64bit -J size=1", JOURNAL_INTERNAL,
	  JBD2_CSUM_V3 | JBD2_64BIT | JBD2_REVOKE, NULL, 0 },
	{ "csum3-4k", 4096, 12, "-J size=4", JOURNAL_INTERNAL, JBD2_CSUM_V3,
	  NULL, 0 },
	{ "bigalloc-4k", 4096, 16, "-O bigalloc -C 16384 -J size=4",
	  JOURNAL_INTERNAL, JBD2_CSUM_V3 | JBD2_64BIT, NULL, 0 },
	{ "meta_bg-1k", 1024, 8,
	  "-O meta_bg,^resize_inode,^flex_bg -g 1024 -J size=1",
	  JOURNAL_INTERNAL, JBD2_CSUM_V3 | JBD2_64BIT, NULL, 0 },
	{ "external-1k", 1024, 6, "-O ^has_journal", JOURNAL_EXTERNAL,
	  JBD2_CSUM_V3 | JBD2_64BIT, NULL, 0 },
	{ "fast_commit-1k", 1024, 8, "-O fast_commit -J size=2",
	  JOURNAL_INTERNAL, JBD2_CSUM_V3 | JBD2_FAST_COMMIT, NULL, 0 },
	{ "undo-1k", 1024, 6, "-O ^has_journal", JOURNAL_NONE, 0, NULL,
	  SCENARIO_UNDO },
	{ "undo-4k", 4096, 8, "-O ^has_journal", JOURNAL_NONE, 0, NULL,
	  SCENARIO_UNDO },
	{ "undo-csum3-1k", 1024, 8, "-O 64bit -J size=1", JOURNAL_INTERNAL,
	  JBD2_CSUM_V3 | JBD2_64BIT | JBD2_REVOKE, NULL, SCENARIO_UNDO },
	{ "mmp-1k", 1024, 8, "-J size=1", JOURNAL_INTERNAL,
	  JBD2_CSUM_V3 | JBD2_64BIT, NULL, SCENARIO_MMP },
	{ "undo-mmp-4k", 4096, 12, "-J size=4", JOURNAL_INTERNAL,
	  JBD2_CSUM_V3, NULL, SCENARIO_UNDO | SCENARIO_MMP },
	{ "quota-1k", 1024, 12, "-O quota,project -I 256 -J size=1",
	  JOURNAL_INTERNAL, JBD2_CSUM_V3 | JBD2_64BIT, owned, 0 },
	{ "quota-4k", 4096, 24, "-O quota -J size=4", JOURNAL_INTERNAL,
	  JBD2_CSUM_V2, owned, 0 },
	{ "external-quota-1k", 1024, 12, "-O ^has_journal,quota",
	  JOURNAL_EXTERNAL, JBD2_CSUM_V3 | JBD2_64BIT, owned, 0 },
	{ "split-1k", 1024, 208,
	  "-O ^resize_inode,sparse_super2 -G 1024 -g 256 -J size=1",
	  JOURNAL_INTERNAL, JBD2_CSUM_V3 | JBD2_64BIT, wide, 0 },
	{ "parts-1k", 1024, 12, "-O quota -J size=1", JOURNAL_INTERNAL,
	  JBD2_CSUM_V3 | JBD2_64BIT, long_files, 0 },
	{ "inline-4k", 4096, 12, "-O inline_data -I 512 -J size=4",
	  JOURNAL_INTERNAL, JBD2_CSUM_V3 | JBD2_64BIT, inline_files, 0 },
	{ "crowded-1k", 1024, 12, "-O quota -J size=1", JOURNAL_INTERNAL,
	  JBD2_CSUM_V3 | JBD2_64BIT, crowded, 0 },
	{ "crowded-bigalloc-4k", 4096, 24,
	  "-O quota,bigalloc -C 16384 -J size=4", JOURNAL_INTERNAL,
	  JBD2_CSUM_V3 | JBD2_64BIT, crowded_clusters, 0 },
	{ "trees-bigalloc-1k", 1024, 24,
	  "-O bigalloc -C 4096 -g 2048 -J size=1", JOURNAL_INTERNAL,
	  JBD2_CSUM_V3 | JBD2_64BIT, long_trees, 0 },
	{ "sparse-1k", 1024, 12, "-O quota -J size=1 -N 4096", JOURNAL_INTERNAL,
	  JBD2_CSUM_V3 | JBD2_64BIT, sparse, 0 },
	{ "tail-1k", 1024, 24, "-g 256 -G 16 -J size=1,location=1500",
	  JOURNAL_INTERNAL, JBD2_CSUM_V3 | JBD2_64BIT, NULL, SCENARIO_TAIL },
	{ "tail-journal-1k", 1024, 24, "-g 256 -G 16 -J size=3,location=1500",
	  JOURNAL_INTERNAL, JBD2_CSUM_V3 | JBD2_64BIT, NULL, SCENARIO_TAIL },
	{ "tail-backup-1k", 1024, 24,
	  "-O sparse_super2,^resize_inode,^metadata_csum -g 256 "
	  "-J size=1,location=1500",
	  JOURNAL_INTERNAL, JBD2_64BIT, NULL, SCENARIO_TAIL },
	{ "tail-backup-csum-1k", 1024, 24,
	  "-O sparse_super2,^resize_inode,quota -g 256 "
	  "-J size=1,location=1500",
	  JOURNAL_INTERNAL, JBD2_CSUM_V3 | JBD2_64BIT, NULL, SCENARIO_TAIL },
	{ "tail-meta_bg-1k", 1024, 24,
	  "-O meta_bg,^resize_inode -g 256 -J size=1,location=1500",
	  JOURNAL_INTERNAL, JBD2_CSUM_V3 | JBD2_64BIT, NULL, SCENARIO_TAIL },
};
const unsigned int n_scenarios = sizeof(scenarios) / sizeof(scenarios[0]);

/* Creates all kinds of content that operations must preserve, in $d/tree. */
static const char populate[] =
	"set -e; mkdir $d/tree $d/tree/dir\n"
	"for i in 0 1 2 3 4; do head -c $((i * 4321 + 3000)) /dev/urandom "
	">$d/tree/small$i; done\n"
	"head -c 120000 /dev/urandom >$d/tree/big\n"
	"for i in 0 1 2 3 4 5 6 7 8 9; do dd if=/dev/urandom bs=$bs count=1 "
	"seek=$((i * 8)) conv=notrunc of=$d/tree/mosaic status=none; done\n"
	"cp $d/tree/mosaic $d/tree/sparse\n"
	"for i in $(seq 60); do "
	": >$d/tree/dir/a_name_that_takes_room_in_its_directory_$i; done\n"
	": >$d/tree/prealloc; ln -s big $d/tree/fast\n"
	"ln -s $(printf %0200d 7) $d/tree/slow; ln $d/tree/big $d/tree/dir/hard\n"
	"mke2fs -q -F -t ext4 -b $bs -N 128 -E nodiscard -d $d/tree $o "
	"$d/fs ${m}M >/dev/null\n"
	"head -c 600 /dev/zero | tr '\\0' x >$d/value\n"
	"debugfs -w $d/fs >/dev/null 2>&1 <<.\n"
	"fallocate mosaic 0 70\n"
	"fallocate prealloc 0 40\n"
	"sif prealloc size 7777\n"
	"fallocate small1 100 120\n"
	"ea_set small0 user.small 12345\n"
	"ea_set -f $d/value big user.large\n"
	"sif small2 mode 0104755\n"
	"sif small2 uid 1234567\n"
	"sif small3 generation 99\n"
	"sif small3 mtime 20010101\n"
	"ssv kbytes_written 12345\n"
	".\n"
	/*
	 * mke2fs -d does not build htree indexes; e2fsck adds an index to the
	 * large directory
	 */
	"e2fsck -fy $d/fs >/dev/null 2>&1 || [ $? = 1 ]\n"
	/* enable MMP last: with MMP, each program waits for eleven seconds */
	"[ -z \"$mmp\" ] || tune2fs -O mmp $d/fs >/dev/null\n"
	"rm -r $d/tree $d/value\n";

static const char age[] =
	"printf 'size %sM\\nmke2fs -b %s %s\\n%s' $m $bs \"$o\" \"$recipe\" |"
	"${top_builddir:?}/tests/tools/mkaged - $d/fs || exit\n"
	"[ -z \"$mmp\" ] || tune2fs -O mmp $d/fs >/dev/null\n";

void *check_alloc(void *p)
{
	if (!p)
		fatal("out of memory");
	return p;
}

void fatal(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("crash: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(EXIT_FAILURE);
}

static ext2_filsys open_fs(struct bench *b)
{
	ext2_filsys fs;

	if (ext2fs_open(b->path[DEV_FS], EXT2_FLAG_64BITS | EXT2_FLAG_RW, 0, 0,
			unix_io_manager, &fs))
		fatal("cannot open the filesystem of %s", b->sc->name);
	return fs;
}

/*
 * Sets the scenario's features in the journal superblock at @offset of @path.
 * @user: UUID of the filesystem that uses an external journal; NULL: the
 * journal is internal.
 */
static void set_journal(const struct bench *b, const char *path, off_t offset,
			const uint8_t *user)
{
	FILE *f = fopen(path, "r+");
	struct jbd2_super jsb;

	if (!f || fseeko(f, offset, SEEK_SET) ||
	    fread(&jsb, sizeof(jsb), 1, f) != 1 ||
	    be32toh(jsb.h.magic) != JBD2_MAGIC)
		fatal("no journal in %s", path);
	jsb.feature_incompat = htobe32(b->sc->incompat);
	if (b->sc->incompat & (JBD2_CSUM_V2 | JBD2_CSUM_V3))
		jsb.checksum_type = JBD2_CRC32C;
	if (user) {
		jsb.nr_users = htobe32(1);
		memcpy(jsb.users[0], user, sizeof(jsb.users[0]));
	}
	jsb.checksum = 0;
	jsb.checksum = htobe32(ext2fs_crc32c_le(~0, (uint8_t *)&jsb,
						sizeof(jsb)));
	if (fseeko(f, offset, SEEK_SET) ||
	    fwrite(&jsb, sizeof(jsb), 1, f) != 1 || fclose(f))
		fatal("cannot write %s", path);
}

static void set_internal(struct bench *b)
{
	ext2_filsys fs = open_fs(b);
	blk64_t blk;

	if (ext2fs_bmap2(fs, EXT2_JOURNAL_INO, NULL, NULL, 0, 0, NULL, &blk))
		fatal("cannot map the journal");
	ext2fs_close_free(&fs);
	set_journal(b, b->path[DEV_FS], blk * b->sc->blocksize, NULL);
}

/*
 * Attaches a file as external journal, because mke2fs and tune2fs attach only
 * block devices.
 */
static void attach_external(struct bench *b)
{
	struct ext2_super_block jsuper;
	ext2_filsys fs;
	char cmd[300];
	FILE *f;

	snprintf(cmd, sizeof(cmd), "mke2fs -q -F -O journal_dev -b %u %s 1200 "
		 ">/dev/null",
		 b->sc->blocksize, b->path[DEV_JOURNAL]);
	if (system(cmd))
		fatal("mke2fs -O journal_dev failed");
	f = fopen(b->path[DEV_JOURNAL], "r");
	if (!f || fseek(f, SUPERBLOCK_OFFSET, SEEK_SET) ||
	    fread(&jsuper, sizeof(jsuper), 1, f) != 1 || fclose(f))
		fatal("cannot read the journal device");
	fs = open_fs(b);
	ext2fs_set_feature_journal(fs->super);
	memcpy(fs->super->s_journal_uuid, jsuper.s_uuid,
	       sizeof(jsuper.s_uuid));
	set_journal(b, b->path[DEV_JOURNAL],
		    ext2fs_journal_sb_start(b->sc->blocksize) *
		    b->sc->blocksize, fs->super->s_uuid);
	fs->flags &= ~EXT2_FLAG_MASTER_SB_ONLY;
	ext2fs_mark_super_dirty(fs);
	if (ext2fs_close_free(&fs))
		fatal("cannot attach the journal");
}

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "r");
	struct stat st;
	uint8_t *data;

	if (!f || fstat(fileno(f), &st))
		fatal("cannot open %s", path);
	*size = st.st_size;
	data = check_alloc(malloc(*size));
	if (fread(data, 1, *size, f) != *size)
		fatal("cannot read %s", path);
	fclose(f);
	return data;
}

/*
 * Writes a file, with holes in place of zeroes, because most of the largest
 * image is zero.
 */
static void write_file(const char *path, const uint8_t *data, size_t size)
{
	const size_t piece = 4096;
	FILE *f = fopen(path, "w");
	size_t pos, n;

	if (!f || ftruncate(fileno(f), size))
		fatal("cannot create %s", path);
	for (pos = 0; pos < size; pos += n) {
		n = size - pos < piece ? size - pos : piece;
		if (all_zero(data + pos, n))
			continue;
		if (pwrite(fileno(f), data + pos, n, pos) != (ssize_t)n)
			fatal("cannot write %s", path);
	}
	if (fclose(f))
		fatal("cannot write %s", path);
}

void bench_make(struct bench *b, const struct scenario *sc, const char *recipe)
{
	static const char *const names[] = { "fs", "journal", "undo" };
	char size[40], lines[4096];
	int i;

	memset(b, 0, sizeof(*b));
	b->sc = sc;
	snprintf(b->dir, sizeof(b->dir), "%s/e4l-crash-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") :
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	if (!mkdtemp(b->dir))
		fatal("cannot make a directory in %s", b->dir);
	for (i = 0; i < TAP_DEVICES; i++)
		snprintf(b->path[i], sizeof(b->path[i]), "%s/%s", b->dir,
			 names[i]);
	setenv("d", b->dir, 1);
	setenv("o", sc->options, 1);
	snprintf(size, sizeof(size), "%u", sc->blocksize);
	setenv("bs", size, 1);
	snprintf(size, sizeof(size), "%u", sc->mib);
	setenv("m", size, 1);
	setenv("mmp", sc->flags & SCENARIO_MMP ? "yes" : "", 1);
	snprintf(lines, sizeof(lines), "%s%s", sc->recipe ? sc->recipe : "",
		 recipe ? recipe : "");
	setenv("recipe", lines, 1);
	if (system(*lines ? age : populate))
		fatal("cannot make the filesystem of %s", sc->name);
	b->n_dev = 1;
	if (sc->journal == JOURNAL_INTERNAL)
		set_internal(b);
	if (sc->journal == JOURNAL_EXTERNAL) {
		attach_external(b);
		b->n_dev = 2;
	}
	for (i = 0; i < b->n_dev; i++)
		b->base[i] = read_file(b->path[i], &b->size[i]);
}

void bench_reset(struct bench *b)
{
	int i;

	for (i = 0; i < b->n_dev; i++)
		write_file(b->path[i], b->base[i], b->size[i]);
	unlink(b->path[DEV_UNDO]);
}

void bench_remove(struct bench *b)
{
	int i;

	for (i = 0; i < TAP_DEVICES; i++) {
		unlink(b->path[i]);
		free(b->base[i]);
	}
	rmdir(b->dir);
}

/* Disables the waits of libext2fs for other MMP users. */
unsigned int sleep(unsigned int seconds)
{
	return 0;
}

static void mark(void *priv)
{
	if (priv)
		tap_mark(priv);
}

static errcode_t run_on(struct bench *b, io_manager manager, ext2_filsys fs,
			operation op, struct op_env *env)
{
	errcode_t err;

	if (b->sc->journal == JOURNAL_EXTERNAL) {
		err = manager->open(b->path[DEV_JOURNAL], IO_FLAG_RW,
				    &env->external);
		if (err)
			return err;
	}
	err = e4l_new(fs, &env->e);
	if (!err)
		err = op(env);
	e4l_free(env->e);
	if (env->external)
		io_channel_close(env->external);
	return err;
}

/*
 * If @excused is true, later failed flushes are not counted, until a call with
 * @excused false.  libext2fs ignores errors when it flushes the MMP block.
 */
static void excuse_flushes(struct tap_log *log, bool excused)
{
	if (log)
		log->excused = excused;
}

errcode_t run_operation(struct bench *b, struct tap_log *log, operation op,
			enum plant plant)
{
	struct op_env env = { .mark = mark, .priv = log, .plant = plant };
	io_manager manager = log ? tap_io_manager : unix_io_manager;
	io_manager top = manager;
	ext2_filsys fs;
	errcode_t err, err2;
	int i;

	for (i = 0; log && i < TAP_DEVICES; i++)
		log->paths[i] = b->path[i];
	tap_set(log);
	if (b->sc->flags & SCENARIO_UNDO) {
		err = undo_guard_setup(b->path[DEV_UNDO], manager);
		if (err)
			return err;
		top = undo_io_manager;
	}
	excuse_flushes(log, b->sc->flags & SCENARIO_MMP);
	err = ext2fs_open(b->path[DEV_FS], EXT2_FLAG_64BITS | EXT2_FLAG_RW |
			  EXT2_FLAG_EXCLUSIVE, 0, 0, top, &fs);
	if (err)
		return err;
	excuse_flushes(log, false);
	if (log)
		tap_begin(log);
	err = run_on(b, manager, fs, op, &env);
	excuse_flushes(log, b->sc->flags & SCENARIO_MMP);
	err2 = ext2fs_mmp_stop(fs);
	excuse_flushes(log, false);
	err = err ? err : err2;
	/* ext2fs_free() would ignore the error */
	err2 = io_channel_close(fs->io);
	fs->io = fs->image_io = NULL;
	ext2fs_free(fs);
	return err ? err : err2;
}

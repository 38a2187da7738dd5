/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "e4layout/format/dir_block.h"
#include "e4layout/format/dirent.h"
#include "e4layout/read/dirs.h"
#include "unit.h"

#define MAX_INO 8192

/*
 * Options of mke2fs, the number of inodes to create, and whether to run e2fsck
 * -D.
 */
static const struct {
	const char *mke2fs;
	unsigned int inodes;
	bool htree;
} images[] = {
	{ "-t ext4 -b 1024 -N 4000 30M", 2500, false },
	{ "-t ext4 -b 1024 -N 4000 30M", 2500, true },
	{ "-t ext4 -b 1024 -I 1024 -N 4000 30M", 1500, true },
	{ "-t ext4 -b 4096 -N 4000 100M", 1500, true },
	{ "-t ext4 -b 2048 -O ^metadata_csum -N 4000 60M", 1500, true },
	{ "-t ext4 -b 1024 -O ^filetype -N 4000 30M", 1500, false },
	{ "-t ext4 -b 1024 -O metadata_csum_seed -N 4000 30M", 1500, true },
	{ "-t ext2 -b 1024 -I 128 -N 4000 30M", 1500, false },
	{ "-t ext2 -b 1024 -I 128 -O ^filetype -N 4000 30M", 800, false },
	{ "-t ext4 -b 1024 -O inline_data -I 256 -N 4000 30M", 1500, false },
	{ "-t ext4 -b 1024 -O inline_data,^filetype -I 512 -N 4000 30M", 900,
	  false },
	{ "-t ext4 -b 65536 -N 4000 500M", 900, false },
	{ "-t ext4 -b 1024 -O bigalloc -N 4000 60M", 900, false },
};

#define N_IMAGES (int)(sizeof(images) / sizeof(images[0]))

static char path[64];

static void run(const char *fmt, const char *arg)
{
	char cmd[300];

	snprintf(cmd, sizeof(cmd), fmt, arg, path);
	ck_assert_int_ne(system(cmd) & 0xFF, 0xFF);
}

static void make_image(const char *args)
{
	char cmd[300];
	const char *size = strrchr(args, ' ') + 1;

	snprintf(path, sizeof(path), "/tmp/e4l-dirs-XXXXXX");
	close(mkstemp(path));
	snprintf(cmd, sizeof(cmd), "mke2fs -q -F %.*s %s %s",
		 (int)(size - args), args, path, size);
	ck_assert_int_eq(system(cmd), 0);
}

static ext2_filsys open_image(int flags)
{
	ext2_filsys fs;

	ck_assert_int_eq(ext2fs_open2(path, "cache=off", flags |
				      EXT2_FLAG_64BITS | EXT2_FLAG_THREADS,
				      0, 0, unix_io_manager, &fs), 0);
	return fs;
}

static unsigned int rnd(unsigned int n)
{
	return random() % n;
}

static void link_to(ext2_filsys fs, ext2_ino_t dir, const char *name,
		    ext2_ino_t ino, int type)
{
	errcode_t err = ext2fs_link(fs, dir, name, ino, type);

	if (err == EXT2_ET_DIR_NO_SPACE) {
		ck_assert_int_eq(ext2fs_expand_dir(fs, dir), 0);
		err = ext2fs_link(fs, dir, name, ino, type);
	}
	ck_assert_int_eq(err, 0);
}

static ext2_ino_t make_inode(ext2_filsys fs, ext2_ino_t dir)
{
	struct ext2_inode_large inode = {
		.i_mode = LINUX_S_IFREG | 0644, .i_links_count = 1,
		.i_extra_isize = 32,
	};
	ext2_ino_t ino;

	ck_assert_int_eq(ext2fs_new_inode(fs, dir, LINUX_S_IFREG, NULL, &ino),
			 0);
	ext2fs_inode_alloc_stats2(fs, ino, 1, 0);
	ck_assert_int_eq(ext2fs_write_inode_full(fs, ino,
				(struct ext2_inode *)&inode,
				EXT2_INODE_SIZE(fs->super) < 160 ? 128 : 160),
			 0);
	return ino;
}

/* Creates nested directories, files, and files with several names. */
static void populate(unsigned int inodes)
{
	ext2_filsys fs = open_image(EXT2_FLAG_RW);
	ext2_ino_t dirs[300] = { EXT2_ROOT_INO }, ino = 0, dir;
	unsigned int i, n_dirs = 1;
	char name[EXT2_NAME_LEN + 1];

	ck_assert_int_eq(ext2fs_read_bitmaps(fs), 0);
	for (i = 0; i < inodes; i++) {
		dir = dirs[rnd(3) ? rnd(n_dirs) : n_dirs - 1];
		snprintf(name, sizeof(name), "%0*u", 1 + rnd(40), i);
		if (n_dirs < 300 && !rnd(8)) {
			ck_assert_int_eq(ext2fs_new_inode(fs, dir,
				LINUX_S_IFDIR, NULL, &dirs[n_dirs]), 0);
			if (ext2fs_mkdir(fs, dir, dirs[n_dirs], NULL))
				ck_abort();
			link_to(fs, dir, name, dirs[n_dirs++], EXT2_FT_DIR);
			continue;
		}
		if (!ino || rnd(10))
			ino = make_inode(fs, dir);
		link_to(fs, dir, name, ino, EXT2_FT_REG_FILE);
	}
	ck_assert_int_eq(ext2fs_close_free(&fs), 0);
}

/* ----------------------------------------------------- libext2fs' results */

struct link {
	ext2_ino_t dir, ino;
	char name[EXT2_NAME_LEN + 1];
};

static struct {
	bool is_dir[MAX_INO], used[MAX_INO];
	struct link links[2 * MAX_INO];
	size_t n_links;
} want;

static int note_link(ext2_ino_t dir, int entry, struct ext2_dir_entry *dirent,
		     int offset, int blocksize, char *buf, void *priv)
{
	struct link *l = &want.links[want.n_links];
	int len = ext2fs_dirent_name_len(dirent);

	snprintf(l->name, sizeof(l->name), "%.*s", len, dirent->name);
	if (!strcmp(l->name, ".") || !strcmp(l->name, ".."))
		return 0;
	l->dir = dir;
	l->ino = dirent->inode;
	want.n_links++;
	return 0;
}

static void learn(ext2_filsys fs)
{
	struct ext2_inode inode;
	ext2_ino_t ino;

	memset(&want, 0, sizeof(want));
	ck_assert_int_eq(ext2fs_read_inode_bitmap(fs), 0);
	ck_assert_uint_lt(fs->super->s_inodes_count, MAX_INO);
	for (ino = 1; ino <= fs->super->s_inodes_count; ino++) {
		if (!ext2fs_test_inode_bitmap2(fs->inode_map, ino))
			continue;
		ck_assert_int_eq(ext2fs_read_inode(fs, ino, &inode), 0);
		want.used[ino] = inode.i_links_count;
		want.is_dir[ino] = want.used[ino] &&
				   LINUX_S_ISDIR(inode.i_mode);
		if (want.is_dir[ino])
			ck_assert_int_eq(ext2fs_dir_iterate2(fs, ino, 0, NULL,
							     note_link, NULL),
					 0);
	}
}

/* Returns the name that e4l_names_load() chooses for an inode. */
static const struct link *main_link(ext2_ino_t ino)
{
	const struct link *best = NULL;
	size_t i;

	for (i = 0; i < want.n_links; i++) {
		const struct link *l = &want.links[i];

		if (l->ino == ino && (!best || l->dir < best->dir ||
				      (l->dir == best->dir &&
				       strcmp(l->name, best->name) < 0)))
			best = l;
	}
	return best;
}

/* Appends the path of @ino to @buf. */
static void put_path(ext2_ino_t ino, char *buf)
{
	const struct link *l = main_link(ino);

	if (!l)
		return;
	put_path(l->dir, buf);
	strcat(strcat(buf, "/"), l->name);
}

/* Counts the distinct inodes of a directory, and their inode-table blocks. */
static struct e4l_dir_locality locality_of(ext2_filsys fs, ext2_ino_t dir)
{
	static bool seen[MAX_INO], block[MAX_INO];
	struct e4l_dir_locality l = { .dir = dir };
	unsigned int per_block = fs->blocksize / EXT2_INODE_SIZE(fs->super);
	ext2_ino_t ino;
	size_t i;

	memset(seen, 0, sizeof(seen));
	memset(block, 0, sizeof(block));
	seen[dir] = true;
	for (i = 0; i < want.n_links; i++)
		if (want.links[i].dir == dir && !want.is_dir[want.links[i].ino])
			seen[want.links[i].ino] = true;
	for (ino = 1; ino < MAX_INO; ino++) {
		/* in these images, the inodes of a group fill whole blocks */
		bool *b = &block[(ino - 1) / per_block];

		if (!seen[ino])
			continue;
		l.inodes++;
		l.itable_blocks += !*b;
		*b = true;
	}
	l.itable_blocks_ideal = (l.inodes + per_block - 1) / per_block;
	return l;
}

/* ---------------------------------------------------------- recorded output */

static struct {
	struct e4l_dir_locality l[MAX_INO];
	unsigned int entries, dotdots, damages;
	struct e4l_damage damage;
} got;

static errcode_t got_entry(const struct e4l_dirent *entry, void *priv)
{
	got.entries++;
	got.dotdots += e4l_dirent_is_dotdot(entry);
	return 0;
}

static errcode_t got_locality(const struct e4l_dir_locality *l, void *priv)
{
	ck_assert_uint_eq(got.l[l->dir].dir, 0);
	got.l[l->dir] = *l;
	return 0;
}

static errcode_t got_damage(const struct e4l_damage *damage, void *priv)
{
	got.damages++;
	got.damage = *damage;
	return 0;
}

static const struct e4l_dirs_ops got_ops = {
	.entry = got_entry, .locality = got_locality, .damage = got_damage,
};

/*
 * Returns the number of blocks according to i_size, or 0 for an inline
 * directory.
 */
static uint64_t own_blocks(ext2_filsys fs, ext2_ino_t ino)
{
	struct ext2_inode inode;

	ck_assert_int_eq(ext2fs_read_inode(fs, ino, &inode), 0);
	return inode.i_flags & EXT4_INLINE_DATA_FL ? 0 :
	       EXT2_I_SIZE(&inode) / fs->blocksize;
}

static void compare_dirs(ext2_filsys fs)
{
	unsigned int dirs = 0;
	ext2_ino_t ino;

	for (ino = 1; ino < MAX_INO; ino++) {
		struct e4l_dir_locality l = { 0 };

		if (want.is_dir[ino])
			l = locality_of(fs, ino);
		dirs += want.is_dir[ino];
		ck_assert_mem_eq(&got.l[ino], &l,
				 offsetof(struct e4l_dir_locality, blocks));
		if (want.is_dir[ino])
			ck_assert_uint_eq(got.l[ino].blocks,
					  own_blocks(fs, ino));
	}
	ck_assert_uint_eq(got.dotdots, dirs);
	ck_assert_uint_eq(got.entries, want.n_links + dirs);
	ck_assert_uint_eq(got.damages, 0);
}

static void compare_names(struct e4l *e)
{
	ext2_ino_t ino, some[20];
	struct e4l_names *all, *few;
	static char buf[1 << 20];
	size_t i;

	ck_assert_int_eq(e4l_names_load(e, NULL, 0, &all), 0);
	for (ino = 1; ino < MAX_INO; ino++) {
		const char *p = e4l_names_path(all, ino);

		*buf = '\0';
		put_path(ino, buf);
		ck_assert_str_eq(p ? p : "", ino == EXT2_ROOT_INO ? "/" : buf);
	}
	for (i = 0; i < 20; i++)
		some[i] = 1 + rnd(e4l_fs(e)->super->s_inodes_count);
	ck_assert_int_eq(e4l_names_load(e, some, 20, &few), 0);
	for (i = 0; i < 20; i++) {
		const char *p = e4l_names_path(few, some[i]);
		const char *q = e4l_names_path(all, some[i]);

		ck_assert_str_eq(p ? p : "", q ? q : "");
	}
	e4l_names_free(all);
	e4l_names_free(few);
}

static bool is_below(ext2_ino_t ino, const bool *top)
{
	size_t i;

	if (top[ino])
		return true;
	for (i = 0; i < want.n_links; i++)
		if (want.links[i].ino == ino && is_below(want.links[i].dir, top))
			return true;
	return false;
}

static void compare_subtree(struct e4l *e)
{
	bool top[MAX_INO] = { false };
	static char buf[2][1 << 20];
	const char *paths[] = { buf[0], buf[1] };
	ext2fs_inode_bitmap below;
	ext2_ino_t ino;
	size_t i;

	for (i = 0; i < 2; i++) {
		ino = want.links[rnd(want.n_links)].ino;
		strcpy(buf[i], "/.");
		put_path(ino, buf[i]);
		top[ino] = true;
	}
	ck_assert_int_eq(e4l_subtree(e, paths, 2, NULL, &below), 0);
	for (ino = 1; ino <= e4l_fs(e)->super->s_inodes_count; ino++)
		ck_assert_int_eq(!!ext2fs_test_inode_bitmap2(below, ino),
				 is_below(ino, top));
	ext2fs_free_inode_bitmap(below);
}

/*
 * debugfs ncheck prints every name of an inode.  The name that the library
 * returns must be among these names.
 */
static void compare_ncheck(struct e4l *e)
{
	ext2_ino_t ino = want.links[rnd(want.n_links)].ino;
	struct e4l_names *names;
	char cmd[200], line[8192];
	bool found = false;
	FILE *f;

	ck_assert_int_eq(e4l_names_load(e, &ino, 1, &names), 0);
	snprintf(cmd, sizeof(cmd), "debugfs -R 'ncheck %u' %s 2>/dev/null", ino,
		 path);
	f = popen(cmd, "r");
	while (fgets(line, sizeof(line), f)) {
		const char *p = strchr(line, '/');

		line[strcspn(line, "\n")] = '\0';
		/* ncheck prints // in place of / */
		while (p && p[1] == '/')
			p++;
		if (p && !strcmp(p, e4l_names_path(names, ino)))
			found = true;
	}
	pclose(f);
	ck_assert(found);
	e4l_names_free(names);
}

START_TEST(agrees_with_libext2fs)
{
	ext2_filsys fs;
	struct e4l *e;

	srandom(_i);
	make_image(images[_i].mke2fs);
	populate(images[_i].inodes);
	if (images[_i].htree)
		run("%s -fyD %s >/dev/null 2>&1", "e2fsck");
	fs = open_image(0);
	learn(fs);
	memset(&got, 0, sizeof(got));
	ck_assert_int_eq(e4l_new(fs, &e), 0);
	ck_assert_int_eq(e4l_dirs_read(e, NULL, &got_ops, NULL), 0);
	compare_dirs(fs);
	compare_names(e);
	compare_subtree(e);
	compare_ncheck(e);
	e4l_free(e);
	ext2fs_close_free(&fs);
	unlink(path);
}
END_TEST

/* --------------------- a directory whose extents are passed in two calls */

struct cutter {
	struct e4l_dirs *d;
	ext2_ino_t cut;
};

/*
 * Passes the extent of the directory @c->cut to e4l_dirs_add_piece() in two
 * calls: first one block, then the other blocks.  Checks that the directory is
 * not reported between the calls.  Passes other directories in one call.
 */
static errcode_t cut_piece(const struct e4l_piece *piece, void *priv)
{
	struct cutter *c = priv;
	struct e4l_piece half = *piece;
	struct e4l_extent x;

	if (piece->ino != c->cut)
		return e4l_dirs_add_piece(c->d, piece);
	ck_assert_uint_eq(piece->n_extents, 1);
	x = piece->extents[0];
	half.extents = &x;
	half.last = false;
	x.len = 1;
	ck_assert_int_eq(e4l_dirs_add_piece(c->d, &half), 0);
	ck_assert_int_eq(e4l_dirs_finish(c->d), 0);
	ck_assert_uint_eq(got.l[c->cut].dir, 0);
	half.first = false;
	half.last = true;
	x.pblk++;
	x.lblk++;
	x.len = piece->extents[0].len - 1;
	return e4l_dirs_add_piece(c->d, &half);
}

START_TEST(reads_a_long_directory)
{
	static const struct e4l_scan_ops ops = { .piece = cut_piece };
	ext2_filsys fs;
	struct e4l *e;
	struct cutter c = { 0 };
	ext2_ino_t ino = 0;
	char name[256];
	unsigned int i;

	make_image("-t ext4 -b 65536 -N 4000 500M");
	fs = open_image(EXT2_FLAG_RW);
	ck_assert_int_eq(ext2fs_read_bitmaps(fs), 0);
	ck_assert_int_eq(ext2fs_new_inode(fs, 2, LINUX_S_IFDIR, NULL, &c.cut),
			 0);
	ck_assert_int_eq(ext2fs_mkdir(fs, 2, c.cut, "long"), 0);
	for (i = 0; i < 600; i++) {
		snprintf(name, sizeof(name), "%0250u", i);
		if (!ino || rnd(20))
			ino = make_inode(fs, c.cut);
		link_to(fs, c.cut, name, ino, EXT2_FT_REG_FILE);
	}
	for (i = 0; i < (_i ? 140 : 0); i++)
		ck_assert_int_eq(ext2fs_expand_dir(fs, c.cut), 0);
	ck_assert_int_eq(ext2fs_close_free(&fs), 0);

	fs = open_image(0);
	learn(fs);
	memset(&got, 0, sizeof(got));
	ck_assert_int_eq(e4l_new(fs, &e), 0);
	ck_assert_int_eq(e4l_dirs_new(e, &got_ops, NULL, &c.d), 0);
	if (_i == 2)
		c.cut = 0;
	ck_assert_int_eq(e4l_scan(e, 0, NULL, &ops, &c), 0);
	ck_assert_int_eq(e4l_dirs_finish(c.d), 0);
	e4l_dirs_free(c.d);
	compare_dirs(fs);
	e4l_free(e);
	ext2fs_close_free(&fs);
	unlink(path);
}
END_TEST

/* ------------------------------------------------------------------- damage */

static struct ext2_super_block super = {
	.s_inodes_count = 100,
	.s_feature_incompat = EXT2_FEATURE_INCOMPAT_FILETYPE,
};

static void put_entry(char *p, uint32_t ino, uint16_t rec_len, uint8_t len,
		      const char *name)
{
	p[0] = ino;
	p[1] = ino >> 8;
	p[2] = p[3] = 0;
	p[4] = rec_len;
	p[5] = rec_len >> 8;
	p[6] = len;
	p[7] = EXT2_FT_REG_FILE;
	memcpy(p + 8, name, len);
}

/*
 * Walks over a block of a directory, which is encrypted if @encrypted is true.
 * Returns a character for each step: the first character of an entry's name, or
 * '!' for an invalid entry.
 */
static const char *walk(const char *block, size_t len, bool encrypted)
{
	struct struct_ext2_filsys fs = { .super = &super, .blocksize = 1024 };
	struct e4l_dir_walk w = {
		.fs = &fs, .dir = 2, .buf = block, .len = len,
		.has_dots = true, .encrypted = encrypted,
	};
	static char steps[100];
	struct e4l_dirent entry;
	enum e4l_dir_step step;
	size_t n = 0;

	while ((step = e4l_dir_next(&w, &entry)) != DIR_END)
		steps[n++] = step == DIR_BAD ? '!' : *entry.name;
	steps[n] = '\0';
	return steps;
}

START_TEST(bounds_every_entry)
{
	char block[1024] = "";

	ck_assert_str_eq(walk(block, 1024, false), "!");
	put_entry(block, 12, 16, 1, "a");
	put_entry(block + 16, 13, 1008, 1, "b");
	ck_assert_str_eq(walk(block, 1024, false), "ab");
	put_entry(block + 16, 13, 1012, 1, "b");
	ck_assert_str_eq(walk(block, 1024, false), "a!");
	put_entry(block + 16, 13, 1006, 1, "b");
	ck_assert_str_eq(walk(block, 1024, false), "a!");
	put_entry(block + 16, 13, 8, 1, "b");
	ck_assert_str_eq(walk(block, 1024, false), "a!");
	put_entry(block + 16, 13, 12, 5, "bbbbb");
	ck_assert_str_eq(walk(block, 1024, false), "a!");
	put_entry(block + 16, 101, 12, 1, "b");
	put_entry(block + 28, 14, 996, 1, "c");
	ck_assert_str_eq(walk(block, 1024, false), "a!c");
	put_entry(block + 16, 13, 12, 0, "");
	ck_assert_str_eq(walk(block, 1024, false), "a!c");
	put_entry(block + 16, 13, 12, 2, "b/");
	ck_assert_str_eq(walk(block, 1024, false), "a!c");
	ck_assert_str_eq(walk(block, 1024, true), "abc");
	put_entry(block + 16, 13, 12, 2, "b\0");
	ck_assert_str_eq(walk(block, 1024, false), "a!c");
	put_entry(block + 16, 0, 12, 2, "bb");
	ck_assert_str_eq(walk(block, 1024, false), "ac");
	/* e4l_dir_next() does not report "." */
	put_entry(block, 12, 16, 1, ".");
	ck_assert_str_eq(walk(block, 1024, false), "c");
	ck_assert_str_eq(walk(block, 20, false), "!");
	ck_assert_str_eq(walk(block, 0, false), "");
}
END_TEST

START_TEST(steps_over_damage)
{
	ext2_filsys fs;
	struct e4l *e;
	blk64_t blk;
	char *block;

	make_image("-t ext4 -b 1024 -N 4000 30M");
	populate(300);
	fs = open_image(EXT2_FLAG_RW);
	ck_assert_int_eq(ext2fs_bmap2(fs, 2, NULL, NULL, 0, 0, NULL, &blk), 0);
	block = calloc(1, fs->blocksize);
	ck_assert_int_eq(io_channel_read_blk64(fs->io, blk, 1, block), 0);
	block[100]++;
	ck_assert_int_eq(io_channel_write_blk64(fs->io, blk, 1, block), 0);
	free(block);
	memset(&got, 0, sizeof(got));
	ck_assert_int_eq(e4l_new(fs, &e), 0);
	ck_assert_int_eq(e4l_dirs_read(e, NULL, &got_ops, NULL), 0);
	ck_assert_uint_eq(got.damages, 1);
	ck_assert_int_eq(got.damage.why, E4L_ET_DIR_CSUM);
	ck_assert_uint_eq(got.damage.ino, 2);
	ck_assert_uint_eq(got.damage.blk, blk);
	ck_assert_uint_eq(got.l[2].dir, 2);
	ck_assert_uint_gt(got.entries, 10);
	e4l_free(e);
	ext2fs_close_free(&fs);
	unlink(path);
}
END_TEST

/*
 * Two directories that contain each other are not connected and have no path.
 */
START_TEST(survives_loops)
{
	const char *paths[] = { "/a" }, *none[] = { "/x/y" };
	ext2_ino_t a, b, f;
	ext2fs_inode_bitmap below;
	struct e4l_names *names;
	ext2_filsys fs;
	struct e4l *e;
	size_t bad = 9;

	make_image("-t ext4 -b 1024 -N 4000 30M");
	fs = open_image(EXT2_FLAG_RW);
	ck_assert_int_eq(ext2fs_read_bitmaps(fs), 0);
	ext2fs_new_inode(fs, 2, LINUX_S_IFDIR, NULL, &a);
	ck_assert_int_eq(ext2fs_mkdir(fs, 2, a, "a"), 0);
	ext2fs_new_inode(fs, a, LINUX_S_IFDIR, NULL, &b);
	ck_assert_int_eq(ext2fs_mkdir(fs, a, b, "b"), 0);
	link_to(fs, b, "a", a, EXT2_FT_DIR);
	f = make_inode(fs, b);
	link_to(fs, b, "f", f, EXT2_FT_REG_FILE);
	ck_assert_int_eq(e4l_new(fs, &e), 0);
	ck_assert_int_eq(e4l_subtree(e, paths, 1, NULL, &below), 0);
	ck_assert(ext2fs_test_inode_bitmap2(below, f));
	ck_assert(!ext2fs_test_inode_bitmap2(below, 2));
	ext2fs_free_inode_bitmap(below);
	ck_assert_int_eq(e4l_subtree(e, none, 1, &bad, &below), E4L_ET_NO_PATH);
	ck_assert_uint_eq(bad, 0);
	none[0] = "/a/b/f/x";
	ck_assert_int_eq(e4l_subtree(e, none, 1, &bad, &below), E4L_ET_NOT_DIR);

	ck_assert_int_eq(ext2fs_unlink(fs, 2, "a", 0, 0), 0);
	ck_assert_int_eq(e4l_names_load(e, &f, 1, &names), 0);
	ck_assert_ptr_null(e4l_names_path(names, f));
	e4l_names_free(names);
	ck_assert_int_eq(e4l_names_load(e, NULL, 0, &names), 0);
	ck_assert_ptr_null(e4l_names_path(names, f));
	ck_assert_ptr_null(e4l_names_path(names, a));
	e4l_names_free(names);
	e4l_free(e);
	ext2fs_close_free(&fs);
	unlink(path);
}
END_TEST

/* An empty root directory has no names. */
START_TEST(tells_no_path_without_names)
{
	struct e4l_names *names;
	ext2_filsys fs;
	struct e4l *e;
	ext2_ino_t f;

	make_image("-t ext4 -b 1024 -N 4000 30M");
	fs = open_image(EXT2_FLAG_RW);
	ck_assert_int_eq(ext2fs_read_bitmaps(fs), 0);
	ck_assert_int_eq(ext2fs_unlink(fs, 2, "lost+found", 0, 0), 0);
	f = make_inode(fs, 2);
	ck_assert_int_eq(e4l_new(fs, &e), 0);
	ck_assert_int_eq(e4l_names_load(e, NULL, 0, &names), 0);
	ck_assert_ptr_null(e4l_names_path(names, f));
	e4l_names_free(names);
	e4l_free(e);
	ext2fs_close_free(&fs);
	unlink(path);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dirs");
	TCase *tc = tcase_create("dirs");

	tcase_add_loop_test(tc, agrees_with_libext2fs, 0, N_IMAGES);
	tcase_add_loop_test(tc, reads_a_long_directory, 0, 3);
	tcase_add_test(tc, bounds_every_entry);
	tcase_add_test(tc, steps_over_damage);
	tcase_add_test(tc, survives_loops);
	tcase_add_test(tc, tells_no_path_without_names);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}

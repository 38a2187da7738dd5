/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * floor IMAGE [LIST]: does the minimum work of a layout report, as a lower
 * bound for benchmarks.  The program reads the inode tables up to the last
 * inode that may be in use, all extent tree blocks, all directory blocks and
 * the block bitmaps.  One thread reads block by block in disk order, with the
 * kernel's default readahead.  The program decodes the inodes, extents and
 * directory entries, and prints the number of each.  If LIST is given, the
 * program writes the numbers of all read blocks to LIST.  Checksums are not
 * verified.  Only the default features of mke2fs are supported: 4 KiB blocks,
 * extents, 64bit and flex_bg.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>
#include <ext2fs/ext3_extents.h>

struct list {
	blk64_t *v;
	size_t n, max;
};

struct counts {
	uint64_t inodes, extents, unwritten, tree, dir_blocks, entries, free;
};

static int fd;
static FILE *list;
static unsigned int blocksize;
static char *buf;

static const void *get(blk64_t blk)
{
	if (list)
		fprintf(list, "%llu\n", (unsigned long long)blk);
	if (pread(fd, buf, blocksize, blk * blocksize) != blocksize)
		err(1, "reading block %llu", (unsigned long long)blk);
	return buf;
}

static void add(struct list *l, blk64_t blk)
{
	if (l->n == l->max) {
		l->max = l->max ? 2 * l->max : 4096;
		l->v = realloc(l->v, l->max * sizeof(*l->v));
		if (!l->v)
			err(1, "memory");
	}
	l->v[l->n++] = blk;
}

static int cmp(const void *a, const void *b)
{
	blk64_t x = *(const blk64_t *)a, y = *(const blk64_t *)b;

	return x < y ? -1 : x > y;
}

/* The top bit of a block number marks an extent tree block of a directory. */
#define OF_DIR (1ULL << 63)

static void node(const struct ext3_extent_header *h, blk64_t of_dir,
		 struct list *tree, struct list *dirs, struct counts *c)
{
	const struct ext3_extent *x = (const void *)(h + 1);
	const struct ext3_extent_idx *ix = (const void *)(h + 1);
	int i, j, len;

	for (i = 0; h->eh_depth && i < h->eh_entries; i++)
		add(tree, of_dir | ix[i].ei_leaf |
			  (uint64_t)ix[i].ei_leaf_hi << 32);
	for (i = 0; !h->eh_depth && i < h->eh_entries; i++) {
		c->extents++;
		len = x[i].ee_len;
		if (len > 32768) {
			c->unwritten++;
			len -= 32768;
		}
		for (j = 0; of_dir && j < len; j++)
			add(dirs, (x[i].ee_start |
				   (uint64_t)x[i].ee_start_hi << 32) + j);
	}
}

static void itables(ext2_filsys fs, struct list *tree, struct list *dirs,
		    struct counts *c)
{
	unsigned int isize = EXT2_INODE_SIZE(fs->super), off;
	dgrp_t g;
	blk64_t b, end;

	for (g = 0; g < fs->group_desc_count; g++) {
		b = ext2fs_inode_table_loc(fs, g);
		end = ext2fs_bg_flags_test(fs, g, EXT2_BG_INODE_UNINIT) ? 0 :
		      (EXT2_INODES_PER_GROUP(fs->super) -
		       ext2fs_bg_itable_unused(fs, g));
		end = b + (end * isize + blocksize - 1) / blocksize;
		for (; b < end; b++) {
			const char *block = get(b);

			for (off = 0; off < blocksize; off += isize) {
				const struct ext2_inode *ino =
					(const void *)(block + off);

				if (!ino->i_links_count)
					continue;
				c->inodes++;
				if (ino->i_flags & EXT4_EXTENTS_FL)
					node((const void *)ino->i_block,
					     LINUX_S_ISDIR(ino->i_mode) ?
					     OF_DIR : 0, tree, dirs, c);
			}
		}
	}
}

static void trees(struct list *tree, struct list *dirs, struct counts *c)
{
	struct list next = { 0 };
	size_t i;

	while (tree->n) {
		qsort(tree->v, tree->n, sizeof(*tree->v), cmp);
		for (i = 0; i < tree->n; i++)
			node(get(tree->v[i] & ~OF_DIR), tree->v[i] & OF_DIR,
			     &next, dirs, c);
		c->tree += tree->n;
		free(tree->v);
		*tree = next;
		memset(&next, 0, sizeof(next));
	}
}

static void directories(struct list *dirs, struct counts *c)
{
	size_t i;
	unsigned int off;

	qsort(dirs->v, dirs->n, sizeof(*dirs->v), cmp);
	for (i = 0; i < dirs->n; i++) {
		const char *block = get(dirs->v[i]);

		for (off = 0; off + 8 <= blocksize; ) {
			const struct ext2_dir_entry *de =
				(const void *)(block + off);

			c->entries += de->inode != 0;
			off += de->rec_len ? de->rec_len : blocksize;
		}
	}
	c->dir_blocks = dirs->n;
}

static void bitmaps(ext2_filsys fs, struct counts *c)
{
	dgrp_t g;
	unsigned int i;

	for (g = 0; g < fs->group_desc_count; g++) {
		const uint64_t *w;

		if (ext2fs_bg_flags_test(fs, g, EXT2_BG_BLOCK_UNINIT))
			continue;
		w = get(ext2fs_block_bitmap_loc(fs, g));
		for (i = 0; i < blocksize / 8; i++)
			c->free += 64 - __builtin_popcountll(w[i]);
	}
}

int main(int argc, char **argv)
{
	struct list tree = { 0 }, dirs = { 0 };
	struct counts c = { 0 };
	ext2_filsys fs;

	if (argc < 2 || argc > 3 ||
	    ext2fs_open(argv[1], EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs))
		errx(1, "usage: floor IMAGE [LIST]");
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	blocksize = fs->blocksize;
	buf = malloc(blocksize);
	if (argc == 3)
		list = fopen(argv[2], "w");
	if (fd < 0 || !buf || (argc == 3 && !list))
		err(1, "%s", argv[1]);
	itables(fs, &tree, &dirs, &c);
	trees(&tree, &dirs, &c);
	directories(&dirs, &c);
	bitmaps(fs, &c);
	printf("%llu inodes, %llu extents (%llu unwritten), %llu tree blocks, "
	       "%llu directory blocks, %llu entries, %llu free blocks\n",
	       (unsigned long long)c.inodes, (unsigned long long)c.extents,
	       (unsigned long long)c.unwritten, (unsigned long long)c.tree,
	       (unsigned long long)c.dir_blocks, (unsigned long long)c.entries,
	       (unsigned long long)c.free);
	if (list && fclose(list))
		err(1, "%s", argv[2]);
	ext2fs_close_free(&fs);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scan-oracle[-small] IMAGE: compares the results of e4l_scan() with those of
 * libext2fs' inode scan, extent cursor and block iterator.  Prints the first
 * difference, if any, and exits with 1.
 */
#include "config.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <e4layout/e4layout.h>

/*
 * The results of libext2fs, one inode or extent per line, in the order of the
 * scan.
 */
struct expect {
	char *text;
	size_t size;
	FILE *f;
	struct e4l_extent run;	/* current run of an indirect map */
	FILE *tree;
	char *tree_text;
	size_t tree_size;
};

static void put_extent(FILE *f, blk64_t pblk, uint64_t lblk, uint64_t len,
		       bool unwritten)
{
	fprintf(f, "x %" PRIu64 "+%" PRIu64 "@%" PRIu64 "%s\n", lblk, len,
		(uint64_t)pblk, unwritten ? "u" : "");
}

static void put_tree(FILE *f, blk64_t pblk, unsigned int level)
{
	fprintf(f, "t %u@%" PRIu64 "\n", level, (uint64_t)pblk);
}

static void expect_extents(ext2_filsys fs, ext2_ino_t ino, struct expect *x)
{
	ext2_extent_handle_t h;
	struct ext2fs_extent ext;
	struct ext2_extent_info info;
	errcode_t err;

	if (ext2fs_extent_open(fs, ino, &h))
		return;
	for (err = ext2fs_extent_get(h, EXT2_EXTENT_ROOT, &ext); !err;
	     err = ext2fs_extent_get(h, EXT2_EXTENT_NEXT, &ext)) {
		if (ext.e_flags & EXT2_EXTENT_FLAGS_SECOND_VISIT)
			continue;
		if (ext.e_flags & EXT2_EXTENT_FLAGS_LEAF) {
			put_extent(x->f, ext.e_pblk, ext.e_lblk, ext.e_len,
				   ext.e_flags & EXT2_EXTENT_FLAGS_UNINIT);
			continue;
		}
		ext2fs_extent_get_info(h, &info);
		put_tree(x->tree, ext.e_pblk,
			 info.max_depth - info.curr_level - 1);
	}
	ext2fs_extent_free(h);
}

static void end_run(FILE *f, struct e4l_extent *run)
{
	if (run->len)
		put_extent(f, run->pblk, run->lblk, run->len, false);
	run->len = 0;
}

/* Extends the run of an indirect map, or begins another one. */
static void add_to_run(FILE *f, struct e4l_extent *run, struct e4l_extent x)
{
	if (run->len && run->pblk + run->len == x.pblk &&
	    run->lblk + run->len == x.lblk) {
		run->len += x.len;
		return;
	}
	end_run(f, run);
	*run = x;
}

static int indirect_block(ext2_filsys fs, blk64_t *blk, e2_blkcnt_t lblk,
			  blk64_t ref, int offset, void *priv)
{
	struct expect *x = priv;

	if (lblk < 0) {
		put_tree(x->tree, *blk, -lblk - 1);
		return 0;
	}
	add_to_run(x->f, &x->run, (struct e4l_extent) {
		.pblk = *blk, .lblk = lblk, .len = 1,
	});
	return 0;
}

static void expect_inode(ext2_filsys fs, ext2_ino_t ino,
			 struct ext2_inode *inode, struct expect *x)
{
	x->tree = open_memstream(&x->tree_text, &x->tree_size);
	fprintf(x->f, "i %u size %" PRIu64 " gen %u\n", ino,
		(uint64_t)EXT2_I_SIZE(inode), inode->i_generation);
	if (inode->i_flags & EXT4_INLINE_DATA_FL) {
		;
	} else if (!ext2fs_inode_has_valid_blocks2(fs, inode)) {
		;
	} else if (inode->i_flags & EXT4_EXTENTS_FL) {
		expect_extents(fs, ino, x);
	} else {
		ext2fs_block_iterate3(fs, ino, BLOCK_FLAG_READ_ONLY, NULL,
				      indirect_block, x);
		end_run(x->f, &x->run);
	}
	fclose(x->tree);
	fputs(x->tree_text, x->f);
	free(x->tree_text);
}

static char *expected(ext2_filsys fs)
{
	struct expect x = { 0 };
	struct ext2_inode inode;
	ext2_inode_scan scan;
	ext2_ino_t ino;

	x.f = open_memstream(&x.text, &x.size);
	if (ext2fs_open_inode_scan(fs, 0, &scan))
		exit(1);
	while (!ext2fs_get_next_inode(scan, &ino, &inode) && ino)
		if (inode.i_links_count)
			expect_inode(fs, ino, &inode, &x);
	ext2fs_close_inode_scan(scan);
	fclose(x.f);
	return x.text;
}

struct found {
	struct e4l_extent run;	/* the next piece may continue this run */
	FILE *f, *tree;
	char *tree_text;
	size_t tree_size;
};

static errcode_t found_piece(const struct e4l_piece *p, void *priv)
{
	struct found *y = priv;
	size_t i;

	if (p->first) {
		y->tree = open_memstream(&y->tree_text, &y->tree_size);
		fprintf(y->f, "i %u size %" PRIu64 " gen %u\n", p->ino,
			(uint64_t)EXT2_I_SIZE(p->inode),
			p->inode->i_generation);
	}
	for (i = 0; i < p->n_extents; i++) {
		if (p->map == E4L_MAP_INDIRECT)
			add_to_run(y->f, &y->run, p->extents[i]);
		else
			put_extent(y->f, p->extents[i].pblk, p->extents[i].lblk,
				   p->extents[i].len, p->extents[i].unwritten);
	}
	for (i = 0; i < p->n_tree; i++)
		put_tree(y->tree, p->tree[i].pblk, p->tree[i].level);
	if (p->last) {
		end_run(y->f, &y->run);
		fclose(y->tree);
		fputs(y->tree_text, y->f);
		free(y->tree_text);
	}
	return 0;
}

static errcode_t found_damage(const struct e4l_damage *d, void *priv)
{
	struct found *y = priv;

	fprintf(y->f, "damaged: inode %u, block %" PRIu64 ": %s\n", d->ino,
		(uint64_t)d->blk, error_message(d->why));
	return 0;
}

static char *found(struct e4l *e)
{
	static const struct e4l_scan_ops ops = {
		.piece = found_piece, .damage = found_damage,
	};
	struct found y = { 0 };
	char *text;
	size_t size;

	y.f = open_memstream(&text, &size);
	if (e4l_scan(e, 0, NULL, &ops, &y))
		fprintf(y.f, "failed: %s\n", e4l_detail(e)->doing);
	fclose(y.f);
	return text;
}

/*
 * Compares the texts of libext2fs (@want) and e4l_scan() (@got).  If they
 * differ, prints the first line that differs, and returns false.
 */
static bool agree(const char *want, const char *got, unsigned int threads)
{
	const char *line = want, *other = got;
	size_t n = 0;

	while (want[n] && want[n] == got[n]) {
		if (want[n++] == '\n') {
			line = want + n;
			other = got + n;
		}
	}
	if (want[n] == got[n])
		return true;
	printf("%u threads: libext2fs says '%.*s', e4l_scan '%.*s'\n", threads,
	       (int)strcspn(line, "\n"), line, (int)strcspn(other, "\n"),
	       other);
	return false;
}

int main(int argc, char **argv)
{
	static const unsigned int threads[] = { 1, 4 };
	ext2_filsys fs;
	struct e4l *e;
	char *want, *got;
	bool ok = true;
	errcode_t err;
	int i;

	initialize_ext2_error_table();
	err = argc != 2 ? EINVAL :
	      ext2fs_open2(argv[1], "cache=off", EXT2_FLAG_64BITS |
			   EXT2_FLAG_THREADS | EXT2_FLAG_IGNORE_CSUM_ERRORS,
			   0, 0, unix_io_manager, &fs);
	if (!err)
		err = e4l_new(fs, &e);
	if (err) {
		fprintf(stderr, "scan-oracle: %s\n", error_message(err));
		return 1;
	}
	want = expected(fs);
	for (i = 0; i < 2; i++) {
		e4l_set_threads(e, threads[i]);
		got = found(e);
		ok = agree(want, got, threads[i]) && ok;
		free(got);
	}
	free(want);
	e4l_free(e);
	ext2fs_close_free(&fs);
	return ok ? 0 : 1;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsdigest [-emnz] IMAGE: prints a line for each used inode, with everything
 * that a repack must not change:
 *
 *	inode mode uid gid links size flags generation times
 *
 * and hexadecimal digests of
 *
 *	rest		the other bytes of the inode, except the location and
 *			the number of its blocks
 *	xattr		the attribute block
 *	content		the written blocks, including blocks beyond the end of
 *			the file; a block of zeroes is equal to a hole
 *	mapped		the logical blocks that are mapped, written or not
 *	beyond		the unwritten blocks at or beyond the end of the file
 *	unwritten	all unwritten blocks; "-" with -z, because zeroing
 *			changes their state
 *
 * -e: the content of a directory is the set of its entries, in any order and in
 * any blocks; its size and its index are ignored.
 *
 * -m: the place of an attribute block and the maps of block-mapped files do not
 * count.
 *
 * -n: a line identifies an inode by its first name instead of its number, and
 * directory entries refer to inodes by name; each name has a line of its own.
 *
 * The blocks of the journal and of the resize inode are omitted.
 */
#include "config.h"
#include <err.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

#define PIECE_BYTES (1u << 20)
#define XATTR_SUM_AT 16		/* h_checksum in an attribute block */

/*
 * Runs of logical blocks.  Contiguous runs are joined, so that the digest does
 * not depend on the extents.
 */
struct runs {
	uint64_t hash;
	uint64_t from, to;	/* current run: logical blocks [from, to) */
};

struct file {
	ext2_filsys fs;
	bool zeroed, entries;		/* options -z, -e */
	bool moved;			/* option -m */
	bool names;			/* option -n */
	char **name;			/* name of each inode; NULL: none */
	ext2_ino_t dir;			/* directory that is being read */
	const struct ext2_inode_large *inode;
	uint8_t *buf;			/* PIECE_BYTES long */
	uint64_t eof_blk;
	uint64_t content;
	struct runs mapped, beyond, unwritten;
};

static void check(errcode_t error, const char *doing, uint64_t what)
{
	if (error)
		errx(1, "%s %" PRIu64 ": %s", doing, what,
		     error_message(error));
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static uint64_t mix_bytes(uint64_t hash, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t word;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		hash = mix(hash, word);
	}
	word = 0;
	memcpy(&word, p, len);
	return mix(hash, word ^ (uint64_t)len << 56);
}

static void end_run(struct runs *r)
{
	if (r->to > r->from)
		r->hash = mix(mix(r->hash, r->from), r->to);
	r->from = r->to = 0;
}

static void add_run(struct runs *r, uint64_t from, uint64_t to)
{
	if (from >= to)
		return;
	if (from != r->to) {
		end_run(r);
		r->from = from;
	}
	r->to = to;
}

/* ----------------------------------------------------------------- content */

static bool all_zero(const uint8_t *buf, size_t len)
{
	return !buf[0] && !memcmp(buf, buf + 1, len - 1);
}

static void read_blocks(struct file *f, uint64_t lblk, blk64_t pblk,
			uint32_t len)
{
	unsigned int size = f->fs->blocksize, i, n;

	for (; len; lblk += n, pblk += n, len -= n) {
		n = len < PIECE_BYTES / size ? len : PIECE_BYTES / size;
		check(io_channel_read_blk64(f->fs->io, pblk, n, f->buf),
		      "reading block", pblk);
		for (i = 0; i < n; i++)
			if (!all_zero(f->buf + i * size, size))
				f->content += mix_bytes(mix(lblk + i + 1, 0),
							f->buf + i * size,
							size);
	}
}

static void add_extent(struct file *f, const struct ext2fs_extent *x)
{
	uint64_t from = x->e_lblk, to = from + x->e_len;
	uint64_t eof = from > f->eof_blk ? from : f->eof_blk;

	add_run(&f->mapped, from, to);
	if (x->e_flags & EXT2_EXTENT_FLAGS_UNINIT) {
		add_run(&f->unwritten, from, to);
		add_run(&f->beyond, eof, to);
	} else {
		read_blocks(f, from, x->e_pblk, x->e_len);
	}
}

static void read_extents(struct file *f, ext2_ino_t ino)
{
	ext2_extent_handle_t handle;
	struct ext2fs_extent x;
	errcode_t error;

	check(ext2fs_extent_open(f->fs, ino, &handle), "opening inode", ino);
	error = ext2fs_extent_get(handle, EXT2_EXTENT_ROOT, &x);
	while (!error) {
		if (x.e_flags & EXT2_EXTENT_FLAGS_LEAF)
			add_extent(f, &x);
		error = ext2fs_extent_get(handle, EXT2_EXTENT_NEXT, &x);
	}
	if (error != EXT2_ET_EXTENT_NO_NEXT &&
	    error != EXT2_ET_EXTENT_NOT_FOUND)
		check(error, "reading the extents of inode", ino);
	ext2fs_extent_free(handle);
}

static int add_block(ext2_filsys fs, blk64_t *blk, e2_blkcnt_t lblk,
		     blk64_t ref, int offset, void *priv)
{
	(void)fs, (void)ref, (void)offset;
	add_extent(priv, &(struct ext2fs_extent) {
		.e_lblk = lblk, .e_pblk = *blk, .e_len = 1,
	});
	return 0;
}

static int add_entry(ext2_ino_t dir, int kind, struct ext2_dir_entry *entry,
		     int offset, int blocksize, char *block, void *priv)
{
	struct file *f = priv;

	(void)dir, (void)kind, (void)offset, (void)blocksize, (void)block;
	f->content += mix_bytes(mix(f->names ? 0 : entry->inode,
				    ext2fs_dirent_file_type(entry) + 1),
				entry->name, ext2fs_dirent_name_len(entry));
	return 0;
}

/* Whether the content is digested as entries, not as blocks. */
static bool has_entries(const struct file *f)
{
	return f->entries && LINUX_S_ISDIR(f->inode->i_mode);
}

static void read_content(struct file *f, ext2_ino_t ino)
{
	if (has_entries(f)) {
		check(ext2fs_dir_iterate2(f->fs, ino, 0, NULL, add_entry, f),
		      "reading directory", ino);
		return;
	}
	if (ino == EXT2_RESIZE_INO || ino == f->fs->super->s_journal_inum)
		return;
	if (f->inode->i_flags & EXT4_EXTENTS_FL)
		read_extents(f, ino);
	else if (ext2fs_inode_has_valid_blocks2(f->fs, (void *)f->inode))
		check(ext2fs_block_iterate3(f->fs, ino, BLOCK_FLAG_READ_ONLY |
					    BLOCK_FLAG_DATA_ONLY, NULL,
					    add_block, f),
		      "reading the blocks of inode", ino);
	end_run(&f->mapped);
	end_run(&f->beyond);
	end_run(&f->unwritten);
}

/* ------------------------------------------------------------------- inode */

static uint64_t digest_rest(const struct file *f, size_t bytes)
{
	union {
		struct ext2_inode_large inode;
		uint8_t bytes[EXT2_MAX_BLOCK_SIZE];
	} *copy = calloc(1, sizeof(*copy));
	uint64_t hash;

	if (!copy)
		err(1, "inode");
	memcpy(copy->bytes, f->inode, bytes);
	copy->inode.i_blocks = 0;
	copy->inode.osd2.linux2.l_i_blocks_hi = 0;
	copy->inode.osd2.linux2.l_i_checksum_lo = 0;
	if (bytes > EXT2_GOOD_OLD_INODE_SIZE)
		copy->inode.i_checksum_hi = 0;
	if (has_entries(f)) {
		copy->inode.i_size = copy->inode.i_size_high = 0;
		copy->inode.i_flags &= ~EXT2_INDEX_FL;
	}
	if (f->moved) {
		copy->inode.i_file_acl = !!copy->inode.i_file_acl;
		copy->inode.osd2.linux2.l_i_file_acl_high = 0;
	}
	if (f->inode->i_flags & EXT4_EXTENTS_FL ||
	    (f->moved && ext2fs_inode_has_valid_blocks2(f->fs,
						(void *)f->inode)))
		memset(copy->inode.i_block, 0, sizeof(copy->inode.i_block));
	/*
	 * entries of an inline directory contain inode numbers, which -n
	 * ignores
	 */
	if (f->names && LINUX_S_ISDIR(f->inode->i_mode) &&
	    f->inode->i_flags & EXT4_INLINE_DATA_FL) {
		memset(copy->inode.i_block, 0, sizeof(copy->inode.i_block));
		bytes = EXT2_GOOD_OLD_INODE_SIZE;
	}
	hash = mix_bytes(0, copy->bytes, bytes);
	free(copy);
	return hash;
}

static uint64_t digest_xattr(struct file *f, ext2_ino_t ino)
{
	blk64_t blk = ext2fs_file_acl_block(f->fs, (void *)f->inode);

	if (!blk)
		return 0;
	check(io_channel_read_blk64(f->fs->io, blk, 1, f->buf),
	      "reading the attributes of inode", ino);
	/* with -m, omit the checksum, which depends on the block number */
	if (f->moved)
		memset(f->buf + XATTR_SUM_AT, 0, sizeof(uint32_t));
	return mix_bytes(1, f->buf, f->fs->blocksize);
}

static void print_inode(struct file *f, ext2_ino_t ino)
{
	size_t bytes = EXT2_INODE_SIZE(f->fs->super);
	const struct ext2_inode_large *i = f->inode;
	uint64_t rest = digest_rest(f, bytes);
	uint64_t xattr = digest_xattr(f, ino);

	f->content = 0;
	f->mapped = f->beyond = f->unwritten = (struct runs) { 0 };
	f->eof_blk = (EXT2_I_SIZE(i) + f->fs->blocksize - 1) /
		     f->fs->blocksize;
	read_content(f, ino);
	if (f->names && f->name[ino])
		printf("%s", f->name[ino]);
	else
		printf("%u", ino);
	printf(" mode=%o uid=%u gid=%u links=%u size=%" PRIu64
	       " flags=%x gen=%u", i->i_mode, inode_uid(*i),
	       inode_gid(*i), i->i_links_count,
	       has_entries(f) ? 0 : (uint64_t)EXT2_I_SIZE(i),
	       has_entries(f) ? i->i_flags & ~EXT2_INDEX_FL : i->i_flags,
	       i->i_generation);
	printf(" atime=%u mtime=%u ctime=%u crtime=%u", i->i_atime, i->i_mtime,
	       i->i_ctime,
	       bytes > EXT2_GOOD_OLD_INODE_SIZE ? i->i_crtime : 0);
	printf(" rest=%" PRIx64 " xattr=%" PRIx64 " content=%" PRIx64
	       " mapped=%" PRIx64 " beyond=%" PRIx64 " unwritten=", rest,
	       xattr, f->content, f->mapped.hash, f->beyond.hash);
	if (f->zeroed)
		puts("-");
	else
		printf("%" PRIx64 "\n", f->unwritten.hash);
}

/* ------------------------------------------------------------------- names */

/* Returns the path of an entry, with special bytes in hexadecimal. */
static char *join_name(const char *dir, const struct ext2_dir_entry *entry)
{
	unsigned int n = ext2fs_dirent_name_len(entry), i;
	char *name = malloc(strlen(dir) + 4 * n + 2), *p;

	if (!name)
		err(1, "names");
	p = name + sprintf(name, "%s/", dir);
	for (i = 0; i < n; i++) {
		unsigned char c = entry->name[i];

		p += sprintf(p, c > ' ' && c < 127 ? "%c" : "%%%02x", c);
	}
	return name;
}

/*
 * Whether @entry is "." or "..".  The entries "." and ".." are omitted, because
 * libext2fs does not report them consistently for inline directories.
 */
static bool is_dots(const struct ext2_dir_entry *entry)
{
	return entry->name[0] == '.' && (ext2fs_dirent_name_len(entry) == 1 ||
	       (ext2fs_dirent_name_len(entry) == 2 && entry->name[1] == '.'));
}

static int learn_name(ext2_ino_t dir, int kind, struct ext2_dir_entry *entry,
		      int offset, int blocksize, char *block, void *priv)
{
	struct file *f = priv;
	char *name;

	(void)dir, (void)kind, (void)offset, (void)blocksize, (void)block;
	if (is_dots(entry))
		return 0;
	name = join_name(f->name[f->dir], entry);
	if (f->name[entry->inode]) {
		printf("%s is %s\n", name, f->name[entry->inode]);
		free(name);
		return 0;
	}
	f->name[entry->inode] = name;
	if (!ext2fs_check_directory(f->fs, entry->inode)) {
		ext2_ino_t here = f->dir;

		f->dir = entry->inode;
		check(ext2fs_dir_iterate2(f->fs, f->dir, 0, NULL, learn_name,
					  f), "reading directory", f->dir);
		f->dir = here;
	}
	return 0;
}

static void learn_names(struct file *f)
{
	f->name = calloc(f->fs->super->s_inodes_count + 1ULL,
			 sizeof(*f->name));
	if (!f->name)
		err(1, "names");
	f->dir = EXT2_ROOT_INO;
	f->name[f->dir] = strdup("");
	check(ext2fs_dir_iterate2(f->fs, f->dir, 0, NULL, learn_name, f),
	      "reading directory", f->dir);
}

static void forget_names(struct file *f)
{
	ext2_ino_t ino;

	for (ino = 1; ino <= f->fs->super->s_inodes_count; ino++)
		free(f->name[ino]);
	free(f->name);
}

/* --------------------------------------------------------- the whole image */

static void print_all(struct file *f, uint8_t *inode)
{
	size_t bytes = EXT2_INODE_SIZE(f->fs->super);
	ext2_inode_scan scan;
	ext2_ino_t ino;

	check(ext2fs_open_inode_scan(f->fs, 0, &scan), "scanning from", 1);
	for (;;) {
		check(ext2fs_get_next_inode_full(scan, &ino, (void *)inode,
						 bytes),
		      "reading after inode", ino);
		if (!ino)
			break;
		f->inode = (void *)inode;
		if (f->inode->i_links_count)
			print_inode(f, ino);
	}
	ext2fs_close_inode_scan(scan);
}

int main(int argc, char **argv)
{
	struct file f = { 0 };
	uint8_t *inode;
	int c;

	while ((c = getopt(argc, argv, "emnz")) != -1) {
		f.moved |= c == 'm';
		f.zeroed |= c == 'z';
		f.entries |= c == 'e' || c == 'n';
		f.names |= c == 'n';
		if (c == '?')
			optind = argc;
	}
	if (optind != argc - 1)
		errx(2, "usage: fsdigest [-emnz] IMAGE");
	initialize_ext2_error_table();
	check(ext2fs_open(argv[optind], EXT2_FLAG_64BITS, 0, 0,
			  unix_io_manager, &f.fs), "opening image", 0);
	f.buf = malloc(PIECE_BYTES);
	inode = calloc(1, EXT2_MAX_BLOCK_SIZE);
	if (!f.buf || !inode)
		err(1, "fsdigest");
	if (f.names)
		learn_names(&f);
	print_all(&f, inode);
	if (f.names)
		forget_names(&f);
	free(inode);
	free(f.buf);
	ext2fs_free(f.fs);
	return fflush(stdout) ? 1 : 0;
}

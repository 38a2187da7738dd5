/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The image in memory: free space, extents, inodes and directories. */
#include "config.h"
#include <string.h>
#include "lab.h"
#include <ext2fs/ext3_extents.h>

#define ROOT_ENTRIES 4 /* entries of an extent tree's root, in i_block */
#define MAX_DEPTH 5
/* minimum length of an encrypted name: one cipher block */
#define ENCRYPTED_NAME_BYTES 16
#define MAX_LBLK EXT_MAX_EXTENT_LBLK

/*
 * Returns @array with space for one more element after @n elements of @size
 * bytes.  If @n is 0 or a power of two, the array is reallocated.
 */
static void *grow(const struct lab *l, void *array, __u32 n, size_t size)
{
	if (n & (n - 1))
		return array;
	return lab_realloc(l, array, (n ? 2 * (size_t)n : 1) * size);
}

struct extra *node_extra(struct lab *l, struct node *n)
{
	if (!n->x)
		n->x = lab_alloc(l, sizeof(*n->x));
	return n->x;
}

/* ---- free space ---- */

/*
 * Sets *@start to the first free block from @from on.  Returns the number of
 * consecutive free blocks from *@start on, at most @max; 0: no block is free.
 */
static blk64_t free_run(struct lab *l, blk64_t from, blk64_t max,
			blk64_t *start)
{
	ext2fs_block_bitmap map = l->fs->block_map;
	blk64_t last, end;

	if (from >= l->end_blk ||
	    ext2fs_find_first_zero_block_bitmap2(map, from, l->end_blk - 1,
						 start))
		return 0;
	last = l->end_blk - 1;
	if (max <= last - *start)
		last = *start + max - 1;
	if (ext2fs_find_first_set_block_bitmap2(map, *start, last, &end))
		end = last + 1;
	return end - *start;
}

/*
 * Finds a free extent of @want blocks or, if @any is true, of up to @want
 * blocks.  Searches from l->goal_blk on, and then from the start of the disk.
 * Sets *@start to the first block, and returns the length.  Returns 0 if there
 * is no such extent.
 */
static blk64_t find_run(struct lab *l, blk64_t want, bool any, blk64_t *start)
{
	blk64_t from[2] = { l->goal_blk, l->fs->super->s_first_data_block };
	blk64_t at, len;
	int i;

	for (i = 0; i < 2; i++) {
		at = div_up(from[i], l->ratio_blks) * l->ratio_blks;
		for (; (len = free_run(l, at, want, start)); at = *start + len)
			if (any || len == want)
				return len;
	}
	return 0;
}

static void take(struct lab *l, blk64_t blk, blk64_t len)
{
	ext2fs_block_alloc_stats_range(l->fs, blk, len, 1);
	l->goal_blk = blk + len;
}

static void release(struct lab *l, blk64_t blk, blk64_t len, void *arg)
{
	ext2fs_block_alloc_stats_range(l->fs, blk, len, -1);
}

blk64_t take_run(struct lab *l, blk64_t len_blks)
{
	blk64_t want = div_up(len_blks, l->ratio_blks) * l->ratio_blks;
	blk64_t start;

	if (!find_run(l, want, false, &start))
		lab_fail(l, "no %llu free blocks in one run",
			 (unsigned long long)want);
	take(l, start, want);
	return start;
}

/* ---- extents ---- */

__u32 node_end_lblk(const struct node *n)
{
	const struct extent *last;

	if (!n->n_extents)
		return 0;
	last = &n->extents[n->n_extents - 1];
	return last->lblk + last->len_blks;
}

void node_each_run(struct lab *l, const struct node *n, run_fn *fn, void *arg)
{
	__u64 ratio = l->ratio_blks;
	__u64 first, end, done = 0; /* in logical clusters */
	const struct extent *e;
	__u32 i;

	for (i = 0; i < n->n_extents; i++, done = end) {
		e = &n->extents[i];
		first = e->lblk / ratio;
		if (first < done)
			first = done;
		end = div_up((__u64)e->lblk + e->len_blks, ratio);
		if (first < end)
			fn(l, e->pblk + first * ratio - e->lblk,
			   (end - first) * ratio, arg);
	}
}

/*
 * Appends a run.  Joins the run with the previous extent, unless the previous
 * extent is one of the first @floor.  Splits the run at the maximum length of
 * an entry.
 */
static void push(struct lab *l, struct node *n, __u64 lblk, __u64 len,
		 int flags, blk64_t pblk, __u32 floor)
{
	bool unwritten = flags & GROW_UNWRITTEN;
	__u32 max = unwritten ? MAX_UNWRITTEN_BLKS : MAX_WRITTEN_BLKS;
	struct extent *e = n->n_extents ? &n->extents[n->n_extents - 1] : NULL;
	__u32 part;

	if (n->n_extents > floor && e->unwritten == unwritten &&
	    e->lblk + e->len_blks == lblk && e->pblk + e->len_blks == pblk) {
		part = len < max - e->len_blks ? len : max - e->len_blks;
		e->len_blks += part;
		lblk += part;
		pblk += part;
		len -= part;
	}
	for (; len; lblk += part, pblk += part, len -= part) {
		part = len < max ? len : max;
		n->extents = grow(l, n->extents, n->n_extents, sizeof(*e));
		n->extents[n->n_extents++] = (struct extent){
			.lblk = lblk, .len_blks = part,
			.unwritten = unwritten, .pblk = pblk
		};
	}
}

void node_push(struct lab *l, struct node *n, __u64 lblk, __u64 len_blks,
	       int flags, blk64_t pblk)
{
	push(l, n, lblk, len_blks, flags, pblk, n->n_extents);
}

static void check_lblks(struct lab *l, const struct node *n, __u64 lblk,
			__u64 len, int flags)
{
	if (lblk < node_end_lblk(n))
		lab_fail(l, "logical block %llu is mapped, or out of order",
			 (unsigned long long)lblk);
	if (lblk > MAX_LBLK || len > MAX_LBLK - lblk)
		lab_fail(l, "a file ends at block %llu",
			 (unsigned long long)MAX_LBLK);
	if (n->iflags & EXT4_EXTENTS_FL)
		return;
	if (l->ratio_blks > 1)
		lab_fail(l, "with bigalloc all files have extents");
	if (flags & GROW_UNWRITTEN)
		lab_fail(l, "without extents no block is unwritten");
}

/*
 * Returns the number of blocks from @lblk to the end of its cluster, and sets
 * *@pblk to the physical block of @lblk.  If @lblk is not in the last cluster
 * of @n, returns 0.
 */
static __u64 shared_cluster(struct lab *l, const struct node *n, __u64 lblk,
			    blk64_t *pblk)
{
	__u64 ratio = l->ratio_blks, end = node_end_lblk(n);
	const struct extent *last;

	if (!end || (end - 1) / ratio != lblk / ratio)
		return 0;
	last = &n->extents[n->n_extents - 1];
	*pblk = last->pblk + (lblk - last->lblk);
	return ratio - lblk % ratio;
}

void node_grow(struct lab *l, struct node *n, __u64 lblk, __u64 len_blks,
	       int flags)
{
	__u32 floor = flags & GROW_MERGE ? 0 : n->n_extents;
	__u64 got, off, want;
	blk64_t pblk;

	check_lblks(l, n, lblk, len_blks, flags);
	for (; len_blks; lblk += got, len_blks -= got) {
		got = shared_cluster(l, n, lblk, &pblk);
		if (!got) {
			off = lblk % l->ratio_blks;
			want = div_up(off + len_blks, l->ratio_blks) *
			       l->ratio_blks;
			got = find_run(l, want, flags & GROW_HOLES, &pblk);
			if (!got)
				got = find_run(l, want, true, &pblk);
			if (!got)
				lab_fail(l, "the filesystem is full");
			take(l, pblk, got);
			pblk += off;
			got -= off;
		}
		if (got > len_blks)
			got = len_blks;
		push(l, n, lblk, got, flags, pblk, floor);
	}
}

void node_grow_at(struct lab *l, struct node *n, __u64 lblk, __u64 len_blks,
		  int flags, blk64_t pblk)
{
	__u64 ratio = l->ratio_blks, shared;
	blk64_t start, end, there;

	check_lblks(l, n, lblk, len_blks, flags);
	if (pblk % ratio != lblk % ratio)
		lab_fail(l, "block %llu is not aligned in its cluster as "
			 "logical block %llu is", (unsigned long long)pblk,
			 (unsigned long long)lblk);
	shared = shared_cluster(l, n, lblk, &there);
	if (shared && there != pblk)
		lab_fail(l, "logical block %llu is in a cluster at %llu",
			 (unsigned long long)lblk, (unsigned long long)there);
	start = pblk - pblk % ratio + (shared ? ratio : 0);
	end = div_up(pblk + len_blks, ratio) * ratio;
	if (start < end) {
		if (start < l->fs->super->s_first_data_block ||
		    end > l->end_blk ||
		    !ext2fs_test_block_bitmap_range2(l->fs->block_map, start,
						     end - start))
			lab_fail(l, "blocks %llu-%llu are not free",
				 (unsigned long long)start,
				 (unsigned long long)end - 1);
		take(l, start, end - start);
	}
	node_push(l, n, lblk, len_blks, flags, pblk);
}

/* ---- block maps ---- */

__u32 tree_fanout(const struct lab *l, const struct node *n, bool leaf)
{
	__u32 fit = (l->block_bytes - sizeof(struct ext3_extent_header)) /
		    sizeof(struct ext3_extent);
	__u32 asked = 0;

	if (n->x)
		asked = leaf ? n->x->leaf_max : n->x->index_max;
	return asked && asked < fit ? asked : fit;
}

static __u32 tree_blks(struct lab *l, const struct node *n, int *depth)
{
	int min_depth = n->x ? n->x->min_depth : 0;
	__u64 width = n->n_extents, sum = 0;
	int d = 0;

	while (width > ROOT_ENTRIES || (width && d < min_depth)) {
		width = div_up(width, tree_fanout(l, n, d == 0));
		sum += width;
		if (++d > MAX_DEPTH)
			lab_fail(l, "the extent tree is deeper than %d",
				 MAX_DEPTH);
	}
	*depth = d;
	return sum;
}

/*
 * Returns the number of used indirect blocks.  Each indirect block maps @span
 * logical blocks, and the first indirect block begins at @from.  Mapped blocks
 * from @limit on are ignored.
 */
static __u32 count_spans(const struct node *n, __u64 from, __u64 span,
			 __u64 limit)
{
	__u64 first, last, done = 0, sum = 0;
	const struct extent *e;
	__u32 i;

	for (i = 0; i < n->n_extents; i++) {
		e = &n->extents[i];
		first = e->lblk;
		last = first + e->len_blks - 1;
		if (last < from || first >= limit)
			continue;
		first = first > from ? (first - from) / span : 0;
		last = ((last < limit ? last : limit - 1) - from) / span;
		if (first < done)
			first = done;
		if (first <= last) {
			sum += last - first + 1;
			done = last + 1;
		}
	}
	return sum;
}

/* Returns the number of indirect, double and triple indirect blocks. */
static __u32 indirect_blks(struct lab *l, const struct node *n)
{
	__u64 per = l->block_bytes / sizeof(__u32);
	__u64 from = EXT2_NDIR_BLOCKS, limit, span;
	__u32 sum = 0;
	int level, below;

	for (level = 1; level <= 3; level++, from = limit) {
		for (limit = from, span = 1, below = 0; below < level; below++)
			span *= per;
		limit = from + span;
		for (; span > 1; span /= per)
			sum += count_spans(n, from, span, limit);
	}
	if (node_end_lblk(n) > from)
		lab_fail(l, "indirect blocks map %llu blocks at most",
			 (unsigned long long)from);
	return sum;
}

__u32 node_meta_needed(struct lab *l, const struct node *n, int *depth)
{
	*depth = 0;
	if (n->iflags & EXT4_EXTENTS_FL)
		return tree_blks(l, n, depth);
	return n->n_extents ? indirect_blks(l, n) : 0;
}

void node_settle(struct lab *l, struct node *n)
{
	int depth;
	__u32 needed = node_meta_needed(l, n, &depth);
	struct extra *x;

	if (!needed)
		return;
	x = node_extra(l, n);
	while (x->n_meta < needed) {
		x->meta_blks = grow(l, x->meta_blks, x->n_meta,
				    sizeof(*x->meta_blks));
		x->meta_blks[x->n_meta++] = take_run(l, 1);
	}
}

/* ---- inodes ---- */

static ext2_ino_t find_ino(struct lab *l, ext2_ino_t goal)
{
	ext2_ino_t last = l->fs->super->s_inodes_count, ino;

	if (goal <= last && !ext2fs_find_first_zero_inode_bitmap2(
				    l->fs->inode_map, goal, last, &ino))
		return ino;
	if (ext2fs_find_first_zero_inode_bitmap2(
		    l->fs->inode_map, EXT2_FIRST_INO(l->fs->super), last, &ino))
		lab_fail(l, "no inode is free");
	return ino;
}

struct node *node_new(struct lab *l, __u16 mode, ext2_ino_t goal)
{
	ext2_ino_t ino = find_ino(l, goal ? goal : l->goal_ino);
	struct node *n = &l->nodes[ino];

	ext2fs_inode_alloc_stats2(l->fs, ino, 1, LINUX_S_ISDIR(mode));
	l->goal_ino = ino + 1;
	n->mode = mode;
	n->has_contents = !l->no_contents;
	if (ext2fs_has_feature_extents(l->fs->super) &&
	    (LINUX_S_ISREG(mode) || LINUX_S_ISDIR(mode) ||
	     LINUX_S_ISLNK(mode)))
		n->iflags = EXT4_EXTENTS_FL;
	return n;
}

static void node_clear(struct node *n)
{
	struct xattr *a, *next;

	if (n->x) {
		for (a = n->x->xattrs; a; a = next) {
			next = a->next;
			free(a->name);
			free(a->value);
			free(a);
		}
		free(n->x->meta_blks);
		free(n->x->target);
		free(n->x->dir);
		free(n->x);
	}
	free(n->extents);
	memset(n, 0, sizeof(*n));
}

static void node_free(struct lab *l, struct node *n)
{
	__u32 i;

	node_each_run(l, n, release, NULL);
	for (i = 0; n->x && i < n->x->n_meta; i++)
		release(l, n->x->meta_blks[i], l->ratio_blks, NULL);
	ext2fs_inode_alloc_stats2(l->fs, node_ino(l, n), -1, node_is_dir(n));
	node_clear(n);
}

static bool drop_entry(struct lab *l, struct ext2_dir_entry *de, void *arg)
{
	drop_link(l, &l->nodes[de->inode]);
	return true;
}

void drop_link(struct lab *l, struct node *n)
{
	if (node_is_dir(n)) {
		dir_each(l, n, drop_entry, NULL);
		l->nodes[n->x->parent].links--;
		node_free(l, n);
	} else if (--n->links == 0) {
		node_free(l, n);
	}
}

/* ---- directories ---- */

static size_t entry_bytes(size_t name_len)
{
	return div_up(offsetof(struct ext2_dir_entry, name) + name_len,
		      EXT2_DIR_PAD) * EXT2_DIR_PAD;
}

static struct ext2_dir_entry *entry_at(const struct node *dir, size_t off)
{
	return (struct ext2_dir_entry *)(dir->x->dir + off);
}

static unsigned int rec_len(struct lab *l, struct ext2_dir_entry *de)
{
	unsigned int len;

	lab_check(l, ext2fs_get_rec_len(l->fs, de, &len), "reading an entry");
	return len;
}

/* Returns the file type for @mode in a directory entry. */
static int file_type(__u16 mode)
{
	static const __u8 types[16] = {
		[LINUX_S_IFREG >> 12] = EXT2_FT_REG_FILE,
		[LINUX_S_IFDIR >> 12] = EXT2_FT_DIR,
		[LINUX_S_IFLNK >> 12] = EXT2_FT_SYMLINK,
		[LINUX_S_IFCHR >> 12] = EXT2_FT_CHRDEV,
		[LINUX_S_IFBLK >> 12] = EXT2_FT_BLKDEV,
		[LINUX_S_IFIFO >> 12] = EXT2_FT_FIFO,
		[LINUX_S_IFSOCK >> 12] = EXT2_FT_SOCK,
	};

	return types[mode >> 12];
}

static void entry_set(struct lab *l, struct ext2_dir_entry *de, size_t len,
		      ext2_ino_t ino, const char *name, __u16 mode)
{
	memset(de, 0, entry_bytes(0));
	ext2fs_set_rec_len(l->fs, len, de);
	de->inode = ino;
	ext2fs_dirent_set_name_len(de, strlen(name));
	if (ino && ext2fs_has_feature_filetype(l->fs->super))
		ext2fs_dirent_set_file_type(de, file_type(mode));
	memcpy(de->name, name, strlen(name));
}

/* Returns the number of bytes for entries in each block of @dir. */
static size_t area_bytes(const struct lab *l, const struct node *dir)
{
	return dir->x->is_inline ? INLINE_DIR_BYTES : l->dir_area_bytes;
}

/* Adds a block with one unused entry to @dir. */
static void dir_grow(struct lab *l, struct node *dir)
{
	struct extra *x = dir->x;
	__u32 lblk = x->dir_bytes / l->block_bytes;

	if (x->is_inline && lblk)
		lab_fail(l, "the inline directory is full");
	x->dir = lab_realloc(l, x->dir, x->dir_bytes + l->block_bytes);
	memset(x->dir + x->dir_bytes, 0, l->block_bytes);
	x->last_off = x->dir_bytes;
	x->dir_bytes += l->block_bytes;
	dir->size_bytes = x->is_inline ? EXT4_MIN_INLINE_DATA_SIZE :
					 x->dir_bytes;
	entry_set(l, entry_at(dir, x->last_off), area_bytes(l, dir), 0, "", 0);
	if (x->is_inline)
		return;
	if (l->dir_area_bytes < l->block_bytes)
		ext2fs_initialize_dirent_tail(
			l->fs, EXT2_DIRENT_TAIL(x->dir + x->last_off,
						l->block_bytes));
	node_grow(l, dir, lblk, 1, GROW_MERGE);
	node_settle(l, dir);
}

/* Appends an entry, in a new block if necessary. */
static void dir_append(struct lab *l, struct node *dir, const char *name,
		       ext2_ino_t ino, __u16 mode)
{
	struct extra *x = dir->x;
	size_t need = entry_bytes(strlen(name)), used, room;
	struct ext2_dir_entry *last = entry_at(dir, x->last_off);

	used = last->inode ? entry_bytes(ext2fs_dirent_name_len(last)) : 0;
	room = rec_len(l, last);
	if (room - used < need) {
		dir_grow(l, dir);
		used = 0;
		room = area_bytes(l, dir);
	} else if (used) {
		ext2fs_set_rec_len(l->fs, used, last);
		x->last_off += used;
	}
	entry_set(l, entry_at(dir, x->last_off), room - used, ino, name, mode);
}

void node_encrypt(struct lab *l, struct node *n)
{
	if (LINUX_S_ISLNK(n->mode) || n->iflags & EXT4_INLINE_DATA_FL)
		lab_fail(l, "only files and directories are encrypted");
	if (EXT2_INODE_SIZE(l->fs->super) <= EXT2_GOOD_OLD_INODE_SIZE)
		lab_fail(l, "no room for an encryption context");
	if (LINUX_S_ISREG(n->mode) || node_is_dir(n))
		n->iflags |= EXT4_ENCRYPT_FL;
}

void dir_add(struct lab *l, struct node *dir, const char *name,
	     struct node *child)
{
	size_t len = strlen(name);

	if (len > EXT2_NAME_LEN)
		lab_fail(l, "the name is longer than %d", EXT2_NAME_LEN);
	if (dir->iflags & EXT4_ENCRYPT_FL) {
		if (len < ENCRYPTED_NAME_BYTES)
			lab_fail(l, "an encrypted name has %d bytes at least",
				 ENCRYPTED_NAME_BYTES);
		node_encrypt(l, child);
	}
	dir_append(l, dir, name, node_ino(l, child), child->mode);
	if (node_is_dir(child))
		dir->links++;
	else
		child->links++;
}

void dir_init(struct lab *l, struct node *dir, struct node *parent)
{
	struct extra *x = node_extra(l, dir);

	x->parent = node_ino(l, parent);
	dir->links = 2;
	dir_grow(l, dir);
	if (x->is_inline)
		return;
	dir_append(l, dir, ".", node_ino(l, dir), dir->mode);
	dir_append(l, dir, "..", x->parent, parent->mode);
}

static bool is_dots(const struct ext2_dir_entry *de)
{
	int len = ext2fs_dirent_name_len(de);

	return len <= 2 && !memcmp(de->name, "..", len);
}

ext2_ino_t dir_find(struct lab *l, const struct node *dir, const char *name,
		    size_t name_len)
{
	struct ext2_dir_entry *de;
	size_t blk, off;

	for (blk = 0; blk < dir->x->dir_bytes; blk += l->block_bytes) {
		for (off = 0; off < area_bytes(l, dir);
		     off += rec_len(l, de)) {
			de = entry_at(dir, blk + off);
			if (de->inode &&
			    ext2fs_dirent_name_len(de) == name_len &&
			    !memcmp(de->name, name, name_len))
				return de->inode;
		}
	}
	return 0;
}

/*
 * Converts a removed entry to the disk's byte order.  As in Linux, the bytes of
 * the entry stay in the block, but libext2fs swaps only the entries that are in
 * use.
 */
static void leave_on_disk(struct ext2_dir_entry *de)
{
	de->inode = ext2fs_cpu_to_le32(de->inode);
	de->rec_len = ext2fs_cpu_to_le16(de->rec_len);
	de->name_len = ext2fs_cpu_to_le16(de->name_len);
}

/*
 * Removes the entry at @off: adds its space to the previous entry or, for the
 * first entry of a block, marks the entry as unused.
 */
static void entry_remove(struct lab *l, struct node *dir, size_t off,
			 size_t *prev)
{
	struct ext2_dir_entry *de = entry_at(dir, off);
	struct ext2_dir_entry *before = entry_at(dir, *prev);

	if (*prev == off) {
		de->inode = 0;
		return;
	}
	ext2fs_set_rec_len(l->fs, rec_len(l, before) + rec_len(l, de), before);
	leave_on_disk(de);
	if (dir->x->last_off == off)
		dir->x->last_off = *prev;
}

void dir_each(struct lab *l, struct node *dir, entry_fn *fn, void *arg)
{
	struct ext2_dir_entry *de;
	size_t blk, off, prev, len;

	for (blk = 0; blk < dir->x->dir_bytes; blk += l->block_bytes) {
		prev = blk;
		for (off = 0; off < area_bytes(l, dir); off += len) {
			de = entry_at(dir, blk + off);
			len = rec_len(l, de);
			if (de->inode && !is_dots(de) && fn(l, de, arg))
				entry_remove(l, dir, blk + off, &prev);
			else
				prev = blk + off;
		}
	}
}

/* ---- the filesystem ---- */

static int release_blk(ext2_filsys fs, blk64_t *blk, e2_blkcnt_t count,
		       blk64_t ref_blk, int ref_offset, void *arg)
{
	ext2fs_block_alloc_stats2(fs, *blk, -1);
	return 0;
}

/*
 * Makes a node of the root directory that mke2fs has made.  The root directory
 * is empty except for lost+found.
 */
static void adopt_root(struct lab *l)
{
	struct node *root = &l->nodes[EXT2_ROOT_INO];
	struct ext2_inode inode;
	ext2_ino_t lost;

	lab_check(l, ext2fs_read_inode(l->fs, EXT2_ROOT_INO, &inode),
		  "reading the root");
	lab_check(l, ext2fs_lookup(l->fs, EXT2_ROOT_INO, "lost+found", 10,
				   NULL, &lost), "looking for lost+found");
	if (ext2fs_inode_has_valid_blocks2(l->fs, &inode))
		lab_check(l, ext2fs_block_iterate3(l->fs, EXT2_ROOT_INO,
						   BLOCK_FLAG_READ_ONLY, NULL,
						   release_blk, NULL),
			  "reading the root");
	root->mode = inode.i_mode;
	if (ext2fs_has_feature_extents(l->fs->super))
		root->iflags = EXT4_EXTENTS_FL;
	node_extra(l, root)->uid = inode_uid(inode);
	root->x->gid = inode_gid(inode);
	dir_init(l, root, root);
	dir_append(l, root, "lost+found", lost, LINUX_S_IFDIR);
	root->links++;
}

void image_open(struct lab *l)
{
	ext2_filsys fs;

	make_filesystem(l);
	lab_check(l, ext2fs_open(l->image_name, EXT2_FLAG_RW |
				 EXT2_FLAG_64BITS | EXT2_FLAG_SKIP_MMP, 0, 0,
				 unix_io_manager, &fs), "opening the image");
	l->fs = fs;
	fs->default_bitmap_type = EXT2FS_BMAP64_BITARRAY;
	lab_check(l, ext2fs_read_bitmaps(fs), "reading the bitmaps");
	l->block_bytes = fs->blocksize;
	l->ratio_blks = EXT2FS_CLUSTER_RATIO(fs);
	l->dir_area_bytes = fs->blocksize;
	if (ext2fs_has_feature_metadata_csum(fs->super))
		l->dir_area_bytes -= sizeof(struct ext2_dir_entry_tail);
	l->end_blk = ext2fs_blocks_count(fs->super) / l->ratio_blks *
		     l->ratio_blks;
	l->goal_blk = fs->super->s_first_data_block;
	l->goal_ino = EXT2_FIRST_INO(fs->super);
	l->nodes = lab_alloc(l, (fs->super->s_inodes_count + 1ULL) *
					sizeof(*l->nodes));
	adopt_root(l);
}

void image_close(struct lab *l)
{
	ext2_ino_t ino;

	for (ino = 1; ino <= l->fs->super->s_inodes_count; ino++)
		node_clear(&l->nodes[ino]);
	free(l->nodes);
	lab_check(l, ext2fs_close2(l->fs, EXT2_FLAG_FLUSH_NO_SYNC),
		  "closing the image");
	ext2fs_free(l->fs);
	l->fs = NULL;
}

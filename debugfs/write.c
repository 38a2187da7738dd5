/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * write: copies a file of the host to a new or preallocated file.  First, the
 * data are written to unreferenced blocks or to unwritten extents, in large
 * writes.  One transaction then makes the data part of the file.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "e4layout/base/array.h"
#include "e4layout/base/fd.h"
#include "e4layout/base/full_io.h"
#include "e4layout/base/plug_io.h"
#include "e4layout/base/stat.h"
#include "e4layout/tunables/tunables.h"
#include "support/say.h"
#include "change.h"
#include "zeroout.h"

#define CHUNK_BYTES (1u << 20)

#define DEFAULT_ZEROOUT_KB 32	/* default of extent_max_zeroout_kb */

struct writing {
	struct shell *s;
	const char *source;
	int fd;
	uint64_t size, blocks;
	/* estimated number of blocks that are not in holes */
	uint64_t data_blocks;
	mode_t mode;
	blk64_t goal;			/* goal for the first block */
	struct name_at at;
	/* for a preallocated file: the file, and its extents after the write */
	struct file f;
	struct e4l_extent *after;
	size_t n_after;
	struct e4l_block_run *zero;
	size_t n_zero;
	uint64_t done_bytes, zeroed_blocks;
	bool no_memory;
	/* set only while write_new() or write_over() runs */
	ext2_filsys fs;
	io_channel plug;
	char *buf;
};

/* --------------------------------------------------------------------- data */

/*
 * Makes a plug, a channel that combines small writes, for @device.  Closing the
 * plug does not close @device.
 */
static errcode_t plug_in(struct writing *w, ext2_filsys fs, io_channel device)
{
	errcode_t err;

	w->fs = fs;
	w->buf = malloc(CHUNK_BYTES);
	if (!w->buf)
		return ENOMEM;
	device->refcount++;
	err = e4l_plug_io_wrap(device, E4L_PLUG_LIMIT_BYTES, &w->plug);
	if (err)
		device->refcount--;
	return err;
}

static errcode_t plug_out(struct writing *w, errcode_t err)
{
	errcode_t err2 = w->plug ? io_channel_flush(w->plug) : 0;

	err = err ? err : err2;
	err2 = w->plug ? io_channel_close(w->plug) : 0;
	w->plug = NULL;
	free(w->buf);
	w->buf = NULL;
	return err ? err : err2;
}

/*
 * Copies @len blocks of the source, from block @lblk of the source on, to
 * @pblk.
 */
static errcode_t copy(struct writing *w, uint64_t lblk, blk64_t pblk,
		      uint64_t len)
{
	const uint32_t bs = w->fs->blocksize;
	uint64_t pos, n;
	size_t bytes;
	errcode_t err = 0;

	for (; len && !err; lblk += n, pblk += n, len -= n) {
		if (interrupt_heard(&w->s->interrupt))
			return E4L_ET_INTERRUPTED;
		n = len < CHUNK_BYTES / bs ? len : CHUNK_BYTES / bs;
		pos = lblk * bs;
		bytes = w->size - pos < n * bs ? w->size - pos : n * bs;
		err = e4l_read_full(w->fd, w->buf, bytes, pos,
				    E4L_ET_FILE_SHRANK);
		if (err)
			break;
		memset(w->buf + bytes, 0, n * bs - bytes);
		err = io_channel_write_blk64(w->plug, pblk, n, w->buf);
		w->done_bytes += bytes;
	}
	return err;
}

static errcode_t zero(struct writing *w, const struct e4l_block_run *run)
{
	const uint32_t bs = w->fs->blocksize;
	blk64_t done, n;
	errcode_t err = 0;

	memset(w->buf, 0, CHUNK_BYTES);
	for (done = 0; done < run->len && !err; done += n) {
		n = run->len - done;
		n = n < CHUNK_BYTES / bs ? n : CHUNK_BYTES / bs;
		err = io_channel_write_blk64(w->plug, run->pblk + done, n,
					     w->buf);
	}
	w->zeroed_blocks += run->len;
	return err;
}

/* ---------------------------------------------------------------- new files */

/* Allocates the blocks from @from to @to - 1, and copies the data to them. */
static errcode_t add_stretch(struct writing *w, ext2_ino_t ino, uint64_t from,
			     uint64_t to)
{
	ext2_extent_handle_t handle;
	struct ext2fs_extent x;
	errcode_t err;
	uint64_t at, n;

	err = ext2fs_fallocate(w->fs, EXT2_FALLOCATE_FORCE_INIT, ino, NULL,
			       w->goal, from, to - from);
	/*
	 * Only the first range has a goal; for later ranges, libext2fs
	 * continues after the existing extents.
	 */
	w->goal = ~0ULL;
	if (err)
		return err;
	err = ext2fs_extent_open(w->fs, ino, &handle);
	if (err)
		return err;
	for (at = from; at < to && !err; at += n) {
		n = 0;
		err = ext2fs_extent_goto(handle, at);
		if (!err)
			err = ext2fs_extent_get(handle, EXT2_EXTENT_CURRENT,
						&x);
		if (err)
			break;
		n = x.e_lblk + x.e_len - at;
		n = n < to - at ? n : to - at;
		err = copy(w, at, x.e_pblk + (at - x.e_lblk), n);
	}
	ext2fs_extent_free(handle);
	return err;
}

/* Copies the source, except clusters that are completely in holes. */
static errcode_t add_content(struct writing *w, ext2_ino_t ino)
{
	const uint64_t unit = (uint64_t)w->fs->blocksize *
			      EXT2FS_CLUSTER_RATIO(w->fs);
	off_t data, hole = 0;
	uint64_t from, to, ratio = EXT2FS_CLUSTER_RATIO(w->fs), at = 0;
	errcode_t err = 0;

	while (!err && (uint64_t)hole < w->size) {
		data = lseek(w->fd, hole, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			return 0;
		hole = data < 0 ? -1 : lseek(w->fd, data, SEEK_HOLE);
		if (hole < 0)
			return errno;
		from = data / unit * ratio;
		to = (hole / unit + !!(hole % unit)) * ratio;
		from = from < at ? at : from;
		to = to < w->blocks ? to : w->blocks;
		if (from < to)
			err = add_stretch(w, ino, from, to);
		at = to > at ? to : at;
	}
	return err;
}

static errcode_t add_inode(struct writing *w, ext2_ino_t ino)
{
	struct ext2_inode inode = {
		.i_mode = LINUX_S_IFREG | (w->mode & 0777),
		.i_links_count = 1,
	};
	ext2_extent_handle_t handle;
	errcode_t err;

	inode.i_atime = inode.i_ctime = inode.i_mtime = time(NULL);
	ext2fs_inode_alloc_stats2(w->fs, ino, 1, 0);
	err = ext2fs_inode_size_set(w->fs, &inode, w->size);
	if (err)
		return err;
	/* Creates an empty extent tree. */
	err = ext2fs_extent_open2(w->fs, ino, &inode, &handle);
	if (err)
		return err;
	ext2fs_extent_free(handle);
	return ext2fs_write_new_inode(w->fs, ino, &inode);
}

static errcode_t write_new(ext2_filsys fs, io_channel device, void *priv)
{
	struct writing *w = priv;
	ext2_ino_t ino;
	errcode_t err;

	err = plug_in(w, fs, device);
	if (!err)
		err = name_inode(w->s, &w->at, LINUX_S_IFREG, &ino);
	if (!err)
		err = add_inode(w, ino);
	if (!err)
		err = add_content(w, ino);
	if (!err)
		err = name_link(fs, &w->at, ino, EXT2_FT_REG_FILE);
	return plug_out(w, err);
}

/* ------------------------------------------------------- preallocated files */

/*
 * Checks that the first w->blocks blocks of the file are unwritten, so that the
 * new data are not visible before the commit.  Returns false after printing an
 * error.
 */
static bool check_range(const struct writing *w)
{
	struct e4l_es es = { 0 };
	uint64_t at;
	errcode_t err;

	for (at = 0; at < w->blocks; at = es.lblk + es.len) {
		err = file_block(w->s, w->at.ino, at, &es);
		if (err)
			return shell_fails_e4l(w->s, w->at.path, err);
		if (es.state == E4L_ES_UNWRITTEN)
			continue;
		say("%s: %s: block %llu %s", w->s->request, w->at.path,
		    (unsigned long long)at, es.state == E4L_ES_HOLE ?
		    "is a hole: run fallocate first" :
		    "has content, which e4debug does not overwrite");
		return false;
	}
	return true;
}

static void note_zero(blk64_t pblk, uint32_t lblk, uint32_t len, void *priv)
{
	struct writing *w = priv;

	if (e4l_grow(&w->zero, w->n_zero, sizeof(*w->zero)))
		w->no_memory = true;
	else
		w->zero[w->n_zero++] = (struct e4l_block_run) { pblk, len };
}

/* Computes the file's extents after the write, and the blocks to zero. */
static errcode_t plan_map(struct writing *w)
{
	const uint32_t bs = w->s->target.fs->blocksize;
	struct e4l_zeroout_file *z;
	uint32_t kb = DEFAULT_ZEROOUT_KB;
	errcode_t err;

	err = e4l_tunables_get(w->s->e, "extent_max_zeroout_kb", &kb);
	if (!err)
		err = e4l_zeroout_file_new(w->f.extents, w->f.n_extents, bs,
					   file_blocks(w->s, &w->f), &z);
	if (err)
		return err;
	err = e4l_zeroout_file_write(z, 0, w->blocks, kb * 1024ULL / bs,
				     note_zero, w);
	if (!err) {
		w->n_after = e4l_zeroout_file_extents(z, NULL);
		w->after = calloc(w->n_after, sizeof(*w->after));
		err = w->after && !w->no_memory ? 0 : ENOMEM;
	}
	if (!err)
		e4l_zeroout_file_extents(z, w->after);
	e4l_zeroout_file_free(z);
	return err;
}

/* Frees the blocks of the extent tree, because libext2fs builds a new tree. */
static errcode_t drop_tree(struct writing *w, struct ext2_inode *inode)
{
	const struct e4l_tree_block *b = w->f.tree;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < w->f.n_tree && !err; i++) {
		ext2fs_block_alloc_stats2(w->fs, b[i].pblk, -1);
		err = ext2fs_iblk_sub_blocks(w->fs, inode, 1);
	}
	memset(inode->i_block, 0, sizeof(inode->i_block));
	return err;
}

static errcode_t put_tree(struct writing *w, struct ext2_inode *inode)
{
	ext2_extent_handle_t handle;
	errcode_t err;
	size_t i;

	err = ext2fs_extent_open2(w->fs, w->at.ino, inode, &handle);
	if (err)
		return err;
	for (i = 0; i < w->n_after && !err; i++) {
		const struct e4l_extent *x = &w->after[i];
		struct ext2fs_extent add = {
			.e_pblk = x->pblk, .e_lblk = x->lblk, .e_len = x->len,
			.e_flags = x->unwritten ? EXT2_EXTENT_FLAGS_UNINIT : 0,
		};

		err = ext2fs_extent_insert(handle, i ? EXT2_EXTENT_INSERT_AFTER
						     : 0, &add);
	}
	ext2fs_extent_free(handle);
	return err;
}

static errcode_t put_map(struct writing *w)
{
	ext2_ino_t ino = w->at.ino;
	struct ext2_inode inode;
	errcode_t err = ext2fs_read_inode(w->fs, ino, &inode);

	if (!err)
		err = drop_tree(w, &inode);
	if (!err)
		err = ext2fs_write_inode(w->fs, ino, &inode);
	if (!err)
		err = put_tree(w, &inode);
	if (!err)
		err = ext2fs_read_inode(w->fs, ino, &inode);
	if (!err && w->size > EXT2_I_SIZE(&inode))
		err = ext2fs_inode_size_set(w->fs, &inode, w->size);
	if (err)
		return err;
	inode.i_ctime = inode.i_mtime = time(NULL);
	return ext2fs_write_inode(w->fs, ino, &inode);
}

static errcode_t write_over(ext2_filsys fs, io_channel device, void *priv)
{
	struct writing *w = priv;
	const struct e4l_extent *x = w->f.extents;
	errcode_t err = plug_in(w, fs, device);
	uint64_t len;
	size_t i;

	for (i = 0; i < w->n_zero && !err; i++)
		err = zero(w, &w->zero[i]);
	for (i = 0; !err && i < w->f.n_extents && x[i].lblk < w->blocks; i++) {
		len = w->blocks - x[i].lblk;
		err = copy(w, x[i].lblk, x[i].pblk,
			   len < x[i].len ? len : x[i].len);
	}
	if (!err)
		err = put_map(w);
	return plug_out(w, err);
}

/* ------------------------------------------------------------------ request */

static bool open_source(struct writing *w)
{
	const uint64_t bs = w->s->target.fs->blocksize;
	struct stat st;

	w->fd = open(w->source, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (w->fd < 0 || e4l_fstat(w->fd, &st))
		return shell_fails(w->s, w->source, errno);
	if (!S_ISREG(st.st_mode)) {
		say("%s: %s: not a regular file", w->s->request, w->source);
		return false;
	}
	w->size = st.st_size;
	w->mode = st.st_mode;
	w->blocks = w->size / bs + !!(w->size % bs);
	w->data_blocks = st.st_blocks * 512ULL / bs + 1;
	if (w->data_blocks > w->blocks)
		w->data_blocks = w->blocks;
	return w->blocks < FILE_MAX_BLOCKS ? true :
	       shell_fails(w->s, w->source, EFBIG);
}

static bool change_new(struct writing *w)
{
	errcode_t err;

	if (!ext2fs_has_feature_extents(w->s->target.fs->super)) {
		say("%s: %s: the filesystem lacks the feature extent: copy the "
		    "file to the mounted filesystem", w->s->request,
		    w->s->name);
		return false;
	}
	err = find_goal(w->s, w->at.dir, w->data_blocks, &w->goal);
	if (err)
		return shell_fails_e4l(w->s, w->at.path, err);
	return shell_change(w->s, w->at.path, "writing the file", write_new,
			    w);
}

static bool change_old(struct writing *w)
{
	errcode_t err;

	if (!file_load(w->s, w->at.ino, &w->f) ||
	    !file_may_change(w->s, w->at.path, &w->f) || !check_range(w))
		return false;
	if (!w->blocks)
		return true;
	err = plan_map(w);
	return err ? shell_fails_e4l(w->s, w->at.path, err) :
		     shell_change(w->s, w->at.path, "writing the file",
				  write_over, w);
}

bool do_write(struct shell *s, int argc, const char *const *argv)
{
	struct writing w = { .s = s, .source = argv[1], .fd = -1 };
	bool ok;

	ok = open_source(&w) && name_find(s, argv[2], &w.at) &&
	     (w.at.ino ? change_old(&w) : change_new(&w)) &&
	     shell_report(s, json_pack("{s:I, s:I}", "written_bytes",
				     (json_int_t)w.done_bytes, "zeroed_blocks",
				     (json_int_t)w.zeroed_blocks));
	file_free(&w.f);
	free(w.after);
	free(w.zero);
	e4l_close_fd(w.fd);
	return ok;
}

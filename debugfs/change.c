/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that change file names and block maps, each in one transaction. */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "e4layout/inodes/place.h"
#include "e4layout/journal/change.h"
#include "e4layout/tunables/tunables.h"
#include "support/say.h"
#include "support/undo_guard.h"
#include "support/units.h"
#include "change.h"

static bool nothing(struct shell *s, void *priv)
{
	return true;
}

bool shell_changed(struct shell *s, bool ok)
{
	e4l_es_forget_all(s->cache);
	if (!s->undo.file)
		return shell_around(s, nothing, NULL) && ok;
	/*
	 * If an undo file is in use, keep the filesystem open after a
	 * successful change: the undo file covers only one opening of the
	 * filesystem.
	 */
	if (ok)
		return true;
	if (undo_guard_changed())
		say("%s: %s was closed after the error: to undo all changes, "
		    "run e2undo %s %s", s->request, s->name,
		    undo_guard_word(), s->target.e2fs_words);
	else
		say("%s: %s was closed after the error; nothing was changed",
		    s->request, s->name);
	shell_close(s);
	return false;
}

bool shell_change(struct shell *s, const char *what, const char *doing,
		  errcode_t (*fn)(ext2_filsys fs, io_channel device,
				  void *priv),
		  void *priv)
{
	errcode_t err = e4l_change(s->e, NULL, doing, fn, priv);

	if (err)
		shell_fails_e4l(s, what, err);
	return shell_changed(s, !err);
}

struct fitting {
	uint64_t blocks;
	blk64_t from;
	/*
	 * @behind is the first free extent of at least @blocks blocks that
	 * begins at or after block @from.  @any is the first such free extent
	 * in the filesystem, and @longest is the largest free extent.  If the
	 * length of a member is 0, there is no such extent.
	 */
	struct e4l_block_run behind, any, longest;
};

static errcode_t try_run(const struct e4l_block_run *run, void *priv)
{
	struct fitting *f = priv;

	if (run->len > f->longest.len)
		f->longest = *run;
	if (run->len >= f->blocks && !f->any.len)
		f->any = *run;
	if (run->len >= f->blocks && run->pblk >= f->from && !f->behind.len)
		f->behind = *run;
	return 0;
}

errcode_t find_goal(struct shell *s, ext2_ino_t ino, uint64_t blocks,
		    blk64_t *goal)
{
	ext2_filsys fs = s->target.fs;
	struct fitting f = {
		.blocks = blocks,
		.from = ext2fs_group_first_block2(fs,
					ext2fs_group_of_ino(fs, ino)),
	};
	errcode_t err = e4l_free_space(s->e, try_run, NULL, &f);

	*goal = f.behind.len ? f.behind.pblk :
		f.any.len ? f.any.pblk : f.longest.pblk;
	return err;
}

/* -------------------------------------------------------------------- names */

static bool refuse(const struct shell *s, const char *path, const char *why)
{
	say("%s: %s: %s", s->request, path, why);
	return false;
}

static bool refuse_damaged(const struct shell *s, const char *path)
{
	say("%s: %s: the file is damaged: run e2fsck -f %s", s->request, path,
	    s->target.e2fs_words);
	return false;
}

/*
 * If @dir is not a directory, or if only the kernel can add names to @dir
 * correctly, prints the reason and returns false.
 */
static bool check_parent(const struct shell *s, const char *path,
			 const struct ext2_inode *dir)
{
	if (!LINUX_S_ISDIR(dir->i_mode))
		return refuse(s, path,
			      "a component of the path is not a directory");
	if (dir->i_flags & (EXT4_ENCRYPT_FL | EXT4_CASEFOLD_FL))
		return refuse(s, path, "the directory is encrypted or "
				       "case-insensitive: make the change on "
				       "the mounted filesystem");
	if (dir->i_flags & EXT4_PROJINHERIT_FL)
		return refuse(s, path, "the directory has the project "
				       "inheritance flag: make the change on "
				       "the mounted filesystem");
	return true;
}

bool name_find(struct shell *s, const char *path, struct name_at *p)
{
	ext2_filsys fs = s->target.fs;
	const char *slash = strrchr(path, '/');
	struct ext2_inode dir;
	errcode_t err;
	char *parent;

	p->path = path;
	p->name = slash ? slash + 1 : path;
	parent = strndup(path, p->name - path);
	if (!parent)
		return shell_fails(s, path, ENOMEM);
	err = ext2fs_namei(fs, EXT2_ROOT_INO, EXT2_ROOT_INO,
			   slash ? parent : "/", &p->dir);
	free(parent);
	if (!err)
		err = ext2fs_read_inode(fs, p->dir, &dir);
	if (err)
		return shell_fails(s, path, err);
	if (!*p->name || !strcmp(p->name, ".") || !strcmp(p->name, ".."))
		return refuse(s, path, "the path must end in a file name");
	if (strlen(p->name) > EXT2_NAME_LEN)
		return shell_fails(s, path, E4L_ET_NAME_TOO_LONG);
	if (!check_parent(s, path, &dir))
		return false;
	p->full = dir.i_links_count >= EXT2_LINK_MAX;
	err = ext2fs_lookup(fs, p->dir, p->name, strlen(p->name), NULL,
			    &p->ino);
	if (err == EXT2_ET_FILE_NOT_FOUND)
		p->ino = err = 0;
	return err ? shell_fails(s, path, err) : true;
}

/*
 * Finds the directory for a new name.  If the name exists, prints an error and
 * returns false.
 */
static bool name_find_new(struct shell *s, const char *path, struct name_at *p)
{
	if (!name_find(s, path, p))
		return false;
	return p->ino ? shell_fails(s, path, EEXIST) : true;
}

errcode_t name_link(ext2_filsys fs, const struct name_at *p, ext2_ino_t ino,
		     int type)
{
	errcode_t err = ext2fs_link(fs, p->dir, p->name, ino, type);

	if (err != EXT2_ET_DIR_NO_SPACE)
		return err;
	err = ext2fs_expand_dir(fs, p->dir);
	return err ? err : ext2fs_link(fs, p->dir, p->name, ino, type);
}

errcode_t name_inode(struct shell *s, const struct name_at *p, int mode,
		      ext2_ino_t *ino)
{
	uint32_t window = 0;
	struct e4l_place *place;
	errcode_t err;

	err = e4l_tunables_get(s->e, "dir_ireserve", &window);
	if (!err)
		err = e4l_place_new(s->e, window, 0, &place);
	if (err)
		return err;
	err = e4l_new_inode(place, p->dir, mode, p->name, ino);
	e4l_place_free(place);
	return err;
}

struct naming {
	struct shell *s;
	struct name_at at;
	ext2_ino_t ino;
	int type;
};

static errcode_t make_dir(ext2_filsys fs, io_channel device, void *priv)
{
	struct naming *n = priv;
	const struct name_at *p = &n->at;
	errcode_t err = name_inode(n->s, p, LINUX_S_IFDIR | 0755, &n->ino);

	if (err)
		return err;
	err = ext2fs_mkdir(fs, p->dir, n->ino, p->name);
	if (err != EXT2_ET_DIR_NO_SPACE)
		return err;
	err = ext2fs_expand_dir(fs, p->dir);
	return err ? err : ext2fs_mkdir(fs, p->dir, n->ino, p->name);
}

bool do_mkdir(struct shell *s, int argc, const char *const *argv)
{
	struct naming n = { .s = s };

	if (!name_find_new(s, argv[1], &n.at))
		return false;
	if (n.at.full)
		return refuse(s, argv[1],
			"the directory has the maximum number of "
			"subdirectories");
	return shell_change(s, argv[1], "creating the directory", make_dir, &n);
}

static errcode_t make_link(ext2_filsys fs, io_channel device, void *priv)
{
	const struct naming *n = priv;
	struct ext2_inode inode;
	errcode_t err = name_link(fs, &n->at, n->ino, n->type);

	if (!err)
		err = ext2fs_read_inode(fs, n->ino, &inode);
	if (err)
		return err;
	inode.i_links_count++;
	inode.i_ctime = time(NULL);
	return ext2fs_write_inode(fs, n->ino, &inode);
}

static int type_of(unsigned int mode)
{
	static const struct {
		unsigned int mode;
		int type;
	} types[] = {
		{ LINUX_S_IFREG, EXT2_FT_REG_FILE },
		{ LINUX_S_IFLNK, EXT2_FT_SYMLINK },
		{ LINUX_S_IFCHR, EXT2_FT_CHRDEV },
		{ LINUX_S_IFBLK, EXT2_FT_BLKDEV },
		{ LINUX_S_IFIFO, EXT2_FT_FIFO },
		{ LINUX_S_IFSOCK, EXT2_FT_SOCK },
	};
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(*types); i++)
		if ((mode & LINUX_S_IFMT) == types[i].mode)
			return types[i].type;
	return EXT2_FT_UNKNOWN;
}

bool do_link(struct shell *s, int argc, const char *const *argv)
{
	struct naming n = { .s = s };
	struct ext2_inode inode;
	errcode_t err;

	if (!file_find(s, argv[1], &n.ino) ||
	    !name_find_new(s, argv[2], &n.at))
		return false;
	err = ext2fs_read_inode(s->target.fs, n.ino, &inode);
	if (err)
		return shell_fails(s, argv[1], err);
	if (LINUX_S_ISDIR(inode.i_mode) || !inode.i_links_count ||
	    n.ino < EXT2_FIRST_INODE(s->target.fs->super))
		return refuse(s, argv[1],
			"a reserved inode or a directory cannot have another "
			"hard link");
	if (inode.i_links_count >= EXT2_LINK_MAX)
		return shell_fails(s, argv[1], EMLINK);
	n.type = type_of(inode.i_mode);
	return shell_change(s, argv[2], "creating the link", make_link, &n);
}

/* ------------------------------------------------------------------- ranges */

bool file_may_change(const struct shell *s, const char *path,
		     const struct file *f)
{
	uint32_t flags = f->inode.i_flags;

	if (!LINUX_S_ISREG(f->inode.i_mode) ||
	    f->ino < EXT2_FIRST_INODE(s->target.fs->super))
		return refuse(s, path, "not a regular file");
	if (f->damaged)
		return refuse_damaged(s, path);
	if (flags & EXT4_ENCRYPT_FL)
		return refuse(s, path, "the file is encrypted: make the "
				       "change on the mounted filesystem");
	if (flags & EXT4_VERITY_FL)
		return refuse(s, path, "the file uses fs-verity and cannot be "
				       "changed");
	if (flags & (EXT2_IMMUTABLE_FL | EXT2_APPEND_FL))
		return refuse(s, path, "the file is immutable or append-only");
	if (!(flags & EXT4_EXTENTS_FL))
		return refuse(s, path, "the file has no extent tree: make the "
				       "change on the mounted filesystem");
	return true;
}

struct range {
	ext2_ino_t ino;
	/* blocks of the file: @start to @end - 1 */
	uint64_t start, end;
	uint64_t size;			/* resulting size of the file */
	blk64_t goal;
};

/*
 * Parses a size, or a percentage of the file's size.  A percentage below 100 %
 * is rounded down to whole blocks.  Returns false after printing an error.
 */
static bool parse_bytes(const struct shell *s, const char *text, uint64_t size,
			uint64_t *bytes)
{
	uint64_t bs = s->target.fs->blocksize;
	struct units_share share;

	if (!units_parse_share(text, &share))
		return refuse(s, text, "invalid value (expected a size such as "
				       "1.5M, or a percentage such as 10%)");
	*bytes = units_share_of(&share, size);
	if (share.parts && share.parts < UNITS_WHOLE)
		*bytes -= *bytes % bs;
	return true;
}

/*
 * Parses the arguments OFFSET and LENGTH for a file of @size bytes.  Sets *@end
 * to the byte offset of the end of the range.  Returns false after printing an
 * error.
 */
static bool parse_range(const struct shell *s, const char *const *argv,
			uint64_t size, uint64_t *offset, uint64_t *end)
{
	uint64_t bs = s->target.fs->blocksize, max = FILE_MAX_BLOCKS - 1, len;

	if (!parse_bytes(s, argv[2], size, offset) ||
	    !parse_bytes(s, argv[3], size, &len))
		return false;
	if (!len)
		return refuse(s, argv[3], "smaller than a block");
	if (*offset > max * bs || len > max * bs - *offset)
		return refuse(s, argv[1], "larger than the maximum file size");
	*end = *offset + len;
	return true;
}

static errcode_t finish_range(ext2_filsys fs, const struct range *r)
{
	struct ext2_inode inode;
	errcode_t err = ext2fs_read_inode(fs, r->ino, &inode);

	if (!err)
		err = ext2fs_inode_size_set(fs, &inode, r->size);
	if (err)
		return err;
	inode.i_ctime = inode.i_mtime = time(NULL);
	return ext2fs_write_inode(fs, r->ino, &inode);
}

static errcode_t preallocate(ext2_filsys fs, io_channel device, void *priv)
{
	const struct range *r = priv;
	errcode_t err;

	err = ext2fs_fallocate(fs, EXT2_FALLOCATE_FORCE_UNINIT, r->ino, NULL,
			       r->goal, r->start, r->end - r->start);
	return err ? err : finish_range(fs, r);
}

static bool fallocate_range(struct shell *s, const char *const *argv,
			    const struct file *f)
{
	uint64_t bs = s->target.fs->blocksize, offset, end;
	uint64_t size = EXT2_I_SIZE(&f->inode);
	struct range r = { .ino = f->ino, .goal = ~0ULL };
	errcode_t err = 0;

	if (!file_may_change(s, argv[1], f) ||
	    !parse_range(s, argv, size, &offset, &end))
		return false;
	r.start = offset / bs;
	r.end = end / bs + !!(end % bs);
	r.size = end > size ? end : size;
	/*
	 * Only a file without extents needs a goal: libext2fs continues after
	 * existing extents.
	 */
	if (!f->n_extents)
		err = find_goal(s, f->ino, r.end - r.start, &r.goal);
	if (err)
		return shell_fails_e4l(s, argv[1], err);
	return shell_change(s, argv[1], "preallocating", preallocate, &r);
}

bool do_fallocate(struct shell *s, int argc, const char *const *argv)
{
	struct file f;
	bool ok;

	ok = file_open(s, argv[1], &f) && fallocate_range(s, argv, &f);
	file_free(&f);
	return ok;
}

static errcode_t punch_range(ext2_filsys fs, io_channel device, void *priv)
{
	const struct range *r = priv;
	errcode_t err;

	err = ext2fs_punch(fs, r->ino, NULL, NULL, r->start, r->end - 1);
	return err ? err : finish_range(fs, r);
}

static bool punch_file(struct shell *s, const char *const *argv,
		       const struct file *f)
{
	uint64_t bs = s->target.fs->blocksize, offset, end;
	uint64_t size = EXT2_I_SIZE(&f->inode);
	struct range r = { .ino = f->ino, .size = size };

	if (!file_may_change(s, argv[1], f) ||
	    !parse_range(s, argv, size, &offset, &end))
		return false;
	if (offset % bs || (end % bs && end < size))
		return refuse(s, argv[1], "the range must begin at a block "
			      "boundary, and must end at a block boundary or "
			      "at the end of the file");
	r.start = offset / bs;
	r.end = end / bs + !!(end % bs);
	return shell_change(s, argv[1], "freeing blocks", punch_range, &r);
}

bool do_punch(struct shell *s, int argc, const char *const *argv)
{
	struct file f;
	bool ok;

	ok = file_open(s, argv[1], &f) && punch_file(s, argv, &f);
	file_free(&f);
	return ok;
}

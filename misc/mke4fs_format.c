/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running mke2fs, finding a size, planning. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "e4layout/base/stat.h"
#include "mke4fs.h"
#include "support/say.h"
#include "support/text.h"
#include "support/units.h"

#define BLOCKSIZE	4096u	/* of an image whose size is found here */
#define ROUNDS		64	/* of the search for the smallest size */
#define REFUSALS	16	/* by mke2fs: the size is not the reason */
#define DOUBLINGS	13	/* of 8 MiB, to hold the largest journal */
/* With fewer, mke2fs makes a journal only if it is asked for one. */
#define JOURNAL_BLOCKS	2048u	/* as in ext2fs_default_journal_size() */

extern char **environ;

/* ------------------------------------------------------------------- mke2fs */

/* What becomes of what mke2fs says. */
enum voice {
	VOICE_ALL,	/* a question may be among it */
	VOICE_STDERR,	/* all of it goes there */
	VOICE_QUESTION,	/* and errors, if it fails */
	VOICE_ERRORS,
	VOICE_FAILURE,	/* errors, if it fails */
	VOICE_NONE,
};

/* Whether @path can be run, and is not this very program by mke2fs' name. */
static bool is_mke2fs(const char *path, const struct stat *own)
{
	struct stat st;

	return !access(path, X_OK) && !e4l_stat(path, &st) && S_ISREG(st.st_mode) &&
	       (st.st_dev != own->st_dev || st.st_ino != own->st_ino);
}

/*
 * Finds mke2fs in @path, of PATH_MAX bytes.  Where mke4fs has been put in its
 * place, it is what dpkg-divert(1) calls it.
 */
static bool find_mke2fs(char *path)
{
	static const char *const names[] = { "mke2fs", "mke2fs.distrib" };
	const char *dirs = getenv("PATH"), *dir;
	struct stat own = { 0 };
	char *all;
	size_t i, len;
	bool found = false;

	e4l_stat("/proc/self/exe", &own);
	if (asprintf(&all, "%s:/sbin:/usr/sbin", dirs ? dirs : "") < 0)
		return false;
	for (i = 0; i < 2 && !found; i++) {
		for (dir = all; *dir && !found; dir += len + (dir[len] == ':')) {
			len = strcspn(dir, ":");
			if (!len || snprintf(path, PATH_MAX, "%.*s/%s",
					     (int)len, dir, names[i]) >=
				    PATH_MAX)
				continue;
			found = is_mke2fs(path, &own);
		}
	}
	free(all);
	return found;
}

/*
 * Its stderr goes to @err_fd, unless that is -1; and so its stdout to @out_fd where
 * that is not for the user.
 */
static int spawn_mke2fs(char **argv, enum voice voice, int err_fd, int out_fd,
			pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	char path[PATH_MAX];
	int err;

	if (!find_mke2fs(path))
		return ENOENT;
	/* Signals that wait for us are not to wait for it. */
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	if (voice == VOICE_STDERR)
		posix_spawn_file_actions_adddup2(&actions, 2, 1);
	if (voice >= VOICE_ERRORS && out_fd >= 0)
		posix_spawn_file_actions_adddup2(&actions, out_fd, 1);
	else if (voice >= VOICE_ERRORS)
		posix_spawn_file_actions_addopen(&actions, 1, "/dev/null",
						 O_WRONLY, 0);
	if (err_fd >= 0)
		posix_spawn_file_actions_adddup2(&actions, err_fd, 2);
	if (voice == VOICE_NONE)
		posix_spawn_file_actions_addopen(&actions, 2, "/dev/null",
						 O_WRONLY, 0);
	err = posix_spawn(pid, path, &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return err;
}

struct arguments {
	char *extended;
	char inodes[32], size[32], journal[32], resize[40];
};

/*
 * The arguments for mke2fs on @path, whose last texts are in @buf.
 * @inodes: how many are wanted, 0: as it likes.  @bytes: the size, 0: as the
 * user said.  To be freed.
 */
static char **make_argv(const struct config *c, const char *path,
			uint64_t bytes, uint64_t inodes, struct arguments *buf)
{
	char **argv = calloc(c->n_pass * 2 + 12, sizeof(*argv));
	bool carry = c->carried && !fills(c);
	int n = 0, i;

	if (!argv)
		return NULL;
	argv[n++] = (char *)c->called;
	if ((bytes || c->growth.blocks) && !c->has_blocksize)
		argv[n++] = "-b4096";
	if (!c->common.verbose)
		argv[n++] = "-q";
	snprintf(buf->journal, sizeof(buf->journal), "-Jsize=%u",
		 c->growth.journal_mib);
	if (c->growth.journal_mib)	/* before -J, which then counts */
		argv[n++] = buf->journal;
	for (i = 0; i < c->n_pass; i++) {
		if (c->pass[i].device_only && path != c->device)
			continue;
		argv[n++] = c->pass[i].option;
		if (c->pass[i].value)
			argv[n++] = c->pass[i].value;
	}
	if (c->features) {
		argv[n++] = "-O";
		argv[n++] = c->features;
	}
	snprintf(buf->resize, sizeof(buf->resize), "%sresize=%llu",
		 c->extended || carry ? "," : "",
		 (unsigned long long)c->growth.blocks);
	if (!c->growth.resize_inode || c->has_resize ||
	    (bytes && bytes >= c->grow_bytes))
		buf->resize[0] = '\0';
	if (c->extended || carry || *buf->resize) {
		/* resize= last: what it depends on is to be said before */
		if (asprintf(&buf->extended, "-E%s%s%s%s",
			     c->extended ? c->extended : "",
			     c->extended && carry ? "," : "",
			     carry ? c->carried : "", buf->resize) < 0) {
			free(argv);
			return NULL;
		}
		argv[n++] = buf->extended;
	}
	if (!inodes && !c->has_inodes)
		inodes = c->growth.inodes;
	snprintf(buf->inodes, sizeof(buf->inodes), "-N%llu",
		 (unsigned long long)inodes);
	if (!inodes)
		buf->inodes[0] = '\0';
	if (*buf->inodes)
		argv[n++] = buf->inodes;
	argv[n++] = (char *)path;
	snprintf(buf->size, sizeof(buf->size), "%lluk",
		 (unsigned long long)bytes >> 10);
	if (bytes)
		argv[n++] = buf->size;
	else if (c->size)
		argv[n++] = (char *)c->size;
	return argv;
}

/*
 * Copies what is said of @path, which may be a prototype, as said of @name.  It
 * closes @fd, from which it comes; -1: nothing is said.
 */
static void pass_said(int fd, const char *path, const char *name, FILE *to)
{
	FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;
	char *line = NULL, *at;
	size_t room = 0;

	if (!in) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while (getline(&line, &room, in) >= 0) {
		at = strstr(line, path);
		if (at)
			fprintf(to, "%.*s%s%s", (int)(at - line), line, name,
				at + strlen(path));
		else
			fputs(line, to);
	}
	free(line);
	fclose(in);
}

static bool has_failed(int status)
{
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

/* Whether what is said waits for what comes of it. */
static bool waits(enum voice voice)
{
	return voice == VOICE_QUESTION || voice == VOICE_FAILURE;
}

/*
 * Hears @pid, by @fd if that is not -1, to its end.  As waitpid(2).  Who is not
 * heard, for want of memory, is not waited for while it speaks, either.
 */
static int hear(int fd, pid_t pid, enum voice voice, const char *path,
		const char *name)
{
	char *text = NULL;
	size_t len = 0;
	FILE *kept = waits(voice) ? text_open(&text, &len) : NULL;
	int status;

	pass_said(fd, path, name, kept ? kept : stderr);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (kept)
		fclose(kept);
	if (text && has_failed(status))
		fputs(text, stderr);
	free(text);
	return status;
}

/* Spawns mke2fs, and hears it to its end.  As waitpid(2); -1: said already. */
static int hear_mke2fs(const struct config *c, char **argv, enum voice voice,
		       const char *path)
{
	/* why it fails it says on stdout at times */
	int out = voice == VOICE_ERRORS || voice == VOICE_FAILURE ?
		  memfd_create("mke2fs", MFD_CLOEXEC) : -1;
	int fd[2] = { -1, -1 }, err = 0, status;
	pid_t pid;

	if ((path != c->device || waits(voice)) && pipe2(fd, O_CLOEXEC))
		err = errno;
	if (!err)
		err = spawn_mke2fs(argv, voice, fd[1], out, &pid);
	if (fd[1] >= 0)
		close(fd[1]);
	if (err) {
		say_error("mke2fs", "cannot run", err);
		status = -1;
		if (fd[0] >= 0)
			close(fd[0]);
	} else {
		status = hear(fd[0], pid, voice, path, c->device);
	}
	if (out >= 0 && status >= 0 && has_failed(status)) {
		lseek(out, 0, SEEK_SET);
		pass_said(out, path, c->device, stderr);
	} else if (out >= 0) {
		close(out);
	}
	return status;
}

/* Even with -q, mke2fs ends a line that it never began. */
static enum voice voice_of(const struct config *c, const char *path,
			   bool silent)
{
	bool quiet = c->common.quiet && !c->common.verbose;

	if (silent)
		return VOICE_NONE;
	if (path != c->device && !c->common.verbose)
		return quiet ? VOICE_FAILURE : VOICE_ERRORS;
	/* what it asks, it asks where its stdout is a terminal */
	if (c->common.json && (!isatty(1) || isatty(2)))
		return VOICE_STDERR;
	return quiet ? VOICE_QUESTION : VOICE_ALL;
}

/*
 * Runs mke2fs with make_argv()'s arguments.  @silent: its failure is no news;
 * *@failed: it was one of mke2fs, and not that it could not be run.
 */
static bool run_mke2fs(const struct config *c, const char *path, uint64_t bytes,
		       uint64_t inodes, bool silent, bool *failed)
{
	struct arguments buf = { 0 };
	char **argv = make_argv(c, path, bytes, inodes, &buf);
	int status;

	*failed = false;
	if (!argv) {
		say("out of memory");
		return false;
	}
	status = hear_mke2fs(c, argv, voice_of(c, path, silent), path);
	free(buf.extended);
	free(argv);
	if (status < 0)
		return false;
	*failed = has_failed(status);
	if (!*failed)
		return true;
	if (!silent && say_is_full(path))
		say_write_error(c->device, path, "mke2fs failed", ENOSPC);
	else if (!silent)
		say("%s: mke2fs failed", c->device);
	return false;
}

/* ------------------------------------------------------------------- images */

void drop_image(struct image *im)
{
	e4l_populate_free(im->plan);
	e4l_free(im->e);
	if (im->fs)
		ext2fs_free(im->fs);
	if (im->proto_fd >= 0)
		close(im->proto_fd);
	im->plan = NULL;
	im->e = NULL;
	im->fs = NULL;
	im->proto_fd = -1;
}

/*
 * Writes the block by which hosts know whether somebody else has the device,
 * if there is one.  An image that is to be the same anywhere names no host.
 */
static errcode_t write_mmp(const struct config *c, ext2_filsys fs, uint32_t seq)
{
	uint16_t interval = fs->super->s_mmp_update_interval;
	struct mmp_struct mmp = {
		.mmp_magic = ext2fs_cpu_to_le32(EXT4_MMP_MAGIC),
		.mmp_seq = ext2fs_cpu_to_le32(seq),
		.mmp_time = ext2fs_cpu_to_le64(c->now),
	};
	errcode_t err;

	if (!ext2fs_has_feature_mmp(fs->super))
		return 0;
	if (interval < EXT4_MMP_MIN_CHECK_INTERVAL)
		interval = EXT4_MMP_MIN_CHECK_INTERVAL;
	mmp.mmp_check_interval = ext2fs_cpu_to_le16(interval);
	if (!c->clamp_times) {
		gethostname((char *)mmp.mmp_nodename, sizeof(mmp.mmp_nodename));
		strncpy((char *)mmp.mmp_bdevname, c->device,
			sizeof(mmp.mmp_bdevname) - 1);
	}
	err = ext2fs_mmp_csum_set(fs, &mmp);
	if (!err)
		err = io_channel_write_blk64(fs->io, fs->super->s_mmp_block,
					     -(int)sizeof(mmp), &mmp);
	return err ? err : io_channel_flush(fs->io);
}

bool flush_image(const struct config *c, struct image *im)
{
	errcode_t err = fills(c) ? ext2fs_flush(im->fs) : 0;

	if (!err)
		err = write_mmp(c, im->fs, EXT4_MMP_SEQ_CLEAN);
	if (err)
		say_write_error(im->name, im->name,
				"writing the filesystem's structures", err);
	return !err;
}

/*
 * How full the leaves of directories become depends on the seed, which mke2fs
 * draws each time: the first one stays, so that what fitted still fits.
 */
static void keep_seed(struct image *im)
{
	struct ext2_super_block *super = im->fs->super;

	if (im->has_seed) {
		memcpy(super->s_hash_seed, im->hash_seed,
		       sizeof(im->hash_seed));
		ext2fs_mark_super_dirty(im->fs);
	} else {
		memcpy(im->hash_seed, super->s_hash_seed,
		       sizeof(im->hash_seed));
		im->has_seed = true;
	}
}

/* mke2fs reckons -m before it rounds to clusters; e2fsck takes half at most. */
static void bound_reserved(ext2_filsys fs)
{
	blk64_t half = ext2fs_blocks_count(fs->super) / 2;

	if (ext2fs_r_blocks_count(fs->super) <= half)
		return;
	ext2fs_r_blocks_count_set(fs->super, half);
	ext2fs_mark_super_dirty(fs);
}

static bool open_fs(const struct config *c, struct image *im, const char *path)
{
	char io_options[40];
	errcode_t err;

	/* why without a cache: see e4l_open_at() */
	snprintf(io_options, sizeof(io_options), "cache=off&offset=%llu",
		 (unsigned long long)c->offset_bytes);
	err = ext2fs_open2(path, io_options, EXT2_FLAG_RW | EXT2_FLAG_64BITS |
			   EXT2_FLAG_EXCLUSIVE | EXT2_FLAG_SKIP_MMP |
			   EXT2_FLAG_JOURNAL_DEV_OK, 0, 0, unix_io_manager,
			   &im->fs);
	if (!err && !fills(c))
		return true;
	if (!err && ext2fs_has_feature_journal_dev(im->fs->super)) {
		say("%s: nothing can be filled into a journal (-O journal_dev)",
		    im->name);
		return false;
	}
	if (!err && im->proto_fd < 0)
		err = e4l_plug_fs(im->fs, E4L_PLUG_LIMIT_BYTES);
	if (!err)
		err = ext2fs_read_bitmaps(im->fs);
	if (err) {
		say_error(im->name, "opening the new filesystem", err);
		return false;
	}
	keep_seed(im);
	bound_reserved(im->fs);
	err = e4l_new(im->fs, &im->e);
	if (err)
		say_e4l(im->name, im->e, err);
	return !err;
}

static errcode_t plan(const struct config *c, struct e4l_tree *t,
		      struct image *im)
{
	struct e4l_populate_options o = {
		.offset_bytes = c->offset_bytes,
		.window = c->window, .threads = c->threads, .now = c->now,
		.clamp_times = c->clamp_times,
	};
	errcode_t err;

	if (!fills(c)) {
		im->stats = (struct e4l_populate_stats) {
			.free_blocks = ext2fs_free_blocks_count(im->fs->super),
		};
		return 0;
	}
	err = e4l_populate_plan(im->e, t, &o, &im->plan);
	if (im->plan)
		e4l_populate_get_stats(im->plan, &im->stats);
	return err;
}

/* " A are needed, B are free (C are missing)", if so many are. */
static void add_missing(FILE *f, const char *what, uint64_t wanted,
			uint64_t free, uint32_t unit_bytes, const char *advice)
{
	char a[UNITS_LEN], b[UNITS_LEN], c[UNITS_LEN];
	uint64_t missing = wanted - free;

	if (wanted <= free)
		return;
	fprintf(f, "%s not enough %s: %s are needed, %s are free (%s are "
		"missing%s)", ftell(f) ? "," : "", what, units_count(wanted, a),
		units_count(free, b), unit_bytes ?
		units_size(missing * unit_bytes, c) : units_count(missing, c),
		advice);
}

static void say_no_room(const struct image *im)
{
	const struct e4l_populate_stats *s = &im->stats;
	char *text = NULL;
	size_t len;
	FILE *f = text_open(&text, &len);

	if (f) {
		add_missing(f, "blocks", s->wanted_blocks, s->free_blocks,
			    im->fs->blocksize, "");
		add_missing(f, "inodes", s->wanted_inodes, s->free_inodes, 0,
			    "; -N sets how many there are");
	}
	if (f && text_close(f))
		say("%s:%s", im->name, text);
	else
		say("%s: there is not enough room", im->name);
	free(text);
}

static void say_plan(const struct config *c, struct e4l_tree *t,
		     const struct image *im, errcode_t err)
{
	const char *source = source_name(c, t);
	const char *where = e4l_tree_where(t);

	if (err == E4L_ET_NO_SPACE || err == E4L_ET_NO_INODES)
		say_no_room(im);
	else if (*where)
		say_error(source ? source : im->name, where, err);
	else
		say_e4l(im->name, im->e, err);
}

/* --------------------------------------------------------------- prototypes */

static bool new_memory(struct image *im, uint64_t bytes)
{
	drop_image(im);
	im->proto_fd = memfd_create("mke4fs", 0);
	if (im->proto_fd < 0 || ftruncate(im->proto_fd, bytes)) {
		say_error("memory", "making a prototype", errno);
		return false;
	}
	snprintf(im->path, sizeof(im->path), "/proc/%d/fd/%d", (int)getpid(),
		 im->proto_fd);
	return true;
}

/* mke2fs leaves a journal out that it has no room for. */
static bool has_journal_asked_for(const struct config *c,
				  const struct image *im)
{
	return !(c->has_journal_option || c->has_journal_feature) ||
	       ext2fs_has_feature_journal(im->fs->super) ||
	       ext2fs_has_feature_journal_dev(im->fs->super);
}

/* One prototype of @bytes (0: as the user said); *@err is the plan's. */
static bool try_size(const struct config *c, struct e4l_tree *t,
		     uint64_t file_bytes, uint64_t bytes, uint64_t inodes,
		     bool silent, struct image *im, errcode_t *err)
{
	bool failed;

	if (!new_memory(im, file_bytes))
		return false;
	if (!run_mke2fs(c, im->path, bytes, inodes, silent, &failed)) {
		*err = E4L_ET_NO_SPACE;		/* perhaps: too small for it */
		im->stats = (struct e4l_populate_stats) { 0 };
		return silent && failed;
	}
	if (!open_fs(c, im, im->path))
		return false;
	if (has_journal_asked_for(c, im)) {
		*err = plan(c, t, im);
		return true;
	}
	if (!silent)
		say("%s: too small for the journal that is asked for", im->name);
	drop_image(im);
	*err = E4L_ET_NO_SPACE;
	return silent;
}

/*
 * What mke2fs gives a filesystem of @bytes (0: as the user said) in a file of
 * @file_bytes.  False after it has said why it gives none, unless @silent;
 * *@failed: it was mke2fs that gave none.
 */
static bool look_at_size(const struct config *c, uint64_t file_bytes,
			 uint64_t bytes, bool silent, bool *failed,
			 struct growth *g)
{
	struct image im = { .name = c->device, .proto_fd = -1 };
	struct ext2_inode journal = { 0 };
	struct ext2_super_block *super;
	errcode_t err;

	*failed = false;
	if (!new_memory(&im, file_bytes) ||
	    !run_mke2fs(c, im.path, bytes, 0, silent, failed))
		goto failed;
	if (!open_fs(c, &im, im.path))
		goto failed;
	super = im.fs->super;
	err = super->s_journal_inum ? ext2fs_read_inode(im.fs,
				super->s_journal_inum, &journal) : 0;
	if (err) {
		say_error(c->device, "looking at a journal", err);
		goto failed;
	}
	*g = (struct growth) {
		.blocks = ext2fs_blocks_count(super),
		.block_bytes = im.fs->blocksize,
		.group_bytes = (uint64_t)super->s_blocks_per_group *
			       im.fs->blocksize,
		.inode_bytes = ext2fs_blocks_count(super) * im.fs->blocksize /
			       super->s_inodes_count,
		.group_inodes = super->s_inodes_per_group,
		.journal_mib = EXT2_I_SIZE(&journal) >> 20,
		.resize_inode = ext2fs_has_feature_resize_inode(super),
	};
	drop_image(&im);
	return true;
failed:
	drop_image(&im);
	return false;
}

/* The same of @bytes, or of the first size that has room for journal and inodes. */
static bool look_from_size(const struct config *c, uint64_t bytes,
			   struct growth *g)
{
	uint64_t skip = c->offset_bytes;
	bool failed = true;
	int i;

	for (i = 0; failed && i < DOUBLINGS; i++)
		if (look_at_size(c, skip + (bytes << i), bytes << i, true,
				 &failed, g))
			return true;
	if (!failed)
		return false;
	return look_at_size(c, skip + bytes, bytes, false, &failed, g);
}

/* mke2fs would say that one of its options is wrong, and list them all. */
static bool say_no_growth(const struct config *c, uint64_t bytes)
{
	char now[UNITS_LEN], then[UNITS_LEN];

	say("%s: --grow-to: %s is no growth: it has %s from the beginning",
	    c->device, units_size(c->grow_bytes, then), units_size(bytes, now));
	return false;
}

/* Groups that are added later will have as many as those of @bytes. */
static uint64_t growth_inodes(const struct growth *g, uint64_t bytes)
{
	return (bytes + g->group_bytes - 1) / g->group_bytes * g->group_inodes;
}

bool find_growth(struct config *c, uint64_t device_bytes)
{
	struct growth now, then;
	uint64_t bytes;
	bool failed;

	if (!c->grow_bytes)
		return true;
	if (!look_at_size(c, c->offset_bytes + c->grow_bytes, c->grow_bytes,
			  false, &failed, &then))
		return false;
	c->growth = then;
	if (!c->size && !device_bytes)
		return true;
	c->growth.resize_inode = false;
	if (!look_at_size(c, device_bytes, 0, false, &failed, &now))
		return false;
	c->growth = then;
	bytes = now.blocks * now.block_bytes;
	c->growth.inodes = growth_inodes(&then, bytes);
	return bytes < c->grow_bytes || say_no_growth(c, bytes);
}

/* What nobody but root can have, and what the kernel keeps for itself. */
static uint64_t kept_blocks(const struct image *im)
{
	uint64_t clusters = ext2fs_blocks_count(im->fs->super) /
			    EXT2FS_CLUSTER_RATIO(im->fs) / 50;

	if (clusters > 4096)
		clusters = 4096;
	if (!ext2fs_has_feature_extents(im->fs->super))
		clusters = 0;
	return ext2fs_r_blocks_count(im->fs->super) +
	       clusters * EXT2FS_CLUSTER_RATIO(im->fs);
}

static uint64_t missing_inodes(const struct image *im)
{
	return im->stats.wanted_inodes - im->stats.free_inodes;
}

/* How far a prototype is from the smallest size, in bytes; never exactly. */
static int64_t slack(const struct config *c, const struct image *im,
		     uint64_t size, errcode_t err)
{
	const struct e4l_populate_stats *s = &im->stats;

	if (!im->fs)
		return -(int64_t)size;
	if (err == E4L_ET_NO_INODES)
		return -(int64_t)(missing_inodes(im) *
				  (size / im->fs->super->s_inodes_count));
	return ((int64_t)s->free_blocks - (int64_t)s->wanted_blocks -
		(int64_t)(c->free_bytes ? kept_blocks(im) : 0)) *
	       im->fs->blocksize - (int64_t)c->free_bytes;
}

static uint64_t in_blocks(uint64_t bytes)
{
	return (bytes + BLOCKSIZE - 1) / BLOCKSIZE * BLOCKSIZE;
}

static uint64_t between(uint64_t small, uint64_t large)
{
	return (small + large) / 2 / BLOCKSIZE * BLOCKSIZE;
}

/* Whether no size between them is worth trying. */
static bool is_close(uint64_t small, uint64_t large)
{
	return large - small <= BLOCKSIZE || large - small <= large / 512;
}

/* The next size to try between what is too small and what is large enough. */
static uint64_t next_size(uint64_t small, uint64_t large, uint64_t now,
			  int64_t off)
{
	uint64_t next = off > 0 ? now - off : now - off + (-off) / 64 +
						       BLOCKSIZE;

	next = in_blocks(next);
	if (next <= small || (large && next >= large))
		next = large ? between(small, large) :
			       small + (small >> 4) + (1 << 20);
	return next;
}

/* Inodes for an image of @bytes, @filled of them for what is filled in. */
static uint64_t count_inodes(const struct config *c, const struct growth *g,
			     uint64_t filled, uint64_t bytes)
{
	uint64_t n = filled, least;

	if (c->has_inodes || (c->has_ratio && !c->growth.blocks))
		return 0;
	if (g->inode_bytes)
		n += c->free_bytes / g->inode_bytes;
	least = c->growth.blocks ? growth_inodes(g, bytes) : 0;
	return n < least ? least : n;
}

static bool has_room_to_grow(const struct config *c, uint64_t bytes)
{
	return !c->grow_bytes || bytes < c->grow_bytes ||
	       say_no_growth(c, bytes);
}

/* For the smallest image; sizes are in bytes. */
struct search {
	const struct config *c;
	struct growth growth;
	uint64_t filled;	/* inodes for what is filled in */
	uint64_t small, large;	/* the bounds so far; 0: there is none */
	uint64_t none;		/* the last that mke2fs refused, or 0 */
	int refused;		/* how many it did */
	uint64_t next, tried;
	errcode_t err;		/* of the last plan */
	bool looked_below;	/* where mke2fs makes no journal */
};

static uint64_t inodes_for(const struct search *s, uint64_t bytes)
{
	return count_inodes(s->c, &s->growth, s->filled, bytes);
}

/*
 * What mke2fs alone makes of a size costs little beside a plan: finds about the
 * least that it takes between the bounds, where it refuses the lower one.  False
 * after it has said what failed.
 */
static bool narrow(struct search *s)
{
	struct image im = { .proto_fd = -1 };
	bool taken, refused;
	uint64_t mid;

	s->next = s->large;
	while (!is_close(s->small, s->next)) {
		mid = between(s->small, s->next);
		if (!new_memory(&im, mid))
			return false;
		taken = run_mke2fs(s->c, im.path, mid, inodes_for(s, mid), true,
				   &refused);
		drop_image(&im);
		if (!taken && !refused)
			return false;
		*(taken ? &s->next : &s->small) = mid;
	}
	return true;
}

/* Moves one of the bounds, and finds what to try next; *@over: there is nothing. */
static bool judge(struct search *s, const struct image *im, bool *over)
{
	int64_t off = slack(s->c, im, s->tried, s->err);
	bool fits = !s->err && off >= 0;

	if (fits && s->small > s->tried)	/* it had a journal */
		s->small = 0;
	if (fits || s->small < s->tried)
		*(fits ? &s->large : &s->small) = s->tried;
	*over = (fits && (uint64_t)off < s->tried / 256) ||
		(s->large && is_close(s->small, s->large));
	if (*over)
		return true;
	s->next = next_size(s->small, s->large, s->tried, off);
	if (!fits || !s->none || s->small != s->none)
		return true;
	if (!narrow(s))
		return false;
	*over = s->next == s->large;
	return true;
}

static bool try_bytes(struct search *s, struct e4l_tree *t, struct image *im,
		      uint64_t bytes, bool silent)
{
	return try_size(s->c, t, bytes, bytes, inodes_for(s, bytes), silent, im,
			&s->err);
}

/* Whether a larger size may do. */
static bool is_too_small(const struct search *s)
{
	return s->err == E4L_ET_NO_SPACE ||
	       (s->err == E4L_ET_NO_INODES && !s->c->has_inodes);
}

/*
 * Asks for more inodes if so many are not enough.  mke2fs may give fewer than it
 * is asked for: it rounds those of each group down to a multiple of 8.
 */
static bool ask_for_more(struct search *s, const struct image *im)
{
	uint64_t more = 0;

	if (!inodes_for(s, s->tried))
		return false;
	if (im->stats.roomy_inodes > s->filled)
		more = im->stats.roomy_inodes - s->filled;
	else if (s->err == E4L_ET_NO_INODES)
		more = missing_inodes(im) + 8ULL * im->fs->group_desc_count;
	if (!more)
		return false;
	s->filled += more;
	s->next += more * EXT2_INODE_SIZE(im->fs->super);
	s->large = 0;		/* it had room for fewer */
	return true;
}

/* The largest size without a journal, if that may do, or 0. */
static uint64_t without_journal(const struct search *s, const struct image *im)
{
	uint64_t bytes = (JOURNAL_BLOCKS - 1) * im->fs->blocksize / BLOCKSIZE *
			 BLOCKSIZE;

	if (s->c->has_journal_option || s->c->has_journal_feature ||
	    s->growth.journal_mib || s->tried <= bytes ||
	    !ext2fs_has_feature_journal(im->fs->super))
		return 0;
	return im->stats.wanted_blocks < JOURNAL_BLOCKS &&
	       s->c->free_bytes < bytes ? bytes : 0;
}

/* Plans the next size.  False after it has said what failed. */
static bool try_next(struct search *s, struct e4l_tree *t, struct image *im,
		     bool *over)
{
	uint64_t below;

	s->tried = s->next = in_blocks(s->next);
	if (!try_bytes(s, t, im, s->tried, true))
		return false;
	if (im->fs && ask_for_more(s, im))
		return true;
	*over = s->err && !is_too_small(s);
	if (!im->fs) {
		s->none = s->tried;
		*over |= ++s->refused == REFUSALS;
	}
	if (*over)
		return true;
	if (!judge(s, im, over))
		return false;
	below = im->fs && !s->looked_below ? without_journal(s, im) : 0;
	s->looked_below |= im->fs != NULL;
	if (below) {
		s->next = below;
		*over = false;
	}
	return true;
}

static bool find_smallest(const struct config *c, struct e4l_tree *t,
			  struct image *im)
{
	struct search s = {
		.c = c, .growth = c->growth,
		.filled = e4l_tree_entries(t) * 33ULL / 32 + 64,
	};
	bool over = false;
	int round;

	s.next = (8 << 20) + s.filled * 300;
	if (c->free_bytes && !s.growth.blocks &&
	    !look_from_size(c, s.next + c->free_bytes, &s.growth))
		return false;
	for (round = 0; round < ROUNDS && !over; round++)
		if (!try_next(&s, t, im, &over))
			return false;
	if (s.large && (!s.err || is_too_small(&s)) &&
	    (s.tried == s.large || try_bytes(&s, t, im, s.large, false)) &&
	    !s.err)
		return has_room_to_grow(c, s.large);
	if (im->fs)
		say_plan(c, t, im, s.err);
	else	/* once more, for what is said of it */
		try_bytes(&s, t, im, s.tried, false);
	return false;
}

bool make_prototype(const struct config *c, struct e4l_tree *t,
		    uint64_t device_bytes, struct image *im)
{
	errcode_t err;

	*im = (struct image) { .name = c->device, .proto_fd = -1 };
	if (!c->size && !device_bytes)
		return find_smallest(c, t, im);
	if (!try_size(c, t, device_bytes, 0, 0, false, im, &err))
		return false;
	if (err)
		say_plan(c, t, im, err);
	return !err;
}

bool format_device(const struct config *c)
{
	bool failed;

	return run_mke2fs(c, c->device, 0, 0, false, &failed);
}

bool plan_device(const struct config *c, struct e4l_tree *t, struct image *im)
{
	errcode_t err;

	if (!open_fs(c, im, c->device))
		return false;
	err = write_mmp(c, im->fs, EXT4_MMP_SEQ_FSCK);
	if (err) {
		say_error(im->name, "keeping other hosts away", err);
		return false;
	}
	err = plan(c, t, im);
	if (err)
		say_plan(c, t, im, err);
	return !err;
}

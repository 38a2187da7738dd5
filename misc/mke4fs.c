/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mke4fs: makes and fills an ext4 filesystem.
 *
 * 1.  Load the source: names, attributes, sizes.
 *
 * 2.  Let mke2fs make a prototype in memory, and plan the places of all files
 * on it.  Problems are found here, before anything is written.
 *
 * 3.  For a new image, write the prototype and the contents at the planned
 * places.  For a device or an existing file, let mke2fs format it, plan again,
 * and write the contents.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/fs.h>
#include "e4layout/base/stat.h"
#include "e4layout/populate/tree_edit.h"
#include "mke4fs_dm_verity.h"
#include "mke4fs_lines.h"
#include "mke4fs_source.h"
#include "support/verify.h"
#include "support/interrupt.h"
#include "support/json.h"
#include "support/locate.h"
#include "support/progress.h"
#include "support/replace.h"
#include "support/say.h"
#include "support/target.h"

#define COPY_BYTES (4u << 20)
#define STATUS_LEFT_OUT 3	/* success, but --skip-damaged omitted files */

/* ------------------------------------------------------------------- source */

static void map_ids(const struct id_map *maps, unsigned int n, uint32_t *id)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (*id >= maps[i].from && *id - maps[i].from < maps[i].n) {
			*id = *id - maps[i].from + maps[i].to;
			return;
		}
	}
}

static void map_pair(uint32_t *uid, uint32_t *gid, void *priv)
{
	const struct config *c = priv;

	map_ids(c->uid_map, c->n_uid_map, uid);
	map_ids(c->gid_map, c->n_gid_map, gid);
}

static void map_owner(uint32_t *uid, uint32_t *gid, void *priv)
{
	const struct config *c = priv;

	if (c->all_root)
		*uid = *gid = 0;
	else
		map_pair(uid, gid, priv);
}

/*
 * Maps the owners of all files, and the users and groups in ACLs and
 * capabilities.
 */
static errcode_t map_source(const struct config *c, struct e4l_tree *t)
{
	e4l_tree_map_owners(t, map_owner, (void *)c);
	if (!c->n_uid_map && !c->n_gid_map)
		return 0;
	return e4l_tree_map_ids(t, map_pair, (void *)c);
}

/*
 * Reads lines of "PRIORITY PATH".  Empty lines and lines that begin with # are
 * ignored.
 */
static bool load_priorities(const struct config *c, struct e4l_tree *t)
{
	struct lines lines = { .path = c->sort };
	bool done = lines_open(c, &lines);
	errcode_t err;
	char *path;
	long n;

	while (done && lines_next(&lines)) {
		if (!*lines.text || *lines.text == '#')
			continue;
		n = strtol(lines.text, &path, 10);
		if (path == lines.text || (*path != ' ' && *path != '\t')) {
			done = lines_refuse(&lines, lines.text,
					    "expected PRIORITY PATH");
			break;
		}
		path += strspn(path, " \t");
		err = e4l_tree_set_priority(t, path, n);
		if (err)
			done = lines_refuse(&lines, path, error_message(err));
	}
	done = done && !lines.failed;
	lines_close(&lines);
	return done;
}

/*
 * Refuses --from if its source, possibly at an offset, is the file of the new
 * image.
 */
static bool refuse_from(const struct config *c)
{
	const char *mark = strstr(c->from, "?offset=");
	char *path = mark ? strndup(c->from, mark - c->from) : NULL;
	bool refused = refuse_image(c, c->from, path ? path : c->from);

	free(path);
	return refused;
}

static bool load_source(struct config *c, struct e4l_tree *t,
			struct target *from, struct spool *spool,
			json_t *left_out)
{
	if (!c->from)
		return load_sources(c, t, spool);
	if (refuse_from(c) ||
	    !target_open_source(from, c->from, c->common.partition))
		return false;
	c->source_fs = from;
	return load_image(c, t, from, left_out);
}

/*
 * Applies --fs-config, and the -E options about the root directory and
 * attributes, which mke2fs would apply itself.
 */
static bool carry_out(const struct config *c, struct e4l_tree *t)
{
	struct e4l_tree_xattr label = {
		.name = "security.selinux", .value = c->root_label,
		.size = c->root_label ? strlen(c->root_label) : 0,
	};
	errcode_t err;
	size_t i;

	if (c->no_xattrs)
		e4l_tree_drop_xattrs(t);
	err = map_source(c, t);
	if (err)
		return say_source(source_name(c, t), t, err);
	for (i = 0; i < c->fs_configs.n; i++)
		if (!apply_fs_config(c, c->fs_configs.v[i], t))
			return false;
	if (c->has_root_owner)
		err = e4l_tree_set_owner(t, E4L_TREE_ROOT, c->root_uid,
					 c->root_gid);
	if (!err && c->has_root_perms)
		err = e4l_tree_set_perms(t, E4L_TREE_ROOT, c->root_perms);
	if (!err && c->root_label)
		err = e4l_tree_set_xattr(t, E4L_TREE_ROOT, &label);
	if (err)
		say_error(c->device, "setting up the root directory", err);
	return !err;
}

/* Takes the tunables of the source, with the changes of -E. */
static bool change_tunables(const struct config *c, struct e4l_tree *t,
			    struct e4l_tunables **tunables)
{
	const char *where = NULL;
	errcode_t err = e4l_tree_get_tunables(t, tunables);

	if (err && err != ENOMEM) {
		say("%s: the stored tunables are damaged (%s): %s",
		    source_name(c, t), error_message(err),
		    c->tunables ?
		    "the new filesystem gets only the tunables given with -E" :
		    "they are copied unchanged; to remove the copy, run "
		    "tune4fs --clear");
		*tunables = e4l_tunables_new();
		err = *tunables ? 0 : ENOMEM;
	}
	if (err || !c->tunables)
		goto out;
	err = e4l_tunables_change(*tunables, c->tunables, false, &where);
	if (!err)
		err = e4l_tree_set_tunables(t, *tunables);
out:
	if (where)
		say_tunable("-E tunables", where, err);
	else if (err)
		say_error(c->device, "setting the tunables", err);
	return !err;
}

/* Sets the tunables. Without -R, the tunable dir_ireserve is used. */
static bool settle_tunables(struct config *c, struct e4l_tree *t)
{
	struct e4l_tunables *tunables = NULL;
	const struct e4l_tunable *window = NULL;
	bool done = change_tunables(c, t, &tunables);

	if (done && !c->has_window)
		window = e4l_tunables_find(tunables, "dir_ireserve");
	if (window && window->valid)
		c->window = window->number;
	e4l_tunables_free(tunables);
	return done;
}

/* ------------------------------------------------------------------- target */

struct target_file {
	int fd, direct_fd;
	bool is_new;		/* created here, and removed after a failure */
};

/*
 * Determines the device or image of DEVICE, which can be a tag or have an
 * offset.
 */
static bool find_device(struct config *c)
{
	struct target t = { .name = c->name };

	if (!locate_new(&t))
		return false;
	c->device = t.device;
	return !t.offset_bytes || take_name_offset(c, t.offset_bytes);
}

/* Sets *@bytes to the size of DEVICE; 0: the file must be created. */
static bool look_at_device(const char *name, uint64_t *bytes)
{
	struct stat st;
	int fd, err;

	*bytes = 0;
	if (e4l_stat(name, &st)) {
		if (errno == ENOENT)
			return true;
		say_error(name, "cannot use", errno);
		return false;
	}
	*bytes = st.st_size;
	if (S_ISREG(st.st_mode))
		return true;
	if (!S_ISBLK(st.st_mode)) {
		say("%s: neither a block device nor a regular file", name);
		return false;
	}
	fd = open(name, O_RDONLY | O_CLOEXEC);
	err = fd < 0 || ioctl(fd, BLKGETSIZE64, bytes) ? errno : 0;
	if (fd >= 0)
		close(fd);
	if (err)
		say_error(name, "cannot use", err);
	return !err;
}

/*
 * Checks that the filesystem begins on the device: otherwise, mke2fs would
 * never end.
 */
static bool begins_within(const struct config *c, uint64_t bytes)
{
	if (!bytes || c->size || c->offset_bytes < bytes)
		return true;
	say("%s: the offset of the filesystem (%" PRIu64 " bytes) is beyond the "
	    "end of the device: give a smaller offset, or SIZE", c->device,
	    c->offset_bytes);
	return false;
}

static bool open_target(const char *name, bool create, struct target_file *tf)
{
	struct stat st;

	tf->is_new = create && e4l_stat(name, &st);
	tf->fd = open(name, O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0666);
	if (tf->fd < 0) {
		say_error(name, "cannot open", errno);
		return false;
	}
	/* O_DIRECT avoids a copy to the page cache. */
	tf->direct_fd = open(name, O_WRONLY | O_CLOEXEC | O_DIRECT);
	return true;
}

static bool close_target(const char *name, struct target_file *tf, bool done)
{
	if (done && fsync(tf->fd)) {
		say_write_error(name, name, "writing", errno);
		done = false;
	}
	if (tf->direct_fd >= 0)
		close(tf->direct_fd);
	close(tf->fd);
	if (!done && tf->is_new)
		unlink(name);
	return done;
}

/* Copies the metadata that mke2fs and libext2fs wrote to the prototype. */
static bool copy_prototype(const struct image *im, int fd)
{
	char *buf = malloc(COPY_BYTES);
	off_t at, hole = 0;
	ssize_t n = buf ? 0 : -1;

	while (n >= 0 && (at = lseek(im->proto_fd, hole, SEEK_DATA)) >= 0) {
		hole = lseek(im->proto_fd, at, SEEK_HOLE);
		for (; n >= 0 && at < hole; at += n) {
			n = hole - at < COPY_BYTES ? hole - at : COPY_BYTES;
			n = pread(im->proto_fd, buf, n, at);
			if (n > 0)
				n = pwrite(fd, buf, n, at);
			if (n == 0) {
				errno = EIO;
				n = -1;
			}
		}
	}
	if (n < 0 || errno != ENXIO)
		say_write_error(im->name, im->name, "copying the prototype",
				errno);
	free(buf);
	return n >= 0 && errno == ENXIO;
}

/* ------------------------------------------------------------------ filling */

static void show_progress(uint64_t done, uint64_t total, void *priv)
{
	progress_update(priv, done, total, 0);
}

/* Writes the contents of the planned image @im to @tf. */
static bool write_content(const struct config *c, struct e4l_tree *t,
			  struct image *im, struct target_file *tf)
{
	struct progress progress;
	struct e4l_populate_target target = {
		.fd = tf->fd, .direct_fd = tf->direct_fd,
		.progress = show_progress, .priv = &progress,
	};
	const char *where;
	char what[160];
	errcode_t err;

	progress_start(&progress, &c->common, "writing");
	err = e4l_populate_write(im->plan, &target);
	progress_end(&progress);
	e4l_populate_get_stats(im->plan, &im->stats);
	if (!err)
		return !c->source_fs || target_is_ours(c->source_fs);
	where = e4l_tree_where(t);
	e4l_detail_text(im->e, what, sizeof(what));
	if (*where)
		say_error(source_name(c, t), where, err);
	else
		say_write_error(im->name, im->name, *what ? what : "writing",
				err);
	return false;
}

/*
 * Makes a signal end the work after cleaning up, from the first write to the
 * last.
 */
static bool hear_signals(const char *name, struct e4l *e, struct interrupt *in)
{
	errcode_t err = interrupt_start(in, e);

	if (err)
		say_error(name, "waiting for signals", err);
	return !err;
}

/* Moves the superblock from the prototype to @super. */
static bool take_super(const struct config *c, const struct image *im,
		       char super[SUPERBLOCK_SIZE])
{
	off_t at = c->offset_bytes + SUPERBLOCK_OFFSET;
	const char none[SUPERBLOCK_SIZE] = { 0 };
	ssize_t n = pread(im->proto_fd, super, SUPERBLOCK_SIZE, at);

	if (n == SUPERBLOCK_SIZE)
		n = pwrite(im->proto_fd, none, SUPERBLOCK_SIZE, at);
	if (n == SUPERBLOCK_SIZE)
		return true;
	say_error(im->name, "copying the prototype", n < 0 ? errno : EIO);
	return false;
}

/*
 * Writes the superblock last: a new image that is not complete must not look
 * like a filesystem.
 */
static bool put_super(const struct config *c, int fd,
		      const char super[SUPERBLOCK_SIZE])
{
	ssize_t n = fsync(fd);

	if (!n)
		n = pwrite(fd, super, SUPERBLOCK_SIZE,
			   c->offset_bytes + SUPERBLOCK_OFFSET);
	if (n == SUPERBLOCK_SIZE)
		return true;
	say_write_error(c->device, c->device, "writing the superblock",
			n < 0 ? errno : EIO);
	return false;
}

/*
 * Writes the image @im to @tf.  The prototype is copied first, because the
 * contents change some of its blocks.
 */
static bool write_new(const struct config *c, struct e4l_tree *t,
		      struct image *im, struct target_file *tf)
{
	char super[SUPERBLOCK_SIZE];

	return flush_image(c, im) && take_super(c, im, super) &&
	       copy_prototype(im, tf->fd) &&
	       (!fills(c) || write_content(c, t, im, tf)) &&
	       put_super(c, tf->fd, super);
}

static bool fill_new(const struct config *c, struct e4l_tree *t,
		     struct image *im)
{
	struct target_file tf;
	struct interrupt in;
	struct stat st;
	bool done;

	if (!hear_signals(im->name, im->e, &in))
		return false;
	done = open_target(c->device, true, &tf);
	if (!done)
		goto out;
	done = !e4l_fstat(im->proto_fd, &st) && !ftruncate(tf.fd, st.st_size);
	if (!done)
		say_error(c->device, "setting the size of the image", errno);
	done = done && write_new(c, t, im, &tf) &&
	       dm_verity_write(c, im, tf.fd, &in);
	done = close_target(c->device, &tf, done);
out:
	interrupt_stop(&in);
	return done;
}

/*
 * Overwrites the superblock, so that an incomplete filesystem cannot be
 * mounted.
 */
static void spoil(const struct config *c, int fd)
{
	const char none[SUPERBLOCK_SIZE] = { 0 };

	if (pwrite(fd, none, sizeof(none), c->offset_bytes +
		   SUPERBLOCK_OFFSET) != sizeof(none))
		say_error(c->device, "removing the incomplete image", errno);
}

static bool fill_device(const struct config *c, struct e4l_tree *t,
			struct image *im, const struct target *own)
{
	struct target_file tf;
	struct interrupt in;
	bool opened, done;

	drop_image(im);
	if (!hear_signals(im->name, NULL, &in))
		return false;
	opened = format_device(c) && open_target(c->device, false, &tf);
	done = opened && plan_device(c, t, im);
	if (done) {
		interrupt_watch(&in, im->e);
		done = target_is_ours(own) && write_content(c, t, im, &tf) &&
		       target_is_ours(own) && flush_image(c, im) &&
		       dm_verity_write(c, im, tf.fd, &in);
	}
	interrupt_stop(&in);
	if (!opened)
		return false;
	if (!done && !target_is_used(own)) {
		/* libext2fs must not write after the image was released. */
		drop_image(im);
		spoil(c, tf.fd);
	}
	return close_target(c->device, &tf, done);
}

/* ---------------------------------------------------------------------- run */

static bool verify_made(const struct config *c)
{
	char *name = NULL;
	bool done;

	if (!c->offset_bytes)
		return verify(c->device, 0);
	done = asprintf(&name, "%s?offset=%" PRIu64, c->device,
			c->offset_bytes) > 0 && verify(name, 0);
	free(name);
	return done;
}

/*
 * Formats and fills an existing device or image, which no other program may use
 * at the same time.
 */
static bool overwrite(const struct config *c, struct e4l_tree *t,
		      struct image *im)
{
	struct target own;
	bool done;

	if (!target_claim(&own, c->device, c->offset_bytes))
		return false;
	done = fills(c) ? fill_device(c, t, im, &own) : format_device(c);
	target_release(&own);
	return done;
}

static bool run(struct config *c, struct e4l_tree *t, uint64_t bytes,
		json_t *left_out)
{
	struct image im;
	uint32_t blocksize = 0;
	bool done;

	if (c->sort && !load_priorities(c, t))
		return false;
	if (c->wants_check && !bytes) {
		say("%s: -c is not supported for a new image: only a device "
		    "can have bad blocks",
		    c->device);
		return false;
	}
	if (!find_growth(c, bytes))
		return false;
	done = make_prototype(c, t, bytes, &im);
	if (done) {
		blocksize = im.fs->blocksize;
		warn_of_times(&im);
		done = verity_allowed(c, &im) &&
		       dm_verity_allowed(c, &im, bytes);
		if (done && !c->dry_run && !bytes)
			done = fill_new(c, t, &im);
		else if (done && !c->dry_run)
			done = overwrite(c, t, &im);
	}
	if (done && c->oci_config && !c->dry_run)
		done = replace_file(c->oci_config, c->config_text,
				    c->config_len);
	done = done && report(c, t, &im, blocksize, left_out);
	drop_image(&im);
	if (done && c->verify && !c->dry_run)
		done = verify_made(c);
	return done;
}

int main(int argc, char **argv)
{
	json_t *left_out = json_array();
	struct target from = { 0 };
	struct e4l_tree *t = NULL;
	struct config c;
	uint64_t bytes;
	struct spool spool = { .fd = -1 };
	int status;
	bool done;

	initialize_ext2_error_table();
	initialize_e4l_error_table();
	if (!parse_args(&c, argc, argv, &status))
		goto out;
	status = STATUS_FAILED;
	if (!left_out || e4l_tree_new(&t)) {
		say("out of memory");
		goto out;
	}
	done = find_device(&c) && look_at_device(c.device, &bytes) &&
	       begins_within(&c, bytes) &&
	       load_source(&c, t, &from, &spool, left_out) &&
	       carry_out(&c, t) && settle_tunables(&c, t) &&
	       add_verity(&c, t, &spool) &&
	       run(&c, t, bytes, left_out);
	if (c.source_fs)
		done &= target_close(&from);
	if (done)
		status = json_array_size(left_out) ? STATUS_LEFT_OUT :
						     STATUS_DONE;
	status = say_done(status);
	spool_free(&spool);
out:
	e4l_tree_free(t);
	json_decref(left_out);
	free_args(&c);
	return status;
}

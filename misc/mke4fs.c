/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mke4fs: makes and fills an ext4 filesystem.
 *
 * 1.  Load the source: names, attributes, sizes.
 *
 * 2.  Run mke2fs to make a prototype in memory, and plan the location of all
 * files in the prototype.  Problems are found in this step, before anything is
 * written.
 *
 * 3.  For a new image, write the prototype, and write the contents of the files
 * to the planned locations.  For a device or an existing file, run mke2fs, plan
 * again, and write the contents.
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
#include "e4layout/base/fd.h"
#include "e4layout/base/stat.h"
#include "e4layout/populate/tree_edit.h"
#include "mke4fs_dm_verity.h"
#include "mke4fs_image.h"
#include "mke4fs_like.h"
#include "mke4fs_lines.h"
#include "mke4fs_output.h"
#include "mke4fs_source.h"
#include "support/verify.h"
#include "support/interrupt.h"
#include "support/json.h"
#include "support/locate.h"
#include "support/replace.h"
#include "support/say.h"
#include "support/target.h"

/* success, but --skip-damaged has omitted files */
#define STATUS_LEFT_OUT 3

#define MAX_PRIORITY 32767

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
 * Maps the IDs of all owners, and of the users and groups in ACLs and
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
 * Reads lines of the form "PRIORITY PATH".  Empty lines and lines that begin
 * with # are ignored.  Returns false after printing an error.
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
		if (n < -MAX_PRIORITY || n > MAX_PRIORITY) {
			done = lines_refuse(&lines, lines.text, "expected a "
					    "priority from -32767 to 32767");
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
 * Refuses --from if its source (without ?offset=) is the file of the new image.
 * Returns true after printing an error.
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
 * Maps user and group IDs, and applies --fs-config and the -E options about the
 * root directory and about extended attributes.  These -E options are passed to
 * mke2fs only if mke4fs copies no files.  Returns false after printing an
 * error.
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

/*
 * Sets *@tunables to the tunables of the source, with the changes of -E
 * tunables=.  If the tunables of the source are damaged, prints a warning and
 * uses only -E tunables=.  Returns false after printing an error.
 */
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

/*
 * Sets the tunables of the new filesystem.  If -R was not given, sets c->window
 * to the tunable dir_ireserve.  Returns false after printing an error.
 */
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

/*
 * Determines the device or image that DEVICE means.  DEVICE can be a tag, or
 * contain an offset.  Returns false after printing an error.
 */
static bool find_device(struct config *c)
{
	struct target t = { .name = c->name };

	if (!locate_new(&t))
		return false;
	c->device = t.device;
	return !t.offset_bytes || take_name_offset(c, t.offset_bytes);
}

/*
 * Sets *@bytes to the size of DEVICE, or to 0 if the file does not exist yet.
 * Returns false after printing an error.
 */
static bool look_at_device(const char *name, uint64_t *bytes)
{
	struct stat st;
	int fd, err;

	*bytes = 0;
	if (e4l_stat(name, &st)) {
		if (errno == ENOENT)
			return true;
		say_error(name, "cannot access", errno);
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
	e4l_close_fd(fd);
	if (err)
		say_error(name, "cannot read the size", err);
	return !err;
}

/*
 * Checks that the filesystem begins before the end of the device: otherwise,
 * mke2fs would not terminate.  Returns false after printing an error.
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
 * Formats and fills an existing device or image.  Refuses a device or image
 * that another program uses.  Returns false after printing an error.
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

/*
 * Makes the filesystem without --like.  Returns false after printing an error.
 */
static bool make(struct config *c, struct e4l_tree *t, uint64_t bytes,
		 struct image *im, uint32_t *blocksize)
{
	bool done;

	if (c->sort && !load_priorities(c, t))
		return false;
	if (c->wants_check && !bytes) {
		say("%s: -c is not supported for a new image: only a device "
		    "can have bad blocks",
		    c->device);
		return false;
	}
	if (!find_growth(c, bytes) || !make_prototype(c, t, bytes, im))
		return false;
	*blocksize = im->fs->blocksize;
	warn_of_times(im);
	done = verity_allowed(c, im) && dm_verity_allowed(c, im, bytes);
	if (done && !c->dry_run && !bytes)
		done = fill_new(c, t, im);
	else if (done && !c->dry_run)
		done = overwrite(c, t, im);
	return done;
}

static bool run(struct config *c, struct e4l_tree *t, uint64_t bytes,
		json_t *left_out)
{
	struct image im = { .proto_fd = -1 };
	uint32_t blocksize = 0;
	bool done = c->like ? like_run(c, t, c->like_fs, &im, &blocksize) :
			      make(c, t, bytes, &im, &blocksize);

	if (done && c->oci_config && !c->dry_run)
		done = outputs_apart(c) &&
		       replace_file(c->oci_config, c->config_text,
				    c->config_len);
	done = done && report(c, t, &im, blocksize, left_out);
	drop_image(&im);
	if (done && c->verify && !c->dry_run)
		done = verify_made(c);
	return done;
}

/*
 * Opens the sources, and makes the filesystem.  Returns false after printing an
 * error.
 */
static bool open_and_run(struct config *c, struct e4l_tree *t,
			 json_t *left_out)
{
	struct target from = { 0 }, old = { 0 };
	struct spool spool = { .fd = -1 };
	uint64_t bytes;
	bool done;

	done = find_device(c) && look_at_device(c->device, &bytes) &&
	       begins_within(c, bytes) && outputs_allowed(c) &&
	       like_open(c, &old, bytes) &&
	       load_source(c, t, &from, &spool, left_out) &&
	       carry_out(c, t) && settle_tunables(c, t) &&
	       add_verity(c, t, &spool) &&
	       run(c, t, bytes, left_out);
	if (c->source_fs)
		done &= target_close(&from);
	if (c->like_fs)
		done &= target_close(&old);
	spool_free(&spool);
	return done;
}

int main(int argc, char **argv)
{
	json_t *left_out = json_array();
	struct e4l_tree *t = NULL;
	struct config c;
	int status;

	initialize_ext2_error_table();
	initialize_e4l_error_table();
	if (!parse_args(&c, argc, argv, &status))
		goto out;
	status = STATUS_FAILED;
	if (!left_out || e4l_tree_new(&t)) {
		say("out of memory");
		goto out;
	}
	if (open_and_run(&c, t, left_out))
		status = json_array_size(left_out) ? STATUS_LEFT_OUT :
						     STATUS_DONE;
	status = say_done(status);
out:
	e4l_tree_free(t);
	json_decref(left_out);
	free_args(&c);
	return status;
}

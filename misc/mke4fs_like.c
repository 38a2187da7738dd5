/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --like: makes an image from an old image and from the sources.  The old image
 * is checked first, because the new image copies its structures.
 */
#include "config.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "e4layout/base/internal.h"
#include "e4layout/base/stat.h"
#include "e4layout/populate/like.h"
#include "mke4fs_like.h"
#include "mke4fs_source.h"
#include "support/interrupt.h"
#include "support/say.h"
#include "support/units.h"
#include "support/verify.h"

/* ------------------------------------------------------------------ options */

static bool refuse_option(const char *option)
{
	say("--like keeps the properties of the old image: %s cannot be given",
	    option);
	return false;
}

bool like_agrees(const struct config *c)
{
	if (!c->like)
		return true;
	if (!fills(c)) {
		say("--like requires -d, --manifest or --from");
		return false;
	}
	if (c->n_pass)
		return refuse_option(c->pass[0].option);
	if (c->features || c->extended)
		return refuse_option(c->features ? "-O" : "-E");
	if (c->free_bytes || c->grow_bytes)
		return refuse_option(c->free_bytes ? "--free" : "--grow-to");
	if (c->sort || c->dm_verity || c->generation)
		return refuse_option(c->sort ? "--sort" : c->dm_verity ?
				     "--dm-verity" : "--keep-generation");
	return true;
}

/* ---------------------------------------------------------------- old image */

/*
 * Returns the name of a feature of @sb whose structures a new image cannot
 * copy, or NULL if @sb has no such feature.
 */
static const char *refused_feature(struct ext2_super_block *sb)
{
	if (ext2fs_has_feature_casefold(sb))
		return "casefold";
	if (ext2fs_has_feature_encrypt(sb))
		return "encrypt";
	if (ext2fs_has_feature_ea_inode(sb))
		return "ea_inode";
	if (ext2fs_has_feature_shared_blocks(sb))
		return "shared_blocks";
	if (ext2fs_has_feature_journal_dev(sb))
		return "journal_dev";
	return NULL;
}

static bool is_usable(const struct config *c, const struct target *old)
{
	struct ext2_super_block *sb = old->fs->super;
	const char *feature = refused_feature(sb);

	if (feature) {
		say("%s: --like does not support the feature %s", c->like,
		    feature);
		return false;
	}
	if (e4l_has_external_journal(sb)) {
		say("%s: --like does not support an external journal",
		    c->like);
		return false;
	}
	if (old->offset_bytes) {
		say("%s: --like requires an image without an offset or "
		    "partitions", c->like);
		return false;
	}
	if (!ext2fs_has_feature_journal_needs_recovery(sb) &&
	    !ext2fs_has_feature_orphan_present(sb) && !sb->s_last_orphan &&
	    !(sb->s_state & EXT2_ERROR_FS) && sb->s_state & EXT2_VALID_FS)
		return true;
	say("%s: not clean: run e2fsck %s first", c->like, old->e2fs_words);
	return false;
}

/*
 * Checks the old image.  If the image has errors or cannot be checked, prints
 * an error and returns false.
 */
static bool is_sound(const struct config *c, struct target *old)
{
	struct interrupt in;
	errcode_t err = interrupt_start(&in, NULL);
	bool sound;

	if (err) {
		say_error(c->like, "waiting for signals", err);
		return false;
	}
	sound = verify_before(old, old->e, &c->common, &in);
	interrupt_stop(&in);
	return sound;
}

/*
 * Parses SIZE as mke2fs does: a number of blocks, or with a suffix.  Returns
 * false if @text is not a size.
 */
static bool parse_size(const char *text, uint32_t blocksize, uint64_t *bytes)
{
	static const char suffixes[] = "kmgt";
	const char *suffix;
	uint64_t unit = blocksize;
	char *end;

	errno = 0;
	*bytes = strtoull(text, &end, 0);
	if (errno || !isdigit((unsigned char)*text))
		return false;
	if (*end == 's') {
		unit = 512;
		end++;
	} else if (*end) {
		suffix = strchr(suffixes, tolower((unsigned char)*end++));
		if (!suffix)
			return false;
		unit = 1024ULL << 10 * (suffix - suffixes);
	}
	return !*end && !__builtin_mul_overflow(*bytes, unit, bytes);
}

/*
 * Refuses a SIZE that is not the size of the old filesystem.  Returns false
 * after printing an error.
 */
static bool has_size(const struct config *c, const struct target *old)
{
	uint64_t bytes = ext2fs_blocks_count(old->fs->super) *
			 old->fs->blocksize, wanted;
	char a[UNITS_LEN];

	if (!c->size)
		return true;
	if (!parse_size(c->size, old->fs->blocksize, &wanted))
		return usage("SIZE", c->size, "a size such as 4G");
	if (wanted == bytes)
		return true;
	say("%s: the new image gets the size of %s (%s): omit SIZE", c->device,
	    c->like, units_size(bytes, a));
	return false;
}

bool like_open(struct config *c, struct target *old, uint64_t bytes)
{
	struct stat st;

	if (!c->like)
		return true;
	if (refuse_image(c, c->like, c->like))
		return false;
	if (bytes || (!e4l_stat(c->device, &st) && !S_ISREG(st.st_mode))) {
		say("%s: --like requires a new image: give the name of a file "
		    "that does not exist", c->device);
		return false;
	}
	if (c->offset_bytes)
		return refuse_option("an offset");
	if (!target_open_source(old, c->like, 0))
		return false;
	c->like_fs = old;
	return is_usable(c, old) && has_size(c, old) && is_sound(c, old);
}

/* --------------------------------------------------------------------- work */

static bool fail(const struct config *c, struct e4l_tree *t,
		 struct target *old, struct image *im, errcode_t err)
{
	/* say_plan() needs both members, which @old owns. */
	im->fs = old->fs;
	im->e = old->e;
	say_plan(c, t, im, err);
	im->fs = NULL;
	im->e = NULL;
	return false;
}

static struct e4l_populate_options options(const struct config *c)
{
	return (struct e4l_populate_options) {
		.window = c->window, .threads = c->threads, .now = c->now,
		.clamp_times = c->clamp_times,
	};
}

static bool plan_and_write(const struct config *c, struct e4l_tree *t,
			   struct target *old, struct image *im)
{
	const struct e4l_populate_options o = options(c);
	struct e4l_like *l;
	struct interrupt in;
	errcode_t err;
	bool done;

	err = interrupt_start(&in, old->e);
	if (err) {
		say_error(im->name, "waiting for signals", err);
		return false;
	}
	err = e4l_like_plan(old->e, old->lock_fd, t, &o, &l);
	if (l)
		e4l_like_get_stats(l, &im->stats);
	if (!err) {
		im->fs = old->fs;
		warn_of_times(im);
		im->fs = NULL;
	}
	done = !err && (c->dry_run || fill_like(c, t, l, old, im));
	e4l_like_free(l);
	interrupt_stop(&in);
	return err ? fail(c, t, old, im, err) : done;
}

bool like_run(const struct config *c, struct e4l_tree *t, struct target *old,
	      struct image *im, uint32_t *blocksize)
{
	bool done;

	*im = (struct image) { .name = c->device, .proto_fd = -1 };
	*blocksize = old->fs->blocksize;
	im->fs = old->fs;	/* verity_allowed() needs @fs */
	done = verity_allowed(c, im);
	im->fs = NULL;
	return done && plan_and_write(c, t, old, im);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads the files of another filesystem.  The filesystem is checked first,
 * because damaged files would be copied as if they were sound.
 */
#include "config.h"
#include <errno.h>
#include "mke4fs.h"
#include "support/verify.h"
#include "support/say.h"

/* maximum number of recorded errors */
#define MAX_ERRORS (1u << 20)

struct source {
	const struct config *c;
	struct target *target;
	struct e4l *e;
	struct interrupt in;
	json_t *left_out;
};

static bool is_clean(const struct source *s)
{
	struct ext2_super_block *sb = s->target->fs->super;

	if (!ext2fs_has_feature_journal_needs_recovery(sb) &&
	    (!(sb->s_state & EXT2_ERROR_FS) || s->c->skip_damaged))
		return true;
	if (ext2fs_has_feature_journal_needs_recovery(sb) &&
	    ext2fs_has_feature_fast_commit(sb))
		say("%s: the journal contains fast commits, which e2fsck can "
		    "lose: mount and unmount the filesystem first",
		    s->c->from);
	else
		say("%s: not clean: run e2fsck %s first", s->c->from,
		    s->target->e2fs_words);
	return false;
}

static errcode_t load(struct source *s, struct e4l_tree *t,
		      const struct e4l_load_damage *damage)
{
	errcode_t err;

	interrupt_watch(&s->in, s->e);
	err = e4l_tree_load_fs(t, s->e, s->target->offset_bytes,
			       (s->c->generation ? E4L_LOAD_GENERATION : 0) |
			       (s->c->no_xattrs ? E4L_LOAD_NO_XATTRS : 0),
			       damage);
	interrupt_watch(&s->in, NULL);
	if (err)
		say_error(s->c->from, *e4l_tree_where(t) ? e4l_tree_where(t) :
			  "cannot read", err);
	return err;
}

/* ------------------------------------------------------------------- damage */

static void note_left_out(const char *path, errcode_t why, void *priv)
{
	struct source *s = priv;

	say("%s: %s: omitted: %s", s->c->from, path, error_message(why));
	json_array_append_new(s->left_out, json_name(path));
}

/*
 * Marks the inodes with errors in damage->inodes, and the inodes that share
 * blocks in damage->sharing.  Returns false after printing an error.
 */
static bool mark_damage(const struct source *s, const struct findings *found,
			const struct e4l_load_damage *damage)
{
	size_t i;

	if (found->failed || found->severity[E4L_SEVERITY_ERROR] > MAX_ERRORS) {
		say("%s: too many errors: run e2fsck -f %s", s->c->from,
		    s->target->e2fs_words);
		return false;
	}
	for (i = 0; i < found->n; i++) {
		const struct finding *f = &found->v[i];

		if (!e4l_finding_spoils_inode(f) ||
		    f->ino > s->target->fs->super->s_inodes_count)
			continue;
		ext2fs_mark_inode_bitmap2(damage->inodes, f->ino);
		if (f->id == F_BLOCK_SHARED)
			ext2fs_mark_inode_bitmap2(damage->sharing, f->ino);
	}
	return true;
}

static bool load_damaged(struct source *s, struct e4l_tree *t)
{
	struct e4l_load_damage damage = {
		.left_out = note_left_out, .priv = s,
	};
	struct findings found;
	errcode_t err;
	bool done;

	e4l_findings_init(&found, MAX_ERRORS);
	err = ext2fs_allocate_inode_bitmap(s->target->fs, "damaged inodes",
					   &damage.inodes);
	if (!err)
		err = ext2fs_allocate_inode_bitmap(s->target->fs,
				"inodes that share blocks", &damage.sharing);
	if (err)
		say_error(s->c->from, "recording damaged inodes", err);
	done = !err && verify_findings(s->target, s->e, &s->c->common, &s->in,
				       &found) &&
	       mark_damage(s, &found, &damage) && !load(s, t, &damage);
	if (damage.inodes)
		ext2fs_free_inode_bitmap(damage.inodes);
	if (damage.sharing)
		ext2fs_free_inode_bitmap(damage.sharing);
	e4l_findings_free(&found);
	return done;
}

/* -------------------------------------------------------------------- public */

bool load_image(const struct config *c, struct e4l_tree *t,
		struct target *from, json_t *left_out)
{
	struct source s = {
		.c = c, .target = from, .e = from->e, .left_out = left_out,
	};
	errcode_t err;
	bool done;

	if (!is_clean(&s))
		return false;
	e4l_tree_set_data_fd(t, from->lock_fd);
	err = interrupt_start(&s.in, NULL);
	if (err) {
		say_error(c->from, "cannot read", err);
		return false;
	}
	if (c->skip_damaged)
		done = load_damaged(&s, t);
	else
		done = verify_before(from, s.e, &c->common, &s.in) &&
		       !load(&s, t, NULL);
	interrupt_stop(&s.in);
	return done;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal: lists the transactions in the log: the transactions that recovery
 * would replay, and older transactions that have not been overwritten yet.
 *
 * Every block of the journal is read, so that a damaged block does not hide the
 * transactions that follow.  A data block never looks like a journal header,
 * because the log escapes such blocks.
 */
#include "config.h"
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "e4layout/base/array.h"
#include "e4layout/base/internal.h"
#include "e4layout/format/jbd2.h"
#include "support/say.h"
#include "e4debug.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define JBD2_REVOKE_BLOCK 5

struct logged {
	uint32_t sequence;
	uint32_t at;			/* first block of the transaction */
	uint32_t blocks, revoked;
	bool committed, replay;
	uint64_t seconds;		/* time of the commit */
};

struct reading {
	struct shell *s;
	struct file f;
	struct jbd2_super sb;
	uint32_t len;			/* length of the journal in blocks */
	bool wide, csum2, csum3;
	uint8_t *buf;
	struct logged *v;
	size_t n;
};

/* --------------------------------------------------------------------- read */

/*
 * Compares an extent with a block, for e4l_lower_bound().  If the extent ends
 * before the block, returns a negative number.
 */
static int end_cmp(const void *extent, const void *lblk)
{
	const struct e4l_extent *x = extent;

	return (uint64_t)x->lblk + x->len <= *(const uint32_t *)lblk ? -1 : 0;
}

static errcode_t read_block(const struct reading *r, uint32_t lblk)
{
	ext2_filsys fs = r->s->target.fs;
	const struct e4l_extent *x = r->f.extents;
	size_t i = e4l_lower_bound(&lblk, x, r->f.n_extents, sizeof(*x),
				   end_cmp);

	if (i == r->f.n_extents || x[i].lblk > lblk)
		return E4L_ET_JOURNAL_CORRUPT;
	return io_channel_read_blk64(fs->io, x[i].pblk + (lblk - x[i].lblk), 1,
				     r->buf);
}

static errcode_t read_super(struct reading *r)
{
	uint32_t incompat, type;
	errcode_t err = read_block(r, 0);

	if (err)
		return err;
	memcpy(&r->sb, r->buf, sizeof(r->sb));
	type = be32toh(r->sb.h.blocktype);
	if (be32toh(r->sb.h.magic) != JBD2_MAGIC ||
	    (type != JBD2_SUPER_V1 && type != JBD2_SUPER_V2) ||
	    be32toh(r->sb.blocksize) != r->s->target.fs->blocksize)
		return E4L_ET_JOURNAL_CORRUPT;
	incompat = type == JBD2_SUPER_V2 ? be32toh(r->sb.feature_incompat) : 0;
	r->wide = incompat & JBD2_64BIT;
	r->csum2 = incompat & JBD2_CSUM_V2;
	r->csum3 = incompat & JBD2_CSUM_V3;
	r->len = be32toh(r->sb.maxlen);
	return r->len > file_blocks(r->s, &r->f) ? E4L_ET_JOURNAL_CORRUPT : 0;
}

/* --------------------------------------------------------------------- list */

/*
 * Returns the transaction to which a header belongs: the last transaction in
 * the list.  If a commit has ended the last transaction, or if its sequence
 * number differs, adds a new transaction.
 */
static struct logged *find(struct reading *r, uint32_t sequence, uint32_t at)
{
	struct logged *last = r->n ? &r->v[r->n - 1] : NULL;

	if (last && last->sequence == sequence && !last->committed)
		return last;
	if (e4l_grow(&r->v, r->n, sizeof(*r->v)))
		return NULL;
	r->v[r->n] = (struct logged) { .sequence = sequence, .at = at };
	return &r->v[r->n++];
}

/*
 * Counts the tags of a descriptor block, up to the tag with the last-tag flag.
 */
static uint32_t count_tags(const struct reading *r)
{
	size_t at = sizeof(struct jbd2_header), size;
	size_t end = r->s->target.fs->blocksize;
	struct jbd2_tag3 wide;
	struct jbd2_tag tag;
	uint32_t n = 0, flags;

	size = r->csum3 ? sizeof(wide) : r->wide ? sizeof(tag) :
	       offsetof(struct jbd2_tag, blk_hi);
	size += !r->csum3 && r->csum2 ? 2 : 0;
	if (r->csum2 || r->csum3)
		end -= sizeof(uint32_t);
	while (at + size <= end) {
		n++;
		if (r->csum3) {
			memcpy(&wide, r->buf + at, sizeof(wide));
			flags = be32toh(wide.flags);
		} else {
			memcpy(&tag, r->buf + at,
			       offsetof(struct jbd2_tag, blk_hi));
			flags = be16toh(tag.flags);
		}
		at += size + (flags & JBD2_TAG_SAME_UUID ? 0 : 16);
		if (flags & JBD2_TAG_LAST)
			break;
	}
	return n;
}

static uint32_t count_revoked(const struct reading *r)
{
	uint32_t bytes;

	memcpy(&bytes, r->buf + sizeof(struct jbd2_header), sizeof(bytes));
	bytes = be32toh(bytes);
	if (bytes > r->s->target.fs->blocksize || bytes < 16)
		return 0;
	return (bytes - 16) / (r->wide ? 8 : 4);
}

static errcode_t add_header(struct reading *r, uint32_t lblk)
{
	struct jbd2_header h;
	struct jbd2_commit commit;
	struct logged *l;

	memcpy(&h, r->buf, sizeof(h));
	if (be32toh(h.magic) != JBD2_MAGIC)
		return 0;
	l = find(r, be32toh(h.sequence), lblk);
	if (!l)
		return ENOMEM;
	switch (be32toh(h.blocktype)) {
	case JBD2_DESCRIPTOR:
		l->blocks += count_tags(r);
		break;
	case JBD2_REVOKE_BLOCK:
		l->revoked += count_revoked(r);
		break;
	case JBD2_COMMIT:
		memcpy(&commit, r->buf, sizeof(commit));
		l->seconds = be64toh(commit.sec);
		l->committed = true;
	}
	return 0;
}

static errcode_t read_log(struct reading *r)
{
	uint32_t lblk;
	errcode_t err = 0;

	for (lblk = 1; lblk < r->len && !err; lblk++) {
		if (interrupt_heard(&r->s->interrupt))
			return E4L_ET_INTERRUPTED;
		err = read_block(r, lblk);
		if (!err)
			err = add_header(r, lblk);
	}
	return err;
}

/* ---------------------------------------------------------- command journal */

static int by_sequence(const void *a, const void *b)
{
	const struct logged *x = a, *y = b;

	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

/* Joins the two parts of a transaction that wraps around the end of the log. */
static void join_ends(struct reading *r)
{
	struct logged *first = r->v, *last;

	if (r->n < 2)
		return;
	last = first + r->n - 1;
	if (last->committed || last->sequence != first->sequence)
		return;
	first->at = last->at;
	first->blocks += last->blocks;
	first->revoked += last->revoked;
	r->n--;
}

/*
 * Marks the transactions that recovery replays: the complete transactions from
 * the start of the log, up to the first gap in the sequence numbers.
 */
static void mark_replay(struct reading *r)
{
	uint32_t sequence = be32toh(r->sb.sequence);
	size_t i = 0, n;

	if (!r->sb.start)
		return;
	while (i < r->n && r->v[i].at != be32toh(r->sb.start))
		i++;
	for (n = r->n; i < r->n && n; n--, i = (i + 1) % r->n) {
		if (!r->v[i].committed || r->v[i].sequence != sequence++)
			return;
		r->v[i].replay = true;
	}
}

static const char *state_of(const struct logged *l)
{
	if (!l->committed)
		return "incomplete";
	return l->replay ? "replay" : "old";
}

static json_t *time_of(const struct logged *l)
{
	time_t seconds = l->seconds;
	char text[32];
	struct tm tm;

	if (!l->committed || !gmtime_r(&seconds, &tm))
		return json_null();
	strftime(text, sizeof(text), "%FT%TZ", &tm);
	return json_string(text);
}

static json_t *transactions_array(const struct reading *r)
{
	json_t *rows = json_array();
	int failed = 0;
	size_t i;

	for (i = 0; i < r->n; i++)
		failed |= json_array_append_new(rows,
			json_pack("{s:I, s:I, s:I, s:I, s:s, s:o}",
				  "sequence", (json_int_t)r->v[i].sequence,
				  "at", (json_int_t)r->v[i].at,
				  "blocks", (json_int_t)r->v[i].blocks,
				  "revoked", (json_int_t)r->v[i].revoked,
				  "state", state_of(&r->v[i]),
				  "committed", time_of(&r->v[i])));
	return json_checked(rows, failed);
}

static json_t *features_array(const struct reading *r)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} names[] = {
		{ JBD2_REVOKE, "revoke" }, { JBD2_64BIT, "64bit" },
		{ JBD2_ASYNC_COMMIT, "async_commit" },
		{ JBD2_CSUM_V2, "checksum_v2" },
		{ JBD2_CSUM_V3, "checksum_v3" },
		{ JBD2_FAST_COMMIT, "fast_commit" },
	};
	json_t *array = json_array();
	int failed = 0;
	size_t i;

	for (i = 0; i < COUNT(names); i++)
		if (be32toh(r->sb.feature_incompat) & names[i].bit)
			failed |= json_array_append_new(array,
						json_string(names[i].name));
	return json_checked(array, failed);
}

static bool show(struct reading *r)
{
	join_ends(r);
	mark_replay(r);
	e4l_sort(r->v, r->n, sizeof(*r->v), by_sequence);
	return shell_show(r->s, json_pack("{s:I, s:s, s:I, s:I, s:o, s:o}",
			"blocks", (json_int_t)r->len,
			"state", r->sb.start ? "to be replayed" : "empty",
			"start", (json_int_t)be32toh(r->sb.start),
			"sequence", (json_int_t)be32toh(r->sb.sequence),
			"features", features_array(r),
			"transactions", transactions_array(r)));
}

static bool read_and_show(struct reading *r)
{
	const struct ext2_super_block *sb = r->s->target.fs->super;
	errcode_t err;

	if (!file_load(r->s, sb->s_journal_inum, &r->f))
		return false;
	r->buf = malloc(r->s->target.fs->blocksize);
	err = r->buf ? read_super(r) : ENOMEM;
	if (!err)
		err = read_log(r);
	return err ? shell_fails(r->s, "cannot read the journal", err) :
		     show(r);
}

bool do_journal(struct shell *s, int argc, const char *const *argv)
{
	struct reading r = { .s = s };
	bool ok;

	if (!ext2fs_has_feature_journal(s->target.fs->super)) {
		say("journal: %s: the filesystem has no journal", s->name);
		return false;
	}
	if (e4l_has_external_journal(s->target.fs->super)) {
		say("journal: %s: the journal is on another device: run "
		    "logdump -f JOURNAL-DEVICE",
		    s->name);
		return false;
	}
	ok = read_and_show(&r);
	file_free(&r.f);
	free(r.buf);
	free(r.v);
	return ok;
}

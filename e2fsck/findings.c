/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "findings.h"

/* What fixes: commands, to be followed by their target. */
#define FIX_NOTHING		NULL
#define FIX_FSCK		"e2fsck -fy"
#define FIX_RECOVER		"e2fsck -p"
#define FIX_CLEAR_MMP		"tune2fs -f -E clear_mmp"
/* e2fsck ends with 12 without a change, and tune2fs leaves the UUID there */
#define FIX_CLEAR_JOURNAL_UUID	"debugfs -w -R 'ssv journal_uuid clear'"
#define FIX_REPACK_MERGE	"e4repack --only=merge"
#define FIX_REPACK_ZERO	"e4repack --only=merge,zeroout"
#define FIX_REPACK_MOVE	"e4repack"
#define FIX_REPACK_INDEX	"e4repack --only=index"
#define FIX_REPACK_INODES	"e4repack --only=inodes"
#define FIX_TUNE_CLEAR		"tune4fs --clear"

const char *const severity_names[] = {
	[SEVERITY_ERROR] = "error",
	[SEVERITY_WARNING] = "warning",
	[SEVERITY_LAYOUT] = "layout",
};

const struct finding_info finding_table[] = {
#define FINDING(name, code, severity, sentence, peer, fix) \
	[F_##name] = { code, SEVERITY_##severity, sentence, peer, FIX_##fix },
#include "findings.def"
#undef FINDING
};

void findings_init(struct findings *f, size_t max)
{
	*f = (struct findings) { .max = max };
	pthread_mutex_init(&f->lock, NULL);
}

void findings_free(struct findings *f)
{
	pthread_mutex_destroy(&f->lock);
	free(f->v);
}

#define COMPARE(x, y) ((x) < (y) ? -1 : (x) > (y))

static int finding_cmp(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	int c = COMPARE(finding_table[x->id].severity,
			finding_table[y->id].severity);

	c = c ? c : COMPARE(x->ino, y->ino);
	c = c ? c : COMPARE(x->group, y->group);
	c = c ? c : COMPARE(x->blk, y->blk);
	c = c ? c : COMPARE(x->id, y->id);
	c = c ? c : COMPARE(x->got, y->got);
	return c ? c : COMPARE(x->want, y->want);
}

void findings_sort(struct findings *f)
{
	if (f->n)
		qsort(f->v, f->n, sizeof(*f->v), finding_cmp);
	if (f->n > f->max)
		f->n = f->max;
}

/* Makes room for one more; false without memory. */
static bool make_room(struct findings *f)
{
	if (f->n >= 2 * f->max)
		findings_sort(f);
	return !e4l_grow(&f->v, f->n, sizeof(*f->v));
}

/* How a filesystem looks that is mounted and sound. */
static bool is_of_mount(enum finding_id id)
{
	static const bool of_mount[FINDING_IDS] = {
		[F_JOURNAL_RECOVERY] = true, [F_JOURNAL_FAST] = true,
		[F_MMP_IN_USE] = true,
		[F_ORPHAN_LIST] = true, [F_ORPHAN_FLAG] = true,
		[F_ORPHAN_BLOCK] = true,
	};

	return of_mount[id];
}

void findings_fail(struct findings *f)
{
	pthread_mutex_lock(&f->lock);
	f->failed = true;
	pthread_mutex_unlock(&f->lock);
}

void findings_add(struct findings *f, enum finding_id id, struct finding what)
{
	if ((f->layout_only && finding_table[id].severity != SEVERITY_LAYOUT) ||
	    (f->mounted && is_of_mount(id)))
		return;
	what.id = id;
	pthread_mutex_lock(&f->lock);
	f->count[id]++;
	f->severity[finding_table[id].severity]++;
	if (f->max) {
		if (make_room(f))
			f->v[f->n++] = what;
		else
			f->failed = true;
	}
	pthread_mutex_unlock(&f->lock);
}

static int put_number(char *buf, size_t size, char kind,
		      const struct finding *what)
{
	switch (kind) {
	case 'g':
		return snprintf(buf, size, "%" PRIu64, what->got);
	case 'w':
		return snprintf(buf, size, "%" PRIu64, what->want);
	default:
		return snprintf(buf, size, "0x%" PRIx64, what->got);
	}
}

/* Whether @s, in braces, is left out: {of one|of more}, or {of more}. */
static bool is_left_out(const char **braces, const char *s, bool one)
{
	const char *bar;

	if (*s == '{')
		*braces = s;
	if (!*braces)
		return false;
	bar = *braces + strcspn(*braces, "|}");
	if (*s == '}')
		*braces = NULL;
	return strchr("{|}", *s) || one != (*bar == '|' && s < bar);
}

const char *finding_text(const struct finding *what, char *buf, size_t size)
{
	const char *s = finding_table[what->id].sentence, *braces = NULL;
	size_t used = 0;

	for (; *s && used + 1 < size; s++) {
		if (is_left_out(&braces, s, what->got == 1))
			continue;
		if (*s == '%')
			used += put_number(buf + used, size - used, *++s, what);
		else
			buf[used++] = *s;
	}
	buf[used < size ? used : size - 1] = '\0';
	return buf;
}

bool finding_spoils_inode(const struct finding *what)
{
	/* What another inode, or the inode's own numbers, tell as well. */
	static const enum finding_id accounts[] = {
		F_INODE_BLOCKS, F_INODE_LARGE_FILE, F_XATTR_REFCOUNT,
		F_EA_INODE_REFCOUNT,
	};
	size_t i;

	for (i = 0; i < sizeof(accounts) / sizeof(*accounts); i++)
		if (accounts[i] == what->id)
			return false;
	return what->ino && what->id >= F_INODE_CSUM && what->id < F_DIR_READ &&
	       finding_table[what->id].severity == SEVERITY_ERROR;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "e4layout/base/internal.h"
#include "findings.h"

const char *const e4l_severity_names[] = {
	[E4L_SEVERITY_ERROR] = "error",
	[E4L_SEVERITY_WARNING] = "warning",
	[E4L_SEVERITY_LAYOUT] = "layout",
};

const struct finding_info e4l_finding_table[] = {
#define FINDING(name, code, severity, sentence, peer, fix) \
	[F_##name] = { code, E4L_SEVERITY_##severity, sentence, peer, E4L_FIX_##fix },
#include "findings.def"
#undef FINDING
};

void e4l_findings_init(struct findings *f, size_t max)
{
	*f = (struct findings) { .max = max };
	pthread_mutex_init(&f->lock, NULL);
}

void e4l_findings_free(struct findings *f)
{
	pthread_mutex_destroy(&f->lock);
	free(f->v);
}

#define COMPARE(x, y) ((x) < (y) ? -1 : (x) > (y))

static int finding_cmp(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	int c = COMPARE(e4l_finding_table[x->id].severity,
			e4l_finding_table[y->id].severity);

	c = c ? c : COMPARE(x->ino, y->ino);
	c = c ? c : COMPARE(x->group, y->group);
	c = c ? c : COMPARE(x->blk, y->blk);
	c = c ? c : COMPARE(x->id, y->id);
	c = c ? c : COMPARE(x->got, y->got);
	return c ? c : COMPARE(x->want, y->want);
}

void e4l_findings_sort(struct findings *f)
{
	e4l_sort(f->v, f->n, sizeof(*f->v), finding_cmp);
	if (f->n > f->max)
		f->n = f->max;
}

/* Ensures space for one more finding.  If memory runs out, returns false. */
static bool make_room(struct findings *f)
{
	if (f->n >= 2 * f->max)
		e4l_findings_sort(f);
	return !e4l_grow(&f->v, f->n, sizeof(*f->v));
}

/* Whether a finding is normal in a mounted, sound filesystem. */
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

void e4l_findings_fail(struct findings *f)
{
	pthread_mutex_lock(&f->lock);
	f->failed = true;
	pthread_mutex_unlock(&f->lock);
}

void e4l_findings_add(struct findings *f, enum finding_id id,
		      struct finding what)
{
	if ((f->layout_only && e4l_finding_table[id].severity != E4L_SEVERITY_LAYOUT) ||
	    (f->mounted && is_of_mount(id)))
		return;
	what.id = id;
	pthread_mutex_lock(&f->lock);
	f->count[id]++;
	f->severity[e4l_finding_table[id].severity]++;
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

/*
 * Whether the character at @s is not printed.  A sentence contains
 * {singular|plural}, and {plural} for text without a singular form.  If @one is
 * true, the singular applies.  Braces, bars and the form that does not apply
 * are not printed.  *@braces is the open brace before @s; NULL: @s is not in
 * braces.
 */
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

const char *e4l_finding_text(const struct finding *what, char *buf, size_t size)
{
	const char *s = e4l_finding_table[what->id].sentence, *braces = NULL;
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

bool e4l_finding_spoils_inode(const struct finding *what)
{
	/*
	 * findings about counters of an inode, not about the content of the
	 * inode
	 */
	static const enum finding_id accounts[] = {
		F_INODE_BLOCKS, F_INODE_LARGE_FILE, F_XATTR_REFCOUNT,
		F_EA_INODE_REFCOUNT,
	};
	size_t i;

	for (i = 0; i < sizeof(accounts) / sizeof(*accounts); i++)
		if (accounts[i] == what->id)
			return false;
	return what->ino && what->id >= F_INODE_CSUM && what->id < F_DIR_READ &&
	       e4l_finding_table[what->id].severity == E4L_SEVERITY_ERROR;
}

void e4l_finding_public(const struct finding *what,
			char text[FINDING_TEXT_LEN], struct e4l_finding *ret)
{
	const struct finding_info *info = &e4l_finding_table[what->id];

	*ret = (struct e4l_finding) {
		.code = info->code, .severity = info->severity,
		.text = e4l_finding_text(what, text, FINDING_TEXT_LEN),
		.e2fsck = info->peer, .fix = info->fix,
		.ino = what->ino, .blk = what->blk,
		.group = what->group, .has_group = what->has_group,
	};
}

errcode_t e4l_finding_fail(struct e4l *e, const struct finding *what)
{
	const char *code = e4l_finding_table[what->id].code;

	if (what->has_group)
		return e4l_fail_group(e, E4L_ET_DAMAGED, code, what->group,
				      what->blk);
	return e4l_fail(e, E4L_ET_DAMAGED, code, what->ino, what->blk);
}

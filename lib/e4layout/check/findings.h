/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What can be found (a table), and what was. */
#ifndef E4L_CHECK_FINDINGS_H
#define E4L_CHECK_FINDINGS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <e4layout/check.h>

enum finding_id {
#define FINDING(name, code, severity, sentence, peer, fix) F_##name,
#include "findings.def"
#undef FINDING
	FINDING_IDS
};

extern const char *const e4l_severity_names[];

/* A row of the table. */
struct finding_info {
	const char *code;
	enum e4l_severity severity;
	const char *sentence;
	const char *peer;	/* NULL: none has a word for it */
	enum e4l_fix fix;
};
extern const struct finding_info e4l_finding_table[];

/* One thing found.  0 or false: does not concern one. */
struct finding {
	enum finding_id id;
	ext2_ino_t ino;
	blk64_t blk;
	bool has_group;
	dgrp_t group;
	uint64_t got, want;
};

/*
 * All that was found: each is counted, and the @max most severe (by inode and
 * block where they are equally so) are kept, whichever order they come in.
 * Any thread may add.
 */
struct findings {
	pthread_mutex_t lock;
	size_t max;
	struct finding *v;
	size_t n;
	bool failed;		/* memory was short */
	bool layout_only;	/* others are not added */
	bool mounted;		/* what a mount leads to is not added */
	uint64_t count[FINDING_IDS];
	uint64_t severity[E4L_SEVERITIES];
};

void e4l_findings_init(struct findings *f, size_t max);
void e4l_findings_free(struct findings *f);
void e4l_findings_add(struct findings *f, enum finding_id id,
		      struct finding what);

/* Memory was short: what was found is not all there is, nor is it sure. */
void e4l_findings_fail(struct findings *f);

/* Brings those that are kept in order; once nobody adds any more. */
void e4l_findings_sort(struct findings *f);

/* The sentence with its numbers in @buf, terminated.  Returns @buf. */
const char *e4l_finding_text(const struct finding *what, char *buf,
			     size_t size);

#define FINDING_TEXT_LEN 160

/* Fills *@ret for @what; its sentence is written to @text. */
void e4l_finding_public(const struct finding *what,
			char text[FINDING_TEXT_LEN], struct e4l_finding *ret);

/* E4L_ET_DAMAGED, with the code and place of @what as the detail of @e. */
errcode_t e4l_finding_fail(struct e4l *e, const struct finding *what);

/* Whether it puts what its inode holds in doubt, rather than its accounts. */
bool e4l_finding_spoils_inode(const struct finding *what);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* findings: the table of possible findings, and lists of findings. */
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

/* A row of e4l_finding_table. */
struct finding_info {
	const char *code;
	enum e4l_severity severity;
	const char *sentence;
	const char *peer; /* e2fsck's name for the problem; NULL: no name */
	enum e4l_fix fix;
};
extern const struct finding_info e4l_finding_table[];

/* A finding.  Members that do not apply are 0 or false. */
struct finding {
	enum finding_id id;
	ext2_ino_t ino;
	blk64_t blk;
	bool has_group;
	dgrp_t group;
	uint64_t got, want;
};

/*
 * A list of findings.  Every finding is counted, but only the first @max
 * findings in the order of severity, inode, group and block are kept.  The
 * order in which findings are added does not matter.  Any thread may add
 * findings.
 */
struct findings {
	pthread_mutex_t lock;
	size_t max;
	struct finding *v;
	size_t n;
	bool failed;		/* memory ran out */
	bool layout_only;	/* add layout findings only */
	/* do not add findings that are normal in a mounted filesystem */
	bool mounted;
	uint64_t count[FINDING_IDS];
	uint64_t severity[E4L_SEVERITIES];
};

void e4l_findings_init(struct findings *f, size_t max);
void e4l_findings_free(struct findings *f);
void e4l_findings_add(struct findings *f, enum finding_id id,
		      struct finding what);

/* Records that memory ran out, so that the findings are incomplete. */
void e4l_findings_fail(struct findings *f);

/* Sorts the kept findings.  Must be called after the last finding is added. */
void e4l_findings_sort(struct findings *f);

/*
 * Writes the sentence of @what, with the numbers of @what, to @buf.  A NUL ends
 * the sentence.  Returns @buf.
 */
const char *e4l_finding_text(const struct finding *what, char *buf,
			     size_t size);

#define FINDING_TEXT_LEN 160

/*
 * Fills the public struct *@ret from the finding @what.  Writes the sentence
 * that describes the finding to @text.
 */
void e4l_finding_public(const struct finding *what,
			char text[FINDING_TEXT_LEN], struct e4l_finding *ret);

/*
 * Returns E4L_ET_DAMAGED, and sets the failure detail of @e to the code and the
 * location of @what.
 */
errcode_t e4l_finding_fail(struct e4l *e, const struct finding *what);

/* Whether the finding is an error in the inode's content, not in a counter. */
bool e4l_finding_spoils_inode(const struct finding *what);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options as tables: adding one is adding a row. */
#ifndef SUPPORT_ARGS_H
#define SUPPORT_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "units.h"

enum args_kind {
	ARGS_FLAG,	/* bool */
	ARGS_COUNT,	/* uint64_t, from min to max */
	/* uint64_t in bytes, from min to max; a word of choices is its index */
	ARGS_SIZE,
	ARGS_SHARE,	/* struct units_share: a size up to max, or a part */
	ARGS_CHOICE,	/* unsigned int, the index in choices */
	/* unsigned int, a bit for each of choices in a list with commas */
	ARGS_SET,
	ARGS_TEXT,	/* const char *, points into argv */
	ARGS_TEXTS,	/* struct args_texts, one for each time it is given */
};

struct args_texts {
	const char **v;		/* to be freed; the texts point into argv */
	size_t n;
};

struct args_option {
	const char *name;		/* without the dashes; NULL: none */
	char letter;			/* 0: none */
	enum args_kind kind;
	size_t offset;			/* of its value in the configuration */
	const char *value;		/* what --help calls it; NULL: a flag */
	const char *implied;		/* if none is given; NULL: one must be */
	const char *help;
	uint64_t min, max;
	const char *const *choices;	/* NULL-terminated */
};

#define MAX_PARTITION 65535

enum args_progress { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER };

/* The first member of every tool's configuration. */
struct args_common {
	bool help, version;
	bool json, quiet, verbose;
	unsigned int progress;		/* enum args_progress */
	uint64_t partition;		/* of the target; 0: it is no disk */
};

struct args_tool {
	const char *operands;		/* e.g. "TARGET [PATH...]" */
	const char *purpose;		/* one sentence for --help */
	const struct args_option *options;
	unsigned int n_options;
	int min_operands, max_operands;	/* max -1: no limit */
};

/*
 * Parses @argv into @config, whose members keep what they hold when their
 * option is not given.  Operands end up last in @argv.  Returns the index of
 * the first of them; otherwise, when everything has been said already (--help,
 * --version, a wrong option), -1, *@status is what to exit with, and the
 * configuration has no texts.
 */
int args_parse(const struct args_tool *tool, int argc, char **argv,
	       void *config, int *status);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* args: parses command-line options, which each tool describes in a table. */
#ifndef SUPPORT_ARGS_H
#define SUPPORT_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "units.h"

enum args_kind {
	ARGS_FLAG,	/* sets a bool to true */
	ARGS_COUNT,	/* sets a uint64_t to a number from min to max */
	/*
	 * sets a uint64_t to a size in bytes, from min to max, or to the index
	 * of a word in choices
	 */
	ARGS_SIZE,
	/* sets a struct units_share to a size up to max, or to a percentage */
	ARGS_SHARE,
	/* sets an unsigned int to the index of a word in choices */
	ARGS_CHOICE,
	/*
	 * sets a bit of an unsigned int for each word of choices in a
	 * comma-separated list
	 */
	ARGS_SET,
	ARGS_TEXT,	/* sets a const char * to the text in argv */
	ARGS_TEXTS,	/* adds the text in argv to a struct args_texts */
	ARGS_TAKE,	/* calls take() */
};

struct args_texts {
	/* The caller frees this array, but not the texts, which are in argv. */
	const char **v;
	size_t n;
};

struct args_option {
	/* long name without the dashes, or NULL if there is no long name */
	const char *name;
	char letter;			/* 0 if there is no letter */
	enum args_kind kind;
	/* offset of the value in the tool's configuration */
	size_t offset;
	/* name of the value in --help, or NULL if the option has no value */
	const char *value;
	/*
	 * value to use if the user gives no value, or NULL if the user must
	 * give a value
	 */
	const char *implied;
	/* text for --help; each line is indented */
	const char *help;
	uint64_t min, max;
	const char *const *choices;	/* NULL-terminated */
	/*
	 * for ARGS_TAKE: takes @value, which points into argv.  Returns false
	 * after printing an error.
	 */
	bool (*take)(void *config, char *value);
};

#define MAX_PARTITION 65535

enum args_progress { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER };

/* The first member of every tool's configuration. */
struct args_common {
	bool help, version;
	bool json, quiet, verbose;
	unsigned int progress;		/* enum args_progress */
	/* partition number of the target, or 0 for no partition */
	uint64_t partition;
	/*
	 * take() or take_letter() failed for lack of memory, which is not a
	 * usage error
	 */
	bool no_memory;
};

struct args_tool {
	const char *operands;		/* e.g. "TARGET [PATH...]" */
	const char *purpose;		/* printed by --help */
	/*
	 * An option in this table replaces the common option of the same name.
	 */
	const struct args_option *options;
	unsigned int n_options;
	int min_operands, max_operands;	/* -1 for no maximum */
	bool no_verbose;		/* the tool has no --verbose */
	/*
	 * Option letters of another program, in the form of getopt(3); NULL: no
	 * such letters.  --help does not list these letters.
	 */
	const char *letters;
	bool (*take_letter)(void *config, int letter, char *value);
};

/*
 * Parses @argv into @config.  If an option is not given, its member of @config
 * keeps its value.  Moves the operands to the end of @argv and returns the
 * index of the first operand.
 *
 * Returns -1 if the program must exit: after --help or --version, or after
 * printing an error.  *@status is then the exit status, and the arrays of texts
 * in @config have been freed.
 */
int args_parse(const struct args_tool *tool, int argc, char **argv,
	       void *config, int *status);

#endif

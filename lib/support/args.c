/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "args.h"
#include "say.h"

/*
 * getopt_long() returns LONG_BASE + i for the long option in row i of the
 * table.  LONG_BASE is larger than any option letter.
 */
#define LONG_BASE 256

static const char *const progress_choices[] = {
	"auto", "always", "never", NULL
};

#define COMMON(member) offsetof(struct args_common, member)
#define VERBOSE 3	/* index of --verbose in common_options */
static const struct args_option common_options[] = {
	{ .name = "partition", .kind = ARGS_COUNT,
	  .offset = COMMON(partition), .value = "N", .min = 1,
	  .max = MAX_PARTITION, .help = "use partition N of the disk TARGET" },
	{ .name = "json", .kind = ARGS_FLAG, .offset = COMMON(json),
	  .help = "print the report as JSON" },
	{ .name = "quiet", .letter = 'q', .kind = ARGS_FLAG,
	  .offset = COMMON(quiet), .help = "print no summary, notes or progress" },
	[VERBOSE] = {
	  .name = "verbose", .letter = 'v', .kind = ARGS_FLAG,
	  .offset = COMMON(verbose), .help = "print more details" },
	{ .name = "progress", .kind = ARGS_CHOICE, .offset = COMMON(progress),
	  .value = "WHEN", .choices = progress_choices,
	  .help = "show progress: auto (on a terminal), always, never" },
	{ .name = "help", .letter = 'h', .kind = ARGS_FLAG,
	  .offset = COMMON(help), .help = "show this help and exit" },
	{ .name = "version", .letter = 'V', .kind = ARGS_FLAG,
	  .offset = COMMON(version), .help = "show the version and exit" },
};
#define N_COMMON (sizeof(common_options) / sizeof(*common_options))

static const struct args_option *option_at(const struct args_tool *tool,
					   unsigned int i)
{
	const struct args_option *common = common_options;

	if (i < tool->n_options)
		return &tool->options[i];
	common += i - tool->n_options;
	if (tool->no_verbose && common >= &common_options[VERBOSE])
		common++;
	return common;
}

static unsigned int option_count(const struct args_tool *tool)
{
	return tool->n_options + N_COMMON - tool->no_verbose;
}

/*
 * Returns whether row @i is a common option that the tool's own table replaces.
 */
static bool is_replaced(const struct args_tool *tool, unsigned int i)
{
	const char *name = option_at(tool, i)->name;
	unsigned int own;

	for (own = 0; i >= tool->n_options && own < tool->n_options; own++)
		if (tool->options[own].name &&
		    !strcmp(tool->options[own].name, name))
			return true;
	return false;
}

/*
 * Returns the option for @c, the result of getopt_long().  If @c is one of
 * tool->letters, returns NULL.
 */
static const struct args_option *option_found(const struct args_tool *tool,
					      int c)
{
	unsigned int i;

	if (c >= LONG_BASE)
		return option_at(tool, c - LONG_BASE);
	for (i = 0; i < option_count(tool); i++)
		if (option_at(tool, i)->letter == c)
			return option_at(tool, i);
	return NULL;
}

#define HELP_COLUMN 28

/*
 * Prints the lines of @help, which begin in column HELP_COLUMN.  The cursor is
 * in column @at.
 */
static void print_lines(const char *help, int at)
{
	size_t len;

	for (; *help; help += len + (help[len] == '\n'), at = 0) {
		len = strcspn(help, "\n");
		printf("%*s%.*s\n", HELP_COLUMN - at, "", (int)len, help);
	}
}

static void print_option(const struct args_option *opt)
{
	char left[60];
	int n;

	n = opt->letter ? snprintf(left, sizeof(left), "-%c%s", opt->letter,
				   opt->name ? ", " : " ") :
			  snprintf(left, sizeof(left), "    ");
	snprintf(left + n, sizeof(left) - n, "%s%s%s%s%s%s",
		 opt->name ? "--" : "", opt->name ? opt->name : "",
		 opt->implied ? "[" : "", opt->name && opt->value ? "=" : "",
		 opt->value ? opt->value : "", opt->implied ? "]" : "");
	n = printf("  %s", left);
	if (n >= HELP_COLUMN) {
		putchar('\n');
		n = 0;
	}
	print_lines(opt->help, n);
}

static void print_help(const struct args_tool *tool)
{
	unsigned int i;

	printf("Usage: %s [options] %s\n%s\n\n", program_invocation_short_name,
	       tool->operands, tool->purpose);
	for (i = 0; i < option_count(tool); i++)
		if (!is_replaced(tool, i))
			print_option(option_at(tool, i));
}

static void print_version(void)
{
	const char *version, *date;

	ext2fs_get_library_version(&version, &date);
	printf("%s %s (libext2fs %s)\n", program_invocation_short_name,
	       PACKAGE_VERSION, version);
}

/*
 * If the first @len characters of @arg are one of the option's choices, sets
 * *@value to the index of the choice and returns true.
 */
static bool find_choice(const struct args_option *opt, const char *arg,
			size_t len, unsigned int *value)
{
	unsigned int i;

	for (i = 0; opt->choices && opt->choices[i]; i++) {
		if (strlen(opt->choices[i]) == len &&
		    !strncmp(arg, opt->choices[i], len)) {
			*value = i;
			return true;
		}
	}
	return false;
}

static bool set_bits(const struct args_option *opt, const char *arg,
		     unsigned int *value)
{
	unsigned int bits = 0, i;
	size_t len;

	for (;; arg += len + 1) {
		len = strcspn(arg, ",");
		if (!find_choice(opt, arg, len, &i))
			return false;
		bits |= 1u << i;
		if (!arg[len])
			break;
	}
	*value = bits;
	return true;
}

static bool set_number(const struct args_option *opt, const char *arg,
		       uint64_t *value)
{
	uint64_t n;
	unsigned int word;
	bool ok = opt->kind == ARGS_SIZE ? units_parse_size(arg, &n) :
					   units_parse_count(arg, &n);

	if (find_choice(opt, arg, strlen(arg), &word)) {
		*value = word;
		return true;
	}
	if (!ok || n < opt->min || n > opt->max)
		return false;
	*value = n;
	return true;
}

static bool set_share(const struct args_option *opt, const char *arg,
		      struct units_share *value)
{
	struct units_share share;

	if (!units_parse_share(arg, &share) || share.bytes > opt->max)
		return false;
	*value = share;
	return true;
}

/*
 * Stores @arg, the value of the option, in @config.  If @arg is not a valid
 * value, returns false.  Only the option's take() function prints an error.
 */
static bool set_option(const struct args_option *opt, char *arg, void *config)
{
	void *member = (char *)config + opt->offset;
	struct args_texts *texts = member;

	switch (opt->kind) {
	case ARGS_FLAG:
		*(bool *)member = true;
		return true;
	case ARGS_COUNT:
	case ARGS_SIZE:
		return set_number(opt, arg, member);
	case ARGS_SHARE:
		return set_share(opt, arg, member);
	case ARGS_CHOICE:
		return find_choice(opt, arg, strlen(arg), member);
	case ARGS_SET:
		return set_bits(opt, arg, member);
	case ARGS_TEXT:
		*(const char **)member = arg;
		return true;
	case ARGS_TEXTS:
		texts->v[texts->n++] = arg;
		return true;
	case ARGS_TAKE:
		return opt->take(config, arg);
	}
	return false;
}

/*
 * Prints an error with the valid values of the option.  Prints nothing for
 * ARGS_TAKE, because take() has already printed the error.
 */
static void say_bad_value(const struct args_option *opt, const char *arg)
{
	char list[120] = "", low[UNITS_LEN], high[UNITS_LEN];
	size_t n = 0;
	unsigned int i;

	for (i = 0; opt->choices && opt->choices[i] && n < sizeof(list); i++)
		n += snprintf(list + n, sizeof(list) - n, "%s%s",
			      i ? ", " : "", opt->choices[i]);
	if (opt->kind == ARGS_CHOICE) {
		say("--%s: invalid value '%s' (expected one of: %s)",
		    opt->name, arg, list);
	} else if (opt->kind == ARGS_SET) {
		say("--%s: invalid list '%s' (expected words separated by "
		    "commas: %s)", opt->name, arg, list);
	} else if (opt->kind == ARGS_SIZE) {
		say("--%s: invalid value '%s' (expected %s%sa size from %s to "
		    "%s)", opt->name, arg, list, *list ? " or " : "",
		    units_size(opt->min, low), units_size(opt->max, high));
	} else if (opt->kind == ARGS_SHARE) {
		say("--%s: invalid value '%s' (expected a size up to %s, or a "
		    "percentage such as 10%%)", opt->name, arg,
		    units_size(opt->max, high));
	} else if (opt->kind == ARGS_COUNT) {
		say("--%s: invalid value '%s' (expected a number from %llu to "
		    "%llu)", opt->name, arg, (unsigned long long)opt->min,
		    (unsigned long long)opt->max);
	}
}

static int usage(const struct args_common *common, int *status)
{
	*status = common->no_memory ? STATUS_FAILED : STATUS_USAGE;
	if (!common->no_memory)
		fprintf(stderr, "Try '%s --help'.\n",
			program_invocation_short_name);
	return -1;
}

/*
 * Makes the tables of getopt_long().  Each option adds at most one letter and
 * one long name to the tables.  Returns false if there is no memory.
 */
static bool make_tables(const struct args_tool *tool, char **letters,
			struct option **longs)
{
	unsigned int i, count = option_count(tool);
	const char *more = tool->letters ? tool->letters : "";
	char *out;

	*letters = malloc(2 * count + strlen(more) + 2);
	*longs = calloc(count + 1, sizeof(**longs));
	if (!*letters || !*longs)
		return false;
	out = *letters;
	*out++ = ':';
	for (i = 0; i < count; i++) {
		const struct args_option *opt = option_at(tool, i);

		(*longs)[i] = (struct option) {
			.name = opt->name && !is_replaced(tool, i) ? opt->name :
								     "",
			.val = LONG_BASE + i,
			.has_arg = opt->implied ? optional_argument :
				   opt->value ? required_argument : no_argument,
		};
		if (opt->letter)
			*out++ = opt->letter;
		if (opt->letter && opt->value)
			*out++ = ':';
	}
	strcpy(out, more);
	return true;
}

/*
 * Finds the next option of kind ARGS_TEXTS, from row *@i of the tool's table
 * on.  Returns the option's member of @config, and sets *@i to the row after
 * the option.  If the table has no further ARGS_TEXTS option, returns NULL.
 */
static struct args_texts *next_texts(const struct args_tool *tool,
				     void *config, unsigned int *i)
{
	const struct args_option *opt;

	while (*i < tool->n_options) {
		opt = &tool->options[(*i)++];
		if (opt->kind == ARGS_TEXTS)
			return (void *)((char *)config + opt->offset);
	}
	return NULL;
}

/*
 * Allocates each ARGS_TEXTS array for @argc texts, because the command line has
 * at most @argc texts.  Returns false if there is no memory.
 */
static bool make_room(const struct args_tool *tool, int argc, void *config)
{
	struct args_texts *texts;
	unsigned int i = 0;
	const char **v;

	while ((texts = next_texts(tool, config, &i))) {
		v = reallocarray(texts->v, texts->n + argc, sizeof(*v));
		if (!v)
			return false;
		texts->v = v;
	}
	return true;
}

static void free_texts(const struct args_tool *tool, void *config)
{
	struct args_texts *texts;
	unsigned int i = 0;

	while ((texts = next_texts(tool, config, &i))) {
		free(texts->v);
		*texts = (struct args_texts) { 0 };
	}
}

/*
 * Prints the option that getopt_long() refused.  optopt is the option's letter,
 * 0 for an unknown long option, or LONG_BASE or more for a long option that
 * takes no value.
 */
static void say_refused(int c, char **argv)
{
	const char *word = argv[optind - 1];

	if (c == ':')
		say("option '%s' needs a value", word);
	else if (optopt && optopt < LONG_BASE)
		say("unknown option '-%c'", optopt);
	else if (optopt)
		say("option '%s' takes no value", word);
	else
		say("unknown option '%s'", word);
}

/*
 * Stores the value of option @c, as returned by getopt_long(), in @config.
 * Returns false after printing an error.
 */
static bool take_option(const struct args_tool *tool, int c, void *config)
{
	const struct args_option *opt = option_found(tool, c);
	char *value;

	if (!opt)
		return tool->take_letter(config, c, optarg);
	value = optarg ? optarg : (char *)opt->implied;
	if (set_option(opt, value, config))
		return true;
	say_bad_value(opt, value);
	return false;
}

static bool parse_options(const struct args_tool *tool, int argc, char **argv,
			  void *config, const char *letters,
			  const struct option *longs)
{
	int c;

	optind = 0;	/* restarts getopt */
	opterr = 0;
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (c == '?' || c == ':') {
			say_refused(c, argv);
			return false;
		}
		if (!take_option(tool, c, config))
			return false;
	}
	return true;
}

static bool check_operands(const struct args_tool *tool, int count)
{
	if (count < tool->min_operands)
		say("too few operands: %s", tool->operands);
	else if (tool->max_operands >= 0 && count > tool->max_operands)
		say("too many operands: %s", tool->operands);
	else
		return true;
	return false;
}

/*
 * If --help or --version was given, prints the text, sets *@status and returns
 * true.
 */
static bool answered(const struct args_tool *tool,
		     const struct args_common *common, int *status)
{
	if (common->help)
		print_help(tool);
	else if (common->version)
		print_version();
	else
		return false;
	*status = say_done(STATUS_DONE);
	return true;
}

int args_parse(const struct args_tool *tool, int argc, char **argv,
	       void *config, int *status)
{
	struct option *longs = NULL;
	char *letters = NULL;
	int first = -1;

	if (!say_start()) {
		say_error("/", "cannot open", errno);
		*status = STATUS_FAILED;
	} else if (!make_tables(tool, &letters, &longs) ||
		   !make_room(tool, argc, config)) {
		say("%s", error_message(ENOMEM));
		*status = STATUS_FAILED;
	} else if (!parse_options(tool, argc, argv, config, letters, longs)) {
		usage(config, status);
	} else if (!answered(tool, config, status)) {
		first = check_operands(tool, argc - optind) ? optind :
						usage(config, status);
	}
	if (first < 0)
		free_texts(tool, config);
	free(letters);
	free(longs);
	return first;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * e4debug: an interactive shell to examine and change the layout of a
 * filesystem.
 */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "support/say.h"
#include "support/units.h"
#include "e4debug.h"

/* Memory limit of the extent status cache. */
#define CACHE_BYTES (64ULL << 20)

#define AT(member) offsetof(struct shell, member)
static const struct args_option options[] = {
	{ .name = "write", .letter = 'w', .kind = ARGS_FLAG,
	  .offset = AT(write), .help = "open the filesystem for writing" },
	{ .name = "request", .letter = 'R', .kind = ARGS_TEXT,
	  .offset = AT(line), .value = "REQUEST",
	  .help = "run one request and exit" },
	{ .name = "file", .letter = 'f', .kind = ARGS_TEXT, .offset = AT(file),
	  .value = "FILE", .help = "run the requests in FILE (-: "
				   "standard input)" },
	{ .name = "undo-file", .letter = 'z', .kind = ARGS_TEXT,
	  .offset = AT(undo.file), .value = "FILE",
	  .help = "save overwritten blocks for e2undo(8)" },
	{ .name = "no-undo", .kind = ARGS_FLAG, .offset = AT(undo.none),
	  .help = "allow changes without a journal or an undo file" },
};
static const struct args_tool tool = {
	.operands = "[TARGET]",
	.purpose = "Examine and change the layout of an ext4 filesystem.",
	.options = options,
	.n_options = sizeof(options) / sizeof(*options),
	.min_operands = 0, .max_operands = 1,
};

/* ------------------------------------------------------ opening and closing */

bool shell_close(struct shell *s)
{
	bool ok;

	if (!s->open)
		return true;
	s->open = false;
	e4l_es_free(s->cache);
	s->cache = NULL;
	s->e = NULL;
	ok = target_close(&s->target);
	free(s->name);
	s->name = NULL;
	return ok;
}

static bool open_target(struct shell *s)
{
	if (s->write)
		return target_open_change(&s->target, s->name, s->partition,
					  &s->undo);
	return target_open_read(&s->target, s->name, s->partition,
				s->args.quiet);
}

bool shell_open(struct shell *s, const char *name, uint64_t partition)
{
	errcode_t err;

	s->partition = partition;
	s->name = strdup(name);
	if (!s->name) {
		say_error(name, "cannot open", ENOMEM);
		return false;
	}
	if (!open_target(s)) {
		free(s->name);
		s->name = NULL;
		return false;
	}
	s->open = true;
	s->e = s->target.e;
	err = e4l_es_new(CACHE_BYTES, &s->cache);
	if (!err)
		return true;
	say_e4l(name, s->e, err);
	shell_close(s);
	return false;
}

bool shell_around(struct shell *s, bool (*work)(struct shell *s, void *priv),
		  void *priv)
{
	char *name = strdup(s->name);
	bool ok;

	if (!name)
		return shell_fails(s, s->name, ENOMEM);
	ok = shell_close(s) && work(s, priv);
	ok &= shell_open(s, name, s->partition);
	free(name);
	return ok;
}

/* ----------------------------------------------------------------- requests */

bool do_open(struct shell *s, int argc, const char *const *argv)
{
	uint64_t partition = 0;

	if (s->open) {
		say("open: %s is already open: run close first", s->name);
		return false;
	}
	if (argc > 2 && (!units_parse_count(argv[2], &partition) ||
			 !partition)) {
		say("open: %s: not a partition number", argv[2]);
		return false;
	}
	s->checked = false;
	return shell_open(s, argv[1], partition);
}

bool do_close(struct shell *s, int argc, const char *const *argv)
{
	return shell_close(s);
}

bool do_help(struct shell *s, int argc, const char *const *argv)
{
	const ss_request_entry *r;
	char form[64];

	for (r = e4debug_commands.requests; r->command_names; r++) {
		snprintf(form, sizeof(form), "%s %s", r->command_names[0],
			 shell_usage(r->command_names[0]));
		printf("%-36s %s\n", form, r->info_string);
	}
	printf("%-36s %s\n", "other requests",
	       "passed to debugfs(8): see debugfs -R lr");
	return true;
}

bool do_quit(struct shell *s, int argc, const char *const *argv)
{
	s->quit = true;
	return true;
}

/* -------------------------------------------------------------------- lines */

/*
 * Returns whether the double quotes in @line are balanced.  libss prints an
 * error for unbalanced quotes, but returns success.
 */
static bool is_balanced(const char *line)
{
	bool balanced = true;

	while ((line = strchr(line, '"'))) {
		balanced = !balanced;
		line++;
	}
	return balanced;
}

bool shell_do(struct shell *s, const char *line)
{
	char *copy;
	int err;

	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return true;
	if (!is_balanced(line)) {
		say("missing closing quote: %s", line);
		return false;
	}
	copy = strdup(line);
	if (!copy) {
		say_error(line, "cannot run the request", ENOMEM);
		return false;
	}
	s->failed = *line != '!';
	s->request = NULL;
	err = ss_execute_line(s->ss, copy);
	free(copy);
	if (err == SS_ET_COMMAND_NOT_FOUND)
		return shell_pass(s, line);
	/*
	 * If memory runs out, ss_execute_line() returns 0 and runs no request.
	 */
	if (!err && s->failed && !s->request)
		err = ENOMEM;
	if (err)
		say_error(line, "cannot run the request", err);
	return !err && !s->failed;
}

static bool do_lines(struct shell *s, FILE *in, const char *name)
{
	unsigned long number = 0;
	char *line = NULL;
	size_t room = 0;
	bool ok = true;
	ssize_t len = 0;

	while (ok && !s->quit && (len = getline(&line, &room, in)) >= 0) {
		number++;
		if (len && line[len - 1] == '\n')
			line[len - 1] = '\0';
		ok = shell_do(s, line);
		if (!ok)
			say("%s: line %lu: '%s' failed; later requests were not "
			    "run", name, number, line);
	}
	if (len < 0 && !feof(in)) {
		say_error(name, "cannot read", errno);
		ok = false;
	}
	free(line);
	return ok;
}

static bool do_file(struct shell *s, const char *name)
{
	FILE *in;
	bool ok;

	if (!strcmp(name, "-"))
		return do_lines(s, stdin, "standard input");
	in = fopen(name, "re");
	if (!in) {
		say_error(name, "cannot open", errno);
		return false;
	}
	ok = do_lines(s, in, name);
	fclose(in);
	return ok;
}

static bool work(struct shell *s)
{
	if (s->line)
		return shell_do(s, s->line);
	if (s->file)
		return do_file(s, s->file);
	if (!isatty(STDIN_FILENO))
		return do_file(s, "-");
	shell_listen(s);
	return true;
}

static int run(struct shell *s, const char *target)
{
	char name[] = "e4debug", version[] = PACKAGE_VERSION;
	bool ok;
	int err;

	s->ss = ss_create_invocation(name, version, s, &e4debug_commands, &err);
	if (err) {
		say_error(name, "cannot start", err);
		return STATUS_FAILED;
	}
	ok = (!target || shell_open(s, target, s->args.partition)) && work(s);
	ok &= shell_close(s);
	ss_delete_invocation(s->ss);
	return ok ? STATUS_DONE : STATUS_FAILED;
}

static bool check_usage(const struct shell *s)
{
	if (s->line && s->file)
		say("--request and --file cannot be given together");
	else if ((s->undo.file || s->undo.none) && !s->write)
		say("--undo-file and --no-undo require --write");
	else
		return true;
	return false;
}

int main(int argc, char **argv)
{
	struct shell s = { .args.progress = PROGRESS_AUTO };
	int first, status;

	first = args_parse(&tool, argc, argv, &s, &status);
	if (first < 0)
		return status;
	if (!check_usage(&s))
		return STATUS_USAGE;
	initialize_ext2_error_table();
	initialize_e4l_error_table();
	initialize_ss_error_table();
	return say_done(run(&s, argv[first]));
}

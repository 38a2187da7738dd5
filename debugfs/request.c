/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of requests, and the checks before a request runs. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "e4layout/base/io_stats.h"
#include "support/verify.h"
#include "support/say.h"
#include "support/undo_guard.h"
#include "e4debug.h"

/*
 * Requirements of requests.  A requirement that includes another requirement
 * has the larger value.
 */
enum needs {
	NOTHING = 0,
	OPEN = 1,		/* an open filesystem */
	/* an open filesystem; the request can be interrupted */
	READING = OPEN | 2,
	WRITING = OPEN | 4,	/* a filesystem that is open for writing */
	/* a filesystem that is open for writing and has no errors */
	CHANGING = WRITING | 8,
};

static const struct request {
	const char *name;
	const char *usage;	/* arguments, for messages */
	int min, max;		/* minimum and maximum number of arguments */
	enum needs needs;
	request_fn *run;
} requests[] = {
	{ "open", "TARGET [PARTITION]", 1, 2, NOTHING, do_open },
	{ "close", "", 0, 0, OPEN, do_close },
	{ "stats", "", 0, 0, READING, do_stats },
	{ "frag", "[PATH|<INODE>]", 0, 1, READING, do_frag },
	{ "extents", "PATH|<INODE>", 1, 1, READING, do_extents },
	{ "map", "[PATH|<INODE>]", 0, 1, READING, do_map },
	{ "freespace", "", 0, 0, READING, do_freespace },
	{ "locality", "DIRECTORY", 1, 1, READING, do_locality },
	{ "tree", "PATH|<INODE>", 1, 1, READING, do_tree },
	{ "plan", "[PATH|<INODE>]", 0, 1, READING, do_plan },
	{ "repack", "[PATH|<INODE>]", 0, 1, CHANGING, do_repack },
	{ "files", "[PATH|<INODE>]", 0, 1, CHANGING, do_files },
	{ "trees", "[PATH|<INODE> [SIZE]]", 0, 2, CHANGING, do_trees },
	{ "directories", "[PATH|<INODE>]", 0, 1, CHANGING, do_directories },
	{ "free", "", 0, 0, CHANGING, do_free },
	{ "inodes", "[PATH|<INODE>]", 0, 1, CHANGING, do_inodes },
	{ "write", "HOSTFILE PATH", 2, 2, CHANGING, do_write },
	{ "fallocate", "PATH OFFSET LENGTH", 3, 3, CHANGING, do_fallocate },
	{ "punch", "PATH OFFSET LENGTH", 3, 3, CHANGING, do_punch },
	{ "mkdir", "PATH", 1, 1, CHANGING, do_mkdir },
	{ "link", "PATH NEWPATH", 2, 2, CHANGING, do_link },
	{ "undo", "", 0, 0, WRITING, do_undo },
	{ "tunables", "[NAME=VALUE|^NAME,...]", 0, 1, OPEN, do_tunables },
	{ "journal", "", 0, 0, READING, do_journal },
	{ "findings", "", 0, 0, READING, do_findings },
	{ "cachestat", "", 0, 0, READING, do_cachestat },
	{ "help", "", 0, 0, NOTHING, do_help },
	{ "quit", "", 0, 0, NOTHING, do_quit },
};

/*
 * If @name is an alias in commands.ct, returns the full name; otherwise returns
 * @name.
 */
static const char *full_name(const char *name)
{
	const ss_request_entry *r;
	const char *const *alias;

	for (r = e4debug_commands.requests; r->command_names; r++)
		for (alias = r->command_names; *alias; alias++)
			if (!strcmp(*alias, name))
				return r->command_names[0];
	return name;
}

static const struct request *find(const char *name)
{
	size_t i;

	name = full_name(name);
	for (i = 0; i < sizeof(requests) / sizeof(*requests); i++)
		if (!strcmp(requests[i].name, name))
			return &requests[i];
	return NULL;
}

const char *shell_usage(const char *name)
{
	const struct request *r = find(name);

	return r ? r->usage : "";
}

static bool is_writable(const struct shell *s)
{
	if (!s->write)
		say("%s: %s is open read-only: start e4debug with -w",
		    s->request, s->name);
	return s->write;
}

bool shell_may_change(struct shell *s)
{
	if (!is_writable(s))
		return false;
	if (!s->checked)
		s->checked = verify_before(&s->target, s->e, &s->args,
					   &s->interrupt);
	return s->checked;
}

static bool may_run(const struct shell *s, const struct request *r, int argc)
{
	if (argc - 1 < r->min || argc - 1 > r->max)
		say("usage: %s%s%s", r->name, *r->usage ? " " : "",
		    r->usage);
	else if (r->needs & OPEN && !s->open)
		say("%s: no filesystem is open: run open TARGET", r->name);
	else
		return r->needs < WRITING || is_writable(s);
	return false;
}

/*
 * Runs a request, and returns false if the request fails.  An interrupt ends a
 * reading request at any point; other requests check for interrupts themselves.
 */
static bool run(struct shell *s, const struct request *r, int argc,
		const char *const *argv)
{
	errcode_t err = interrupt_start(&s->interrupt, r->needs == READING ?
						       s->e : NULL);
	bool ok;

	if (err)
		return shell_fails(s, "cannot start a thread for signals", err);
	ok = (r->needs < CHANGING || shell_may_change(s)) &&
	     r->run(s, argc, argv);
	interrupt_stop(&s->interrupt);
	if (s->e)
		e4l_clear_interrupt(s->e);
	if (s->args.verbose && s->e)
		say_reads(s->name, s->e);
	return ok && fflush(stdout) != EOF;
}

void e4debug_request(int argc, const char *const *argv, int ss, void *priv)
{
	const struct request *r = find(argv[0]);
	struct shell *s = priv;

	s->request = full_name(argv[0]);
	s->failed = !r || !may_run(s, r, argc) || !run(s, r, argc, argv);
}

bool shell_fails(const struct shell *s, const char *what, errcode_t err)
{
	/*
	 * Do not print the messages of libext2fs for these errors: they contain
	 * the name of a function, or "Ext2 inode".
	 */
	if (err == EXT2_ET_FILE_NOT_FOUND)
		err = E4L_ET_NO_PATH;
	else if (err == EXT2_ET_NO_DIRECTORY)
		err = E4L_ET_NOT_DIR;
	say("%s: %s: %s", s->request, what, error_message(err));
	return false;
}

bool shell_fails_e4l(const struct shell *s, const char *what, errcode_t err)
{
	char where[160];

	if (undo_guard_failed())
		return false;	/* target_close() has printed the error */
	if (err == E4L_ET_INTERRUPTED || !e4l_detail(s->e)->doing)
		return shell_fails(s, what, err);
	snprintf(where, sizeof(where), "%s: ", what);
	e4l_detail_text(s->e, where + strlen(where),
			sizeof(where) - strlen(where));
	say_write_error(s->request, e4l_fs(s->e)->device_name, where, err);
	return false;
}

void shell_progress(struct shell *s, uint64_t done, uint64_t total)
{
	struct e4l_io_stats io;

	e4l_get_io_stats(s->e, &io);
	progress_update(&s->progress, done, total, io.bytes);
}

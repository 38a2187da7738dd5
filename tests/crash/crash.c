/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options of the crash harness, and loops over the scenarios and the tests
 * (power failures, I/O errors, kills).
 */
#include "config.h"
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
#include "crash.h"

static const char usage[] =
	"usage: crash [options] states|faults|kill...\n"
	"  -o OPERATION relocate (default), repack, steps, parts,\n"
	"               room, room_steps, free, free_steps, together, together_steps,\n"
	"               discard, tunables, change, compact, inodes,\n"
	"               exchange, shrink, shrink_files or all\n"
	"  -c SCENARIO  only this one\n"
	"  -x SCENARIO  not this one\n"
	"  -p NUMBER    only one in so many scenarios; the first depends on the\n"
	"               operation (1)\n"
	"  -n COUNT     states, faults of each kind, or kills per scenario\n"
	"  -a COUNT     faults of each kind, and kills, if not as many as states\n"
	"  -e NUMBER    states with all writes so far at each so-many-th one (1)\n"
	"  -s SEED      of the samples\n"
	"  -j JOBS      processes\n"
	"  -f NUMBER    leave this flush out of the record\n"
	"  -d           discard before the transaction, not after it\n"
	"  -r           let data reuse blocks whose freeing is not durable\n"
	"  -m           let the running kernel replay, by a loop mount\n"
	"  -1           end the states of a scenario with the first that is lost\n"
	"  -l           list the scenarios\n";

static const struct op_row {
	const char *name;
	operation run;
	bool changes_content;
	bool repairs;
	bool no_undo;			/* run without an undo file */
	/*
	 * recipe of additional files, whose inodes the operation renumbers;
	 * NULL: the operation renumbers no inodes
	 */
	const char *renumbers;
	bool resizes;
} operations[] = {
	{ "relocate", op_relocate, false, false, false, NULL, false },
	{ "repack", op_repack, false, true, false, NULL, false },
	{ "steps", op_steps, false, true, false, NULL, false },
	{ "parts", op_parts, false, true, false, NULL, false },
	{ "free", op_free, false, true, false, NULL, false },
	{ "free_steps", op_free_steps, false, true, false, NULL, false },
	{ "together", op_together, false, true, false, NULL, false },
	{ "together_steps", op_together_steps, false, true, false, NULL, false },
	{ "discard", op_discard, false, true, true, NULL, false },
	{ "tunables", op_tunables, true, false, false, NULL, false },
	{ "change", op_change, true, false, false, NULL, false },
	{ "compact", op_compact, true, false, false, NULL, false },
	{ "inodes", op_inodes, false, false, false, inodes_recipe, false },
	{ "exchange", op_exchange, false, false, false, exchange_recipe, false },
	{ "all", op_all, true, false, false, all_recipe, false },
	{ "shrink", op_shrink, false, true, false, NULL, true },
	{ "shrink_files", op_shrink_files, false, false, false, shrink_recipe,
	  true },
};
#define N_OPERATIONS (sizeof(operations) / sizeof(operations[0]))

struct settings {
	const struct op_row *op;
	const char *only, *except;
	size_t part;			/* run one in @part scenarios */
	struct sampling how;
	/* number of faults of each kind, and of kills */
	size_t accidents;
	size_t drop_flush;
	bool early_discards;
	enum plant plant;
};

static size_t count_events(const struct tap_log *log, enum tap_type type)
{
	size_t count = 0, i;

	for (i = 0; i < log->n; i++)
		count += log->ev[i].type == type;
	return count;
}

/* Removes flush number @number, as if the operation had omitted it. */
static void drop_flush(struct tap_log *log, size_t number)
{
	size_t i;

	for (i = 0; i < log->n; i++)
		if (log->ev[i].type == TAP_FLUSH && !--number)
			break;
	if (i == log->n)
		fatal("there are not so many flushes");
	memmove(&log->ev[i], &log->ev[i + 1],
		(--log->n - i) * sizeof(*log->ev));
}

/*
 * Moves discards to the start of each transaction, as if the operation had
 * discarded too early.
 */
static void discard_early(struct tap_log *log)
{
	struct tap_event ev;
	size_t start = 0, i;

	for (i = 0; i < log->n; i++) {
		ev = log->ev[i];
		if (ev.type == TAP_MARK)
			start = i + 1;
		if (!ev.discard)
			continue;
		memmove(&log->ev[start + 1], &log->ev[start],
			(i - start) * sizeof(ev));
		log->ev[start++] = ev;
	}
}

static void record(struct bench *b, struct tap_log *log, operation op,
		   enum plant plant)
{
	errcode_t err = run_operation(b, log, op, plant);

	if (err)
		fatal("%s: the operation failed: %s", b->sc->name,
		      error_message(err));
}

/*
 * The record of an undisturbed run of the operation.  @refs are made when first
 * needed.
 */
struct recorded {
	struct tap_log log;
	uint64_t last;			/* digest of the contents at the end */
	/*
	 * expected digests of repaired states: [0] after a replay of the
	 * journal, [1] after e2undo
	 */
	struct refs refs[2];
};

static const struct refs *refs_of(const struct bench *b, struct recorded *r,
				  bool undo)
{
	if (!r->refs[undo].v)
		r->refs[undo] = make_refs(b, &r->log, undo);
	return &r->refs[undo];
}

static size_t test_recovery(struct bench *b, struct recorded *r,
			    struct sampling how, bool undo)
{
	const struct tap_log *log = &r->log;
	struct verdict v;

	how.undo = undo;
	v = check_states(b, log, refs_of(b, r, undo), &how);
	printf("%s%s: %zu transactions, %zu writes, %zu flushes: "
	       "%zu states (%zu more repeated), %zu lost\n", b->sc->name,
	       undo ? ", taken back" : "", count_events(log, TAP_MARK),
	       count_events(log, TAP_WRITE), count_events(log, TAP_FLUSH),
	       v.states, v.repeated, v.lost);
	return v.lost;
}

static size_t test_states(struct bench *b, struct recorded *r,
			  const struct settings *set)
{
	size_t lost = 0;

	if (b->sc->flags & SCENARIO_UNDO)
		lost += test_recovery(b, r, set->how, true);
	if (b->sc->journal != JOURNAL_NONE)
		lost += test_recovery(b, r, set->how, false);
	return lost;
}

/* ----------------------------------------------------- faults and kills */

static struct world bench_world(const struct bench *b, bool undo)
{
	struct world w = {
		.n_dev = b->n_dev, .undo = undo,
		.mmp = b->sc->flags & SCENARIO_MMP, .by_name = b->renumbers,
		.resizes = b->resizes,
	};

	memcpy(w.path, b->path, sizeof(w.path));
	return w;
}

/*
 * Whether files with the digest @content are valid after an injected failure
 * and a repair.  If the undo file was used (@undo), only the initial contents
 * are valid; otherwise, the contents after any transaction are valid.
 */
static bool is_expected(const struct refs *refs, bool undo, uint64_t content)
{
	size_t n = undo ? 1 : refs->n, i;

	for (i = 0; i < n; i++)
		if (refs->v[i].content == content)
			return true;
	return false;
}

/*
 * Whether the repair after fault or kill number @accident uses the undo file.
 * If the scenario has an undo file and a journal, only every second repair uses
 * the undo file.
 */
static bool by_undo(const struct bench *b, size_t accident)
{
	return b->sc->flags & SCENARIO_UNDO &&
	       (b->sc->journal == JOURNAL_NONE || accident % 2);
}

/*
 * Repairs the filesystem after an injected failure, with e2undo if @undo is
 * true.  Then runs the operation again, and compares the contents.  Returns an
 * error text, or NULL if all is right.
 */
static const char *recover(struct bench *b, operation op, struct recorded *r,
			   bool undo)
{
	const struct refs *refs = refs_of(b, r,
					  b->sc->journal == JOURNAL_NONE);
	struct world w = bench_world(b, undo);
	const char *wrong;
	struct digest d;
	errcode_t err;

	wrong = repair_state(&w, &d);
	if (wrong)
		return wrong;
	if (!is_expected(refs, undo, d.content))
		return "a file has changed";
	unlink(b->path[DEV_UNDO]);
	w.undo = false;
	err = run_operation(b, NULL, op, PLANT_NOTHING);
	if (err)
		return error_message(err);
	wrong = repair_state(&w, &d);
	if (wrong)
		return wrong;
	return d.content == r->last ? NULL : "a file has changed";
}

static uint64_t content_of(const struct bench *b)
{
	struct digest d;
	errcode_t err = digest_fs(b->path[DEV_FS], b->renumbers, &d);

	if (err)
		fatal("%s: cannot read it: %s", b->sc->name,
		      error_message(err));
	return d.content;
}

/*
 * Injects an error at write or flush number @at, which must be reported.  Then
 * repairs the filesystem, with e2undo if @undo is true.  Returns an error text,
 * or NULL if all is right.
 */
static const char *test_fault(struct bench *b, operation op,
			      struct recorded *r, enum tap_fault fault,
			      size_t at, bool undo)
{
	struct tap_log log = { .fail_at = at, .fault = fault };
	errcode_t err;

	bench_reset(b);
	err = run_operation(b, &log, op, PLANT_NOTHING);
	if (!err && log.failed)
		return "not reported";
	tap_clear(&log);
	return recover(b, op, r, undo);
}

static size_t test_faults(struct bench *b, struct recorded *r,
			  const struct settings *set)
{
	static const char *const names[TAP_FAULTS] = {
		"EIO at", "EIO from", "ENOSPC at", "short write at",
	};
	size_t calls = r->log.calls;
	size_t lost = 0, done = 0, step, at;
	enum tap_fault fault;
	const char *wrong;

	step = calls ? (calls - 1) / set->accidents + 1 : 1;
	for (fault = 0; fault < TAP_FAULTS; fault++) {
		for (at = 1 + fault % step; at <= calls; at += step, done++) {
			wrong = test_fault(b, set->op->run, r, fault, at,
					   by_undo(b, done));
			if (wrong && !lost++)
				printf("# lost: %s write or flush %zu: %s\n",
				       names[fault], at, wrong);
		}
	}
	printf("%s: %zu writes and flushes: %zu faults, %zu lost\n",
	       b->sc->name, calls, done, lost);
	return lost;
}

/*
 * Runs the operation in a process, and kills the process after @after
 * microseconds.  If the process ends earlier, sets *@killed to false.  Then
 * repairs the filesystem, with e2undo if @undo is true.  Returns an error text,
 * or NULL if all is right.
 */
static const char *test_kill(struct bench *b, operation op,
			     struct recorded *r, useconds_t after, bool undo,
			     bool *killed)
{
	int status;
	pid_t pid;

	bench_reset(b);
	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(run_operation(b, NULL, op, PLANT_NOTHING) ? 1 : 0);
	usleep(after);
	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		fatal("cannot wait");
	*killed = WIFSIGNALED(status);
	if (!*killed && WEXITSTATUS(status))
		return "the operation failed";
	return recover(b, op, r, undo);
}

/*
 * Runs kills until the wanted number of kills has hit a running operation.  If
 * a kill comes after the end of the operation, the next kill comes earlier.
 */
static size_t test_kills(struct bench *b, struct recorded *r,
			 const struct settings *set)
{
	useconds_t longest = 1000, after;
	size_t lost = 0, kills = 0;
	const char *wrong;
	bool killed;

	srandom(set->how.seed);
	while (kills < set->accidents) {
		after = random() % longest;
		wrong = test_kill(b, set->op->run, r, after,
				  by_undo(b, kills), &killed);
		if (wrong && !lost++)
			printf("# lost: killed after %u us: %s\n", after,
			       wrong);
		kills += killed;
		longest = killed ? longest + longest / 16 + 1 :
			  longest - longest / 8;
	}
	printf("%s: %zu kills, %zu lost\n", b->sc->name, kills, lost);
	return lost;
}

/* -------------------------------------------------------------- options */

static void record_all(struct bench *b, struct recorded *r,
		       const struct settings *set)
{
	*r = (struct recorded) { .last = 0 };
	record(b, &r->log, set->op->run, set->plant);
	r->last = content_of(b);
	if (set->drop_flush)
		drop_flush(&r->log, set->drop_flush);
	if (set->early_discards)
		discard_early(&r->log);
}

static size_t test_kind(struct bench *b, struct recorded *r, const char *kind,
			const struct settings *set)
{
	if (!strcmp(kind, "states"))
		return test_states(b, r, set);
	if (!strcmp(kind, "faults"))
		return test_faults(b, r, set);
	return test_kills(b, r, set);
}

/*
 * Runs the tests @kinds ("states", "faults" or "kills"; the list ends with
 * NULL) of one scenario.  Returns the number of failures.
 */
static size_t run_scenario(const struct scenario *sc, char **kinds,
			   struct settings *set)
{
	struct recorded r;
	struct bench b;
	size_t lost = 0;

	/*
	 * e2fsck searches for journal devices, and would find the device of
	 * another job
	 */
	if (set->how.mount && sc->journal == JOURNAL_EXTERNAL)
		set->how.jobs = 1;
	bench_make(&b, sc, set->op->renumbers);
	b.changes_content = set->op->changes_content;
	b.renumbers = set->op->renumbers;
	b.resizes = set->op->resizes;
	record_all(&b, &r, set);
	for (; *kinds; kinds++)
		lost += test_kind(&b, &r, *kinds, set);
	tap_clear(&r.log);
	free(r.refs[false].v);
	free(r.refs[true].v);
	bench_remove(&b);
	return lost;
}

static bool can_run(const struct scenario *sc, const struct settings *set)
{
	if ((set->only && strcmp(set->only, sc->name)) ||
	    (set->except && !strcmp(set->except, sc->name)))
		return false;
	if ((set->how.mount && sc->flags & ~SCENARIO_TAIL) || (sc->recipe && !set->op->repairs &&
	     (!set->op->renumbers || set->op->resizes)))
		return false;
	if (sc->flags & SCENARIO_TAIL && !set->op->resizes)
		return false;
	if (set->op->no_undo && sc->flags & SCENARIO_UNDO)
		return false;
	if (!(sc->flags & SCENARIO_MMP) ||
	    !system("strace -f --seccomp-bpf -qq -o /dev/null true "
		   "2>/dev/null"))
		return true;
	printf("%s: not tried: strace does not work here\n", sc->name);
	return false;
}

/*
 * Whether a run over a part of the scenarios includes scenario number
 * @scenario.  Consecutive operations use different parts.
 */
static bool is_drawn(size_t scenario, const struct settings *set)
{
	return set->only ||
	       (scenario + (set->op - operations)) % set->part == 0;
}

static int list(void)
{
	unsigned int i;

	for (i = 0; i < n_scenarios; i++)
		puts(scenarios[i].name);
	return EXIT_SUCCESS;
}

static const struct op_row *find_operation(const char *name)
{
	size_t i;

	for (i = 0; i < N_OPERATIONS; i++)
		if (!strcmp(operations[i].name, name))
			return &operations[i];
	fatal("there is no operation %s", name);
}

static int parse(int argc, char **argv, struct settings *set)
{
	int c;

	while ((c = getopt(argc, argv, "o:c:x:p:n:a:e:s:j:f:drm1l")) != -1) {
		if (c == 'o')
			set->op = find_operation(optarg);
		else if (c == 'c')
			set->only = optarg;
		else if (c == 'x')
			set->except = optarg;
		else if (c == 'p')
			set->part = strtoul(optarg, NULL, 0);
		else if (c == 'n')
			set->how.wanted = strtoul(optarg, NULL, 0);
		else if (c == 'a')
			set->accidents = strtoul(optarg, NULL, 0);
		else if (c == 'e')
			set->how.each = strtoul(optarg, NULL, 0);
		else if (c == 's')
			set->how.seed = strtoul(optarg, NULL, 0);
		else if (c == 'j')
			set->how.jobs = strtoul(optarg, NULL, 0);
		else if (c == 'f')
			set->drop_flush = strtoul(optarg, NULL, 0);
		else if (c == 'd')
			set->early_discards = true;
		else if (c == 'r')
			set->plant = PLANT_EARLY_REUSE;
		else if (c == 'm')
			set->how.mount = true;
		else if (c == '1')
			set->how.first_loss = true;
		else if (c == 'l')
			exit(list());
		else
			return 1;
	}
	if (!set->accidents)
		set->accidents = set->how.wanted;
	return optind >= argc || !set->how.wanted || !set->how.each ||
		!set->how.jobs || !set->part;
}

int main(int argc, char **argv)
{
	struct settings set = {
		.op = &operations[0], .part = 1,
		.how = { .wanted = 100, .each = 1, .seed = 1, .jobs = 2 },
	};
	size_t lost = 0, done = 0;
	unsigned int i;

	setenv("LC_ALL", "C", 1);
	setvbuf(stdout, NULL, _IOLBF, 0);
	add_error_table(&et_ext2_error_table);
	if (parse(argc, argv, &set)) {
		fputs(usage, stderr);
		return 2;
	}
	for (i = 0; i < n_scenarios; i++) {
		if (!is_drawn(i, &set) || !can_run(&scenarios[i], &set))
			continue;
		lost += run_scenario(&scenarios[i], argv + optind, &set);
		done++;
	}
	if (!done)
		fatal("nothing to do for %s", set.only);
	return lost ? EXIT_FAILURE : EXIT_SUCCESS;
}

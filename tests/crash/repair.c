/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Repairs a state with the stock programs, and checks their output. */
#include "config.h"
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "support/verify.h"
#include "crash.h"

extern char **environ;

/*
 * e2fsck prints this text if the log has transactions, but needs_recovery is
 * not set.
 */
#define UNANNOUNCED "flag is clear, but journal has data"

static char output[1 << 16], complaint[1 << 17];

/*
 * Runs a program, and keeps its output in output[].  Returns the exit status of
 * the program, or -1 if a signal has killed the program.
 */
static int run(char *const argv[])
{
	posix_spawn_file_actions_t fa;
	size_t fill = 0;
	int pipes[2], status;
	ssize_t got;
	pid_t pid;

	if (pipe(pipes))
		fatal("no pipe");
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, pipes[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&fa, pipes[1], STDERR_FILENO);
	posix_spawn_file_actions_addclose(&fa, pipes[0]);
	posix_spawn_file_actions_addclose(&fa, pipes[1]);
	if (posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ))
		fatal("cannot run %s", argv[0]);
	posix_spawn_file_actions_destroy(&fa);
	close(pipes[1]);
	while ((got = read(pipes[0], output + fill,
			   sizeof(output) - 1 - fill)) > 0)
		fill += got;
	output[fill] = '\0';
	close(pipes[0]);
	if (waitpid(pid, &status, 0) != pid)
		fatal("cannot wait for %s", argv[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/*
 * Returns whether e2fsck may print @line after a crash that requires no repair
 * except a replay of the journal.
 */
static bool is_usual(const char *line)
{
	static const char *const usual[] = {
		"e2fsck 1.", "Pass 1: ", "Pass 2: ", "Pass 3: ",
		"Pass 4: ", "Pass 5: ", ": recovering journal",
		"***** FILE SYSTEM WAS MODIFIED *****", " files (",
		": clean, ",
		/*
		 * the free counts of the superblock are not part of
		 * transactions: e2fsck also corrects these counts after a crash
		 * of the kernel
		 */
		"Free blocks count wrong (", "Free inodes count wrong (",
		"Fix? yes",
		/* after a crash while the journal was moved */
		"Backing up journal inode block information.",
		"Inode 8 extent tree (at level 1) could be narrower.",
	};
	size_t i;

	for (i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (strstr(line, usual[i]))
			return true;
	return !*line;
}

static const char *complain(const char *what, const char *detail)
{
	snprintf(complaint, sizeof(complaint), "%s: %s", what, detail);
	return complaint;
}

/*
 * Runs a program like run().  If the filesystem has an MMP block, strace makes
 * each sleep of the program end immediately.  e2fsck and e2undo would otherwise
 * wait for other users of the MMP block.
 */
static int run_on(const struct world *w, char **argv)
{
	char *nowait[16] = { "strace", "-f", "--seccomp-bpf", "-qq", "-o",
			     "/dev/null", "-e", "trace=clock_nanosleep", "-e",
			     "inject=clock_nanosleep:retval=0" };
	size_t n = 10;

	if (!w->mmp)
		return run(argv);
	while (*argv)
		nowait[n++] = *argv++;
	return run(nowait);
}

static const char *run_e2fsck(const struct world *w, char *how)
{
	char *fs = (char *)w->path[DEV_FS];
	char *plain[] = { "e2fsck", how, fs, NULL };
	char *external[] = { "e2fsck", how, "-j",
			     (char *)w->path[DEV_JOURNAL], fs, NULL };
	char whole[sizeof(output)], *line, *next;
	int code;

	code = run_on(w, w->n_dev > 1 && !w->undo ? external : plain);
	/*
	 * e2fsck -p refuses this state of a shrink, so that the user must run
	 * e2fsck -fy: see journal/switch.c and e4repack(8)
	 */
	if (w->resizes && code == 4 && !strcmp(how, "-p") &&
	    strstr(output, UNANNOUNCED))
		return run_e2fsck(w, "-fy");
	if (code != 0 && code != 1)
		return complain("e2fsck failed", output);
	strcpy(whole, output);
	if (w->resizes && !strcmp(how, "-fy") && strstr(output, UNANNOUNCED))
		return run_e2fsck(w, "-fn");
	for (line = output; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!is_usual(line))
			return complain("e2fsck found damage", whole);
	}
	return NULL;
}

/*
 * Checks that e4check accepts the filesystem that e2fsck or the kernel has
 * repaired.
 */
static const char *run_e4check(const struct world *w)
{
	return verify(w->path[DEV_FS], 0) ? NULL :
	       "e4check found damage, as said above";
}

/*
 * Mounts the filesystem, which replays the journal; nothing must be left to
 * repair.  Waits until the loop device is detached, because another program,
 * such as udev, may have the loop device open.  While the loop device is
 * attached, e4check would read an old state of the journal.
 */
static const char *run_mount(const struct world *w)
{
	static char script[] =
		"d=$(mktemp -d); j=${1:+$(losetup -f --show \"$1\")}; "
		"mount -o loop,noatime${j:+,journal_path=$j} \"$0\" $d && "
		"umount $d; r=$?; [ -z \"$j\" ] || losetup -d $j; "
		"rmdir $d; "
		"for file in \"$0\" ${1:+\"$1\"}; do for i in $(seq 600); do "
		"[ -n \"$(losetup -j \"$file\")\" ] || break; sleep 0.1; "
		"done; done; exit $r";
	char *fs = (char *)w->path[DEV_FS];
	char *journal = w->n_dev > 1 ? (char *)w->path[DEV_JOURNAL] : NULL;

	if (run((char *[]) { "sh", "-c", script, fs, journal, NULL }))
		return complain("mount failed", output);
	return run_e2fsck(w, "-fn");
}

/*
 * Runs e2undo as the manual describes.  Uses -f only if the superblock does not
 * match, because the power failed between the writes of the superblock and of
 * the undo file.  An incomplete undo file means that the device is unchanged.
 */
static bool run_e2undo(const struct world *w)
{
	char *undo = (char *)w->path[DEV_UNDO], *fs = (char *)w->path[DEV_FS];

	return !run_on(w, (char *[]) { "e2undo", undo, fs, NULL }) ||
	       !run_on(w, (char *[]) { "e2undo", "-f", undo, fs, NULL });
}

/*
 * Clears the MMP block with the commands of e4repack(8), and checks that
 * e2fsck finds no errors.  Returns a description of the failure; NULL: success.
 */
static const char *free_mmp(const struct world *w)
{
	const char *wrong;

	if (run((char *[]) { "tune2fs", "-f", "-E", "clear_mmp",
			     (char *)w->path[DEV_FS], NULL }))
		return complain("tune2fs failed", output);
	wrong = run_e2fsck(w, "-p");
	return wrong ? wrong : run_e2fsck(w, "-fn");
}

static const char *recover_fs(const struct world *w)
{
	bool undone = w->undo && run_e2undo(w);

	/* if only the MMP block was written, e2undo has nothing to undo */
	if (w->mmp && !undone)
		return free_mmp(w);
	return w->mount ? run_mount(w) : run_e2fsck(w, "-fy");
}

const char *repair_state(const struct world *w, struct digest *d)
{
	const char *wrong = recover_fs(w);
	errcode_t err;

	if (!wrong)
		wrong = run_e4check(w);
	if (wrong)
		return wrong;
	err = digest_fs(w->path[DEV_FS], w->by_name, d);
	return err ? complain("cannot read it", error_message(err)) : NULL;
}

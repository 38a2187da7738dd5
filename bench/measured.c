/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * measured FD COMMAND...: runs the command, and writes its resource usage to
 * the file descriptor: elapsed and processor time in seconds, peak memory
 * (KiB), read calls, bytes that these calls read, and bytes from the disk.
 * Exits with the status of the command.  The Python benchmarks use this program
 * because it is small: the peak memory of a command includes the memory of the
 * process that forked.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static double cpu_seconds(const struct rusage *r)
{
	return r->ru_utime.tv_sec + r->ru_stime.tv_sec +
	       (r->ru_utime.tv_usec + r->ru_stime.tv_usec) / 1e6;
}

/*
 * Writes the I/O counters of a process that has exited but was not waited for.
 */
static void put_reads(int fd, pid_t pid)
{
	char path[64], name[32];
	uint64_t value;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/io", pid);
	f = fopen(path, "r");
	if (!f)
		return;
	while (fscanf(f, "%31[^:]: %" SCNu64 " ", name, &value) == 2)
		dprintf(fd, "%s %" PRIu64 "\n", name, value);
	fclose(f);
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? atoi(argv[1]) : 0, status;
	struct rusage usage;
	siginfo_t info;
	double start;
	pid_t pid;

	if (fd < 3)
		errx(2, "usage: measured FD COMMAND...");
	start = seconds();
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		close(fd);
		execvp(argv[2], argv + 2);
		err(127, "%s", argv[2]);
	}
	while (waitid(P_PID, pid, &info, WEXITED | WNOWAIT) && errno == EINTR)
		;
	dprintf(fd, "wall %.6f\n", seconds() - start);
	put_reads(fd, pid);
	if (wait4(pid, &status, 0, &usage) != pid)
		err(1, "wait4");
	dprintf(fd, "cpu %.6f\nrss %ld\n", cpu_seconds(&usage),
		usage.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) :
				   128 + WTERMSIG(status);
}

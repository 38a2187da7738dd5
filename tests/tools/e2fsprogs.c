/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs mke2fs, tune2fs and e2fsck of the system.  The programs support all
 * features, and use a fixed UUID, clock and configuration, so that the output
 * is reproducible.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lab.h"

#define STRING(x) #x
#define STRING_OF(x) STRING(x)

#define E2FSCK_CHANGED 1 /* e2fsck's exit status after a correction */

#define FS_UUID "e41ab000-0000-4000-8000-000000000001"
#define JOURNAL_UUID "e41ab000-0000-4000-8000-000000000002"

static const char conf_text[] =
	"[defaults]\n"
	"base_features = sparse_super,large_file,filetype,resize_inode,"
	"dir_index,ext_attr\n"
	"default_mntopts = acl,user_xattr\n"
	"enable_periodic_fsck = 0\n"
	"blocksize = 4096\n"
	"inode_size = 256\n"
	"inode_ratio = 16384\n"
	"lazy_itable_init = 0\n"
	"fs_type = ext4\n"
	"[fs_types]\n"
	"ext2 = {\n}\n"
	"ext3 = {\n"
	"features = has_journal\n}\n"
	"ext4 = {\n"
	"features = has_journal,extent,huge_file,flex_bg,metadata_csum,64bit,"
	"dir_nlink,extra_isize\n}\n";

static void set_environment(const struct lab *l, const char *conf)
{
	const char *old = getenv("PATH");
	char path[4096];

	snprintf(path, sizeof(path), "%s:/sbin:/usr/sbin", old ? old : "/bin");
	setenv("PATH", path, 1);
	setenv("MKE2FS_CONFIG", conf, 1);
	setenv("E2FSPROGS_FAKE_TIME", STRING_OF(LAB_TIME), 1);
	setenv("E2FSCK_TIME", STRING_OF(LAB_TIME), 1);
	unsetenv("MKE2FS_DEVICE_SECTSIZE");
	unsetenv("MKE2FS_DEVICE_PHYS_SECTSIZE");
	unsetenv("MKE2FS_FIRST_META_BG");
	unsetenv("E2FSPROGS_UNDO_DIR");
}

/*
 * Makes an unnamed file with the content @text, and returns its descriptor.
 * Child processes can read the file at @path.
 */
static int memory_file(const struct lab *l, const char *text, char path[32])
{
	int fd = memfd_create("mkaged", 0);

	lab_check(l, fd < 0 || write(fd, text, strlen(text)) < 0 ? errno : 0,
		  "a file in memory");
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static int run(const struct lab *l, char *const *argv, int log)
{
	pid_t pid = fork();
	int status;

	lab_check(l, pid < 0 ? errno : 0, "fork");
	if (!pid) {
		dup2(log, STDOUT_FILENO);
		dup2(log, STDERR_FILENO);
		execvp(argv[0], argv);
		dprintf(log, "%s\n", strerror(errno));
		_exit(127);
	}
	lab_check(l, waitpid(pid, &status, 0) < 0 ? errno : 0, "waitpid");
	return status;
}

/* Returns the last line in @log, without trailing blanks. */
static const char *last_line(int log, char *text, size_t size)
{
	ssize_t len = pread(log, text, size - 1, 0);
	const char *newline;

	while (len > 0 && strchr("\n ", text[len - 1]))
		len--;
	text[len > 0 ? len : 0] = '\0';
	newline = strrchr(text, '\n');
	return newline ? newline + 1 : text;
}

/* Runs a program of e2fsprogs, whose exit status must not exceed @code. */
static void run_e2fsprog(const struct lab *l, char *const *argv, int code)
{
	char conf_path[32], log_path[32], text[4000];
	int conf = memory_file(l, conf_text, conf_path);
	int log = memory_file(l, "", log_path), status;

	set_environment(l, conf_path);
	status = run(l, argv, log);
	if (!WIFEXITED(status) || WEXITSTATUS(status) > code)
		lab_fail(l, "%s failed: %s", argv[0],
			 last_line(log, text, sizeof(text)));
	close(log);
	close(conf);
}

static void make_file(const struct lab *l, const char *name, __u64 bytes)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd < 0 || ftruncate(fd, bytes))
		lab_check(l, errno, name);
	close(fd);
}

/*
 * Returns the arguments of mke2fs: the fixed options, the words of @args, and
 * the image.  Changes @args.
 */
static char **mke2fs_argv(const struct lab *l, char *args)
{
	static const char *const ours[] = {
		"mke2fs", "-q", "-F", "-U", FS_UUID
	};
	size_t n = sizeof(ours) / sizeof(ours[0]);
	char **argv = lab_alloc(l, (n + strlen(args) + 2) * sizeof(*argv));
	char *word, *rest;

	memcpy(argv, ours, sizeof(ours));
	for (word = strtok_r(args, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest))
		argv[n++] = word;
	argv[n] = (char *)l->image_name;
	return argv;
}

void make_filesystem(const struct lab *l)
{
	char *args = lab_strdup(l, l->mke2fs_args ? l->mke2fs_args : "");
	char **argv = mke2fs_argv(l, args);

	make_file(l, l->image_name, l->size_bytes);
	run_e2fsprog(l, argv, 0);
	free(argv);
	free(args);
}

void make_journal(const struct lab *l, const char *name)
{
	char block_bytes[16];
	char *const argv[] = {
		"mke2fs", "-q", "-F", "-U", JOURNAL_UUID,
		"-E", "hash_seed=" JOURNAL_UUID, "-O", "journal_dev",
		"-b", block_bytes, (char *)name, NULL
	};

	snprintf(block_bytes, sizeof(block_bytes), "%u", l->block_bytes);
	make_file(l, name, l->journal_bytes);
	run_e2fsprog(l, argv, 0);
}

void count_quota(const struct lab *l, const char *types)
{
	char *const off[] = {
		"tune2fs", "-O", "^quota", (char *)l->image_name, NULL
	};
	char *const on[] = {
		"tune2fs", "-Q", (char *)types, (char *)l->image_name, NULL
	};

	run_e2fsprog(l, off, 0);
	run_e2fsprog(l, on, 0);
}

void index_directories(const struct lab *l)
{
	char *const argv[] = {
		"e2fsck", "-fyD", "-E", "no_optimize_extents",
		(char *)l->image_name, NULL
	};

	run_e2fsprog(l, argv, E2FSCK_CHANGED);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The empty filesystem, made by the system's mke2fs so that any feature set
 * can be had, and always of the same bytes: the UUID, the hash seed, the
 * clock and the configuration are ours.
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

/* A file without a name that a child inherits, and its path there. */
static int open_memory_file(const struct lab *l, char path[32])
{
	int fd = memfd_create("mkaged", 0);

	lab_check(l, fd < 0 ? errno : 0, "memfd_create");
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static void set_environment(const struct lab *l, const char *conf)
{
	const char *old = getenv("PATH");
	size_t len = (old ? strlen(old) : 0) + sizeof("/bin:/sbin:/usr/sbin:");
	char *path = lab_alloc(l, len);

	snprintf(path, len, "%s%s/sbin:/usr/sbin", old ? old : "/bin", ":");
	setenv("PATH", path, 1);
	setenv("MKE2FS_CONFIG", conf, 1);
	setenv("E2FSPROGS_FAKE_TIME", STRING_OF(LAB_TIME), 1);
	unsetenv("MKE2FS_DEVICE_SECTSIZE");
	unsetenv("MKE2FS_DEVICE_PHYS_SECTSIZE");
	unsetenv("MKE2FS_FIRST_META_BG");
	unsetenv("E2FSPROGS_UNDO_DIR");
	free(path);
}

/* The recipe's options between ours and the image; argv ends with NULL. */
static char **build_argv(const struct lab *l, char *args)
{
	static const char *const ours[] = {
		"mke2fs", "-q", "-F", "-U",
		"e41ab000-0000-4000-8000-000000000001"
	};
	size_t n = sizeof(ours) / sizeof(ours[0]);
	char **argv = lab_alloc(l, (n + strlen(args) + 3) * sizeof(*argv));
	char *token, *rest;

	memcpy(argv, ours, sizeof(ours));
	for (token = strtok_r(args, " \t", &rest); token;
	     token = strtok_r(NULL, " \t", &rest))
		argv[n++] = token;
	argv[n] = (char *)l->image_name;
	return argv;
}

/* Runs argv with its messages going to @log; true if it did well. */
static bool run(const struct lab *l, char **argv, int log)
{
	int status;
	pid_t pid = fork();

	lab_check(l, pid < 0 ? errno : 0, "fork");
	if (!pid) {
		dup2(log, STDOUT_FILENO);
		dup2(log, STDERR_FILENO);
		execvp(argv[0], argv);
		dprintf(log, "%s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	lab_check(l, waitpid(pid, &status, 0) < 0 ? errno : 0, "waitpid");
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static void make_file(const struct lab *l)
{
	int fd = open(l->image_name, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	lab_check(l, fd < 0 ? errno : 0, l->image_name);
	lab_check(l, ftruncate(fd, l->size_bytes) ? errno : 0, l->image_name);
	close(fd);
}

void make_filesystem(struct lab *l)
{
	char conf_path[32], log_path[32], text[2000];
	int conf = open_memory_file(l, conf_path);
	int log = open_memory_file(l, log_path);
	char *args = lab_strdup(l, l->mke2fs_args ? l->mke2fs_args : "");
	char **argv = build_argv(l, args);
	ssize_t got;

	lab_check(l, write(conf, conf_text, sizeof(conf_text) - 1) < 0 ?
		  errno : 0, "writing mke2fs.conf");
	make_file(l);
	set_environment(l, conf_path);
	if (!run(l, argv, log)) {
		got = pread(log, text, sizeof(text) - 1, 0);
		text[got > 0 ? got : 0] = '\0';
		text[strcspn(text, "\n")] = '\0';
		lab_fail(l, "mke2fs: %s", text);
	}
	free(argv);
	free(args);
	close(log);
	close(conf);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of mke4fs. */
#include "config.h"
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "mke4fs_like.h"
#include "support/say.h"
#include "support/units.h"

#define DEFAULT_THREADS 16
#define MAX_THREADS 24

bool usage(const char *option, const char *value, const char *expected)
{
	say("%s: invalid value '%s' (expected %s)", option, value, expected);
	return false;
}

bool no_memory(struct config *c)
{
	say("out of memory");
	c->common.no_memory = true;
	return false;
}

static bool take_window(void *config, char *value)
{
	static const struct {
		const char *name;
		uint32_t window;
	} names[] = {
		{ "low", 16 }, { "normal", 64 }, { "high", 128 }, { "off", 0 },
		{ "exact", E4L_WINDOW_EXACT },
	};
	struct config *c = config;
	uint64_t n;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(value, names[i].name)) {
			c->has_window = true;
			c->window = names[i].window;
			return true;
		}
	}
	if (c->is_mke2fs && !isdigit((unsigned char)*value)) {
		say("-R is deprecated for extended options: use -E");
		return take_extended(c, value);
	}
	if (!units_parse_count(value, &n) || n < 16 || n > 4096 || n & (n - 1))
		return usage("-R", value, "low, normal, high, off, exact or a "
			     "power of two from 16 to 4096");
	c->has_window = true;
	c->window = n;
	return true;
}

static bool take_map(const char *option, const char *value, struct id_map *maps,
		     unsigned int *n)
{
	unsigned long long v[3] = { 0, 0, 1 };
	char *end = (char *)value;
	int i;

	for (i = 0; i < 3; i++) {
		errno = 0;
		if (*end < '0' || *end > '9')
			break;
		v[i] = strtoull(end, &end, 10);
		if (errno || v[i] > UINT32_MAX)
			break;
		if (!*end)
			break;
		if (*end++ != ':')
			break;
	}
	/* UINT32_MAX is not a valid ID. */
	if (*end || i < 1 || i > 2 || !v[2] || v[0] + v[2] > UINT32_MAX ||
	    v[1] + v[2] > UINT32_MAX)
		return usage(option, value, "A:B or A:B:N, with numbers up to "
			     "4294967294");
	if (*n == MAX_MAPS) {
		say("%s: only %d ranges of IDs can be mapped", option,
		    MAX_MAPS);
		return false;
	}
	maps[(*n)++] = (struct id_map) { v[0], v[1], v[2] };
	return true;
}

static bool take_uid_map(void *config, char *value)
{
	struct config *c = config;

	return take_map("--uid-map", value, c->uid_map, &c->n_uid_map);
}

static bool take_gid_map(void *config, char *value)
{
	struct config *c = config;

	return take_map("--gid-map", value, c->gid_map, &c->n_gid_map);
}

/* Returns whether @text has the form OS/ARCHITECTURE[/VARIANT]. */
static bool is_platform(const char *text)
{
	size_t len;
	int n;

	for (n = 1; n <= 3; n++) {
		len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-");
		text += len;
		if (!len || len > 31)
			return false;
		if (!*text)
			return n >= 2;
		if (*text++ != '/')
			return false;
	}
	return false;
}

static bool take_platform(void *config, char *value)
{
	((struct config *)config)->platform = value;
	return is_platform(value) ||
	       usage("--platform", value, "OS/ARCHITECTURE[/VARIANT]");
}

/* the value of --dm-verity if HASHFILE is not given */
static const char appended[] = "";

static bool take_dm_verity(void *config, char *value)
{
	((struct config *)config)->dm_verity = value;
	return *value || value == appended ||
	       usage("--dm-verity", value, "a file name after '=', or "
		     "--dm-verity without '='");
}

#define AT(member) offsetof(struct config, member)
static const struct args_option options[] = {
	{ .letter = 'd', .kind = ARGS_TEXTS, .offset = AT(sources),
	  .value = "SOURCE[:/PATH]",
	  .help = "copy a directory, an archive (tar, cpio or zip; -:\n"
		  "standard input), an image's layer (layer:FILE) or\n"
		  "a container image (oci:DIR[:TAG|@DIGEST],\n"
		  "oci-archive:FILE[:TAG], docker-archive:FILE[:NAME])\n"
		  "to PATH; later sources replace files of earlier ones" },
	{ .name = "platform", .kind = ARGS_TAKE, .take = take_platform,
	  .value = "OS/ARCH[/VARIANT]",
	  .help = "select the image's platform (default: the host's)" },
	{ .name = "oci-config", .kind = ARGS_TEXT, .offset = AT(oci_config),
	  .value = "FILE",
	  .help = "write the container image's configuration to FILE" },
	{ .name = "manifest", .kind = ARGS_TEXTS, .offset = AT(manifests),
	  .value = "FILE",
	  .help = "add or change files as in an mtree(5) manifest" },
	{ .name = "fs-config", .kind = ARGS_TEXTS, .offset = AT(fs_configs),
	  .value = "FILE",
	  .help = "set owners, modes, capabilities (Android's format)" },
	{ .name = "max-size", .kind = ARGS_SIZE, .offset = AT(max_bytes),
	  .value = "SIZE", .min = 1, .max = UINT64_MAX,
	  .help = "refuse archives that unpack to more than SIZE" },
	{ .name = "from", .kind = ARGS_TEXT, .offset = AT(from),
	  .value = "IMAGE",
	  .help = "copy an ext4 image or an unmounted device" },
	{ .name = "like", .kind = ARGS_TEXT, .offset = AT(like),
	  .value = "IMAGE",
	  .help = "make a new image that differs little from IMAGE" },
	{ .name = "partition", .kind = ARGS_COUNT,
	  .offset = AT(common.partition), .value = "N", .min = 1,
	  .max = MAX_PARTITION,
	  .help = "copy from partition N of the disk IMAGE" },
	{ .letter = 'R', .kind = ARGS_TAKE, .take = take_window,
	  .value = "low|normal|high|N|off|exact",
	  .help = "reserve inodes for each directory: low (16),\n"
		  "normal (64), high (128), N (a power of two from 16\n"
		  "to 4096), off (none) or exact (as many as needed);\n"
		  "default: the tunable dir_ireserve, or exact" },
	{ .letter = 'E', .kind = ARGS_TAKE, .take = take_extended,
	  .value = "[...,]tunables=LIST",
	  .help = "store tunables (name=value,...): see tune4fs(8)" },
	{ .name = "free", .kind = ARGS_SIZE, .offset = AT(free_bytes),
	  .value = "SIZE", .max = UINT64_MAX,
	  .help = "make a new image with SIZE of free space" },
	{ .name = "grow-to", .kind = ARGS_SIZE, .offset = AT(grow_bytes),
	  .value = "SIZE", .max = UINT64_MAX,
	  .help = "prepare a new image to grow to SIZE (resize2fs(8))" },
	{ .name = "all-root", .kind = ARGS_FLAG, .offset = AT(all_root),
	  .help = "set the owner of all files to root" },
	{ .name = "uid-map", .kind = ARGS_TAKE, .take = take_uid_map,
	  .value = "A:B[:N]", .help = "map users A..A+N-1 to B..B+N-1" },
	{ .name = "gid-map", .kind = ARGS_TAKE, .take = take_gid_map,
	  .value = "A:B[:N]", .help = "map groups A..A+N-1 to B..B+N-1" },
	{ .name = "numeric-acls", .kind = ARGS_FLAG, .offset = AT(numeric_acls),
	  .help = "refuse archived ACLs with names but without IDs" },
	{ .name = "drop-acl-names", .kind = ARGS_FLAG,
	  .offset = AT(drop_acl_names),
	  .help = "omit ACL entries with unknown user or group names" },
	{ .name = "one-file-system", .kind = ARGS_FLAG, .offset = AT(one_fs),
	  .help = "do not cross mount points below SOURCE" },
	{ .name = "skip-damaged", .kind = ARGS_FLAG, .offset = AT(skip_damaged),
	  .help = "with --from: omit damaged files" },
	{ .name = "keep-generation", .kind = ARGS_FLAG,
	  .offset = AT(generation),
	  .help = "with --from: keep inode generation numbers" },
	{ .name = "sort", .kind = ARGS_TEXT, .offset = AT(sort),
	  .value = "FILE",
	  .help = "place files in the order of the priorities in FILE\n"
		  "(lines of PRIORITY PATH, highest priority first)" },
	{ .name = "verity", .kind = ARGS_TEXTS, .offset = AT(verity),
	  .value = "GLOB",
	  .help = "protect the matching files by fs-verity" },
	{ .name = "dm-verity", .kind = ARGS_TAKE, .take = take_dm_verity,
	  .value = "HASHFILE", .implied = appended,
	  .help = "write a hash tree for veritysetup(8) to HASHFILE\n"
		  "(default: after the filesystem), print the root hash" },
	{ .name = "threads", .kind = ARGS_COUNT, .offset = AT(threads),
	  .value = "N", .min = 1, .max = MAX_THREADS,
	  .help = "use N threads for I/O, 1 to 24 (default: 16)" },
	{ .name = "verify", .kind = ARGS_FLAG, .offset = AT(verify),
	  .help = "check the filesystem afterwards, as e4check(8) does" },
	{ .letter = 'n', .kind = ARGS_FLAG, .offset = AT(dry_run),
	  .help = "print the plan and write nothing" },
	{ .name = "verbose", .letter = 'v', .kind = ARGS_FLAG,
	  .offset = AT(common.verbose),
	  .help = "also print the output of mke2fs" },
};

static const struct args_tool tool = {
	.operands = "DEVICE [SIZE]",
	.purpose = "Make an ext4 filesystem with mke2fs and fill it from "
		   "directories, archives,\ncontainer images or another ext4 "
		   "filesystem.  All other options are passed on\nto mke2fs.  "
		   "Without SIZE, a new image is as small as its files allow.",
	.options = options,
	.n_options = sizeof(options) / sizeof(*options),
	.min_operands = 1, .max_operands = 2,
	.letters = MKE2FS_LETTERS, .take_letter = take_mke2fs_option,
};

/*
 * Sets the time of mke4fs, mke2fs and libext2fs to SOURCE_DATE_EPOCH.  Without
 * SOURCE_DATE_EPOCH, mke4fs, mke2fs and libext2fs use the current time.  If the
 * time of libext2fs is 0, libext2fs reads the clock; mke2fs and libext2fs
 * therefore get 1 instead of 0.  libext2fs 1.47.1 and newer prefer
 * SOURCE_DATE_EPOCH to E2FSPROGS_FAKE_TIME.  Returns false after printing an
 * error.
 */
static bool set_time(struct config *c)
{
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	char fake[24], *end;

	c->now = time(NULL);
	if (!epoch || !*epoch)
		return true;
	errno = 0;
	c->now = strtoll(epoch, &end, 10);
	if (!isdigit((unsigned char)*epoch) || errno || *end ||
	    c->now > INT32_MAX)
		return usage("SOURCE_DATE_EPOCH", epoch, "seconds since 1970, "
			     "from 0 to 2147483647");
	c->clamp_times = true;
	/*
	 * The number has no leading 0, which would mean an octal number for
	 * libext2fs.
	 */
	snprintf(fake, sizeof(fake), "%lld", c->now ? (long long)c->now : 1);
	return (!setenv("E2FSPROGS_FAKE_TIME", fake, 1) &&
		!setenv("SOURCE_DATE_EPOCH", fake, 1)) || no_memory(c);
}

/* Returns whether the value of -d is standard input. */
static bool reads_stdin(const char *source)
{
	static const char layer[] = "layer:";

	if (!strncmp(source, layer, strlen(layer)))
		source += strlen(layer);
	return *source == '-' && (!source[1] || !strncmp(source + 1, ":/", 2));
}

static unsigned int count_dashes(const struct args_texts *paths)
{
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < paths->n; i++)
		n += !strcmp(paths->v[i], "-");
	return n;
}

/*
 * If two options read standard input, prints an error and returns false,
 * because the second option would get no data.
 */
static bool one_stdin(const struct config *c)
{
	unsigned int n = count_dashes(&c->manifests) +
			 count_dashes(&c->fs_configs) +
			 (c->sort && !strcmp(c->sort, "-"));
	size_t i;

	for (i = 0; i < c->sources.n; i++)
		n += reads_stdin(c->sources.v[i]);
	if (n < 2)
		return true;
	say("-: standard input can be given only once");
	return false;
}

/*
 * If @option was given, but mke4fs adds no files, prints an error and returns
 * false.
 */
static bool has_files_for(const struct config *c, const char *option,
			  bool given)
{
	if (!given || fills(c))
		return true;
	say("%s requires -d, --manifest or --from", option);
	return false;
}

/* If options cannot be given together, prints an error and returns false. */
static bool options_agree(const struct config *c)
{
	if ((c->sources.n || c->manifests.n) && c->from) {
		say("%s and --from cannot be given together",
		    c->sources.n ? "-d" : "--manifest");
		return false;
	}
	if ((c->skip_damaged || c->generation) && !c->from) {
		say("%s requires --from", c->skip_damaged ? "--skip-damaged" :
							  "--keep-generation");
		return false;
	}
	if (c->one_fs && !c->sources.n) {
		say("--one-file-system requires -d");
		return false;
	}
	if (!has_files_for(c, "--fs-config", c->fs_configs.n) ||
	    !has_files_for(c, "--verity", c->verity.n) ||
	    !has_files_for(c, "--dm-verity", c->dm_verity))
		return false;
	if (c->common.partition && !c->from) {
		say("--partition requires --from");
		return false;
	}
	return like_agrees(c) && one_stdin(c);
}

/*
 * If mke4fs was run under a name of mke2fs, returns the name.  Otherwise,
 * returns NULL.
 */
static const char *name_of_mke2fs(void)
{
	static const char *const names[] = {
		"mke2fs", "mkfs.ext2", "mkfs.ext3", "mkfs.ext4",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(program_invocation_short_name, names[i]))
			return names[i];
	return NULL;
}

bool parse_args(struct config *c, int argc, char **argv, int *status)
{
	const char *name = name_of_mke2fs();
	int first;

	*c = (struct config) {
		.window = E4L_WINDOW_EXACT, .threads = DEFAULT_THREADS,
		.called = name ? name : "mkfs.ext4", .is_mke2fs = name,
	};
	first = args_parse(&tool, argc, argv, c, status);
	if (first >= 0) {
		c->name = argv[first];
		c->size = argv[first + 1];
		if (set_time(c) && options_agree(c) &&
	    (!c->verity.n || take_mke2fs_option(c, 'O', (char *)"verity")))
			return true;
		*status = c->common.no_memory ? STATUS_FAILED : STATUS_USAGE;
	}
	if (*status == STATUS_USAGE && c->is_mke2fs)
		*status = STATUS_FAILED;
	return false;
}

void free_args(struct config *c)
{
	free(c->device);
	free(c->pass);
	free(c->sources.v);
	free(c->manifests.v);
	free(c->fs_configs.v);
	free(c->verity.v);
	free(c->extended);
	free(c->carried);
	free(c->features);
	free(c->root_label);
	free(c->journal);
	free(c->config_text);
}

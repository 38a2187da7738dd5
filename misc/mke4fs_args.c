/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of mke4fs, and the options of mke2fs, which are passed on. */
#include "config.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "mke4fs.h"
#include "support/say.h"
#include "support/units.h"

#define DEFAULT_THREADS 16

enum {
	OPT_ALL_ROOT = 256, OPT_UID_MAP, OPT_GID_MAP, OPT_SORT, OPT_FROM,
	OPT_FREE, OPT_GROW, OPT_GENERATION, OPT_THREADS, OPT_VERIFY, OPT_JSON, OPT_QUIET,
	OPT_VERBOSE, OPT_PROGRESS, OPT_HELP, OPT_VERSION, OPT_NUMERIC_ACLS,
	OPT_DROP_ACL_NAMES, OPT_SKIP_DAMAGED, OPT_PARTITION,
	OPT_ONE_FS, OPT_MANIFEST, OPT_MAX_SIZE,
	OPT_PLATFORM, OPT_OCI_CONFIG,
};

static const struct option long_options[] = {
	{ "all-root", no_argument, NULL, OPT_ALL_ROOT },
	{ "uid-map", required_argument, NULL, OPT_UID_MAP },
	{ "gid-map", required_argument, NULL, OPT_GID_MAP },
	{ "numeric-acls", no_argument, NULL, OPT_NUMERIC_ACLS },
	{ "drop-acl-names", no_argument, NULL, OPT_DROP_ACL_NAMES },
	{ "skip-damaged", no_argument, NULL, OPT_SKIP_DAMAGED },
	{ "one-file-system", no_argument, NULL, OPT_ONE_FS },
	{ "manifest", required_argument, NULL, OPT_MANIFEST },
	{ "platform", required_argument, NULL, OPT_PLATFORM },
	{ "oci-config", required_argument, NULL, OPT_OCI_CONFIG },
	{ "max-size", required_argument, NULL, OPT_MAX_SIZE },
	{ "sort", required_argument, NULL, OPT_SORT },
	{ "from", required_argument, NULL, OPT_FROM },
	{ "partition", required_argument, NULL, OPT_PARTITION },
	{ "free", required_argument, NULL, OPT_FREE },
	{ "grow-to", required_argument, NULL, OPT_GROW },
	{ "keep-generation", no_argument, NULL, OPT_GENERATION },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "verify", no_argument, NULL, OPT_VERIFY },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "verbose", no_argument, NULL, OPT_VERBOSE },
	{ "progress", required_argument, NULL, OPT_PROGRESS },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ 0 },
};

static void print_help(void)
{
	puts(
"Usage: mke4fs [MKE2FS-OPTIONS] [-d SOURCE... | --from=IMAGE] [OPTION]... DEVICE\n"
"       [SIZE]\n"
"Make an ext4 filesystem with mke2fs and fill it from directories, archives,\n"
"container images or another ext4 filesystem.\n"
"\n"
"  -d SOURCE[:/PATH]         copy a directory, an archive (tar, cpio or zip; -:\n"
"                            standard input), an image's layer (layer:FILE) or\n"
"                            a container image (oci:DIR[:TAG|@DIGEST],\n"
"                            oci-archive:FILE[:TAG], docker-archive:FILE[:NAME])\n"
"                            to PATH; later sources replace files of earlier ones\n"
"      --platform=OS/ARCH[/VARIANT]\n"
"                            select a container image (default: this machine's)\n"
"      --oci-config=FILE     write the container image's configuration to FILE\n"
"      --manifest=FILE       add or change files by an mtree(5) manifest\n"
"      --max-size=SIZE       refuse archives that unpack to more than SIZE\n"
"      --from=IMAGE          copy an ext4 image or an unmounted device\n"
"      --partition=N         copy from partition N of the disk IMAGE\n"
"  -R low|normal|high|N|off|exact\n"
"                            reserve inodes for each directory: 16, 64, 128,\n"
"                            N (a power of two up to 4096), none, or as many as\n"
"                            needed (default: the tunable dir_ireserve, or exact)\n"
"  -E [...,]tunables=LIST    store tunables (name=value,...): see tune4fs(8)\n"
"      --free=SIZE           size a new image for SIZE of free space\n"
"      --grow-to=SIZE        prepare a new image for resize2fs(8) to SIZE\n"
"      --all-root            set the owner of all files to root\n"
"      --uid-map=A:B[:N]     map users A to A+N-1 to B to B+N-1\n"
"      --gid-map=A:B[:N]     map groups A to A+N-1 to B to B+N-1\n"
"      --numeric-acls        refuse ACLs of archives that have names only\n"
"      --drop-acl-names      leave out ACL entries whose names have no number\n"
"      --one-file-system     do not cross mount points below SOURCE\n"
"      --skip-damaged        with --from: leave out damaged files\n"
"      --keep-generation     with --from: keep the generations of inodes\n"
"      --sort=FILE           place files by \"PRIORITY PATH\" lines, highest first\n"
"      --threads=N           use N threads for I/O, 1 to 24 (default: 16)\n"
"      --verify              check the filesystem afterwards, as e4check(8) does\n"
"  -n                        print the plan and write nothing\n"
"      --progress=auto|always|never\n"
"                            show progress on standard error\n"
"      --json                print the report as JSON\n"
"  -q, --quiet               print no report\n"
"  -v, --verbose             also print the output of mke2fs\n"
"      --help, --version     print this summary or the version\n"
"\n"
"All other options are passed on to mke2fs.  Without SIZE, a new image has the\n"
"smallest size that fits.");
}

bool usage(const char *what, const char *arg)
{
	say("%s: %s", arg, what);
	return false;
}

bool no_memory(struct config *c)
{
	say("out of memory");
	c->no_memory = true;
	return false;
}

static bool parse_window(const char *arg, uint32_t *window)
{
	static const struct {
		const char *name;
		uint32_t window;
	} names[] = {
		{ "low", 16 }, { "normal", 64 }, { "high", 128 }, { "off", 0 },
		{ "exact", E4L_WINDOW_EXACT },
	};
	uint64_t n;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(arg, names[i].name)) {
			*window = names[i].window;
			return true;
		}
	}
	if (!units_parse_count(arg, &n) || n < 16 || n > 4096 || n & (n - 1))
		return usage("-R: expected low, normal, high, off, exact or a "
			     "power of two from 16 to 4096", arg);
	*window = n;
	return true;
}

static bool parse_map(const char *arg, struct id_map *maps, unsigned int *n)
{
	unsigned long long v[3] = { 0, 0, 1 };
	char *end = (char *)arg;
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
		return usage("expected A:B or A:B:N, with numbers up to "
			     "4294967294", arg);
	if (*n == MAX_MAPS)
		return usage("too many --uid-map or --gid-map options", arg);
	maps[(*n)++] = (struct id_map) { v[0], v[1], v[2] };
	return true;
}

static bool parse_progress(const char *arg, unsigned int *progress)
{
	static const char *const names[] = { "auto", "always", "never" };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		if (!strcmp(arg, names[i])) {
			*progress = i;
			return true;
		}
	}
	return usage("--progress: expected auto, always or never", arg);
}

/* Whether @text is OS/ARCHITECTURE[/VARIANT]. */
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

static bool parse_one(struct config *c, int letter)
{
	switch (letter) {
	case 'd':
		c->sources.v[c->sources.n++] = optarg;
		return true;
	case 'R':
		c->has_window = true;
		return parse_window(optarg, &c->window);
	case 'n':
		c->dry_run = true;
		return true;
	case OPT_ALL_ROOT:
		c->all_root = true;
		return true;
	case OPT_UID_MAP:
		return parse_map(optarg, c->uid_map, &c->n_uid_map);
	case OPT_GID_MAP:
		return parse_map(optarg, c->gid_map, &c->n_gid_map);
	case OPT_NUMERIC_ACLS:
		c->numeric_acls = true;
		return true;
	case OPT_DROP_ACL_NAMES:
		c->drop_acl_names = true;
		return true;
	case OPT_SKIP_DAMAGED:
		c->skip_damaged = true;
		return true;
	case OPT_ONE_FS:
		c->one_fs = true;
		return true;
	case OPT_MANIFEST:
		c->manifests.v[c->manifests.n++] = optarg;
		return true;
	case OPT_PLATFORM:
		c->platform = optarg;
		return is_platform(optarg) ||
		       usage("--platform: expected OS/ARCHITECTURE[/VARIANT]",
			     optarg);
	case OPT_OCI_CONFIG:
		c->oci_config = optarg;
		return true;
	case OPT_MAX_SIZE:
		return (units_parse_size(optarg, &c->max_bytes) &&
			c->max_bytes) || usage("expected a size", optarg);
	case OPT_SORT:
		c->sort = optarg;
		return true;
	case OPT_FROM:
		c->from = optarg;
		return true;
	case OPT_PARTITION:
		return (units_parse_count(optarg, &c->common.partition) &&
			c->common.partition >= 1 &&
			c->common.partition <= MAX_PARTITION) ||
		       usage("--partition: expected a partition number",
			     optarg);
	case OPT_FREE:
		return units_parse_size(optarg, &c->free_bytes) ||
		       usage("expected a size", optarg);
	case OPT_GROW:
		return units_parse_size(optarg, &c->grow_bytes) ||
		       usage("expected a size", optarg);
	case OPT_GENERATION:
		c->generation = true;
		return true;
	case OPT_THREADS:
		return (units_parse_count(optarg, &c->threads) &&
			c->threads >= 1 && c->threads <= 24) ||
		       usage("--threads: expected a number from 1 to 24",
			     optarg);
	case OPT_PROGRESS:
		return parse_progress(optarg, &c->common.progress);
	case OPT_VERIFY:
		c->verify = true;
		return true;
	case OPT_JSON:
		c->common.json = true;
		return true;
	case OPT_QUIET:
		c->common.quiet = true;
		return true;
	case OPT_VERBOSE:
		c->common.verbose = true;
		return true;
	case OPT_HELP:
	case 'h':
		c->common.help = true;
		return true;
	case OPT_VERSION:
	case 'V':
		c->common.version = true;
		return true;
	case '?':
		return false;
	default:
		return take_mke2fs_option(c, letter, optarg);
	}
}

/*
 * Sets the time of mke4fs, mke2fs and libext2fs by SOURCE_DATE_EPOCH.
 * libext2fs reads the clock if its time is 0, so that 1 is used instead of 0.
 */
static bool set_time(struct config *c)
{
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	char *end;

	c->now = time(NULL);
	if (!epoch || !*epoch)
		return true;
	errno = 0;
	c->now = strtoll(epoch, &end, 10);
	if (errno || *end || c->now < 0 || c->now > INT32_MAX)
		return usage("SOURCE_DATE_EPOCH requires seconds since 1970, "
			     "from 0 to 2147483647", epoch);
	c->clamp_times = true;
	return !setenv("E2FSPROGS_FAKE_TIME", c->now ? epoch : "1", 1) ||
	       no_memory(c);
}

static bool take_operands(struct config *c, int argc, char **argv)
{
	if (optind >= argc || argc - optind > 2) {
		say(optind >= argc ? "DEVICE is missing" : "too many operands");
		return false;
	}
	c->name = argv[optind];
	c->size = argv[optind + 1];
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
	if (c->common.partition && !c->from) {
		say("--partition requires --from");
		return false;
	}
	return true;
}

/* Returns false after printing an error. */
static bool parse_options(struct config *c, int argc, char **argv)
{
	char *letters = mke2fs_letters("d:R:nhV");
	size_t room = 0;	/* one argument can have many letters */
	int letter, i;

	for (i = 1; i < argc; i++)
		room += strlen(argv[i]);
	c->pass = calloc(room + 1, sizeof(*c->pass));
	c->sources.v = calloc(argc, sizeof(*c->sources.v));
	c->manifests.v = calloc(argc, sizeof(*c->manifests.v));
	if (!letters || !c->pass || !c->sources.v || !c->manifests.v) {
		free(letters);
		return no_memory(c);
	}
	while ((letter = getopt_long(argc, argv, letters, long_options,
				     NULL)) != -1 && parse_one(c, letter))
		;
	free(letters);
	return letter == -1;
}

static bool read_args(struct config *c, int argc, char **argv)
{
	return parse_options(c, argc, argv) &&
	       (c->common.help || c->common.version ||
		(set_time(c) && take_operands(c, argc, argv)));
}

/*
 * Returns argv[0] for mke2fs, which selects the filesystem type: ext4 unless
 * mke4fs itself was run under a name of mke2fs.
 */
static const char *find_name(void)
{
	static const char *const names[] = {
		"mke2fs", "mkfs.ext2", "mkfs.ext3", "mkfs.ext4",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(program_invocation_short_name, names[i]))
			return names[i];
	return "mkfs.ext4";
}

bool parse_args(struct config *c, int argc, char **argv, int *status)
{
	*c = (struct config) {
		.window = E4L_WINDOW_EXACT, .threads = DEFAULT_THREADS,
		.called = find_name(),
	};
	*status = STATUS_FAILED;
	if (!say_start()) {
		say_error("/", "cannot open", errno);
		return false;
	}
	if (!read_args(c, argc, argv)) {
		*status = c->no_memory ? STATUS_FAILED : STATUS_USAGE;
		if (!c->no_memory)
			fprintf(stderr, "Try '%s --help'.\n",
				program_invocation_short_name);
		return false;
	}
	if (!c->common.help && !c->common.version)
		return true;
	if (c->common.help)
		print_help();
	else
		puts("mke4fs (" PACKAGE_NAME ") " PACKAGE_VERSION);
	*status = say_done(STATUS_DONE);
	return false;
}

void free_args(struct config *c)
{
	free(c->device);
	free(c->pass);
	free(c->sources.v);
	free(c->manifests.v);
	free(c->extended);
	free(c->carried);
	free(c->features);
	free(c->root_label);
	free(c->journal);
	free(c->config_text);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json.h"
#include "skips.h"
#include "units.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

const struct skip_text skip_texts[E4L_SKIP_REASONS] = {
	[E4L_SKIP_NONE] = { "none", "no reason" },
	[E4L_SKIP_EXCLUDED] = { "excluded", "excluded by --exclude" },
	[E4L_SKIP_MIN_EXCESS] = { "min-excess", "below --min-excess" },
	[E4L_SKIP_NOT_FILES] = { "not-files", "not included in --only",
				 "--only=files" },
	[E4L_SKIP_NOT_TREES] = { "not-trees", "not included in --only",
				 "--only=trees" },
	[E4L_SKIP_NOT_DIRS] = { "not-directories", "not included in --only",
				"--only=directories" },
	[E4L_SKIP_NOT_SELECTED] = {
		"not-selected", "contains files outside the given paths" },
	[E4L_SKIP_NO_MOVE] = { "no-move", "needs copying, and --no-move was "
			       "given" },
	[E4L_SKIP_INDIRECT] = { "block-mapped", "block-mapped, without "
				"extents" },
	[E4L_SKIP_IMMUTABLE] = { "immutable", "immutable",
				 "--move=immutable" },
	[E4L_SKIP_SWAP] = { "swap", "swap file", "--move=swap" },
	[E4L_SKIP_UNREADABLE] = { "unreadable", "cannot be read" },
	[E4L_SKIP_ENCRYPTED] = { "encrypted", "unwritten extents of an "
				 "encrypted file cannot be zeroed" },
	[E4L_SKIP_UNWRITTEN_LONG] = {
		"unwritten-long", "unwritten extents are longer than the "
				  "zeroing limit",
		"--zeroout=SIZE" },
	[E4L_SKIP_BEYOND_END] = { "beyond-end", "preallocated beyond the end "
				  "of the file" },
	[E4L_SKIP_MISALIGNED] = { "misaligned", "blocks are not aligned to "
				  "clusters" },
	[E4L_SKIP_NO_SPACE] = { "no-free-extent", "no free extent is large "
				"enough" },
	[E4L_SKIP_FREE_SPACE] = { "free-space", "free space would become more "
				  "fragmented" },
	[E4L_SKIP_COPY_LIMIT] = { "max-bytes", "--max-bytes is used up",
				  "--max-bytes=SIZE" },
	[E4L_SKIP_ZERO_LIMIT] = { "zeroout-budget", "--zeroout-budget is used "
				  "up", "--zeroout-budget=SIZE" },
	[E4L_SKIP_JOURNAL] = { "journal", "does not fit in a transaction of "
			       "the journal" },
	[E4L_SKIP_MEMORY] = { "memory", "needs more memory", "--mem=SIZE" },
	[E4L_SKIP_TIME] = { "time", "not planned within --max-time",
			    "--max-time=SECONDS" },
	[E4L_SKIP_STOPPED] = { "stopped", "not reached before the interrupt" },
	[E4L_SKIP_DIR_LARGE] = { "directory-large", "the extents do not fit "
				 "in the inode" },
	[E4L_SKIP_DIR_HOLES] = { "directory-holes", "the directory has holes "
				 "or unwritten blocks" },
	[E4L_SKIP_DIR_ENTRIES] = { "directory-entries", "the directory has too "
				   "many entries for an index" },
	[E4L_SKIP_OWN_INODES] = { "own-inodes", "includes the root "
				  "directory, lost+found or a metadata inode" },
	[E4L_SKIP_STABLE_INODES] = {
		"stable-inodes", "inode numbers cannot change: the filesystem "
		"has the stable_inodes feature" },
	[E4L_SKIP_ENCRYPTED_INODES] = {
		"encrypted-inodes", "encryption keys depend on inode numbers" },
	[E4L_SKIP_UNKNOWN_POLICY] = { "unknown-policy", "unknown encryption "
				      "policy" },
	[E4L_SKIP_EVM] = { "evm", "the security.evm signature includes "
			   "the inode number" },
	[E4L_SKIP_OVERLAY] = { "overlay", "overlayfs refers to the inode "
			       "number", "--renumber-anyway" },
	[E4L_SKIP_XATTR_INODES] = { "xattr-inodes", "an attribute inode "
				    "refers to the inode number" },
	[E4L_SKIP_NO_INODES] = { "no-free-inodes", "no free inodes are close "
				 "enough together" },
	[E4L_SKIP_NOT_WORTH] = { "not-worth",
		"the gain is too small for the number of inodes to renumber" },
	[E4L_SKIP_LINKS] = { "links", "other directories have hard links to "
			     "the files" },
	[E4L_SKIP_INODES_FULL] = { "inodes-full", "no inode is free, and "
				   "exchanging inodes requires one" },
	[E4L_SKIP_IO_ERROR] = { "io-error", "I/O error" },
	[E4L_SKIP_DAMAGED] = { "damaged", "the kernel reports damage" },
	[E4L_SKIP_CHECKSUM] = { "checksum", "the kernel reports a wrong "
				"checksum" },
	[E4L_SKIP_READ_ONLY] = { "read-only", "the filesystem became "
				 "read-only" },
	[E4L_SKIP_NO_MEMORY] = { "no-memory", "out of memory" },
	[E4L_SKIP_OPEN_FILES] = { "open-files", "too many open files" },
	[E4L_SKIP_OPEN_FILES_ALL] = { "open-files-all", "too many open files "
				      "in the system" },
	[E4L_SKIP_OFFLINE_ENCRYPTED] = {
		"offline-encrypted",
		"encrypted files can be repacked only while the "
		"filesystem is unmounted" },
	[E4L_SKIP_OFFLINE_DIRS] = { "offline-directories", "directories can be "
				    "repacked only while the filesystem is "
				    "unmounted" },
	[E4L_SKIP_OFFLINE_TREES] = { "offline-trees", "the extents can be merged "
				     "only while the filesystem is unmounted" },
	[E4L_SKIP_NO_JOURNAL] = { "no-journal", "no journal protects the move "
				  "against a power failure" },
	[E4L_SKIP_FAST_COMMIT] = { "fast-commit", "fast commits do not log "
				   "moved extents" },
	[E4L_SKIP_EXECUTABLE] = { "executable", "an executable cannot be started "
				  "while the executable moves" },
	[E4L_SKIP_EXECUTED] = { "executed", "running, or in use as swap" },
	[E4L_SKIP_LEASED] = { "leased", "another process holds a lease" },
	[E4L_SKIP_CHANGED] = { "changed", "renamed or removed during the run" },
	[E4L_SKIP_HIDDEN] = { "hidden", "hidden by another mount" },
	[E4L_SKIP_PERMISSION] = { "permission", "permission denied" },
	[E4L_SKIP_NOT_OPENED] = { "not-opened", "cannot be opened" },
	[E4L_SKIP_NOT_MAPPED] = { "not-mapped", "the kernel does not report "
				  "the extents" },
	[E4L_SKIP_BEING_WRITTEN] = { "being-written", "another process is "
				     "writing to the file" },
	[E4L_SKIP_PAGES] = { "pages", "cached pages of the file are in "
			     "use" },
	[E4L_SKIP_UNSUPPORTED] = { "unsupported", "the kernel does not support "
				   "moving this file" },
	[E4L_SKIP_REFUSED] = { "refused", "changed during the move, or the "
			       "kernel refused the move" },
	[E4L_SKIP_OTHER_RUN] = { "other-run", "another run of e4repack has "
				 "reserved the free space" },
	[E4L_SKIP_RESERVE] = { "reserve", "the remaining free space is "
			       "reserved for other programs" },
	[E4L_SKIP_QUOTA] = { "quota", "disk quota exceeded" },
	[E4L_SKIP_DONOR_PERMISSION] = {
		"donor-permission", "no permission to reserve space in the "
		"root directory or in a file's directory" },
	[E4L_SKIP_FILE_SIZE] = {
		"file-size", "a limit of the file size (ulimit -f) prevents "
		"reserving space" },
	[E4L_SKIP_DONOR] = { "donor", "no space could be reserved" },
	[E4L_SKIP_DEVICE] = { "device", "a write to the device failed" },
	[E4L_SKIP_PUT_BACK] = { "put-back", "moved back after a write error" },
	[E4L_SKIP_LOST] = { "lost", "write error, and moving back failed: restore "
			    "the file from a backup" },
};

const char *const skip_kinds[E4L_SKIP_KINDS] = {
	[E4L_SKIP_FILE] = "file", [E4L_SKIP_DIR] = "directory",
	[E4L_SKIP_INODES] = "inodes",
};

/*
 * Singular and plural nouns: for the skipped objects, and for the extents or
 * blocks that repacking the objects could have saved.
 */
static const struct {
	const char *one, *many, *saved_one, *saved_many;
} nouns[E4L_SKIP_KINDS] = {
	[E4L_SKIP_FILE] = { "file", "files", "extent", "extents" },
	[E4L_SKIP_DIR] = { "directory", "directories", "block", "blocks" },
	[E4L_SKIP_INODES] = { "directory's inodes", "directories' inodes",
			      "inode-table block", "inode-table blocks" },
};

struct entry {
	enum e4l_skip_kind kind;
	enum e4l_skip why;
	const struct e4l_skips *skips;
};

static int most_first(const void *va, const void *vb)
{
	const struct entry *a = va, *b = vb;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->skips->saved != b->skips->saved)
		return a->skips->saved < b->skips->saved ? 1 : -1;
	return a->why < b->why ? -1 : a->why > b->why;
}

static size_t in_order(const struct e4l_repack_result *result,
		       struct entry v[E4L_SKIP_KINDS * E4L_SKIP_REASONS])
{
	size_t n = 0, kind, why;

	for (kind = 0; kind < E4L_SKIP_KINDS; kind++)
		for (why = 0; why < E4L_SKIP_REASONS; why++)
			if (result->skips[kind][why].count)
				v[n++] = (struct entry) {
					kind, why, &result->skips[kind][why],
				};
	qsort(v, n, sizeof(*v), most_first);
	return n;
}

static void print_entry(FILE *out, const struct entry *e)
{
	char count[2 * UNITS_LEN], saved[2 * UNITS_LEN];
	const struct e4l_skips *s = e->skips;
	const char *option = skip_texts[e->why].option;

	fprintf(out, "Skipped: %s",
		units_things(s->count, nouns[e->kind].one, nouns[e->kind].many,
			     count));
	if (s->saved)
		fprintf(out, " (%s)",
			units_things(s->saved, nouns[e->kind].saved_one,
				     nouns[e->kind].saved_many, saved));
	fprintf(out, ": %s", skip_texts[e->why].text);
	if (option)
		fprintf(out, " (see %s)", option);
	putc('\n', out);
}

void skips_print(FILE *out, const struct e4l_repack_result *result)
{
	struct entry v[E4L_SKIP_KINDS * E4L_SKIP_REASONS];
	size_t n = in_order(result, v), i;

	for (i = 0; i < n; i++)
		print_entry(out, &v[i]);
}

json_t *skips_array(const struct e4l_repack_result *result)
{
	struct entry v[E4L_SKIP_KINDS * E4L_SKIP_REASONS];
	size_t n = in_order(result, v), i;
	json_t *array = json_array();
	int failed = 0;

	for (i = 0; i < n; i++)
		failed |= json_array_append_new(array,
				json_pack("{s:s, s:s, s:I, s:I}",
					  "kind", skip_kinds[v[i].kind],
					  "reason", skip_texts[v[i].why].code,
					  "count",
					  (json_int_t)v[i].skips->count,
					  "saved",
					  (json_int_t)v[i].skips->saved));
	return json_checked(array, failed);
}

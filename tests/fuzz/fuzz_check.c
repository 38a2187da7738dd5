/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: checks an image with one thread.  The check must end, must
 * report only findings of e4l_finding_table, and must not keep more findings
 * than requested.
 */
#include <stdlib.h>
#include <string.h>
#include "e4layout/check/check.h"
#include "mem_io.h"

#define MAX_FINDINGS 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

static void check_found(struct findings *found)
{
	uint64_t sum = 0;
	char text[FINDING_TEXT_LEN];
	size_t i;

	e4l_findings_sort(found);
	require(found->n <= MAX_FINDINGS);
	for (i = 0; i < FINDING_IDS; i++)
		sum += found->count[i];
	for (i = 0; i < E4L_SEVERITIES; i++)
		sum -= found->severity[i];
	require(!sum);
	for (i = 0; i < found->n; i++)
		require(strlen(e4l_finding_text(&found->v[i], text,
					    sizeof(text))));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct e4l_check_options options;
	struct findings found;
	ext2_filsys fs;
	struct e4l *e;

	e = mem_io_open(data, size, &fs);
	if (!e)
		return 0;
	e4l_set_threads(e, 1);
	e4l_findings_init(&found, MAX_FINDINGS);
	if (!e4l_check_run(e, &options, &found))
		check_found(&found);
	e4l_findings_free(&found);
	mem_io_close(e, fs);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include "support/say.h"
#include "support/target.h"
#include "check.h"
#include "verify.h"

#define MAX_SHOWN	20
#define TEXT_LEN	160

static void tell(const char *name, const struct finding *what)
{
	char text[TEXT_LEN];

	say("%s: %s, inode %u, block %llu: %s", name,
	    finding_table[what->id].code, what->ino,
	    (unsigned long long)what->blk,
	    finding_text(what, text, sizeof(text)));
}

/* Says what is wrong; true when nothing is. */
static bool is_sound(const char *name, struct findings *found)
{
	uint64_t errors = found->severity[SEVERITY_ERROR];
	size_t i;

	findings_sort(found);
	for (i = 0; i < found->n && i < errors; i++)
		tell(name, &found->v[i]);
	if (errors)
		say("%s: is not sound: %" PRIu64 " errors: run e2fsck -f",
		    name, errors);
	return !errors;
}

bool verify(const char *name, uint64_t offset_bytes)
{
	static const struct check_options opt = { .no_layout = true };
	char io_options[48];
	struct target_doubt doubt;
	struct findings found;
	struct target t;
	struct e4l *e;
	errcode_t err;
	bool sound;

	snprintf(io_options, sizeof(io_options), "cache=off&offset=%" PRIu64,
		 offset_bytes);
	if (!target_open_check(&t, name, io_options, true, &doubt))
		return false;
	findings_init(&found, MAX_SHOWN);
	err = e4l_new(t.fs, &e);
	if (!err)
		err = check_run(e, &opt, &found);
	if (err)
		say_e4l(name, e, err);
	if (doubt.super || doubt.groups)
		say("%s: is not sound: %s", name,
		    error_message(doubt.super ? doubt.super : doubt.groups));
	sound = !err && !doubt.super && !doubt.groups && is_sound(name, &found);
	findings_free(&found);
	e4l_free(e);
	return target_close(&t) && sound;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the JSON object of --json; doc/schema describes the format. */
#include "config.h"
#include "support/json_layout.h"
#include "support/skips.h"
#include "e4repack.h"

static json_t *what_array(const struct e4repack *r)
{
	json_t *array = json_array();
	int failed = 0;
	unsigned int i;

	for (i = 0; e4repack_only_words[i]; i++)
		if (r->flags & e4repack_only_flags[i])
			failed |= json_array_append_new(array,
					json_string(e4repack_only_words[i]));
	return json_checked(array, failed);
}

static json_t *inodes_array(const struct e4repack *r)
{
	const struct e4l_skipped *s = r->skipped;
	json_t *array = json_array();
	int failed = 0;
	size_t i;

	for (i = 0; i < r->n_skipped; i++, s++)
		failed |= json_array_append_new(array,
				json_pack("{s:I, s:s, s:s, s:I}",
					  "inode", (json_int_t)s->ino,
					  "kind", skip_kinds[s->kind],
					  "reason", skip_texts[s->why].code,
					  "saved", (json_int_t)s->saved));
	return json_checked(array, failed);
}

bool e4repack_print_json(const struct e4repack *r)
{
	json_t *object = json_pack("{s:s, s:o, s:o, s:b, s:b, s:b, s:b, s:I, "
				   "s:o, s:f}",
				   "schema", "e4repack/1",
				   "target", json_name(r->target.name),
				   "what", what_array(r),
				   "dry_run", r->dry_run,
				   "online", r->online,
				   "no_move", r->no_move,
				   "failed", r->failed,
				   "block_size_bytes",
				   (json_int_t)r->target.fs->blocksize,
				   "skipped_inodes", inodes_array(r),
				   "seconds", r->seconds);
	json_t *rest = json_repack(&r->result, r->target.fs->blocksize);
	int failed = json_object_update(object, rest);

	if (e4repack_shrinks(r))
		failed |= json_object_set_new(object, "shrink",
					      e4repack_shrink_json(r));
	json_decref(rest);
	return json_write(json_checked(object, failed));
}

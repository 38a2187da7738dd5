/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON objects that several reports contain.  The caller frees each object.  If
 * memory runs out, the functions return NULL.
 */
#ifndef SUPPORT_JSON_LAYOUT_H
#define SUPPORT_JSON_LAYOUT_H

#include <e4layout/e4layout.h>
#include "json_line.h"

/* Returns the name, sizes and features of a filesystem. */
json_t *json_filesystem(ext2_filsys fs);

/* Returns the sums over the files of a model. */
json_t *json_files(const struct e4l_model *m);

/* Returns the name of a map type, such as "extents". */
const char *json_map_name(enum e4l_map map);

json_t *json_score(const struct e4l_file_score *score);
void json_line_score(struct json_line *line,
		     const struct e4l_file_score *score);

/*
 * Returns the layout before and after a repack, the planned and the actual
 * cost, and the skipped files.  @bs is the block size in bytes.
 */
json_t *json_repack(const struct e4l_repack_result *r, unsigned int bs);

json_t *json_free_space(const struct e4l_free_histogram *h);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What several reports say of a layout: objects that are to be freed. */
#ifndef SUPPORT_JSON_LAYOUT_H
#define SUPPORT_JSON_LAYOUT_H

#include <e4layout/e4layout.h>
#include "json_line.h"

/* Name, sizes and features. */
json_t *json_filesystem(ext2_filsys fs);

/* Sums over the files of a model. */
json_t *json_files(const struct e4l_model *m);

/* "extents" and the like. */
const char *json_map_name(enum e4l_map map);

json_t *json_score(const struct e4l_file_score *score);
void json_line_score(struct json_line *line,
		     const struct e4l_file_score *score);

/*
 * The layout before and after a repack, what is planned and done, what is
 * skipped.  @bs: bytes in a block.
 */
json_t *json_repack(const struct e4l_repack_result *r, unsigned int bs);

json_t *json_free_space(const struct e4l_free_histogram *h);

#endif

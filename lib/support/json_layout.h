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

/* What a plan makes room for, and at what cost. */
json_t *json_room(const struct e4l_repack_result *result, unsigned int bs);
/* What it does for long free runs, likewise. */
json_t *json_free_runs(const struct e4l_repack_result *result, unsigned int bs);

json_t *json_free_space(const struct e4l_free_histogram *h);

#endif

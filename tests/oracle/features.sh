#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# For each recipe in tests/recipes/features, which has one file of each type,
# compares the library's model with the figures of other programs.  Without
# --full, uses one recipe in three.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/oracle/model_common.sh"

recipes=0
for recipe in "$top_srcdir"/tests/recipes/features/*.recipe; do
	recipes=$((recipes + 1))
	in_third $recipes 0 || continue
	subject=$(basename "$recipe" .recipe)
	make_image "$recipe"
	check_all
done
echo "$images images, $mounts of them mounted"
[ "$images" -ge "$(in_full && echo 40 || echo 13)" ] || fail "only $images images"

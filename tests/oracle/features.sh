#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares the library's model with the figures of other programs, for each recipe
# in tests/recipes/features, which has one file of each type.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/oracle/model_common.sh"

for recipe in "$top_srcdir"/tests/recipes/features/*.recipe; do
	subject=$(basename "$recipe" .recipe)
	make_image "$recipe"
	check_all
done
echo "$images images, $mounts of them mounted"
[ $images -ge 40 ] || fail "only $images images"

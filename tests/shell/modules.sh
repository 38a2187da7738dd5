#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The drawing in doc/architecture.md shows the actual includes, no folder of the
# library includes a folder above itself, and no function of the library has
# more than 60 lines.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/shell/common.sh"
require_program python3

check "$top_srcdir/scripts/modules" --check
check "$top_srcdir/scripts/modules" --functions
cat "$out"

# A wrong include is detected.
mkdir "$work/tree" "$work/tree/doc"
(cd "$top_srcdir" && find lib e2fsck misc debugfs -name '*.[ch]' |
	cpio -pdm --quiet "$work/tree")
cp -r "$top_srcdir/scripts" "$work/tree"
cp "$top_srcdir/doc/architecture.md" "$work/tree/doc"
check "$work/tree/scripts/modules" --check
echo '#include "e4layout/plan/plan.h"' >>"$work/tree/lib/e4layout/read/scan.c"
mustfail 1 "$work/tree/scripts/modules" --check
says 'lib/e4layout/read/scan.c:[0-9]*: e4layout/plan/plan.h'
says 'run scripts/modules --write'
# Any spelling of #include is recognized.
for line in '#include "../plan/plan.h"' '# include "e4layout/plan/plan.h"' \
	' #include	<e4layout/./plan/plan.h>' \
	'#include <e4layout/e4layout.h>'; do
	cp "$top_srcdir/lib/e4layout/read/free_space.c" \
		"$work/tree/lib/e4layout/read"
	echo "$line" >>"$work/tree/lib/e4layout/read/free_space.c"
	mustfail 1 "$work/tree/scripts/modules" --check
	says 'lib/e4layout/read/free_space.c:[0-9]*: '
done
mkdir "$work/tree/lib/e4layout/read/below"
true >"$work/tree/lib/e4layout/read/below/a.c"
true >"$work/tree/lib/e4layout/b.c"
mustfail 1 "$work/tree/scripts/modules" --check
says 'lib/e4layout/read/below/a.c: not in a folder'
says 'lib/e4layout/b.c: not in a folder'
{
	printf 'int f(void)\n{\n'
	yes '	g();' | head -n 60
	echo '}'
} >>"$work/tree/lib/e4layout/read/scan.c"
run "$work/tree/scripts/modules" --functions
same "exit of --functions" "$status" 1
says 'lib/e4layout/read/scan.c: 63 lines: int f'

# The code must not call stat(2), which fails for files dated after 2038 if
# time_t has 32 bits.
mustfail 1 grep -rnE '(^|[^_[:alnum:]])[lf]?stat(at)?\([^2]' --include='*.c' \
	"$top_srcdir/lib" "$top_srcdir/misc" "$top_srcdir/debugfs" \
	"$top_srcdir/e2fsck"

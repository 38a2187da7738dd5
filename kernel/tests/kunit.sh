# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh source-path=SCRIPTDIR source=common.sh disable=SC2154,SC2034,SC2119
# lanes: um x86_64
# The unit tests of ext4 in the kernel pass.
. "$(dirname "$0")/common.sh"
new_disk 16
complains=ok
boot kunit.enable=1 kunit.filter_glob='ext4*' ignore_loglevel </dev/null
tr -d '\r' <"$work/console" | grep -aE '^(\[.*\] )?(ok|not ok) ' |
	sed 's/^\[[^]]*\] //' >"$work/suites"
cat "$work/suites"
! grep -q '^not ok' "$work/suites" || fail "a suite fails"
for suite in ext4_inode_test ext4_mballoc_test ext4_tunables_test \
	ext4_extents_status_test; do
	grep -q "^ok .* $suite" "$work/suites" || fail "$suite did not run"
done

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * minimal DEVICE: checks and repacks a filesystem, and reports its extents.  A
 * damaged filesystem or one in use is refused.
 *
 *	cc minimal.c $(pkg-config --cflags --libs e4layout)
 */
#include <stdio.h>
#include <e4layout/e4layout.h>

int main(int argc, char **argv)
{
	struct e4l_open_options how = { .flags = E4L_OPEN_WRITE };
	struct e4l_repack_what what = { .flags = E4L_REPACK_DEFAULT };
	struct e4l_check_result found = { .errors = 0 };
	struct e4l_repack_result r = { .files_done = 0 };
	struct e4l *e;
	errcode_t err = e4l_open(argv[argc - 1], &how, &e);

	err = err ? err : e4l_check(e, NULL, &found);
	err = err ? err : e4l_repack(e, &what, NULL, NULL, &r);
	printf("%ju errors, %ju extents: %s\n", (uintmax_t)found.errors,
	       (uintmax_t)r.after.extents, error_message(err));
	return e4l_close(e) || err;
}

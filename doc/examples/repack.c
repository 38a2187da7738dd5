/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * repack DEVICE: repacks a filesystem that is not in use.  The library refuses
 * a damaged filesystem.
 *
 *	cc repack.c $(pkg-config --cflags --libs e4layout)
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <e4layout/e4layout.h>

/* Prints the reason of a refusal or failure, and the remedy. */
static void say(const char *sentence, errcode_t err, void *device)
{
	(void)err;
	fprintf(stderr, "%s: %s\n", (const char *)device, sentence);
}

static bool repack(struct e4l *e, const char *device)
{
	const struct e4l_repack_what what = { .flags = E4L_REPACK_DEFAULT };
	struct e4l_repack_result result;
	errcode_t err = e4l_repack(e, &what, NULL, NULL, &result);
	char text[160];

	if (err) {
		fprintf(stderr, "%s: %s: %s\n", device,
			e4l_detail_text(e, text, sizeof(text)),
			error_message(err));
		return false;
	}
	printf("%s: %" PRIu64 " extents became %" PRIu64 "\n", device,
	       result.before.extents, result.after.extents);
	return true;
}

int main(int argc, char **argv)
{
	struct e4l_open_options options = {
		.flags = E4L_OPEN_WRITE, .say = say,
	};
	struct e4l *e;
	bool done;

	if (argc != 2) {
		fprintf(stderr, "Usage: repack DEVICE\n");
		return 2;
	}
	options.priv = argv[1];
	if (e4l_open(argv[1], &options, &e))
		return 1;
	done = repack(e, argv[1]);
	if (e4l_close(e))
		done = false;
	if (fflush(stdout)) {
		perror("repack: standard output");
		done = false;
	}
	return !done;
}

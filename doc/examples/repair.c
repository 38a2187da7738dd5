/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * repair DEVICE: repacks a filesystem that is not in use.  The library refuses
 * a damaged one.
 *
 *	cc repair.c $(pkg-config --cflags --libs e4layout)
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <e4layout/e4layout.h>

/* Why something is refused, or what failed, and what to do. */
static void say(const char *sentence, errcode_t err, void *device)
{
	(void)err;
	fprintf(stderr, "%s: %s\n", (const char *)device, sentence);
}

static bool repair(struct e4l *e, const char *device)
{
	const struct e4l_repack_options options = {
		.flags = E4L_PLAN_MERGE | E4L_PLAN_ZEROOUT | E4L_PLAN_MOVE,
		.zeroout_max_blocks = 16,
		.zeroout_budget_blocks = E4L_NO_LIMIT,
		.copy_budget_blocks = E4L_NO_LIMIT,
	};
	struct e4l_repack_result result;
	errcode_t err = e4l_repack(e, &options, &result);
	char what[160];

	if (err) {
		fprintf(stderr, "%s: %s: %s\n", device,
			e4l_detail_text(e, what, sizeof(what)),
			error_message(err));
		return false;
	}
	printf("%s: %" PRIu64 " extents became %" PRIu64 "\n", device,
	       result.extents_before, result.extents_after);
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
		fprintf(stderr, "Usage: repair DEVICE\n");
		return 2;
	}
	options.priv = argv[1];
	if (e4l_open(argv[1], &options, &e))
		return 1;
	done = repair(e, argv[1]);
	if (e4l_close(e))
		done = false;
	if (fflush(stdout)) {
		perror("repair: standard output");
		done = false;
	}
	return !done;
}

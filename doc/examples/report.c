/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * report DEVICE: reports the layout of a filesystem, mounted or not, and the
 * files with the most excess extents.
 *
 *	cc report.c $(pkg-config --cflags --libs e4layout)
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

static void show(const struct e4l_model *m)
{
	size_t i;

	printf("%" PRIu64 " files, %" PRIu64 " of them fragmented\n",
	       m->files.count, m->files.fragmented);
	printf("%" PRIu64 " extents in %" PRIu64
	       " fragments; minimum %" PRIu64 " extents\n", m->files.extents, m->files.fragments,
	       m->files.ideal_extents);
	for (i = 0; i < m->n_worst; i++)
		printf("%10" PRIu64 " extents  inode %u  %s\n",
		       m->worst[i].score.extents, m->worst[i].ino,
		       m->worst[i].path ? m->worst[i].path : "(no name)");
}

static bool report(struct e4l *e, const char *device)
{
	const struct e4l_model_options options = {
		.top = 10, .sort = E4L_SORT_EXTENTS,
	};
	struct e4l_model model;
	errcode_t err = e4l_model_build(e, &options, &model);
	char what[160];
	bool whole = !err && !model.damaged_count;

	if (err)
		fprintf(stderr, "%s: %s: %s\n", device,
			e4l_detail_text(e, what, sizeof(what)),
			error_message(err));
	else
		show(&model);
	if (!err && !whole)
		fprintf(stderr, "%s: %" PRIu64 " places are damaged and not "
			"counted: run e2fsck\n", device, model.damaged_count);
	e4l_model_free(&model);
	return whole;
}

int main(int argc, char **argv)
{
	struct e4l_open_options options = { .say = say };
	struct e4l *e;
	bool done;

	if (argc != 2) {
		fprintf(stderr, "Usage: report DEVICE\n");
		return 2;
	}
	options.priv = argv[1];
	if (e4l_open(argv[1], &options, &e))
		return 1;
	done = report(e, argv[1]);
	if (e4l_close(e))
		done = false;
	if (fflush(stdout)) {
		perror("report: standard output");
		done = false;
	}
	return !done;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <stddef.h>
#include "failure.h"

static const struct e4l_reason failures[] = {
	{ EIO, E4L_SKIP_IO_ERROR },
	{ EUCLEAN, E4L_SKIP_DAMAGED },
	{ EBADMSG, E4L_SKIP_CHECKSUM },
	{ EROFS, E4L_SKIP_READ_ONLY },
	{ ENOMEM, E4L_SKIP_NO_MEMORY },
	{ EMFILE, E4L_SKIP_OPEN_FILES },
	{ ENFILE, E4L_SKIP_OPEN_FILES_ALL },
};

#define END (failures + sizeof(failures) / sizeof(*failures))

enum e4l_skip e4l_failure_skip(int error)
{
	const struct e4l_reason *f;

	for (f = failures; f < END; f++)
		if (f->error == error)
			return f->why;
	return E4L_SKIP_NONE;
}

enum e4l_skip e4l_reason_skip(int error, const struct e4l_reason *reasons)
{
	enum e4l_skip failure = e4l_failure_skip(error);

	while (reasons->error && reasons->error != error)
		reasons++;
	return failure ? failure : reasons->why;
}

int e4l_failure_errno(enum e4l_skip why)
{
	const struct e4l_reason *f;

	for (f = failures; f < END; f++)
		if (f->why == why)
			return f->error;
	return 0;
}

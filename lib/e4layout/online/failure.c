/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <stddef.h>
#include "failure.h"

static const struct e4l_reason failures[] = {
	{ EIO, "reading or writing failed" },
	{ EUCLEAN, "is damaged, as the kernel says" },
	{ EBADMSG, "is damaged, as the kernel says: a checksum is wrong" },
	{ EROFS, "the filesystem has become read-only" },
	{ ENOMEM, "memory is short" },
	{ EMFILE, "too many files are open" },
	{ ENFILE, "too many files are open everywhere" },
};

#define END (failures + sizeof(failures) / sizeof(*failures))

const char *e4l_failure_text(int error)
{
	const struct e4l_reason *f;

	for (f = failures; f < END; f++)
		if (f->error == error)
			return f->text;
	return NULL;
}

const char *e4l_reason_text(int error, const struct e4l_reason *reasons)
{
	const char *failure = e4l_failure_text(error);

	while (reasons->error && reasons->error != error)
		reasons++;
	return failure ? failure : reasons->text;
}

int e4l_failure_errno(const char *text)
{
	const struct e4l_reason *f;

	for (f = failures; f < END; f++)
		if (f->text == text)
			return f->error;
	return 0;
}

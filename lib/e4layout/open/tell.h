/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Passes messages that explain an error to the caller's say(). */
#ifndef E4L_TELL_H
#define E4L_TELL_H

#include <e4layout/open.h>

struct e4l_teller {
	/* the member say() of struct e4l_open_options */
	void (*say)(const char *sentence, errcode_t err, void *priv);
	void *priv;
};

/* Calls @teller->say() with a formatted message.  Returns @err. */
errcode_t e4l_tell(const struct e4l_teller *teller, errcode_t err,
		   const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Reports "WHAT: why", where why is error_message(@err).  Returns @err. */
errcode_t e4l_tell_error(const struct e4l_teller *teller, errcode_t err,
			 const char *what);

#endif

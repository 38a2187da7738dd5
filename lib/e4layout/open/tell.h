/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sentence that says why something is refused, for the caller to show. */
#ifndef E4L_TELL_H
#define E4L_TELL_H

#include <e4layout/open.h>

struct e4l_teller {
	/* as in struct e4l_open_options */
	void (*say)(const char *sentence, errcode_t err, void *priv);
	void *priv;
};

/* Hands over the sentence, which lacks its subject.  Returns @err. */
errcode_t e4l_tell(const struct e4l_teller *teller, errcode_t err,
		   const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* "WHAT: why", why from the tables of com_err. */
errcode_t e4l_tell_error(const struct e4l_teller *teller, errcode_t err,
			 const char *what);

#endif

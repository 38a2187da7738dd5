/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "tell.h"

errcode_t e4l_tell(const struct e4l_teller *teller, errcode_t err,
		   const char *fmt, ...)
{
	char *sentence = NULL;
	va_list args;
	int len;

	if (!teller->say)
		return err;
	va_start(args, fmt);
	len = vasprintf(&sentence, fmt, args);
	va_end(args);
	teller->say(len < 0 ? error_message(err) : sentence, err,
		    teller->priv);
	if (len >= 0)
		free(sentence);
	return err;
}

errcode_t e4l_tell_error(const struct e4l_teller *teller, errcode_t err,
			 const char *what)
{
	return e4l_tell(teller, err, "%s: %s", what, error_message(err));
}

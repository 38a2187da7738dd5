/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "json.h"
#include "say.h"
#include "text.h"

json_t *json_checked(json_t *value, int failed)
{
	if (!failed)
		return value;
	json_decref(value);
	return NULL;
}

json_t *json_members(const void *base, const struct json_member *members,
		     size_t n)
{
	json_t *object = json_object();
	int failed = 0;
	size_t i;

	for (i = 0; i < n; i++)
		failed |= json_object_set_new(object, members[i].key,
				json_integer(json_member_value(base,
							       &members[i])));
	return json_checked(object, failed);
}

json_t *json_field(const char *text, size_t max)
{
	char *escaped = text_escape(text, strnlen(text, max), TEXT_FOR_JSON);
	json_t *value = escaped ? json_string(escaped) : NULL;

	free(escaped);
	return value;
}

json_t *json_name(const char *name)
{
	return json_field(name, strlen(name));
}

json_t *json_number_or_null(bool there, json_int_t number)
{
	return there ? json_integer(number) : json_null();
}

json_t *json_text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

/*
 * If writing to stdout fails, prints no message: say_done() prints the error.
 */
static bool write_json(json_t *object, size_t flags)
{
	bool ok = object &&
		  !json_dumpf(object, stdout,
			      flags | JSON_REAL_PRECISION(6)) &&
		  putchar('\n') != EOF;

	if (!ok && !ferror(stdout))
		say_error("the report", "cannot format JSON", ENOMEM);
	json_decref(object);
	return ok;
}

bool json_write(json_t *object)
{
	return write_json(object, JSON_INDENT(2));
}

bool json_write_line(json_t *object)
{
	return write_json(object, JSON_COMPACT);
}

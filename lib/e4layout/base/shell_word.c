/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "shell_word.h"

static bool has_only(const char *name, const char *chars)
{
	return !name[strspn(name, chars)];
}

/*
 * Returns @name in quotes.  @opening is the opening quote: ' or $'.  A single
 * quote in @name is replaced by '"'" and @opening.  \' is not used, because
 * programs that print the word write a backslash as \x5c.
 */
static char *quote(const char *name, const char *opening)
{
	char *word = malloc(strlen(name) * sizeof("'\"'\"$'") + sizeof("$''"));
	char *to = word;

	if (!word)
		return NULL;
	to = stpcpy(to, opening);
	for (; *name; name++) {
		if (*name == '\'')
			to = stpcpy(stpcpy(to, "'\"'\""), opening);
		else
			*to++ = *name;
	}
	strcpy(to, "'");
	return word;
}

#define WORD_CHARS \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_"
#define QUOTED_CHARS WORD_CHARS " !\"#$&'()*;<>?[]^`{|}~"

char *e4l_shell_word(const char *name)
{
	char *word = NULL, *file = NULL;

	if (*name == '-') {
		if (asprintf(&file, "./%s", name) < 0)
			return NULL;
		name = file;
	}
	if (*name && *name != '=' && has_only(name, WORD_CHARS))
		word = strdup(name);
	else
		word = quote(name, has_only(name, QUOTED_CHARS) ? "'" : "$'");
	free(file);
	return word;
}

char *e4l_shell_filesystem(const char *device, uint64_t offset_bytes)
{
	const char *name = strchr(device, '?') ? "/dev/fd/9" : device;
	char *at = NULL, *word, *file, *both = NULL;

	if (offset_bytes && asprintf(&at, "%s?offset=%llu", name,
				     (unsigned long long)offset_bytes) < 0)
		return NULL;
	word = e4l_shell_word(at ? at : name);
	free(at);
	if (name == device)
		return word;
	file = e4l_shell_word(device);
	if (!word || !file || asprintf(&both, "%s 9<>%s", word, file) < 0)
		both = NULL;
	free(file);
	free(word);
	return both;
}

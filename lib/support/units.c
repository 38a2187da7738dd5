/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "units.h"

static const char prefixes[] = "KMGTPE";

/* The digits at the start of *@text, which moves past them. */
static bool parse_digits(const char **text, uint64_t *value)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	*value = strtoull(*text, &end, 10);
	*text = end;
	return errno == 0;
}

/* How far a suffix shifts; false when it is not one. */
static bool parse_suffix(const char *suffix, unsigned int *shift)
{
	const char *at;

	*shift = 0;
	if (!*suffix)
		return true;
	at = strchr(prefixes, toupper((unsigned char)*suffix));
	if (!at || (suffix[1] && strcasecmp(suffix + 1, "ib")))
		return false;
	*shift = 10 * (unsigned int)(at - prefixes + 1);
	return true;
}

bool units_parse_size(const char *text, uint64_t *bytes)
{
	unsigned int shift;
	uint64_t value;

	if (!parse_digits(&text, &value) || !parse_suffix(text, &shift) ||
	    value > UINT64_MAX >> shift)
		return false;
	*bytes = value << shift;
	return true;
}

bool units_parse_count(const char *text, uint64_t *count)
{
	uint64_t value;

	if (!parse_digits(&text, &value) || *text)
		return false;
	*count = value;
	return true;
}

const char *units_size(uint64_t bytes, char buf[UNITS_LEN])
{
	double value = bytes;
	int i;

	if (bytes < 1024) {
		snprintf(buf, UNITS_LEN, "%u B", (unsigned int)bytes);
		return buf;
	}
	/* what would print as 1024 belongs to the next unit */
	for (i = -1; value >= 1023.5 && prefixes[i + 1]; i++)
		value /= 1024;
	snprintf(buf, UNITS_LEN, value >= 9.95 || value == (unsigned int)value ?
		 "%.0f %ciB" : "%.1f %ciB", value, prefixes[i]);
	return buf;
}

const char *units_count(uint64_t count, char buf[UNITS_LEN])
{
	char digits[UNITS_LEN];
	int n = snprintf(digits, sizeof(digits), "%llu",
			 (unsigned long long)count);
	char *out = buf;
	int i;

	for (i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return buf;
}

const char *units_percent(uint64_t part, uint64_t whole, char buf[UNITS_LEN])
{
	if (whole)
		snprintf(buf, UNITS_LEN, "%.1f %%",
			 100.0 * (double)part / (double)whole);
	else
		snprintf(buf, UNITS_LEN, "-");
	return buf;
}

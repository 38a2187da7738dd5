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

/*
 * Reads the digits at *@text, and moves *@text after them.  Returns false if
 * there is no digit, or if the number is too large.
 */
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

/*
 * Reads up to six digits after a decimal point as millionths.  Returns false if
 * the fraction is invalid.
 */
static bool parse_fraction(const char **text, uint64_t *millionths)
{
	uint32_t digit = UNITS_WHOLE / 10;

	*millionths = 0;
	if (**text != '.')
		return true;
	if (!isdigit((unsigned char)*++*text))
		return false;
	for (; isdigit((unsigned char)**text); (*text)++, digit /= 10) {
		if (!digit)
			return false;
		*millionths += digit * (uint64_t)(**text - '0');
	}
	return true;
}

/*
 * Returns the number of bytes of the unit @suffix, or 0 if there is no such
 * unit.
 */
static uint64_t unit_bytes(const char *suffix)
{
	uint64_t step, bytes;
	const char *at;

	if (!*suffix || !strcasecmp(suffix, "b"))
		return 1;
	at = strchr(prefixes, toupper((unsigned char)*suffix++));
	if (!at)
		return 0;
	if (!*suffix || !strcasecmp(suffix, "ib"))
		step = 1024;
	else if (!strcasecmp(suffix, "b"))
		step = 1000;
	else
		return 0;
	for (bytes = step; at > prefixes; at--)
		bytes *= step;
	return bytes;
}

/*
 * Returns @parts millionths of @all, exactly, without 128-bit numbers; @parts
 * is at most UNITS_WHOLE.
 */
static uint64_t parts_of(uint64_t all, uint64_t parts)
{
	return all / UNITS_WHOLE * parts +
	       all % UNITS_WHOLE * parts / UNITS_WHOLE;
}

bool units_parse_size(const char *text, uint64_t *bytes)
{
	uint64_t value, millionths, unit, sum;

	if (!parse_digits(&text, &value) ||
	    !parse_fraction(&text, &millionths))
		return false;
	unit = unit_bytes(text);
	if (!unit || (unit == 1 && millionths))
		return false;
	if (__builtin_mul_overflow(value, unit, &sum) ||
	    __builtin_add_overflow(sum, parts_of(unit, millionths), &sum))
		return false;
	*bytes = sum;
	return true;
}

bool units_parse_share(const char *text, struct units_share *share)
{
	uint64_t whole, millionths;

	if (units_parse_size(text, &share->bytes)) {
		share->parts = 0;
		return true;
	}
	if (!parse_digits(&text, &whole) ||
	    !parse_fraction(&text, &millionths) || strcmp(text, "%") ||
	    millionths % 100 || whole > 100 || (whole == 100 && millionths))
		return false;
	share->bytes = 0;
	share->parts = whole * (UNITS_WHOLE / 100) + millionths / 100;
	return true;
}

uint64_t units_share_of(const struct units_share *share, uint64_t all_bytes)
{
	return share->parts ? parts_of(all_bytes, share->parts) : share->bytes;
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
	/* a value that would print as 1024 is printed in the next unit */
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

const char *units_things(uint64_t count, const char *one, const char *many,
			 char buf[2 * UNITS_LEN])
{
	char n[UNITS_LEN];

	snprintf(buf, 2 * UNITS_LEN, "%s %s", units_count(count, n),
		 count == 1 ? one : many);
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

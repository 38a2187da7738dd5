/* SPDX-License-Identifier: GPL-2.0-or-later */
/* units: parses and formats sizes and counts. */
#ifndef SUPPORT_UNITS_H
#define SUPPORT_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* Size of a buffer for a formatted size, count or percentage. */
#define UNITS_LEN 32

/*
 * Parses a number of bytes: decimal, with an optional suffix K, M, G, T, P or
 * E, also KiB, MiB ... (powers of 1024), or KB, MB ... (powers of 1000), in any
 * case.  A number with a suffix can have at most six digits after the point;
 * fractions of a byte are dropped.  If @text is invalid or the value does not
 * fit, returns false.
 */
bool units_parse_size(const char *text, uint64_t *bytes);

/* The number of parts of a whole in struct units_share. */
#define UNITS_WHOLE 1000000

/* A size in bytes, or a fraction of a whole whose size is not known yet. */
struct units_share {
	uint64_t bytes;
	/* fraction in units of 1/UNITS_WHOLE; 0: the size is @bytes */
	uint32_t parts;
};

/*
 * Parses a size as units_parse_size() does, or 0% to 100% with at most four
 * digits after the point.  Returns false if @text is invalid.
 */
bool units_parse_share(const char *text, struct units_share *share);

/*
 * Returns the size @share in bytes.  If @share is a fraction, @all_bytes is the
 * size of the whole.
 */
uint64_t units_share_of(const struct units_share *share, uint64_t all_bytes);

/*
 * Parses a decimal number without suffix.  If @text is anything else, returns
 * false.
 */
bool units_parse_count(const char *text, uint64_t *count);

/*
 * Formats a size such as "512 B", "4 KiB" or "1.5 GiB".  If the size is
 * rounded, at least two digits are significant.  Returns @buf.
 */
const char *units_size(uint64_t bytes, char buf[UNITS_LEN]);

/* Formats a count: "1,234,567". Returns @buf. */
const char *units_count(uint64_t count, char buf[UNITS_LEN]);

/* Formats a count and its noun: "1 file", "1,234 files". Returns @buf. */
const char *units_things(uint64_t count, const char *one, const char *many,
			 char buf[2 * UNITS_LEN]);

/* Formats a percentage: "16.3 %", or "-" if @whole is 0. Returns @buf. */
const char *units_percent(uint64_t part, uint64_t whole, char buf[UNITS_LEN]);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes and counts, as people type and read them. */
#ifndef SUPPORT_UNITS_H
#define SUPPORT_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* The longest text below, with its NUL. */
#define UNITS_LEN 32

/*
 * A decimal number of bytes, with a suffix if it is not whole: K, M, G, T, P
 * or E, also written KiB, MiB ... (powers of 1024), or KB, MB ... (powers of
 * 1000); case does not matter.  At most six digits behind the point; what is
 * less than a byte is dropped.  False when @text is anything else or when the
 * value does not fit.
 */
bool units_parse_size(const char *text, uint64_t *bytes);

/* Parts are counted in millionths. */
#define UNITS_WHOLE 1000000

/* A size, or a part of something whose size is not known yet. */
struct units_share {
	uint64_t bytes;
	uint32_t parts;		/* of UNITS_WHOLE; 0: @bytes is the size */
};

/* A size as above, or 0% to 100% with at most four digits behind the point. */
bool units_parse_share(const char *text, struct units_share *share);

/* In bytes, when the whole has @all_bytes. */
uint64_t units_share_of(const struct units_share *share, uint64_t all_bytes);

/* A plain decimal number.  False when @text is anything else. */
bool units_parse_count(const char *text, uint64_t *count);

/*
 * "512 B", "4 KiB", "1.5 GiB": two digits at least, unless it is exact.
 * Returns @buf.
 */
const char *units_size(uint64_t bytes, char buf[UNITS_LEN]);

/* "1,234,567".  Returns @buf. */
const char *units_count(uint64_t count, char buf[UNITS_LEN]);

/* "1 run", "1,234 runs": a count and its noun.  Returns @buf. */
const char *units_things(uint64_t count, const char *one, const char *many,
			 char buf[2 * UNITS_LEN]);

/* "16.3 %", "-" when @whole is 0.  Returns @buf. */
const char *units_percent(uint64_t part, uint64_t whole, char buf[UNITS_LEN]);

#endif

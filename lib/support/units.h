/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes and counts, as people type and read them. */
#ifndef SUPPORT_UNITS_H
#define SUPPORT_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* The longest text below, with its NUL. */
#define UNITS_LEN 32

/*
 * A decimal number of bytes with an optional suffix: K, M, G, T, P or E (or
 * KiB, MiB ...; case does not matter), powers of 1024.  False when @text is
 * anything else or when the value does not fit.
 */
bool units_parse_size(const char *text, uint64_t *bytes);

/* A plain decimal number.  False when @text is anything else. */
bool units_parse_count(const char *text, uint64_t *count);

/* "512 B", "4 KiB", "1.5 GiB": two digits at least, unless it is exact.  Returns @buf. */
const char *units_size(uint64_t bytes, char buf[UNITS_LEN]);

/* "1,234,567".  Returns @buf. */
const char *units_count(uint64_t count, char buf[UNITS_LEN]);

/* "16.3 %", "-" when @whole is 0.  Returns @buf. */
const char *units_percent(uint64_t part, uint64_t whole, char buf[UNITS_LEN]);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random numbers; equal seeds give equal numbers in every guest and on the
 * host.
 */
#ifndef GUEST_RAND_H
#define GUEST_RAND_H

#include <stdint.h>

static inline uint32_t below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (*seed >> 33) % n;
}

#endif

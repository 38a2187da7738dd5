/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mutates images for all harnesses that read images. */
#include <stdint.h>
#include <stdlib.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
			       unsigned int seed);

/*
 * Changes the image in up to six places, up to four bytes in each place.
 * Prefers places with a byte that is not zero, because most zeroes are in free
 * space.  The image keeps its size, unless it has fewer than 1024 bytes.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
			       unsigned int seed)
{
	unsigned int changes, tries;

	if (size < 1024)
		return LLVMFuzzerMutate(data, size, max);
	srand(seed);
	for (changes = 1 + rand() % 6; changes; changes--) {
		size_t at = 0;

		for (tries = 0; tries < 200 && !data[at]; tries++)
			at = rand() % (size / 4) * 4;
		LLVMFuzzerMutate(data + at, 1 + rand() % 4, 4);
	}
	return size;
}

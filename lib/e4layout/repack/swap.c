/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "swap.h"

/*
 * Signatures that mkswap(8) or the kernel's hibernation writes 10 bytes before
 * the end of a swap file's first page.  A page has 4 to 64 KiB, and a swap file
 * has at least 10 pages.
 */
static const char *const signatures[] = {
	"SWAPSPACE2", "SWAP-SPACE", "S1SUSPEND", "S2SUSPEND", "ULSUSPEND",
	"LINHIB0001",
};
#define SIGNATURE_BYTES	10
#define MIN_PAGE_BYTES	4096
#define PAGE_SIZES	5
#define MIN_PAGES	10

struct ask {
	struct e4l *e;
	struct e4l_swap_file *files;
	/*
	 * in each element, @slot is the index of the file * PAGE_SIZES + the
	 * index of the page size
	 */
	struct e4l_want *wants;
	size_t n;
};

/*
 * Returns the byte offset of the signature.  @page_size is from 0 (pages of 4
 * KiB) to 4 (pages of 64 KiB).
 */
static uint64_t signature_at(unsigned int page_size)
{
	return ((uint64_t)MIN_PAGE_BYTES << page_size) - SIGNATURE_BYTES;
}

static bool is_signature(const char *at)
{
	size_t i;

	for (i = 0; i < sizeof(signatures) / sizeof(char *); i++)
		if (!memcmp(at, signatures[i], strlen(signatures[i])))
			return true;
	return false;
}

/*
 * Returns the physical block of logical block @lblk, or 0 if @lblk is in a hole
 * or an unwritten extent.
 */
static blk64_t find_block(const struct e4l_swap_file *f, uint64_t lblk)
{
	const struct e4l_extent *x = f->extents, *end = x + f->n_extents;

	while (x < end && (uint64_t)x->lblk + x->len <= lblk)
		x++;
	if (x == end || x->lblk > lblk || x->unwritten)
		return 0;
	return x->pblk + (lblk - x->lblk);
}

static void want_file(struct ask *a, size_t file)
{
	const struct e4l_swap_file *f = &a->files[file];
	unsigned int i;
	blk64_t blk;

	for (i = 0; i < PAGE_SIZES &&
		    f->size_bytes >= ((uint64_t)MIN_PAGE_BYTES << i) * MIN_PAGES;
	     i++) {
		blk = find_block(f, signature_at(i) / a->e->fs->blocksize);
		if (blk)
			a->wants[a->n++] = (struct e4l_want) {
				.blk = blk, .slot = file * PAGE_SIZES + i,
			};
	}
}

static void visit(const struct e4l_want *want, const void *block, errcode_t why,
		  void *priv)
{
	struct ask *a = priv;
	struct e4l_swap_file *f = &a->files[want->slot / PAGE_SIZES];
	uint64_t at = signature_at(want->slot % PAGE_SIZES);

	if (!block)
		f->why = E4L_SKIP_UNREADABLE;
	else if (!f->why &&
		 is_signature((const char *)block +
			      at % a->e->fs->blocksize))
		f->why = E4L_SKIP_SWAP;
}

bool e4l_swap_fits(uint64_t size_bytes)
{
	return size_bytes >= MIN_PAGE_BYTES * MIN_PAGES;
}

errcode_t e4l_swap_ask(struct e4l *e, struct e4l_swap_file *files, size_t n,
		       void *scratch)
{
	struct ask a = { .e = e, .files = files };
	size_t i;

	a.wants = calloc(n * PAGE_SIZES + 1, sizeof(*a.wants));
	if (!a.wants)
		return ENOMEM;
	for (i = 0; i < n; i++) {
		files[i].why = E4L_SKIP_NONE;
		want_file(&a, i);
	}
	e4l_gather(e, a.wants, a.n, scratch, visit, &a);
	free(a.wants);
	return 0;
}

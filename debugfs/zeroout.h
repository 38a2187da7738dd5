/* SPDX-License-Identifier: GPL-2.0-or-later */
/* zeroout: a model of how the kernel converts unwritten extents. */
#ifndef E4DEBUG_ZEROOUT_H
#define E4DEBUG_ZEROOUT_H

#include <e4layout/extents.h>

/*
 * A file in memory whose extents change by writes like in the kernel on a mount
 * with dioread_lock: blocks are added to an adjacent written extent if
 * possible; otherwise short unwritten parts beside the write are zeroed by the
 * rule of ext4_ext_convert_to_initialized(), and entries are split and merged.
 * Entries change inside one leaf of the extent tree only.
 */
struct e4l_zeroout_file;

/*
 * @extents: @n extents in logical order, copied.  The leaves are packed, like
 * those of a file that has grown from start to end.  @eof_blk is the number of
 * blocks up to the end of the file; it grows with the writes.  Errors:
 * E4L_ET_BAD_ARGUMENT (@extents are out of order, overlap or are too long;
 * @blocksize is invalid), ENOMEM.
 */
errcode_t e4l_zeroout_file_new(const struct e4l_extent *extents, size_t n,
			       uint32_t blocksize, uint64_t eof_blk,
			       struct e4l_zeroout_file **ret);
/* NULL is allowed. */
void e4l_zeroout_file_free(struct e4l_zeroout_file *f);

/* Called for @len blocks, from @lblk in the file, that have to be zeroed. */
typedef void (*e4l_zero_fn)(blk64_t pblk, uint32_t lblk, uint32_t len,
			    void *priv);

/*
 * Writes @len blocks, at least 1, from @lblk, with the chunk limit @max_blocks.
 * @zero may be NULL.  Errors: E4L_ET_BAD_ARGUMENT (part of the range is a hole;
 * nothing has changed), ENOMEM (the file is consistent, part of the range is
 * written).
 */
errcode_t e4l_zeroout_file_write(struct e4l_zeroout_file *f, uint32_t lblk,
				 uint32_t len, uint32_t max_blocks,
				 e4l_zero_fn zero, void *priv);

/*
 * Returns the number of extents of @f.  If @ret is not NULL, copies the extents
 * to @ret in logical order.
 */
size_t e4l_zeroout_file_extents(const struct e4l_zeroout_file *f,
				struct e4l_extent *ret);

/*
 * The blocks that one write into an unwritten extent makes written: @len blocks
 * from @lblk, of which the first @head and the last @tail have to be zeroed.
 */
struct e4l_zeroout {
	uint32_t lblk;
	uint32_t len;
	uint32_t head;
	uint32_t tail;
};

/*
 * The kernel's rule (ext4_ext_convert_to_initialized() in Linux 6.12 to 6.18)
 * for a write of @len blocks, at least 1, from @lblk, wholly inside the
 * unwritten extent @ex.  @max_blocks is the chunk limit, extent_max_zeroout_kb
 * in blocks; 0 means never to zero.  @eof_blk is the number of blocks up to
 * the end of the file before the write; unless @ex ends there or earlier,
 * nothing is zeroed.  Then
 *  - the tail is zeroed when the blocks from @lblk to the extent's end are no
 *    more than @max_blocks,
 *  - the head is zeroed when the blocks from the extent's start to the end of
 *    the write (and of the tail, if that is zeroed) are fewer than @max_blocks,
 *  - and neither when the write reaches the extent's end.
 * Does no I/O.
 */
void e4l_zeroout_rule(const struct e4l_extent *ex, uint32_t lblk, uint32_t len,
		      uint32_t max_blocks, uint64_t eof_blk,
		      struct e4l_zeroout *ret);

#endif

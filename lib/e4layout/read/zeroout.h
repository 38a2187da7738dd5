/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rule by which a write converts an unwritten extent. */
#ifndef E4L_ZEROOUT_INTERNAL_H
#define E4L_ZEROOUT_INTERNAL_H

#include <e4layout/zeroout.h>

/*
 * What one write into an unwritten extent makes written: @len blocks from
 * @lblk, of which the first @head and the last @tail have to be zeroed.
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
 * Pure.
 */
void e4l_zeroout_rule(const struct e4l_extent *ex, uint32_t lblk, uint32_t len,
		      uint32_t max_blocks, uint64_t eof_blk,
		      struct e4l_zeroout *ret);

#endif

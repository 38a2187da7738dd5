/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dirent: an entry of a directory. */
#ifndef E4L_DIRENT_H
#define E4L_DIRENT_H

#include <e4layout/context.h>

/* An entry of a directory, found by a walk over a block or over inline data. */
struct e4l_dirent {
	ext2_ino_t dir;		/* inode of the directory */
	ext2_ino_t ino;		/* 1 to s_inodes_count */
	uint8_t file_type;	/* EXT2_FT_*; 0 without the filetype feature */
	uint8_t name_len;	/* 1 to 255 */
	/*
	 * The name is not terminated with NUL, and points into the block or
	 * the inline data of the directory.  If the directory is not encrypted,
	 * the name contains neither '/' nor NUL.
	 */
	const char *name;
};

#endif

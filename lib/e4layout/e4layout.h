/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libe4layout: read, score and repair the layout of ext4 filesystems.
 *
 * Each topic has a header of its own, which this one includes.
 *
 * Conventions
 *  - Block numbers and counts are in filesystem blocks, 0-based from the start
 *    of the device, unless a name says otherwise (_bytes, _clusters).
 *  - Inode numbers are 1-based, groups and logical blocks of a file 0-based.
 *  - The library never prints and never exits.  Every function that can fail
 *    returns an errcode_t (0 is success); e4l_detail() says where it happened.
 *  - Nothing here changes the caller's ext2_filsys except where stated.
 *  - e4l_open() is the way in: it makes sure that nobody else uses what is
 *    going to be changed.
 *  - Structs that a caller fills in or has filled end in reserved members, so
 *    that they keep their size when they get more to say.  Fill in options by
 *    designated initializers, or clear them first: what is reserved is zero,
 *    and flags are those that are defined here, or the error is E4L_ET_OPTION.
 *    Of results, the library sets what it knows and leaves what is reserved.
 */
#ifndef E4LAYOUT_H
#define E4LAYOUT_H

#include <e4layout/check.h>
#include <e4layout/context.h>
#include <e4layout/dirs.h>
#include <e4layout/extents.h>
#include <e4layout/free_space.h>
#include <e4layout/model.h>
#include <e4layout/online.h>
#include <e4layout/open.h>
#include <e4layout/populate.h>
#include <e4layout/repack.h>
#include <e4layout/scan.h>
#include <e4layout/score.h>
#include <e4layout/tree.h>
#include <e4layout/tunables.h>

#endif

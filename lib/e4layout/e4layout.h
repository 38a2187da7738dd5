/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libe4layout: report, check and improve the layout of ext4 filesystems.
 *
 * e4layout.h includes the headers of all topics.
 *
 * Conventions
 *  - Lengths and counts of blocks are in filesystem blocks, except members with
 *    names that end in _bytes or _clusters.  Block numbers begin with 0 at the
 *    start of the filesystem.
 *  - Inode numbers begin with 1.  Group numbers and the logical blocks of a
 *    file begin with 0.
 *  - The library never prints and never exits.  Functions that can fail return
 *    an errcode_t; 0 is success.  e4l_detail() returns the inode, block or
 *    group of the failure.
 *  - A function changes the caller's ext2_filsys only if the comment of the
 *    function documents the change.
 *  - e4l_open() opens a filesystem safely.  Functions that change an existing,
 *    unmounted filesystem check the filesystem for errors first.
 *  - Structs of options and results end in reserved members, so that the
 *    structs keep their size in later versions.  Use designated initializers,
 *    or clear a struct of options first: if a reserved member is not zero or a
 *    flag is unknown, functions return E4L_ET_OPTION.  The library does not set
 *    reserved members of results.
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

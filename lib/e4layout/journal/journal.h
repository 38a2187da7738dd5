/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the library's other modules ask of a journal. */
#ifndef E4L_JOURNAL_H
#define E4L_JOURNAL_H

#include <e4layout/journal.h>
#include "e4layout/base/internal.h"

/*
 * What e4l_journal_capacity() is going to be, as far as that can be
 * told before the journal is opened, and of a filesystem that is only read.
 */
uint32_t e4l_journal_room(struct e4l *e, io_channel external);

/*
 * E4L_ET_NOT_OURS when somebody else has changed the filesystem's
 * superblock or the journal's since it was opened; nothing more is written then.
 */
errcode_t e4l_journal_check(struct e4l_journal *j);

#endif

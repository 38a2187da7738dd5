/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pack: what is zeroed and packed of files that stay where they are. */
#ifndef E4L_PACK_H
#define E4L_PACK_H

#include "draft.h"

/* Packs every file, once; *@budget is in blocks to zero, or E4L_NO_LIMIT. */
errcode_t e4l_pack_files(struct e4l_draft *d, uint64_t *budget, bool *changed);

#endif

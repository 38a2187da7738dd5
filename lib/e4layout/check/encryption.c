/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * encryption: an encryption context is an extended attribute with a policy and
 * a nonce.  Formats: fscrypt_context_v1 and _v2 in fs/crypto/fscrypt_private.h
 * in Linux.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/format/csum.h"
#include "encryption.h"
#include <ext2fs/ext2_ext_attr.h>	/* requires ext2fs.h */

/*
 * Policy numbers below FIRST_POLICY have special meanings.  Larger policy
 * numbers are hashes of policies.
 */
enum { NO_POLICY, UNKNOWN_POLICY, FUTURE_POLICY, FIRST_POLICY };

/* Consecutive inodes with the same policy. */
struct policy_run {
	ext2_ino_t first, last;
	uint32_t policy;
};

struct policies {
	struct policy_run *v;
	size_t n;
};

/*
 * The length of an encryption context, and the length of the policy at the
 * start of the context, in bytes.  The index is the version of the context.
 */
static const struct {
	size_t context, policy;
} contexts[] = { { 0, 0 }, { 28, 12 }, { 40, 24 } };

/*
 * Whether attributes with @index have no name prefix.  libext2fs identifies an
 * encryption context by its name, which is "c" without a prefix.  An attribute
 * "c" with any index that has no prefix therefore counts as a context.
 */
static bool has_no_prefix(uint8_t index)
{
	static const bool prefix[] = {
		[1] = true, [2] = true, [3] = true, [4] = true, [6] = true,
		[7] = true, [8] = true, [10] = true,
	};

	return index >= sizeof(prefix) || !prefix[index];
}

/*
 * Returns the entry of the encryption context between @first and @end.  If
 * there is no encryption context, returns NULL.
 */
static const struct ext2_ext_attr_entry *find_entry(const char *first,
						    const char *end)
{
	const struct ext2_ext_attr_entry *x;
	const char *p = first, *name;

	while ((x = e4l_xattr_walk(&p, end))) {
		name = (const char *)(x + 1);
		/* a NUL ends a name, as in libext2fs */
		if (has_no_prefix(x->e_name_index) &&
		    strnlen(name, x->e_name_len) == 1 && *name == 'c')
			return x;
	}
	return NULL;
}

/*
 * Returns the value of the encryption context in @inode's body.  If the body
 * has no encryption context, or if the context cannot be read, returns NULL.
 */
static const uint8_t *find_context(struct check *ck,
				   const struct ext2_inode_large *inode,
				   size_t *len)
{
	const char *end = (const char *)inode +
			  EXT2_INODE_SIZE(ck->fs->super);
	const char *header = e4l_xattr_ibody_header(ck, inode), *first;
	const struct ext2_ext_attr_entry *x;

	if (!header)
		return NULL;
	first = header + sizeof(uint32_t);
	x = find_entry(first, end);
	if (!x || x->e_value_inum || !e4l_xattr_ibody_readable(ck, inode))
		return NULL;
	*len = x->e_value_size;
	return (const uint8_t *)first + x->e_value_offs;
}

bool e4l_encryption_in_list(const char *first, const char *end)
{
	return find_entry(first, end);
}

uint32_t e4l_encryption_policy(struct check *ck,
			       const struct ext2_inode_large *inode)
{
	size_t len = 0;
	const uint8_t *context = find_context(ck, inode, &len);
	uint32_t hash;

	if (!context)
		return ext2fs_file_acl_block(ck->fs, (void *)inode) ?
		       UNKNOWN_POLICY : NO_POLICY;
	if (!len || !context[0])
		return NO_POLICY;
	if (context[0] >= sizeof(contexts) / sizeof(*contexts))
		return FUTURE_POLICY;
	if (len != contexts[context[0]].context)
		return NO_POLICY;
	hash = e4l_crc32c(~0u, context, contexts[context[0]].policy);
	return hash < FIRST_POLICY ? FIRST_POLICY : hash;
}

bool e4l_encryption_in_block(uint32_t policy)
{
	return policy == UNKNOWN_POLICY;
}

errcode_t e4l_encryption_note(struct check *ck, ext2_ino_t ino, uint32_t policy)
{
	struct policies *p;
	errcode_t err;

	if (policy == NO_POLICY) {
		FOUND(ck, INODE_ENCRYPTION, .ino = ino);
		return 0;
	}
	if (!ck->policies && !(ck->policies = calloc(1, sizeof(*p))))
		return ENOMEM;
	p = ck->policies;
	if (p->n && p->v[p->n - 1].last + 1 == ino &&
	    p->v[p->n - 1].policy == policy) {
		p->v[p->n - 1].last++;
		return 0;
	}
	err = e4l_grow(&p->v, p->n, sizeof(*p->v));
	if (!err)
		p->v[p->n++] = (struct policy_run) { ino, ino, policy };
	return err;
}

static int is_in_run(const void *ino, const void *run)
{
	ext2_ino_t want = *(const ext2_ino_t *)ino;
	const struct policy_run *r = run;

	return want < r->first ? -1 : want > r->last;
}

static uint32_t find_policy(const struct check *ck, ext2_ino_t ino)
{
	const struct policies *p = ck->policies;
	const struct policy_run *run = NULL;

	if (p && p->n)
		run = bsearch(&ino, p->v, p->n, sizeof(*p->v), is_in_run);
	return run ? run->policy : NO_POLICY;
}

bool e4l_encryption_agrees(const struct check *ck, ext2_ino_t dir,
			   ext2_ino_t ino)
{
	uint32_t want = find_policy(ck, dir), have = find_policy(ck, ino);
	uint8_t type = ck->kind[ino] & KIND_TYPE;

	if (want == have || want == NO_POLICY || want == UNKNOWN_POLICY ||
	    have == UNKNOWN_POLICY)
		return true;
	return have == NO_POLICY && type != EXT2_FT_REG_FILE &&
	       type != EXT2_FT_DIR && type != EXT2_FT_SYMLINK;
}

void e4l_encryption_free(struct check *ck)
{
	if (ck->policies)
		free(ck->policies->v);
	free(ck->policies);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * tunables_write: changes the stored tunables of a filesystem in a transaction.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <ext2fs/ext2fs.h>
#include <ext2fs/ext2_ext_attr.h>
#include "change.h"
#include "e4layout/tunables/tunables.h"

/*
 * If the attribute block of the root directory is empty, frees the block, as
 * the kernel does.  libext2fs does not free the block.
 */
static errcode_t free_empty_block(ext2_filsys fs)
{
	struct ext2_ext_attr_header *header;
	struct ext2_inode inode;
	errcode_t err;
	blk64_t blk;
	void *buf;

	err = ext2fs_read_inode(fs, EXT2_ROOT_INO, &inode);
	if (err)
		return err;
	blk = ext2fs_file_acl_block(fs, &inode);
	if (!blk)
		return 0;
	err = ext2fs_get_mem(fs->blocksize, &buf);
	if (err)
		return err;
	err = ext2fs_read_ext_attr3(fs, blk, buf, EXT2_ROOT_INO);
	header = buf;
	if (!err && EXT2_EXT_IS_LAST_ENTRY((struct ext2_ext_attr_entry *)
					   (header + 1)))
		err = ext2fs_free_ext_attr(fs, EXT2_ROOT_INO, NULL);
	ext2fs_free_mem(&buf);
	return err;
}

/*
 * Examines the attribute entries in the @size bytes at @at.  Returns the number
 * of clusters of the EA inodes that have the values of these attributes.
 */
static uint64_t count_entries(ext2_filsys fs, const uint8_t *at, size_t size)
{
	const uint64_t cluster = (uint64_t)fs->blocksize *
				 EXT2FS_CLUSTER_RATIO(fs);
	struct ext2_ext_attr_entry entry;
	uint64_t clusters = 0;
	size_t len;

	while (size >= sizeof(entry)) {
		memcpy(&entry, at, sizeof(entry));
		len = EXT2_EXT_ATTR_LEN(entry.e_name_len);
		if (EXT2_EXT_IS_LAST_ENTRY(&entry) || len > size)
			break;
		if (entry.e_value_inum)
			clusters += (entry.e_value_size + cluster - 1) /
				    cluster;
		at += len;
		size -= len;
	}
	return clusters;
}

/*
 * Sets *@clusters to the number of clusters of EA inodes that the attributes of
 * the root directory use.  libext2fs has already verified the attribute
 * entries.
 */
static errcode_t count_value_inodes(ext2_filsys fs, uint64_t *clusters)
{
	const size_t size = EXT2_INODE_SIZE(fs->super);
	struct ext2_inode_large *inode;
	size_t start = EXT2_GOOD_OLD_INODE_SIZE + sizeof(uint32_t);
	uint8_t *buf = NULL;
	errcode_t err;
	blk64_t blk;

	inode = calloc(1, size < sizeof(*inode) ? sizeof(*inode) : size);
	buf = malloc(fs->blocksize);
	err = inode && buf ? 0 : ENOMEM;
	if (!err)
		err = ext2fs_read_inode_full(fs, EXT2_ROOT_INO,
					     EXT2_INODE(inode), size);
	if (err)
		goto out;
	start += inode->i_extra_isize;
	*clusters = start < size && inode->i_extra_isize ?
		    count_entries(fs, (uint8_t *)inode + start, size - start) :
		    0;
	blk = ext2fs_file_acl_block(fs, EXT2_INODE(inode));
	if (blk)
		err = ext2fs_read_ext_attr3(fs, blk, buf, EXT2_ROOT_INO);
	if (blk && !err)
		*clusters += count_entries(fs, buf +
				sizeof(struct ext2_ext_attr_header),
				fs->blocksize -
				sizeof(struct ext2_ext_attr_header));
out:
	free(buf);
	free(inode);
	return err;
}

/*
 * Updates i_blocks of the root directory after EA inodes were created or freed.
 * The kernel and e2fsck count EA inodes in i_blocks, but libext2fs does not.
 * @before is the number of clusters of EA inodes before the change.
 */
static errcode_t follow_value_inodes(ext2_filsys fs, uint64_t before)
{
	struct ext2_inode inode;
	uint64_t after;
	errcode_t err;

	err = count_value_inodes(fs, &after);
	if (err || after == before)
		return err;
	err = ext2fs_read_inode(fs, EXT2_ROOT_INO, &inode);
	if (!err)
		err = after > before ?
		      ext2fs_iblk_add_blocks(fs, &inode, after - before) :
		      ext2fs_iblk_sub_blocks(fs, &inode, before - after);
	return err ? err : ext2fs_write_inode(fs, EXT2_ROOT_INO, &inode);
}

static errcode_t set_attribute(struct ext2_xattr_handle *handle,
			       const struct e4l_tunables *t)
{
	char text[E4L_TUNABLES_MAX + 1];
	size_t len = e4l_tunables_text(t, text);

	return len ? ext2fs_xattr_set(handle, E4L_TUNABLES_XATTR, text, len) :
		     ext2fs_xattr_remove(handle, E4L_TUNABLES_XATTR);
}

static errcode_t put_attribute(ext2_filsys fs, const struct e4l_tunables *t)
{
	struct ext2_xattr_handle *handle;
	uint64_t before;
	errcode_t err;

	err = e4l_root_attributes(fs, &handle);
	if (err == EXT2_ET_MISSING_EA_FEATURE && !e4l_tunables_count(t))
		return 0;
	if (err)
		return err;
	err = count_value_inodes(fs, &before);
	if (!err)
		err = set_attribute(handle, t);
	ext2fs_xattrs_close(&handle);
	if (!err)
		err = free_empty_block(fs);
	return err ? err : follow_value_inodes(fs, before);
}

static errcode_t put_tunables(ext2_filsys fs, io_channel device, void *priv)
{
	errcode_t err = put_attribute(fs, priv);

	return err == EXT2_ET_EA_NO_SPACE ? ENOSPC : err;
}

errcode_t e4l_tunables_write(struct e4l *e, io_channel external,
			     const struct e4l_tunables *t)
{
	errcode_t err = e4l_change(e, external, "changing the tunables",
				   put_tunables, (void *)t);

	/*
	 * the message of E4L_ET_TUNABLES_QUOTA recommends to mount the
	 * filesystem
	 */
	return err == E4L_ET_CHANGE_QUOTA ? E4L_ET_TUNABLES_QUOTA : err;
}

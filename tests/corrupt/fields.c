/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fields of every structure, and the hostile values of each kind of field.
 */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "corrupt.h"

#define F(type, field, kind) \
	{ #field, offsetof(struct type, field), \
	  sizeof(((struct type *)0)->field), kind }
/* A field that consists of the first @width bytes of an array. */
#define A(type, field, width, kind) \
	{ #field, offsetof(struct type, field), width, kind }
#define END { NULL, 0, 0, 0 }

const struct field super_fields[] = {
	F(ext2_super_block, s_inodes_count, NUM),
	F(ext2_super_block, s_blocks_count, NUM),
	F(ext2_super_block, s_r_blocks_count, NUM),
	F(ext2_super_block, s_free_blocks_count, NUM),
	F(ext2_super_block, s_free_inodes_count, NUM),
	F(ext2_super_block, s_first_data_block, NUM),
	F(ext2_super_block, s_log_block_size, NUM),
	F(ext2_super_block, s_log_cluster_size, NUM),
	F(ext2_super_block, s_blocks_per_group, NUM),
	F(ext2_super_block, s_clusters_per_group, NUM),
	F(ext2_super_block, s_inodes_per_group, NUM),
	F(ext2_super_block, s_mtime, NUM),
	F(ext2_super_block, s_wtime, NUM),
	F(ext2_super_block, s_mnt_count, NUM),
	F(ext2_super_block, s_max_mnt_count, NUM),
	F(ext2_super_block, s_magic, NUM),
	F(ext2_super_block, s_state, FLAGS),
	F(ext2_super_block, s_errors, NUM),
	F(ext2_super_block, s_minor_rev_level, NUM),
	F(ext2_super_block, s_lastcheck, NUM),
	F(ext2_super_block, s_checkinterval, NUM),
	F(ext2_super_block, s_creator_os, NUM),
	F(ext2_super_block, s_rev_level, NUM),
	F(ext2_super_block, s_def_resuid, NUM),
	F(ext2_super_block, s_def_resgid, NUM),
	F(ext2_super_block, s_first_ino, INO),
	F(ext2_super_block, s_inode_size, NUM),
	F(ext2_super_block, s_block_group_nr, NUM),
	F(ext2_super_block, s_feature_compat, FLAGS),
	F(ext2_super_block, s_feature_incompat, FLAGS),
	F(ext2_super_block, s_feature_ro_compat, FLAGS),
	A(ext2_super_block, s_uuid, 4, NUM),
	A(ext2_super_block, s_volume_name, 4, PAD),
	A(ext2_super_block, s_last_mounted, 4, PAD),
	F(ext2_super_block, s_algorithm_usage_bitmap, PAD),
	F(ext2_super_block, s_prealloc_blocks, PAD),
	F(ext2_super_block, s_prealloc_dir_blocks, PAD),
	F(ext2_super_block, s_reserved_gdt_blocks, NUM),
	A(ext2_super_block, s_journal_uuid, 4, NUM),
	F(ext2_super_block, s_journal_inum, INO),
	F(ext2_super_block, s_journal_dev, NUM),
	F(ext2_super_block, s_last_orphan, INO),
	A(ext2_super_block, s_hash_seed, 4, NUM),
	F(ext2_super_block, s_def_hash_version, TYPE),
	F(ext2_super_block, s_jnl_backup_type, NUM),
	F(ext2_super_block, s_desc_size, NUM),
	F(ext2_super_block, s_default_mount_opts, FLAGS),
	F(ext2_super_block, s_first_meta_bg, NUM),
	F(ext2_super_block, s_mkfs_time, NUM),
	A(ext2_super_block, s_jnl_blocks, 4, NUM),
	F(ext2_super_block, s_blocks_count_hi, NUM),
	F(ext2_super_block, s_r_blocks_count_hi, NUM),
	F(ext2_super_block, s_free_blocks_hi, NUM),
	F(ext2_super_block, s_min_extra_isize, NUM),
	F(ext2_super_block, s_want_extra_isize, NUM),
	F(ext2_super_block, s_flags, FLAGS),
	F(ext2_super_block, s_raid_stride, NUM),
	F(ext2_super_block, s_mmp_update_interval, NUM),
	F(ext2_super_block, s_mmp_block, BLK),
	F(ext2_super_block, s_raid_stripe_width, NUM),
	F(ext2_super_block, s_log_groups_per_flex, NUM),
	F(ext2_super_block, s_checksum_type, NUM),
	F(ext2_super_block, s_encryption_level, PAD),
	F(ext2_super_block, s_reserved_pad, PAD),
	F(ext2_super_block, s_kbytes_written, PAD),
	F(ext2_super_block, s_snapshot_inum, INO),
	F(ext2_super_block, s_snapshot_id, PAD),
	F(ext2_super_block, s_snapshot_r_blocks_count, PAD),
	F(ext2_super_block, s_snapshot_list, INO),
	F(ext2_super_block, s_error_count, NUM),
	F(ext2_super_block, s_first_error_time, PAD),
	F(ext2_super_block, s_first_error_ino, PAD),
	F(ext2_super_block, s_last_error_time, PAD),
	A(ext2_super_block, s_mount_opts, 4, PAD),
	F(ext2_super_block, s_usr_quota_inum, INO),
	F(ext2_super_block, s_grp_quota_inum, INO),
	F(ext2_super_block, s_overhead_clusters, NUM),
	A(ext2_super_block, s_backup_bgs, 4, NUM),
	{ "s_backup_bgs[1]",
	  offsetof(struct ext2_super_block, s_backup_bgs) + 4, 4, NUM },
	A(ext2_super_block, s_encrypt_algos, 4, PAD),
	F(ext2_super_block, s_lpf_ino, INO),
	F(ext2_super_block, s_prj_quota_inum, INO),
	F(ext2_super_block, s_checksum_seed, NUM),
	F(ext2_super_block, s_wtime_hi, NUM),
	F(ext2_super_block, s_mtime_hi, NUM),
	F(ext2_super_block, s_lastcheck_hi, NUM),
	F(ext2_super_block, s_encoding, NUM),
	F(ext2_super_block, s_encoding_flags, NUM),
	F(ext2_super_block, s_orphan_file_inum, INO),
	A(ext2_super_block, s_reserved, 4, PAD),
	F(ext2_super_block, s_checksum, CSUM),
	END
};

/* Fields from bg_block_bitmap_hi on exist in long descriptors only. */
const struct field group_fields[] = {
	F(ext4_group_desc, bg_block_bitmap, BLK),
	F(ext4_group_desc, bg_inode_bitmap, BLK),
	F(ext4_group_desc, bg_inode_table, BLK),
	F(ext4_group_desc, bg_free_blocks_count, NUM),
	F(ext4_group_desc, bg_free_inodes_count, NUM),
	F(ext4_group_desc, bg_used_dirs_count, NUM),
	F(ext4_group_desc, bg_flags, FLAGS),
	F(ext4_group_desc, bg_exclude_bitmap_lo, PAD),
	F(ext4_group_desc, bg_block_bitmap_csum_lo, CSUM),
	F(ext4_group_desc, bg_inode_bitmap_csum_lo, CSUM),
	F(ext4_group_desc, bg_itable_unused, NUM),
	F(ext4_group_desc, bg_checksum, CSUM),
	F(ext4_group_desc, bg_block_bitmap_hi, NUM),
	F(ext4_group_desc, bg_inode_bitmap_hi, NUM),
	F(ext4_group_desc, bg_inode_table_hi, NUM),
	F(ext4_group_desc, bg_free_blocks_count_hi, NUM),
	F(ext4_group_desc, bg_free_inodes_count_hi, NUM),
	F(ext4_group_desc, bg_used_dirs_count_hi, NUM),
	F(ext4_group_desc, bg_itable_unused_hi, NUM),
	F(ext4_group_desc, bg_exclude_bitmap_hi, PAD),
	F(ext4_group_desc, bg_block_bitmap_csum_hi, CSUM),
	F(ext4_group_desc, bg_inode_bitmap_csum_hi, CSUM),
	F(ext4_group_desc, bg_reserved, PAD),
	END
};

/*
 * The content of i_block is a separate structure, which depends on the kind of
 * inode.
 */
const struct field inode_fields[] = {
	F(ext2_inode_large, i_mode, MODE),
	F(ext2_inode_large, i_uid, NUM),
	F(ext2_inode_large, i_size, NUM),
	F(ext2_inode_large, i_atime, NUM),
	F(ext2_inode_large, i_ctime, NUM),
	F(ext2_inode_large, i_mtime, NUM),
	F(ext2_inode_large, i_dtime, NUM),
	F(ext2_inode_large, i_gid, NUM),
	F(ext2_inode_large, i_links_count, NUM),
	F(ext2_inode_large, i_blocks, NUM),
	F(ext2_inode_large, i_flags, FLAGS),
	F(ext2_inode_large, osd1.linux1.l_i_version, NUM),
	F(ext2_inode_large, i_generation, NUM),
	F(ext2_inode_large, i_file_acl, BLK),
	F(ext2_inode_large, i_size_high, NUM),
	F(ext2_inode_large, i_faddr, NUM),
	F(ext2_inode_large, osd2.linux2.l_i_blocks_hi, NUM),
	F(ext2_inode_large, osd2.linux2.l_i_file_acl_high, NUM),
	F(ext2_inode_large, osd2.linux2.l_i_uid_high, NUM),
	F(ext2_inode_large, osd2.linux2.l_i_gid_high, NUM),
	F(ext2_inode_large, i_checksum_lo, CSUM),
	F(ext2_inode_large, osd2.linux2.l_i_reserved, PAD),
	END
};

/* Additional fields of inodes of more than 128 bytes. */
const struct field large_inode_fields[] = {
	F(ext2_inode_large, i_extra_isize, NUM),
	F(ext2_inode_large, i_checksum_hi, CSUM),
	F(ext2_inode_large, i_ctime_extra, NUM),
	F(ext2_inode_large, i_mtime_extra, NUM),
	F(ext2_inode_large, i_atime_extra, NUM),
	F(ext2_inode_large, i_crtime, NUM),
	F(ext2_inode_large, i_crtime_extra, NUM),
	F(ext2_inode_large, i_version_hi, NUM),
	F(ext2_inode_large, i_projid, NUM),
	END
};

const struct field extent_header_fields[] = {
	{ "eh_magic", 0, 2, NUM }, { "eh_entries", 2, 2, NUM },
	{ "eh_max", 4, 2, NUM }, { "eh_depth", 6, 2, NUM },
	{ "eh_generation", 8, 4, PAD }, END
};

const struct field extent_fields[] = {
	{ "ee_block", 0, 4, NUM }, { "ee_len", 4, 2, NUM },
	{ "ee_start_hi", 6, 2, NUM }, { "ee_start", 8, 4, BLK }, END
};

const struct field extent_index_fields[] = {
	{ "ei_block", 0, 4, NUM }, { "ei_leaf", 4, 4, BLK },
	{ "ei_leaf_hi", 8, 2, NUM }, { "ei_unused", 10, 2, PAD }, END
};

const struct field extent_tail_fields[] = {
	{ "et_checksum", 0, 4, CSUM }, END
};

const struct field dirent_fields[] = {
	{ "inode", 0, 4, INO }, { "rec_len", 4, 2, NUM },
	{ "name_len", 6, 1, NUM }, { "file_type", 7, 1, TYPE },
	{ "name[0]", 8, 1, NAME }, END
};

const struct field dir_tail_fields[] = {
	F(ext2_dir_entry_tail, det_reserved_zero1, NUM),
	F(ext2_dir_entry_tail, det_rec_len, NUM),
	F(ext2_dir_entry_tail, det_reserved_name_len, NUM),
	F(ext2_dir_entry_tail, det_checksum, CSUM),
	END
};

const struct field dx_root_fields[] = {
	F(ext2_dx_root_info, reserved_zero, NUM),
	F(ext2_dx_root_info, hash_version, TYPE),
	F(ext2_dx_root_info, info_length, NUM),
	F(ext2_dx_root_info, indirect_levels, NUM),
	F(ext2_dx_root_info, unused_flags, NUM),
	END
};

const struct field dx_node_fields[] = {
	{ "fake.inode", 0, 4, INO }, { "fake.rec_len", 4, 2, NUM },
	{ "fake.name_len", 6, 1, NUM }, { "fake.file_type", 7, 1, TYPE }, END
};

const struct field dx_count_fields[] = {
	F(ext2_dx_countlimit, limit, NUM), F(ext2_dx_countlimit, count, NUM),
	END
};

const struct field dx_entry_fields[] = {
	F(ext2_dx_entry, hash, NUM), F(ext2_dx_entry, block, NUM), END
};

const struct field dx_tail_fields[] = {
	F(ext2_dx_tail, dt_reserved, PAD), F(ext2_dx_tail, dt_checksum, CSUM),
	END
};

const struct field xattr_header_fields[] = {
	F(ext2_ext_attr_header, h_magic, NUM),
	F(ext2_ext_attr_header, h_refcount, NUM),
	F(ext2_ext_attr_header, h_blocks, NUM),
	F(ext2_ext_attr_header, h_hash, NUM),
	F(ext2_ext_attr_header, h_checksum, CSUM),
	A(ext2_ext_attr_header, h_reserved, 4, PAD),
	END
};

const struct field xattr_ibody_fields[] = { { "h_magic", 0, 4, NUM }, END };

const struct field xattr_entry_fields[] = {
	F(ext2_ext_attr_entry, e_name_len, NUM),
	F(ext2_ext_attr_entry, e_name_index, NUM),
	F(ext2_ext_attr_entry, e_value_offs, NUM),
	F(ext2_ext_attr_entry, e_value_inum, INO),
	F(ext2_ext_attr_entry, e_value_size, NUM),
	F(ext2_ext_attr_entry, e_hash, NUM),
	{ "e_name[0]", sizeof(struct ext2_ext_attr_entry), 1, NAME },
	END
};

/* The journal's superblock: struct journal_superblock_s in jbd2. */
const struct field journal_fields[] = {
	{ "h_magic", 0, 4, NUM | BE }, { "h_blocktype", 4, 4, NUM | BE },
	{ "h_sequence", 8, 4, NUM | BE }, { "s_blocksize", 12, 4, NUM | BE },
	{ "s_maxlen", 16, 4, NUM | BE }, { "s_first", 20, 4, NUM | BE },
	{ "s_sequence", 24, 4, NUM | BE }, { "s_start", 28, 4, NUM | BE },
	{ "s_errno", 32, 4, NUM | BE },
	{ "s_feature_compat", 36, 4, FLAGS | BE },
	{ "s_feature_incompat", 40, 4, FLAGS | BE },
	{ "s_feature_ro_compat", 44, 4, FLAGS | BE },
	{ "s_uuid", 48, 4, NUM }, { "s_nr_users", 64, 4, NUM | BE },
	{ "s_dynsuper", 68, 4, NUM | BE },
	{ "s_max_transaction", 72, 4, NUM | BE },
	{ "s_max_trans_data", 76, 4, NUM | BE },
	{ "s_checksum_type", 80, 1, TYPE }, { "s_padding2", 81, 1, PAD },
	{ "s_num_fc_blks", 84, 4, NUM | BE }, { "s_head", 88, 4, NUM | BE },
	{ "s_padding", 92, 4, PAD }, { "s_checksum", 0xFC, 4, CSUM },
	{ "s_users", 256, 4, NUM }, END
};

const struct field mmp_fields[] = {
	F(mmp_struct, mmp_magic, NUM), F(mmp_struct, mmp_seq, NUM),
	F(mmp_struct, mmp_time, NUM), A(mmp_struct, mmp_nodename, 4, PAD),
	A(mmp_struct, mmp_bdevname, 4, PAD),
	F(mmp_struct, mmp_check_interval, NUM), F(mmp_struct, mmp_pad1, PAD),
	A(mmp_struct, mmp_pad2, 4, PAD), F(mmp_struct, mmp_checksum, CSUM),
	END
};

/* Quota files, version 2 revision 1: struct v2_disk_dqheader and others. */
const struct field quota_header_fields[] = {
	{ "dqh_magic", 0, 4, NUM }, { "dqh_version", 4, 4, NUM },
	{ "dqi_bgrace", 8, 4, NUM }, { "dqi_igrace", 12, 4, NUM },
	{ "dqi_flags", 16, 4, FLAGS }, { "dqi_blocks", 20, 4, NUM },
	{ "dqi_free_blk", 24, 4, NUM }, { "dqi_free_entry", 28, 4, NUM },
	END
};

const struct field quota_block_fields[] = {
	{ "dqdh_next_free", 0, 4, NUM }, { "dqdh_prev_free", 4, 4, NUM },
	{ "dqdh_entries", 8, 2, NUM }, { "dqdh_pad1", 10, 2, PAD }, END
};

const struct field quota_entry_fields[] = {
	{ "dqb_id", 0, 4, NUM }, { "dqb_pad", 4, 4, PAD },
	{ "dqb_ihardlimit", 8, 8, NUM }, { "dqb_isoftlimit", 16, 8, NUM },
	{ "dqb_curinodes", 24, 8, NUM }, { "dqb_bhardlimit", 32, 8, NUM },
	{ "dqb_bsoftlimit", 40, 8, NUM }, { "dqb_curspace", 48, 8, NUM },
	{ "dqb_btime", 56, 8, NUM }, { "dqb_itime", 64, 8, NUM }, END
};

const struct field orphan_tail_fields[] = {
	F(ext4_orphan_block_tail, ob_magic, NUM),
	F(ext4_orphan_block_tail, ob_checksum, CSUM),
	END
};

const struct field block_slot_fields[] = { { "block", 0, 4, BLK }, END };
const struct field ino_slot_fields[] = { { "inode", 0, 4, INO }, END };
const struct field slot_fields[] = { { "slot", 0, 4, NUM }, END };
const struct field byte_fields[] = { { "byte", 0, 1, NAME }, END };

/* ---- values ---- */

uint64_t get_field(const struct corpus *c, const struct site *s,
		   const struct field *f)
{
	uint64_t value = 0;
	unsigned int i;

	if (!(f->kind & BE))
		return get_le(c, s->at + f->off, f->width);
	for (i = 0; i < f->width; i++)
		value = value << 8 | c->img[s->at + f->off + i];
	return value;
}

static void try_value(struct corpus *c, const struct site *s,
		      const struct field *f, uint64_t value, const char *label)
{
	uint8_t bytes[8];
	unsigned int i;

	for (i = 0; i < f->width; i++)
		bytes[i] = value >> 8 * (f->kind & BE ? f->width - 1 - i : i);
	try_bytes(c, s, f->name, s->at + f->off, f->width, bytes, label);
}

struct named_value {
	const char *label;
	uint64_t value;
};

static void try_values(struct corpus *c, const struct site *s,
		       const struct field *f, const struct named_value *v,
		       unsigned int n)
{
	uint64_t mask = f->width == 8 ? ~0ULL : (1ULL << 8 * f->width) - 1;
	unsigned int i, j;

	for (i = 0; i < n; i++) {
		for (j = 0; j < i; j++)
			if (!((v[i].value ^ v[j].value) & mask))
				break;
		if (j == i)
			try_value(c, s, f, v[i].value, v[i].label);
	}
}

#define TRY(...) do { \
		const struct named_value v[] = { __VA_ARGS__ }; \
		try_values(c, s, f, v, sizeof(v) / sizeof(v[0])); \
	} while (0)

static void try_flags(struct corpus *c, const struct site *s,
		      const struct field *f, uint64_t old)
{
	char label[32];
	unsigned int i;

	for (i = 0; i < 8U * f->width; i++) {
		snprintf(label, sizeof(label), "^0x%llx", 1ULL << i);
		try_value(c, s, f, old ^ 1ULL << i, label);
	}
	TRY({ "0", 0 }, { "max", ~0ULL });
}

static void try_enumeration(struct corpus *c, const struct site *s,
			    const struct field *f)
{
	char label[8];
	unsigned int i;

	for (i = 0; i < 10; i++) {
		snprintf(label, sizeof(label), "%u", i);
		try_value(c, s, f, i, label);
	}
	TRY({ "127", 127 }, { "128", 128 }, { "255", 255 });
}

static void try_modes(struct corpus *c, const struct site *s,
		      const struct field *f, uint64_t old)
{
	uint64_t perm = old & 07777;

	TRY({ "0", 0 }, { "no-type", perm }, { "fifo", perm | 0010000 },
	    { "chardev", perm | 0020000 }, { "dir", perm | 0040000 },
	    { "blockdev", perm | 0060000 }, { "file", perm | 0100000 },
	    { "symlink", perm | 0120000 }, { "socket", perm | 0140000 },
	    { "whiteout", perm | 0160000 }, { "max", ~0ULL },
	    { "no-permissions", old & ~07777ULL });
}

void try_field(struct corpus *c, const struct site *s, const struct field *f)
{
	struct ext2_super_block *super = c->fs->super;
	uint64_t old = get_field(c, s, f), sign = 1ULL << (8 * f->width - 1);
	uint64_t blocks = ext2fs_blocks_count(super);

	if (c->note) {
		c->note(c, s, f);
		return;
	}
	switch (f->kind & ~BE) {
	case NUM:
		TRY({ "0", 0 }, { "1", 1 }, { "max", ~0ULL },
		    { "max-1", ~1ULL }, { "sign", sign },
		    { "sign-1", sign - 1 },
		    { "old+1", old + 1 }, { "old-1", old - 1 },
		    { "old*2", old * 2 }, { "old^sign", old ^ sign });
		break;
	case PAD:
		TRY({ "0", 0 }, { "1", 1 }, { "max", ~0ULL });
		break;
	case BLK:
		TRY({ "0", 0 }, { "1", 1 }, { "max", ~0ULL },
		    { "super", super->s_first_data_block },
		    { "group", super->s_first_data_block + 1 },
		    { "table", c->table_blk }, { "bitmap", c->bitmap_blk },
		    { "data", c->data_blk }, { "free", c->free_blk },
		    { "last", blocks - 1 }, { "end", blocks },
		    { "end+1", blocks + 1 }, { "sign", sign },
		    { "old+1", old + 1 }, { "old-1", old - 1 });
		break;
	case INO:
		TRY({ "0", 0 }, { "bad-blocks", 1 }, { "root", 2 },
		    { "resize", 7 }, { "journal", 8 },
		    { "first", super->s_first_ino }, { "file", c->file_ino },
		    { "dir", c->dir_ino }, { "free", c->free_ino },
		    { "last", super->s_inodes_count },
		    { "end", super->s_inodes_count + 1ULL }, { "max", ~0ULL },
		    { "old+1", old + 1 }, { "old-1", old - 1 });
		break;
	case FLAGS:
		try_flags(c, s, f, old);
		break;
	case MODE:
		try_modes(c, s, f, old);
		break;
	case TYPE:
		try_enumeration(c, s, f);
		break;
	case NAME:
		TRY({ "NUL", 0 }, { "dot", '.' }, { "slash", '/' },
		    { "0xff", 255 }, { "old+1", old + 1 });
		break;
	case CSUM:
		TRY({ "0", 0 }, { "max", ~0ULL }, { "old^1", old ^ 1 },
		    { "old^sign", old ^ sign });
		break;
	}
}

void try_site(struct corpus *c, const struct site *s)
{
	const struct field *f;

	for (f = s->fields; f->name; f++)
		try_field(c, s, f);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes damaged variants of an image, for tests of programs that read images.
 * Each variant is a case:
 *
 *  - sites.c finds each structure of the image.
 *  - fields.c has a table of the fields of each structure, and sets each field
 *    to hostile values.
 *  - seal.c recomputes the checksums that cover the field.  Each hostile value
 *    makes a case with correct checksums, so that programs read the value, and
 *    usually also a case with the old checksums.
 *  - random.c makes cases with one to three changed fields or bytes.
 *
 * The original image must be sound; no function checks it.  Failures end the
 * program.
 */
#ifndef CORRUPT_H
#define CORRUPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

/* The kind of a field determines the hostile values of the field. */
enum kind {
	NUM,   /* a number */
	PAD,   /* unused */
	BLK,   /* a block number, or its low half */
	INO,   /* an inode number */
	FLAGS, /* flags; a case changes one flag */
	MODE,  /* a type and permissions */
	TYPE,  /* a small enumeration */
	NAME,  /* one byte of a name */
	CSUM,  /* a checksum, which is never recomputed */
	BE = 0x80, /* big-endian; combined with another kind */
};

struct field {
	const char *name;
	uint16_t off;
	uint8_t width;
	uint8_t kind;
};

struct corpus;
struct site;
/*
 * Recomputes the checksums of a site, and the checksums that cover these
 * checksums.
 */
typedef void seal_fn(struct corpus *c, const struct site *s);

/*
 * Called for each field @f of site @s.  If @f is NULL, the call is for the
 * whole block of the site.
 */
typedef void note_fn(struct corpus *c, const struct site *s,
		     const struct field *f);

/* The location of one structure in the image. */
struct site {
	const char *name;
	const struct field *fields;
	seal_fn *seal;
	uint64_t at;	   /* offset of the structure */
	/* offset of the block or inode that has the structure's checksum */
	uint64_t container;
	uint32_t number;   /* shown in lists: inode, group or block number */
	uint32_t ino, generation, group;
	uint32_t count_off; /* offset of an htree block's count and limit */
};

/* One change of the image. */
struct edit {
	uint64_t at;
	uint32_t len;
	uint8_t old[256];
};

#define MAX_EDITS 64

struct corpus {
	ext2_filsys fs;
	uint8_t *img;
	uint64_t bytes;
	struct edit edits[MAX_EDITS];
	unsigned int n_edits;
	uint32_t number; /* number of the next case */
	/* Hostile pointers refer to these blocks and inodes of other owners. */
	blk64_t data_blk, table_blk, bitmap_blk, free_blk;
	ext2_ino_t file_ino, dir_ino, free_ino;
	/* called with the case's edits applied */
	void (*emit)(struct corpus *c, const struct site *s, const char *field,
		     const char *value, const char *mode);
	uint32_t wanted; /* number of the case that --apply makes */
	/*
	 * NULL: the try_*() functions make cases; otherwise, the functions call
	 * note() for each field, and make no cases
	 */
	note_fn *note;
	struct spots *spots;	/* used only by random.c */
	struct wishes *wishes;	/* used only by set.c */
};

/* corrupt.c */
void die_if(errcode_t err, const char *doing);
/* Changes the image and saves the old bytes. */
void put(struct corpus *c, uint64_t at, const void *bytes, uint32_t len);
/* Restores all saved bytes. */
void undo_case(struct corpus *c);
/*
 * Makes the test cases that replace the @len bytes at byte @at of the image by
 * @bytes: with a correct checksum, if the structure has a checksum, and without
 * a change of the checksum.
 */
void try_bytes(struct corpus *c, const struct site *s, const char *field,
	       uint64_t at, uint32_t len, const void *bytes, const char *value);

/* fields.c */
extern const struct field super_fields[], group_fields[], inode_fields[],
	large_inode_fields[], extent_header_fields[], extent_fields[],
	extent_index_fields[], extent_tail_fields[], dirent_fields[],
	dir_tail_fields[], dx_root_fields[], dx_node_fields[],
	dx_count_fields[], dx_entry_fields[], dx_tail_fields[],
	xattr_header_fields[], xattr_ibody_fields[], xattr_entry_fields[],
	journal_fields[], mmp_fields[], quota_header_fields[],
	quota_block_fields[], quota_entry_fields[], orphan_tail_fields[],
	block_slot_fields[], ino_slot_fields[], slot_fields[], byte_fields[];
/* Makes all cases of one structure. */
void try_site(struct corpus *c, const struct site *s);
/* Returns the current value of a field. */
uint64_t get_field(const struct corpus *c, const struct site *s,
		   const struct field *f);
/* Makes all cases (damaged images) of one field of a structure. */
void try_field(struct corpus *c, const struct site *s, const struct field *f);

/* sites.c: makes all cases of an image. */
void try_image(struct corpus *c);

/*
 * random.c: lists all fields of the image, then makes @cases cases that change
 * random fields.
 */
void try_randomly(struct corpus *c, uint64_t seed, uint32_t cases);

/*
 * set.c: makes the @n changes in @changes.  Ends the program if a change is not
 * possible.
 */
void set_fields(struct corpus *c, char **changes, size_t n);
/* Returns the byte at which the block or inode of @structure begins. */
uint64_t where_is(struct corpus *c, const char *structure);

/* seal.c */
seal_fn seal_nothing, seal_super, seal_group, seal_block_bitmap,
	seal_inode_bitmap, seal_inode, seal_extent_block, seal_dir_leaf,
	seal_dx_block, seal_xattr_block, seal_xattr_block_entry,
	seal_journal, seal_mmp, seal_orphan_block;

/*
 * Read and write a number of @width bytes at byte @at of the image, in
 * little-endian (_le) or big-endian (_be) order.
 */
uint64_t get_le(const struct corpus *c, uint64_t at, unsigned int width);
void put_le(struct corpus *c, uint64_t at, unsigned int width, uint64_t value);
void put_be(struct corpus *c, uint64_t at, unsigned int width, uint64_t value);

/* Return the byte of the image at which an object begins. */
uint64_t inode_at(const struct corpus *c, ext2_ino_t ino);
uint64_t group_at(const struct corpus *c, dgrp_t group);
uint64_t block_at(const struct corpus *c, blk64_t blk);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random trees are written to filesystems with fragmented free space.  Each
 * image is sound, and has the content of the tree.
 */
#include "config.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <e4layout/e4layout.h>
#include "e4layout/populate/tree_edit.h"
#include "unit.h"

#define DATA_BYTES	(2u << 20)	/* size of the source of contents */
#define MAX_FILES	150

struct file {
	char path[40];
	uint64_t size;
	/* 0: the content is @size bytes of data, at byte @pos of the source */
	unsigned int n_stretches;
	struct e4l_stretch stretch[60];
	uint64_t pos;
};

struct rig {
	char data_path[40], img_path[40];
	unsigned char *data;
	int data_fd, img_fd;
	struct e4l_tree *t;
	ext2_filsys fs;
	struct e4l *e;
	struct e4l_populate *p;
	struct file file[MAX_FILES];
	unsigned int n;
};

static int temporary(char *path, const char *template)
{
	strcpy(path, template);
	return mkstemp(path);
}

static void set_up(struct rig *r)
{
	size_t i;

	memset(r, 0, sizeof(*r));
	r->data_fd = temporary(r->data_path, "/tmp/e4l-populate-XXXXXX");
	r->img_fd = temporary(r->img_path, "/tmp/e4l-populate-XXXXXX");
	r->data = malloc(DATA_BYTES);
	for (i = 0; i < DATA_BYTES; i++)
		r->data[i] = rand();
	ck_assert_int_eq(write(r->data_fd, r->data, DATA_BYTES), DATA_BYTES);
	ck_assert_int_eq(e4l_tree_new(&r->t), 0);
	e4l_tree_set_data_fd(r->t, r->data_fd);
}

static void tear_down(struct rig *r)
{
	e4l_tree_free(r->t);
	unlink(r->data_path);
	unlink(r->img_path);
	close(r->data_fd);
	close(r->img_fd);
	free(r->data);
}

/* Divides a file into data, unwritten stretches and holes. */
static void cut(struct file *f)
{
	uint64_t at = 0, len;

	while (at < f->size && f->n_stretches < 60) {
		at += rand() % 3 ? rand() % 9000 : 0;
		len = 1 + rand() % (rand() % 4 ? 9000 : 60000);
		if (at >= f->size)
			break;
		if (len > f->size - at)
			len = f->size - at;
		f->stretch[f->n_stretches++] = (struct e4l_stretch) {
			.offset = at, .bytes = len,
			.pos = rand() % (DATA_BYTES - len),
			.unwritten = rand() % 5 == 0,
		};
		at += len;
	}
}

static void add_files(struct rig *r, unsigned int n, uint64_t max)
{
	struct e4l_entry dir = { .mode = S_IFDIR | 0755 };
	uint32_t parent[20] = { E4L_TREE_ROOT }, n_dirs = 1, id, d;
	char names[20][20] = { "" }, name[20];

	for (; r->n < n; r->n++) {
		struct file *f = &r->file[r->n];
		struct e4l_entry e = { .mode = S_IFREG | 0644 };

		if (n_dirs < 20 && rand() % 5 == 0) {
			snprintf(names[n_dirs], 20, "/dir%u", n_dirs);
			ck_assert_int_eq(e4l_tree_add(r->t, E4L_TREE_ROOT,
					names[n_dirs] + 1,
					strlen(names[n_dirs]) - 1, &dir,
					&parent[n_dirs]), 0);
			n_dirs++;
		}
		d = rand() % n_dirs;
		snprintf(name, sizeof(name), "file-%u", r->n);
		snprintf(f->path, sizeof(f->path), "%s/%s", names[d], name);
		f->size = rand() % (rand() % 4 ? max / 16 : max);
		f->pos = rand() % (DATA_BYTES - max);
		if (rand() % 3 == 0)
			cut(f);
		e.size = f->size;
		e.pos = f->pos;
		e.stretches = f->n_stretches ? f->stretch : NULL;
		e.n_stretches = f->n_stretches;
		ck_assert_int_eq(e4l_tree_add(r->t, parent[d], name,
					      strlen(name), &e, &id), 0);
	}
}

static errcode_t plan(struct rig *r, const char *mke2fs_options)
{
	struct e4l_populate_options o = {
		.window = rand() % 2 ? E4L_WINDOW_EXACT : 16, .threads = 3,
		.now = 1,
	};
	char cmd[200];

	snprintf(cmd, sizeof(cmd), "mke2fs -q -F -t ext4 %s %s %s",
		 mke2fs_options, r->img_path, "48M 2>/dev/null");
	ck_assert_int_eq(system(cmd), 0);
	ck_assert_int_eq(ext2fs_open(r->img_path, EXT2_FLAG_64BITS |
				     EXT2_FLAG_RW, 0, 0, unix_io_manager,
				     &r->fs), 0);
	ck_assert_int_eq(ext2fs_read_bitmaps(r->fs), 0);
	ck_assert_int_eq(e4l_new(r->fs, &r->e), 0);
	return e4l_populate_plan(r->e, r->t, &o, &r->p);
}

static void drop_plan(struct rig *r)
{
	e4l_populate_free(r->p);
	e4l_free(r->e);
	ext2fs_free(r->fs);
}

static void write_image(struct rig *r)
{
	struct e4l_populate_target target = {
		.fd = r->img_fd, .direct_fd = -1,
	};

	ck_assert_int_eq(e4l_populate_write(r->p, &target), 0);
	/* a second write must succeed and write the same blocks */
	ck_assert_int_eq(e4l_populate_write(r->p, &target), 0);
	ck_assert_int_eq(ext2fs_flush(r->fs), 0);
	drop_plan(r);
	ck_assert(is_sound(r->img_path));
}

/* Returns the content that a reader must find. */
static unsigned char *expected(const struct rig *r, const struct file *f)
{
	unsigned char *want = calloc(1, f->size + 1);
	unsigned int i;

	if (!f->n_stretches)
		memcpy(want, r->data + f->pos, f->size);
	for (i = 0; i < f->n_stretches; i++)
		if (!f->stretch[i].unwritten)
			memcpy(want + f->stretch[i].offset,
			       r->data + f->stretch[i].pos, f->stretch[i].bytes);
	return want;
}

static void check_file(const struct rig *r, const struct file *f)
{
	unsigned char *want = expected(r, f), *got = malloc(f->size + 1);
	unsigned int n = 0;
	ext2_file_t file;
	ext2_ino_t ino;

	ck_assert_int_eq(ext2fs_namei(r->fs, EXT2_ROOT_INO, EXT2_ROOT_INO,
				      f->path, &ino), 0);
	ck_assert_int_eq(ext2fs_file_open(r->fs, ino, 0, &file), 0);
	ck_assert_uint_eq(ext2fs_file_get_size(file), f->size);
	ck_assert_int_eq(ext2fs_file_read(file, got, f->size, &n), 0);
	ck_assert_uint_eq(n, f->size);
	ck_assert(!memcmp(got, want, f->size));
	ext2fs_file_close(file);
	free(want);
	free(got);
}

static void check_image(struct rig *r)
{
	unsigned int i;

	ck_assert_int_eq(ext2fs_open(r->img_path, EXT2_FLAG_64BITS, 0, 0,
				     unix_io_manager, &r->fs), 0);
	for (i = 0; i < r->n; i++)
		check_file(r, &r->file[i]);
	ck_assert_int_eq(ext2fs_close_free(&r->fs), 0);
}

/*
 * Options of mke2fs.  Groups of 512 to 1024 blocks without flex_bg split the
 * files that are larger than a group.
 */
static const char *const shapes[] = {
	"-b 1024 -g 512 -O ^flex_bg,^has_journal,^resize_inode",
	"-b 1024 -g 1024 -O ^has_journal,^64bit",
	"-b 1024 -g 512 -O ^flex_bg,^metadata_csum,^has_journal,^resize_inode",
	"-b 2048 -C 8192 -O bigalloc,^has_journal",
	"-b 1024 -C 16384 -O bigalloc,inline_data,^has_journal",
	"-b 4096 -O inline_data,quota",
};
#define N_SHAPES (sizeof(shapes) / sizeof(*shapes))

START_TEST(gives_back_random_trees)
{
	struct rig *r = malloc(sizeof(*r));

	srand(_i);
	set_up(r);
	add_files(r, 20 + rand() % (MAX_FILES - 20), 1 << 20);
	/* planning does not change the tree */
	ck_assert_int_eq(plan(r, shapes[(_i + 1) % N_SHAPES]), 0);
	drop_plan(r);
	ck_assert_int_eq(plan(r, shapes[_i % N_SHAPES]), 0);
	write_image(r);
	check_image(r);
	tear_down(r);
	free(r);
}
END_TEST

/*
 * Adds @n files of @size bytes.  The content of file i begins at byte i * @step
 * of the source.
 */
static void add_numbered(struct rig *r, int n, uint64_t size, uint64_t step)
{
	struct e4l_entry e = { .mode = S_IFREG | 0644, .size = size };
	char name[20];
	uint32_t id;
	int i;

	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%d", i);
		e.pos = i * step;
		ck_assert_int_eq(e4l_tree_add(r->t, E4L_TREE_ROOT, name,
					      strlen(name), &e, &id), 0);
	}
}

/*
 * Adjacent files are read with one call.  The error names the file that became
 * shorter.
 */
START_TEST(names_the_file_that_shrank)
{
	struct e4l_populate_target target = { .direct_fd = -1 };
	struct rig *r = malloc(sizeof(*r));

	set_up(r);
	add_numbered(r, 50, 5000, 6000);
	ck_assert_int_eq(plan(r, "-b 4096"), 0);
	target.fd = r->img_fd;
	ck_assert_int_eq(ftruncate(r->data_fd, 49 * 6000 + 4999), 0);
	ck_assert_int_eq(e4l_populate_write(r->p, &target),
			 E4L_ET_FILE_SHRANK);
	ck_assert_str_eq(e4l_tree_where(r->t), "49");
	ck_assert_int_eq(ftruncate(r->data_fd, 49 * 6000 + 5000), 0);
	ck_assert_int_eq(e4l_populate_write(r->p, &target), 0);
	drop_plan(r);
	tear_down(r);
	free(r);
}
END_TEST

START_TEST(says_what_is_missing)
{
	struct e4l_entry e = { .mode = S_IFREG, .size = 1 << 20 };
	struct e4l_populate_stats stats;
	struct rig *r = malloc(sizeof(*r));
	uint32_t id;

	set_up(r);
	add_numbered(r, 60, 1 << 20, 0);
	ck_assert_int_eq(plan(r, "-b 1024 -N 500"), E4L_ET_NO_SPACE);
	e4l_populate_get_stats(r->p, &stats);
	ck_assert_uint_ge(stats.wanted_blocks, 60 * 1024);
	ck_assert_uint_lt(stats.free_blocks, 48 * 1024);
	drop_plan(r);
	ck_assert_int_eq(plan(r, "-b 4096 -N 32"), E4L_ET_NO_INODES);
	drop_plan(r);
	ck_assert_int_eq(e4l_tree_add(r->t, E4L_TREE_ROOT, "7", 1, &e, &id),
			 0);
	ck_assert_int_eq(plan(r, "-b 4096"), E4L_ET_DUPLICATE_NAME);
	ck_assert_str_eq(e4l_tree_where(r->t), "7");
	drop_plan(r);
	tear_down(r);
	free(r);
}
END_TEST

START_TEST(refuses_bad_entries)
{
	struct e4l_entry e = { .mode = S_IFREG | 0644 };
	struct e4l_tree_xattr acl = {
		"system.posix_acl_access", "\2\0\0\0abc", 7,
	};
	struct e4l_tree *t;
	char name[300];
	uint32_t id, file;

	memset(name, 'n', sizeof(name));
	ck_assert_int_eq(e4l_tree_new(&t), 0);
	ck_assert_int_eq(e4l_tree_add(t, 1, name, 256, &e, &id),
			 E4L_ET_NAME_TOO_LONG);
	ck_assert_int_eq(e4l_tree_add(t, 1, "..", 2, &e, &id), E4L_ET_BAD_NAME);
	ck_assert_int_eq(e4l_tree_add(t, 1, "a/b", 3, &e, &id),
			 E4L_ET_BAD_NAME);
	ck_assert_int_eq(e4l_tree_add(t, 1, "", 0, &e, &id), E4L_ET_BAD_NAME);
	ck_assert_int_eq(e4l_tree_add(t, 1, "file", 4, &e, &file), 0);
	ck_assert_int_eq(e4l_tree_add(t, file, "x", 1, &e, &id),
			 E4L_ET_NOT_DIR);
	ck_assert_int_eq(e4l_tree_link(t, 1, "y", 1, E4L_TREE_ROOT),
			 E4L_ET_BAD_ARGUMENT);
	e.xattrs = &acl;
	e.n_xattrs = 1;
	ck_assert_int_eq(e4l_tree_add(t, 1, "acl", 3, &e, &id), E4L_ET_BAD_ACL);
	e = (struct e4l_entry) { .mode = S_IFLNK, .target = "", .size = 0 };
	ck_assert_int_eq(e4l_tree_add(t, 1, "link", 4, &e, &id),
			 E4L_ET_BAD_SYMLINK);
	ck_assert_uint_eq(e4l_tree_entries(t), 2);
	e4l_tree_free(t);
}
END_TEST

/* A call with an invalid entry number does not change the tree. */
START_TEST(refuses_unknown_numbers)
{
	const struct e4l_entry e = { .mode = S_IFREG | 0644 };
	const struct e4l_tree_xattr x = { .name = "user.a", .value = "b",
					  .size = 1 };
	static const uint32_t wrong[] = { 0, 3, 999, UINT32_MAX };
	struct e4l_tree *t;
	uint32_t id, child;

	ck_assert_int_eq(e4l_tree_new(&t), 0);
	ck_assert_int_eq(e4l_tree_add(t, 1, "file", 4, &e, &id), 0);
	ck_assert_uint_eq(id, 2);
	id = wrong[_i];
	ck_assert_int_eq(e4l_tree_add(t, id, "x", 1, &e, &child),
			 E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_tree_find(t, id, "x", 1, &child),
			 E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_tree_find(t, 2, "x", 1, &child), E4L_ET_NOT_DIR);
	ck_assert_int_eq(e4l_tree_set(t, id, &e), E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_tree_set_content(t, id, &e), E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_tree_set_perms(t, id, 0), E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_tree_set_xattr(t, id, &x), E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_tree_link(t, 1, "y", 1, id), E4L_ET_BAD_ARGUMENT);
	e4l_tree_set_owner(t, id, 1, 1);
	e4l_tree_remove(t, id);
	e4l_tree_remove(t, E4L_TREE_ROOT);
	ck_assert_uint_eq(e4l_tree_entries(t), 2);
	e4l_tree_free(t);
}
END_TEST

/*
 * Entries with a mode without a type, or with impossible stretches, are
 * refused.
 */
START_TEST(refuses_senseless_entries)
{
	static const uint32_t modes[] = { 0, 0644, 0170644, 01100644 };
	static const struct e4l_stretch stretches[][2] = {
		{ { 0, 4096, 0, false }, { 8192, 0, 0, false } },
		{ { 4, 4, 0, false }, { 0, 4, 0, false } },
		{ { 0, 4, 0, false }, { 2, 4, 0, false } },
		{ { 1, UINT64_MAX, 0, true }, { 0, 0, 0, true } },
	};
	struct e4l_entry e = { .mode = modes[_i] };
	struct e4l_tree *t;
	uint32_t id;

	ck_assert_int_eq(e4l_tree_new(&t), 0);
	ck_assert_int_eq(e4l_tree_add(t, 1, "file", 4, &e, &id),
			 E4L_ET_BAD_ARGUMENT);
	e = (struct e4l_entry) { .mode = S_IFREG | 0644, .size = 10,
				 .stretches = stretches[_i], .n_stretches = 2 };
	ck_assert_int_eq(e4l_tree_add(t, 1, "file", 4, &e, &id),
			 E4L_ET_BAD_ARGUMENT);
	ck_assert_uint_eq(e4l_tree_entries(t), 1);
	e4l_tree_free(t);
}
END_TEST

/* Entries that would become damaged inodes are refused. */
START_TEST(refuses_damaging_entries)
{
	static const struct e4l_stretch stretch = { .bytes = 4096 };
	static const struct e4l_entry entries[] = {
		{ .mode = S_IFDIR | 0755, .stretches = &stretch,
		  .n_stretches = 1 },
		{ .mode = S_IFIFO | 0644, .stretches = &stretch,
		  .n_stretches = 1 },
		{ .mode = S_IFREG | 0644, .n_stretches = 1 },
		{ .mode = S_IFREG | 0644, .from_ext4 = true,
		  .flags = EXT4_INLINE_DATA_FL },
		{ .mode = S_IFDIR | 0755, .from_ext4 = true,
		  .flags = EXT2_INDEX_FL },
		{ .mode = S_IFIFO | 0644, .from_ext4 = true,
		  .flags = EXT4_EXTENTS_FL },
	};
	struct e4l_entry link = {
		.mode = S_IFLNK | 0777, .size = 3, .target = "a\0b",
	};
	struct e4l_tree *t;
	uint32_t id;

	ck_assert_int_eq(e4l_tree_new(&t), 0);
	ck_assert_int_eq(e4l_tree_add(t, 1, "x", 1, &entries[_i], &id),
			 E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_tree_add(t, 1, "x", 1, &link, &id),
			 E4L_ET_BAD_SYMLINK);
	ck_assert_uint_eq(e4l_tree_entries(t), 1);
	/* the target of an encrypted symbolic link can contain NUL */
	link.from_ext4 = true;
	link.flags = EXT4_ENCRYPT_FL;
	ck_assert_int_eq(e4l_tree_add(t, 1, "x", 1, &link, &id), 0);
	e4l_tree_free(t);
}
END_TEST

/* After a refused e4l_tree_set(), the entry and its links are unchanged. */
START_TEST(keeps_the_entry_after_a_refusal)
{
	const struct e4l_entry file = { .mode = S_IFREG | 0644, .uid = 1 };
	struct e4l_tree_xattr acl = {
		"system.posix_acl_access", "\2\0\0\0abc", 7,
	};
	struct e4l_entry e = {
		.mode = S_IFREG | 0600, .uid = 2, .xattrs = &acl, .n_xattrs = 1,
	};
	struct e4l_tree *t;
	uint32_t id, i;

	ck_assert_int_eq(e4l_tree_new(&t), 0);
	ck_assert_int_eq(e4l_tree_add(t, 1, "a", 1, &file, &id), 0);
	ck_assert_int_eq(e4l_tree_link(t, 1, "b", 1, id), 0);
	ck_assert_int_eq(e4l_tree_set(t, id, &e), E4L_ET_BAD_ACL);
	ck_assert_str_eq(e4l_tree_where(t), "a");
	/* "a" and "b" are still names of one file: the mode is the same */
	ck_assert_int_eq(e4l_tree_set_perms(t, id, 0640), 0);
	for (i = id; i <= id + 1; i++) {
		ck_assert_int_eq(e4l_tree_get(t, i, &e), 0);
		ck_assert_uint_eq(e.mode, S_IFREG | 0640);
		ck_assert_uint_eq(e.uid, 1);
	}
	e4l_tree_free(t);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("populate");
	TCase *tc = tcase_create("populate");

	tcase_add_loop_test(tc, gives_back_random_trees, 0, 2 * N_SHAPES);
	tcase_add_test(tc, names_the_file_that_shrank);
	tcase_add_test(tc, says_what_is_missing);
	tcase_add_test(tc, refuses_bad_entries);
	tcase_add_loop_test(tc, refuses_unknown_numbers, 0, 4);
	tcase_add_loop_test(tc, refuses_senseless_entries, 0, 4);
	tcase_add_loop_test(tc, refuses_damaging_entries, 0, 6);
	tcase_add_test(tc, keeps_the_entry_after_a_refusal);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}

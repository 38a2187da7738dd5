/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Loads a tree from a directory.  Each thread reads one directory at a time.
 * The inodes of a directory are read in ascending order, which is the order on
 * disk in most filesystems.
 */
#include "config.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/fscrypt.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "e4layout/base/array.h"
#include "e4layout/base/fd.h"
#include "e4layout/base/stat.h"
#include "tree.h"

#define MAX_WALKERS	64
#define E4L_DIR_ALL_FLAGS (E4L_DIR_NO_XATTRS | E4L_DIR_ONE_FS | \
			   E4L_DIR_OVERLAID)
#define LIST_BYTES	65536	/* XATTR_LIST_MAX and XATTR_SIZE_MAX in Linux */
/*
 * For getxattr(2), the kernel allocates a buffer of the requested size.  A
 * small size is faster, and is sufficient for nearly all values.
 */
#define SHORT_BYTES	1024

/*
 * An inode of the source with several names, and the node of the first name
 * that was found.
 */
struct known {
	dev_t dev;
	ino_t ino;
	uint32_t node;		/* 0: the slot is empty */
};

struct walk {
	struct e4l_tree *t;
	struct e4l_dir_options o;
	dev_t dev;		/* device of the root directory */
	pthread_mutex_t lock;	/* protects all members below, and the tree */
	pthread_cond_t more;
	VEC(uint32_t) todo;	/* nodes of directories to read */
	/* number of threads that may add directories to @todo */
	unsigned int busy;
	errcode_t err;
	bool merges; /* the tree may already have entries of earlier layers */
	struct known *known;
	size_t n_known, mask;
};

/* The state of one thread. */
struct walker {
	struct walk *w;
	VEC(char) names;
	VEC(struct found { ino_t ino; size_t name; }) found;
	VEC(struct e4l_stretch) stretches;
	VEC(struct e4l_tree_xattr) xattrs;
	VEC(char) values;
	const char *attr; /* attribute that could not be read; NULL: none */
	char list[LIST_BYTES];
	char target[PATH_MAX];
};

/* --------------------------------------------------------------- hard links */

static struct known *known_slot(struct walk *w, dev_t dev, ino_t ino)
{
	size_t at = (ino * 0x9e3779b97f4a7c15ULL ^ dev) >> 7 & w->mask;

	while (w->known[at].node &&
	       (w->known[at].ino != ino || w->known[at].dev != dev))
		at = (at + 1) & w->mask;
	return &w->known[at];
}

static errcode_t grow_known(struct walk *w)
{
	struct known *old = w->known;
	size_t i, n = w->mask + 1;

	w->known = calloc(n * 2, sizeof(*w->known));
	if (!w->known) {
		w->known = old;
		return ENOMEM;
	}
	w->mask = n * 2 - 1;
	for (i = 0; i < n; i++)
		if (old[i].node)
			*known_slot(w, old[i].dev, old[i].ino) = old[i];
	free(old);
	return 0;
}

/* -------------------------------------------------------------------- inode */

/* Finds the data ranges of a file with holes. */
static errcode_t find_stretches(struct walker *me, const char *name, off_t size)
{
	int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	off_t data, hole = 0;
	errcode_t err;

	if (fd < 0)
		return errno;
	me->stretches.n = 0;
	/*
	 * allocate the array even if the file has no data, because a NULL array
	 * means a file without holes
	 */
	err = vec_room(&me->stretches, 1);
	while (!err && hole < size) {
		data = lseek(fd, hole, SEEK_DATA);
		if (data < 0 || data >= size) {
			err = data < 0 && errno != ENXIO ? errno : 0;
			break;
		}
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole < 0)
			err = errno;
		else
			err = vec_room(&me->stretches, 1);
		if (!err)
			me->stretches.v[me->stretches.n++] =
				(struct e4l_stretch) {
					.offset = data, .pos = data,
					.bytes = (hole < size ? hole : size) -
						 data,
				};
	}
	close(fd);
	return err;
}

static errcode_t read_value(struct walker *me, const char *name,
			    const char *attr)
{
	struct e4l_tree_xattr *x;
	ssize_t len;

	if (vec_room(&me->values, LIST_BYTES) || vec_room(&me->xattrs, 1))
		return ENOMEM;
	len = lgetxattr(name, attr, me->values.v + me->values.n, SHORT_BYTES);
	if (len < 0 && errno == ERANGE)
		len = lgetxattr(name, attr, me->values.v + me->values.n,
				LIST_BYTES);
	/* the attribute was removed after the names were listed */
	if (len < 0 && errno == ENODATA)
		return 0;
	if (len < 0) {
		me->attr = attr;
		return errno;
	}
	if (e4l_xattr_is_private(attr, me->values.v + me->values.n, len))
		return 0;
	x = &me->xattrs.v[me->xattrs.n++];
	*x = (struct e4l_tree_xattr) {
		.name = attr, .size = len,
		/*
		 * an offset in me->values; read_xattrs() replaces the offset by
		 * a pointer, because me->values can still move
		 */
		.value = (void *)me->values.n,
	};
	me->values.n += len;
	return 0;
}

/*
 * Reads the attributes of @name that the image can store.  Does not read other
 * attributes, because reading may fail.
 */
static errcode_t read_xattrs(struct walker *me, const char *name)
{
	ssize_t len, at;
	errcode_t err = 0;
	size_t i;

	me->xattrs.n = me->values.n = 0;
	if (me->w->o.flags & E4L_DIR_NO_XATTRS)
		return 0;
	len = llistxattr(name, me->list, SHORT_BYTES);
	if (len < 0 && errno == ERANGE)
		len = llistxattr(name, me->list, sizeof(me->list));
	if (len < 0 && errno != EOPNOTSUPP && errno != ENOSYS) {
		me->attr = "list";
		return errno;
	}
	for (at = 0; at < len && !err; at += strlen(me->list + at) + 1)
		if (e4l_tree_stores_xattr(me->list + at))
			err = read_value(me, name, me->list + at);
	for (i = 0; i < me->xattrs.n; i++)
		me->xattrs.v[i].value = me->values.v +
					(size_t)me->xattrs.v[i].value;
	return err;
}

static struct e4l_time time_of(const struct statx_timestamp *t)
{
	return (struct e4l_time) { .tv_sec = t->tv_sec, .tv_nsec = t->tv_nsec };
}

/*
 * Fills in @e with the attributes of the file @name in the working directory.
 */
static errcode_t describe(struct walker *me, const char *name,
			  const struct stat *st, const struct statx *stx,
			  struct e4l_entry *e)
{
	ssize_t len;
	errcode_t err;

	*e = (struct e4l_entry) {
		.mode = st->st_mode, .uid = st->st_uid, .gid = st->st_gid,
		.size = st->st_size, .rdev = st->st_rdev,
		.mtime = time_of(&stx->stx_mtime),
		.atime = time_of(&stx->stx_atime),
		.ctime = time_of(&stx->stx_ctime),
	};
	if (S_ISLNK(st->st_mode)) {
		len = readlink(name, me->target, sizeof(me->target));
		if (len < 0)
			return errno;
		e->target = me->target;
		e->size = len;
	}
	if (S_ISREG(st->st_mode) && st->st_blocks < st->st_size / 512) {
		err = find_stretches(me, name, st->st_size);
		if (err)
			return err;
		e->stretches = me->stretches.v;
		e->n_stretches = me->stretches.n;
	}
	err = read_xattrs(me, name);
	e->xattrs = me->xattrs.v;
	e->n_xattrs = me->xattrs.n;
	return err;
}

/*
 * Adds @name to the directory @dir.  If an earlier layer has an entry with the
 * same path, replaces the entry.
 */
static errcode_t add_name(struct walk *w, uint32_t dir, const char *name,
			  size_t len, const struct e4l_entry *e, uint32_t *id)
{
	return w->merges ? e4l_tree_put(w->t, dir, name, len, e, id) :
			   e4l_tree_add(w->t, dir, name, len, e, id);
}

static errcode_t link_name(struct walk *w, uint32_t dir, const char *name,
			   size_t len, uint32_t id)
{
	uint32_t old = 0;
	errcode_t err = w->merges ?
			e4l_tree_find(w->t, dir, name, len, &old) : 0;

	if (old)
		e4l_tree_remove(w->t, old);
	return err ? err : e4l_tree_link(w->t, dir, name, len, id);
}

/*
 * Adds the entry @name to the directory @dir.  The caller holds the lock.  If
 * @enters is true and the entry is a directory, adds the directory to the
 * directories to read.
 */
static errcode_t add_locked(struct walk *w, uint32_t dir, const char *name,
			    const struct stat *st, const struct e4l_entry *e,
			    bool enters)
{
	size_t len = strlen(name);
	struct known *known;
	uint32_t id;
	errcode_t err;

	if (st->st_nlink > 1 && !S_ISDIR(st->st_mode)) {
		if (w->n_known * 2 > w->mask && grow_known(w))
			return ENOMEM;
		known = known_slot(w, st->st_dev, st->st_ino);
		if (known->node)
			return link_name(w, dir, name, len, known->node);
		err = add_name(w, dir, name, len, e, &id);
		*known = (struct known) { st->st_dev, st->st_ino, id };
		w->n_known++;
		return err;
	}
	err = add_name(w, dir, name, len, e, &id);
	if (!err && S_ISDIR(st->st_mode) && enters) {
		err = vec_room(&w->todo, 1);
		if (!err) {
			w->todo.v[w->todo.n++] = id;
			pthread_cond_signal(&w->more);
		}
	}
	return err;
}

/*
 * Reports that @name in the directory @dir is skipped, or that the directory
 * @name is not entered.
 */
static errcode_t leave_out(struct walk *w, uint32_t dir, const char *name,
			   errcode_t why)
{
	char *parent, *path = NULL;

	if (!w->o.left_out)
		return 0;
	pthread_mutex_lock(&w->lock);
	parent = e4l_tree_long_path(w->t, dir);
	if (parent && asprintf(&path, "%s%s%s", dir == E4L_TREE_ROOT ? "" :
			       parent, dir == E4L_TREE_ROOT ? "" : "/",
			       name) < 0)
		path = NULL;
	if (path)
		w->o.left_out(path, why, w->o.priv);
	pthread_mutex_unlock(&w->lock);
	free(parent);
	free(path);
	return parent && path ? 0 : ENOMEM;
}

static bool is_excluded(const struct walk *w, const char *name,
			const struct stat *st)
{
	const struct stat *image = w->o.exclude;

	return image && S_ISREG(st->st_mode) && st->st_ino == image->st_ino &&
	       e4l_same_file(st, image, w->o.flags & E4L_DIR_OVERLAID ||
					e4l_is_overlaid(name));
}

/*
 * Whether E4L_DIR_ONE_FS is set, and the inode belongs to another filesystem or
 * is a mount point of the same filesystem.
 */
static bool is_mounted_on(const struct walk *w, const struct stat *st,
			  const struct statx *stx)
{
	return w->o.flags & E4L_DIR_ONE_FS &&
	       (st->st_dev != w->dev ||
		stx->stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static errcode_t add_inode(struct walker *me, uint32_t dir, const char *name)
{
	struct e4l_entry e;
	struct statx stx;
	struct stat st;
	bool enters;
	errcode_t err;

	/* ignore files that another process has removed */
	if (e4l_fstatat(AT_FDCWD, name, AT_SYMLINK_NOFOLLOW, &st, &stx))
		return errno == ENOENT ? 0 : errno;
	if (is_excluded(me->w, name, &st))
		return leave_out(me->w, dir, name, E4L_ET_IS_IMAGE);
	enters = !is_mounted_on(me->w, &st, &stx);
	if (!enters) {
		err = leave_out(me->w, dir, name, S_ISDIR(st.st_mode) ?
				E4L_ET_MOUNTED_ON : E4L_ET_MOUNTED_FILE);
		if (err || !S_ISDIR(st.st_mode))
			return err;
	}
	err = describe(me, name, &st, &stx, &e);
	if (err)
		return err;
	pthread_mutex_lock(&me->w->lock);
	err = add_locked(me->w, dir, name, &st, &e, enters);
	pthread_mutex_unlock(&me->w->lock);
	return err;
}

/* ---------------------------------------------------------------- directory */

static int by_ino(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/* Lists the names in the directory @fd, and closes @fd. */
static errcode_t list(struct walker *me, int fd)
{
	DIR *dir = fdopendir(fd);
	struct dirent *d;
	size_t len;

	me->found.n = me->names.n = 0;
	if (!dir) {
		close(fd);
		return errno;
	}
	for (errno = 0; (d = readdir(dir)); errno = 0) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		len = strlen(d->d_name) + 1;
		if (vec_room(&me->found, 1) || vec_room(&me->names, len)) {
			errno = ENOMEM;
			break;
		}
		me->found.v[me->found.n++] = (struct found) {
			.ino = d->d_ino, .name = me->names.n,
		};
		memcpy(me->names.v + me->names.n, d->d_name, len);
		me->names.n += len;
	}
	len = errno;
	closedir(dir);
	e4l_sort(me->found.v, me->found.n, sizeof(*me->found.v), by_ino);
	return len;
}

/*
 * Whether the kernel returns encoded names of an encrypted directory, because
 * the kernel lacks the key.  Returns false for version 1 policies, because the
 * kernel does not report keys in a process keyring.
 */
static bool is_locked(int fd)
{
	struct fscrypt_get_policy_ex_arg get = {
		.policy_size = sizeof(get.policy),
	};
	struct fscrypt_get_key_status_arg key = {
		.key_spec.type = FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER,
	};
	struct statx stx;
	struct stat st;

	if (e4l_fstatat(fd, "", AT_EMPTY_PATH, &st, &stx) ||
	    !(stx.stx_attributes & STATX_ATTR_ENCRYPTED) ||
	    ioctl(fd, FS_IOC_GET_ENCRYPTION_POLICY_EX, &get) ||
	    get.policy.version != FSCRYPT_POLICY_V2)
		return false;
	memcpy(key.key_spec.u.identifier,
	       get.policy.v2.master_key_identifier,
	       sizeof(key.key_spec.u.identifier));
	return !ioctl(fd, FS_IOC_GET_ENCRYPTION_KEY_STATUS, &key) &&
	       key.status != FSCRYPT_KEY_STATUS_PRESENT;
}

/*
 * Lists the names in a directory.  If the kernel returns encoded names, fails
 * with E4L_ET_LOCKED.
 */
static errcode_t list_readable(struct walker *me, int fd)
{
	bool locked = is_locked(fd);
	errcode_t err = list(me, fd);

	return !err && locked && me->found.n ? E4L_ET_LOCKED : err;
}

static errcode_t fail(struct walk *w, errcode_t err, uint32_t dir,
		      const char *name, const char *attr)
{
	pthread_mutex_lock(&w->lock);
	if (!w->err) {
		e4l_tree_fail(w->t, err, dir, name, name ? strlen(name) : 0);
		snprintf(w->t->attr, sizeof(w->t->attr), "%s",
			 attr ? attr : "");
		w->err = err;
	}
	pthread_cond_broadcast(&w->more);
	pthread_mutex_unlock(&w->lock);
	return err;
}

/* Opens the directory @dir of the source.  On failure, sets errno. */
static int open_source_dir(struct walk *w, uint32_t dir)
{
	char *path;
	int fd, err;

	pthread_mutex_lock(&w->lock);
	path = e4l_tree_source_path(w->t, dir);
	pthread_mutex_unlock(&w->lock);
	if (!path) {
		errno = ENOMEM;
		return -1;
	}
	fd = e4l_tree_open_dir(tree_source(w->t)->fd, path, O_RDONLY);
	err = errno;
	free(path);
	errno = err;
	return fd;
}

static void walk_dir(struct walker *me, uint32_t dir)
{
	struct walk *w = me->w;
	int fd = open_source_dir(w, dir);
	errcode_t err;
	size_t i;

	if (fd < 0 || fchdir(fd)) {
		fail(w, errno, dir, NULL, NULL);
		e4l_close_fd(fd);
		return;
	}
	err = list_readable(me, fd);
	if (err)
		fail(w, err, dir, NULL, NULL);
	for (i = 0; i < me->found.n && !err; i++) {
		const char *name = me->names.v + me->found.v[i].name;

		err = add_inode(me, dir, name);
		if (err)
			fail(w, err, dir, name, me->attr);
	}
}

/* ----------------------------------------------------------------- threads */

/*
 * Waits for a directory to read.  Returns false if no thread can add another
 * directory, or if a thread has failed.  The caller holds w->lock.
 */
static bool next_dir(struct walk *w, uint32_t *dir)
{
	while (!w->todo.n && w->busy && !w->err)
		pthread_cond_wait(&w->more, &w->lock);
	if (!w->todo.n || w->err)
		return false;
	*dir = w->todo.v[--w->todo.n];
	w->busy++;
	return true;
}

static void free_walker(struct walker *me)
{
	free(me->names.v);
	free(me->found.v);
	free(me->stretches.v);
	free(me->xattrs.v);
	free(me->values.v);
	free(me);
}

static void *walk_thread(void *arg)
{
	struct walk *w = arg;
	struct walker *me = calloc(1, sizeof(*me));
	uint32_t dir;

	/*
	 * A thread with its own working directory can use file names instead of
	 * paths.
	 */
	if (!me || unshare(CLONE_FS)) {
		fail(w, me ? errno : ENOMEM, 0, NULL, NULL);
		free(me);
		return NULL;
	}
	me->w = w;
	pthread_mutex_lock(&w->lock);
	while (next_dir(w, &dir)) {
		pthread_mutex_unlock(&w->lock);
		walk_dir(me, dir);
		pthread_mutex_lock(&w->lock);
		w->busy--;
		pthread_cond_broadcast(&w->more);
	}
	pthread_mutex_unlock(&w->lock);
	free_walker(me);
	return NULL;
}

/*
 * Reads the attributes of the root directory, in a thread with its own working
 * directory.
 */
static void *root_thread(void *arg)
{
	struct walk *w = arg;
	struct walker *me = calloc(1, sizeof(*me));
	struct e4l_entry e;
	struct statx stx;
	struct stat st;
	errcode_t err;

	if (!me || unshare(CLONE_FS) || fchdir(tree_source(w->t)->fd) ||
	    e4l_fstatat(AT_FDCWD, ".", 0, &st, &stx)) {
		fail(w, me ? errno : ENOMEM, E4L_TREE_ROOT, NULL, NULL);
	} else {
		me->w = w;
		w->dev = st.st_dev;
		err = describe(me, ".", &st, &stx, &e);
		if (!err)
			err = e4l_tree_set(w->t, w->t->base, &e);
		if (err)
			fail(w, err, E4L_TREE_ROOT, NULL, me->attr);
		free(me->xattrs.v);
		free(me->values.v);
	}
	free(me);
	return NULL;
}

static errcode_t run(struct walk *w, unsigned int n, void *(*thread)(void *))
{
	pthread_t threads[MAX_WALKERS];
	unsigned int i;
	errcode_t err = 0;

	for (i = 0; i < n && !err; i++) {
		err = e4l_start_thread(&threads[i], thread, w);
		if (err)
			fail(w, err, 0, NULL, NULL);
	}
	for (n = err ? i - 1 : i; n--;)
		pthread_join(threads[n], NULL);
	return w->err;
}

errcode_t e4l_tree_load_dir(struct e4l_tree *t, const char *path,
			    const struct e4l_dir_options *options)
{
	struct walk w = { .t = t, .o = *options, .mask = 63,
			  .merges = tree_is_merged(t) };
	errcode_t err;

	if (E4L_HAS_UNKNOWN(options) || options->flags & ~E4L_DIR_ALL_FLAGS)
		return E4L_ET_OPTION;
	if (!options->threads || options->threads > MAX_WALKERS)
		return E4L_ET_BAD_ARGUMENT;
	err = e4l_layer_open_dir(t, path);
	if (err)
		return err;
	err = ENOMEM;
	pthread_mutex_init(&w.lock, NULL);
	pthread_cond_init(&w.more, NULL);
	w.known = calloc(w.mask + 1, sizeof(*w.known));
	if (w.known && !vec_room(&w.todo, 1)) {
		w.todo.v[w.todo.n++] = t->base;
		err = run(&w, 1, root_thread);
		if (!err)
			err = run(&w, options->threads, walk_thread);
	}
	free(w.known);
	free(w.todo.v);
	pthread_cond_destroy(&w.more);
	pthread_mutex_destroy(&w.lock);
	return err;
}

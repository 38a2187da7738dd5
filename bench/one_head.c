/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * one_head IMAGE DIR: presents IMAGE as the file DIR/disk, with the timing of a
 * disk with one head.  Writes to the file fail.  Before each request, the head
 * needs the time of a seek and of the rotational delay, or the transfer time of
 * the skipped bytes if that time is shorter.  The request then takes the
 * transfer time of the requested bytes.  The queue has up to 32 requests.  The
 * next request is the request with the lowest offset after the head.  If no
 * offset is after the head, the next request is the request with the lowest
 * offset.
 *
 * Attach the file with losetup --direct-io=on, so that the kernel caches
 * nothing.  When DIR is unmounted, the program ends, and prints the number of
 * requests and the busy time of the simulated disk.  Other programs do not
 * affect these results.  For comparison, also prints the results of reading
 * each requested byte once in ascending order.  The program needs root.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <linux/fuse.h>

#define BYTES_PER_S	150e6
#define TURN_S		(60.0 / 7200)
#define SHORT_SEEK_S	0.001
/* duration of a seek from the first to the last track, in seconds */
#define LONG_SEEK_S	0.012
#define QUEUE		32
#define MAX_READ	(1u << 20)
#define DISK_NODE	2

struct request {
	uint64_t unique, offset;
	uint32_t size;
};

struct disk {
	int image, fuse;
	struct stat st;
	uint64_t head;		/* byte offset after the last byte read */
	struct request queue[QUEUE];
	unsigned int n;
	struct request *served;	/* all requests, in the order of their reads */
	size_t max_served;
	uint64_t requests, bytes, seeks;
	double busy;		/* busy time in seconds */
	struct timespec busy_until;
	char buf[MAX_READ];
	char in[MAX_READ + 65536];
};

static void answer(struct disk *d, uint64_t unique, int error,
		   const void *body, size_t len)
{
	struct fuse_out_header head = {
		.len = sizeof(head) + len, .unique = unique, .error = -error,
	};
	struct iovec v[] = { { &head, sizeof(head) }, { (void *)body, len } };

	/* ENOENT means that the requesting process has exited */
	if (writev(d->fuse, v, 2) < 0 && errno != ENOENT)
		err(1, "answering");
}

static struct fuse_attr attributes(const struct disk *d, uint64_t node)
{
	struct fuse_attr a = { .ino = node, .nlink = 1, .mode = S_IFDIR | 0555 };

	if (node != DISK_NODE)
		return a;
	/*
	 * the mode permits writes, because e4repack -n opens devices for
	 * writing
	 */
	a.mode = S_IFREG | 0644;
	a.size = d->st.st_size;
	a.blocks = a.size / 512;
	a.blksize = 4096;
	return a;
}

static void answer_meta(struct disk *d, const struct fuse_in_header *h)
{
	const struct fuse_init_in *init = (const void *)(h + 1);
	union {
		struct fuse_init_out init;
		struct fuse_entry_out entry;
		struct fuse_attr_out attr;
		struct fuse_open_out open;
		struct fuse_statfs_out statfs;
	} out = { { 0 } };
	size_t len = 0;
	int error = 0;

	switch (h->opcode) {
	case FUSE_INIT:
		out.init = (struct fuse_init_out) {
			.major = FUSE_KERNEL_VERSION,
			.minor = FUSE_KERNEL_MINOR_VERSION,
			.max_readahead = 0, .max_write = MAX_READ,
			.max_background = 2 * QUEUE, .time_gran = 1,
			.max_pages = MAX_READ / 4096,
			.flags = init->flags & (FUSE_ASYNC_READ |
				 FUSE_ASYNC_DIO | FUSE_MAX_PAGES),
		};
		len = sizeof(out.init);
		break;
	case FUSE_LOOKUP:
		error = strcmp((const char *)(h + 1), "disk") ? ENOENT : 0;
		out.entry.nodeid = DISK_NODE;
		out.entry.attr = attributes(d, DISK_NODE);
		len = error ? 0 : sizeof(out.entry);
		break;
	case FUSE_GETATTR:
		out.attr.attr = attributes(d, h->nodeid);
		len = sizeof(out.attr);
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		out.open.open_flags = h->opcode == FUSE_OPEN ?
				      FOPEN_DIRECT_IO : 0;
		len = sizeof(out.open);
		break;
	case FUSE_STATFS:
		len = sizeof(out.statfs);
		break;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FLUSH:
	case FUSE_ACCESS:
	case FUSE_READDIR:
		break;
	default:
		error = ENOSYS;
	}
	answer(d, h->unique, error, &out, len);
}

/*
 * Receives a request.  If no request is waiting, returns false.  If DIR was
 * unmounted, also sets *@end to true.
 */
static bool take(struct disk *d, bool *end)
{
	const struct fuse_in_header *h = (const void *)d->in;
	const struct fuse_read_in *in = (const void *)(h + 1);
	ssize_t got = read(d->fuse, d->in, sizeof(d->in));

	if (got < 0 && errno == ENODEV)
		*end = true;
	else if (got < 0 && errno != EAGAIN && errno != EINTR &&
		 errno != ENOENT)
		err(1, "reading requests");
	if (got <= 0)
		return false;
	if (h->opcode == FUSE_READ)
		d->queue[d->n++] = (struct request) {
			.unique = h->unique, .offset = in->offset,
			.size = in->size < MAX_READ ? in->size : MAX_READ,
		};
	else if (h->opcode != FUSE_FORGET && h->opcode != FUSE_BATCH_FORGET &&
		 h->opcode != FUSE_INTERRUPT)
		answer_meta(d, h);
	return true;
}

/*
 * Removes a request from the queue and returns the request: the request with
 * the lowest offset at or after the head.  If all requests are before the head,
 * returns the request with the lowest offset.
 */
static struct request next_up(struct disk *d)
{
	unsigned int i, best = 0;
	struct request r;

	for (i = 1; i < d->n; i++) {
		bool ahead = d->queue[i].offset >= d->head;
		bool best_ahead = d->queue[best].offset >= d->head;

		if (ahead != best_ahead ? ahead :
		    d->queue[i].offset < d->queue[best].offset)
			best = i;
	}
	r = d->queue[best];
	d->queue[best] = d->queue[--d->n];
	return r;
}

/*
 * Moves the head to @offset and reads @size bytes.  Returns the duration in
 * seconds.
 */
static double seconds_for(struct disk *d, uint64_t offset, uint32_t size)
{
	uint64_t way = offset > d->head ? offset - d->head : d->head - offset;
	double between = way / BYTES_PER_S;
	double seek = SHORT_SEEK_S + TURN_S / 2 +
		      (LONG_SEEK_S - SHORT_SEEK_S) *
		      sqrt((double)way / d->st.st_size);

	if (offset < d->head || between > seek) {
		d->seeks++;
		between = seek;
	}
	d->head = offset + size;
	d->requests++;
	d->bytes += size;
	return between + size / BYTES_PER_S;
}

/* Waits until the simulated disk has been busy for @seconds more. */
static void wait_for(struct disk *d, double seconds)
{
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (d->busy_until.tv_sec < now.tv_sec ||
	    (d->busy_until.tv_sec == now.tv_sec &&
	     d->busy_until.tv_nsec < now.tv_nsec))
		d->busy_until = now;
	ns = d->busy_until.tv_nsec + (uint64_t)(seconds * 1e9);
	d->busy_until.tv_sec += ns / 1000000000;
	d->busy_until.tv_nsec = ns % 1000000000;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &d->busy_until, NULL);
}

static void remember(struct disk *d, const struct request *r)
{
	if (d->requests == d->max_served) {
		d->max_served = d->max_served * 2 + 1024;
		d->served = reallocarray(d->served, d->max_served,
					 sizeof(*d->served));
		if (!d->served)
			err(1, "remembering requests");
	}
	d->served[d->requests] = *r;
}

static void serve(struct disk *d)
{
	struct request r = next_up(d);
	ssize_t got = pread(d->image, d->buf, r.size, r.offset);
	double seconds;

	remember(d, &r);
	seconds = seconds_for(d, r.offset, r.size);
	d->busy += seconds;
	wait_for(d, seconds);
	answer(d, r.unique, got < 0 ? EIO : 0, d->buf, got < 0 ? 0 : got);
}

static int by_offset(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void print(const char *of, const struct disk *d)
{
	printf("%s: %llu requests, %llu seeks, %.1f MiB, %.2f s\n", of,
	       (unsigned long long)d->requests, (unsigned long long)d->seeks,
	       d->bytes / 1048576.0, d->busy);
}

/* Prints the time of reading each requested byte once in ascending order. */
static void print_floor(struct disk *d)
{
	struct disk floor = { .st = d->st };
	const struct request *r = d->served;
	uint64_t i, begin, end;

	qsort(d->served, d->requests, sizeof(*r), by_offset);
	for (i = 0; i < d->requests; i++, r++) {
		end = r->offset + r->size;
		begin = r->offset > floor.head ? r->offset : floor.head;
		if (begin < end)
			floor.busy += seconds_for(&floor, begin, end - begin);
	}
	print("floor", &floor);
}

int main(int argc, char **argv)
{
	static struct disk d;
	struct pollfd p = { .events = POLLIN };
	char options[100];
	bool end = false;

	if (argc != 3)
		errx(1, "usage: one_head IMAGE DIR");
	d.image = open(argv[1], O_RDONLY | O_CLOEXEC);
	p.fd = d.fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (d.image < 0 || d.fuse < 0 || fstat(d.image, &d.st))
		err(1, "%s", d.image < 0 ? argv[1] : "/dev/fuse");
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0,max_read=%u",
		 d.fuse, MAX_READ);
	if (mount("one_head", argv[2], "fuse.one_head",
		  MS_NODEV | MS_NOSUID, options))
		err(1, "mounting %s", argv[2]);
	while (!end) {
		if (!d.n)
			poll(&p, 1, -1);
		while (!end && d.n < QUEUE && take(&d, &end))
			;
		if (d.n)
			serve(&d);
	}
	print("disk", &d);
	print_floor(&d);
	return 0;
}

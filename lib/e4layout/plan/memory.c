/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "e4layout/base/array.h"
#include "memory.h"

/* Upper limits of the planner's memory per object. */
#define FRAG_BYTES	96
#define ITEM_BYTES	64
#define OWNER_BYTES	(2 * sizeof(struct e4l_owner))
#define MAPS		10		/* maps of clusters */

/*
 * Each kind of files (unfragmented, fragmented) may use half of the memory.  If
 * the memory is used up, a quarter of the files of one kind is dropped.
 */
#define KINDS		2

static uint64_t bytes_of(uint64_t frags, uint64_t items)
{
	return frags * FRAG_BYTES + items * ITEM_BYTES + OWNER_BYTES;
}

static uint64_t owner_bytes(const struct e4l_owner *o)
{
	return bytes_of(o->fragments + (uint64_t)o->n_kept, o->n_items);
}

static bool is_whole(const struct e4l_owner *o)
{
	return o->fragments + (uint64_t)o->n_kept <= o->n_items;
}

static uint64_t budget(const struct e4l_plan *m)
{
	uint64_t maps = (uint64_t)m->clusters / 8 * MAPS;

	return m->opt.mem_bytes > maps ? m->opt.mem_bytes - maps : 0;
}

static uint32_t segment_of(const struct e4l_plan *m, uint32_t cluster)
{
	return (uint64_t)cluster * E4L_SEGMENTS / m->clusters;
}

/* Rank of a file within its kind: files with a higher rank are kept longer. */
static uint32_t worth(const struct e4l_plan *m, const struct e4l_owner *o)
{
	uint64_t len = 0;
	uint32_t i;

	if (is_whole(o))
		return UINT32_MAX - m->fill[segment_of(m, m->frag[
				m->item[o->first_item].first].start)];
	for (i = 0; i < o->n_items; i++)
		len += m->item[o->first_item + i].len;
	len = (uint64_t)o->fragments * 4096 / (len ? len : 1);
	return len < UINT32_MAX ? len : UINT32_MAX;
}

/*
 * The quarter of a kind's files to drop: the files below the rank @least, and
 * @equal files of the rank @least.
 */
struct quarter {
	uint32_t least, equal;
};

/* Finds the quarter of a kind's files with the lowest ranks. */
static errcode_t find_least(const struct e4l_plan *m, bool whole,
			    struct quarter *q)
{
	uint32_t *v = calloc(m->n_owners + 1, sizeof(*v)), n = 0, i;

	if (!v)
		return ENOMEM;
	for (i = 0; i < m->n_owners; i++)
		if (m->owner[i].n_items && is_whole(&m->owner[i]) == whole)
			v[n++] = worth(m, &m->owner[i]);
	qsort(v, n, sizeof(*v), e4l_u32_cmp);
	*q = (struct quarter) { .least = v[n / 4], .equal = 1 };
	for (i = n / 4; i && v[i - 1] == q->least; i--)
		q->equal++;
	free(v);
	return 0;
}

/* Moves the data of owner @o to the end of the compacted arrays. */
static void keep(struct e4l_plan *m, struct e4l_owner o)
{
	uint32_t first = m->n_items, base, i, f;

	for (i = 0; i < o.n_items; i++) {
		struct e4l_item it = m->item[o.first_item + i];

		base = m->n_frags;
		for (f = 0; f < it.n; f++, m->n_frags++) {
			m->frag[m->n_frags] = m->frag[it.first + f];
			m->frag[m->n_frags].item = m->n_items;
			m->frag[m->n_frags].next = f + 1 < it.n ?
				m->n_frags + 1 : E4L_NONE;
		}
		it.first = base;
		it.file = m->n_owners;
		m->item[m->n_items++] = it;
	}
	o.first_item = first;
	for (i = 0; i < o.n_spare; i++)
		m->spare[m->n_spares + i] = m->spare[o.first_spare + i];
	o.first_spare = m->n_spares;
	m->n_spares += o.n_spare;
	m->owner[m->n_owners++] = o;
}

/* Drops a file: its blocks become a wall, but the file may be packed. */
static errcode_t drop(struct e4l_plan *m, const struct e4l_owner *o)
{
	struct e4l_owner rest = *o;

	rest.allowed &= E4L_PLAN_PACK | E4L_PLAN_ZEROOUT;
	rest.n_items = rest.n_spare = rest.n_kept = 0;
	if (rest.loose || rest.zeroes)
		keep(m, rest);
	return is_whole(o) ? 0 :
	       e4l_plan_note_skipped(m, o->ino, E4L_PLAN_SKIP_MEMORY,
			      o->fragments - 1, 0);
}

/* Whether a file of the rank @worth is in the quarter. */
static bool is_least(uint32_t worth, struct quarter *q)
{
	if (worth == q->least && q->equal) {
		q->equal--;
		return true;
	}
	return worth < q->least;
}

static errcode_t drop_least(struct e4l_plan *m, bool whole, struct quarter q)
{
	uint32_t n = m->n_owners, i;
	size_t z = 0, k = 0;
	errcode_t err = 0;

	m->n_owners = m->n_items = m->n_frags = m->n_spares = 0;
	for (i = 0; i < n && !err; i++) {
		const struct e4l_owner o = m->owner[i];
		uint32_t before = m->n_owners;

		if (o.n_items && is_whole(&o) == whole &&
		    is_least(worth(m, &o), &q))
			err = drop(m, &o);
		else
			keep(m, o);
		for (; z < m->n_zero && m->zero[z].file == i; z++)
			if (m->n_owners > before) {
				m->zero[k] = m->zero[z];
				m->zero[k++].file = before;
			}
	}
	/* runs of the file that is about to be added */
	for (; z < m->n_zero; z++, k++) {
		m->zero[k] = m->zero[z];
		m->zero[k].file = m->n_owners;
	}
	m->n_zero = k;
	return err;
}

/* Returns the memory of the files of one kind. */
static uint64_t sum(const struct e4l_plan *m, bool whole)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < m->n_owners; i++)
		if (is_whole(&m->owner[i]) == whole)
			bytes += owner_bytes(&m->owner[i]);
	return bytes;
}

static errcode_t drop_some(struct e4l_plan *m)
{
	bool whole = sum(m, true) > sum(m, false);
	struct quarter q;
	errcode_t err = find_least(m, whole, &q);

	if (err)
		return err;
	if (whole)
		m->dropped_fill = UINT32_MAX - q.least;
	else
		m->dropped_density = q.least;
	return drop_least(m, whole, q);
}

/* Whether earlier files of the same rank have been dropped. */
static bool is_dropped(struct e4l_plan *m, const struct e4l_plan_file *file,
		       uint64_t fragments)
{
	uint64_t blocks = 0, start;
	uint32_t *fill, clusters;
	size_t i;

	for (i = 0; i < file->n_extents; i++)
		blocks += file->extents[i].len;
	clusters = blocks / m->opt.geo.cluster_blocks + 1;
	if (fragments > 1)
		return m->dropped_density &&
		       fragments * 4096 / clusters <= m->dropped_density;
	start = file->extents->pblk / m->opt.geo.cluster_blocks;
	fill = &m->fill[segment_of(m, start)];
	*fill += *fill < UINT32_MAX - clusters ? clusters : 0;
	return *fill >= m->dropped_fill;
}

errcode_t e4l_memory_make_room(struct e4l_plan *m,
			       const struct e4l_plan_file *file,
			       struct e4l_owner *o)
{
	uint64_t fragments = file->n_extents, most = budget(m), used;
	errcode_t err = 0;

	if (!m->opt.mem_bytes ||
	    !(o->allowed & (E4L_PLAN_MOVE | E4L_PLAN_AWAY)))
		return 0;
	used = bytes_of(m->n_frags, m->n_items) +
	       (uint64_t)m->n_owners * OWNER_BYTES +
	       bytes_of(fragments + file->n_tree, fragments);
	if (used > most && m->n_owners)
		err = drop_some(m);
	if (err || (used <= most && !is_dropped(m, file, fragments)))
		return err;
	if (used <= most || bytes_of(fragments, fragments) > most / KINDS ||
	    is_dropped(m, file, fragments)) {
		o->allowed &= E4L_PLAN_PACK | E4L_PLAN_ZEROOUT;
		return fragments == 1 ? 0 :
		       e4l_plan_note_skipped(m, file->ino, E4L_PLAN_SKIP_MEMORY,
				      fragments - 1, 0);
	}
	return 0;
}

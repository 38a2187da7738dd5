/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A simulated filesystem in memory, to test the planner. */
#ifndef PLAN_WORLD_H
#define PLAN_WORLD_H

#include <string.h>
#include "e4layout/apply/steps.h"
#include "e4layout/read/runs.h"
#include "unit.h"

#define BLOCKSIZE	512 /* small, so that tree blocks have few entries */

enum { FREE, WALL, USED };	/* USED + i: a cluster of file i */

struct file {
	unsigned int allowed;
	struct e4l_extent *ex;
	struct e4l_tree_block *tree;
	size_t n, n_tree;
	uint64_t eof;
};

struct world {
	struct e4l_plan_options opt;
	uint64_t clusters;
	/* state of each cluster: FREE, WALL, or USED + index of the file */
	uint32_t *state;
	uint64_t *content;		/* simulated data of each block */
	struct file *file;
	unsigned int files;
	/* state during the execution of a plan */
	struct e4l_plan *plan;
	/*
	 * [cluster]: was free before the current batch (@was_free); the batch
	 * takes the cluster (@taken) or frees the cluster (@given)
	 */
	uint8_t *was_free, *taken, *given;
	uint64_t copied, zeroed, steps;
	/* end the run after this number of files; 0: do not end early */
	size_t stop_after;
};

struct figures {
	uint64_t excess, free_blocks, extents, largest, large, fragments;
};

struct world *new_world(uint64_t clusters, uint32_t ratio, unsigned int files);
void free_world(struct world *w);
void add_extent(struct world *w, unsigned int f, struct e4l_extent ex);
/*
 * Adds the tree blocks that all files need.  With probability @more / 4, adds a
 * few more tree blocks.
 */
void add_trees(struct world *w, unsigned int more);

/* Creates a planner with the files and the free space of @w. */
struct e4l_plan *fill_plan(const struct world *w);
struct e4l_plan *make_plan(const struct world *w);

/* Carries out the plan, and checks each step and each batch. */
void run_plan(struct world *w, struct e4l_plan *p);
void get_figures(const struct world *w, struct figures *f);

/*
 * Makes a random, aged filesystem of @clusters clusters of @ratio blocks, with
 * @walls walls.  The filesystem is @full percent full.  Files have up to @most
 * clusters.
 */
struct world *aged_world(uint64_t clusters, uint32_t ratio, unsigned int full,
			 uint32_t most, unsigned int walls);

/* Returns the content of each block of file @f, by logical block. */
uint64_t *get_view(const struct world *w, unsigned int f, uint64_t *n);

#endif

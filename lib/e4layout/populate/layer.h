/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* layer: a source that is applied over what a tree has. */
#ifndef E4L_LAYER_H
#define E4L_LAYER_H

#include <e4layout/tree.h>

#define E4L_LAYER_MAX	65535u

/* How a layer is applied.  Everything that is pointed to is copied. */
struct e4l_layer {
	const char *name;	/* of the source, for messages; may be NULL */
	const char *below;	/* the directory that it goes into; NULL: root */
	const struct e4l_entry *missing;	/* directories that the source
				 * leaves out; attributes do not count */
	uint64_t reserved[4];
};

/*
 * Begins a layer: entries that are added from now on replace earlier layers'
 * entries of the same path.  A directory over a directory keeps the entries
 * below it.  Layers cannot begin once the tree has been planned.
 *
 * Paths of the functions below are relative to the layer's directory; a leading
 * "/" and "." components do not count.  A symbolic link on the way to the last
 * component is followed within the tree, as in a process whose root the tree is.
 * Missing directories on the way are made by those functions that add.
 *
 * Errors: E4L_ET_DOT_DOT (".." in a path), E4L_ET_LEAVES_TREE, E4L_ET_LINK_LOOP
 * (more than 40 symbolic links), E4L_ET_NOT_DIR, E4L_ET_TREE_TOO_LARGE, ENOMEM,
 * and those of e4l_tree_add().
 */
errcode_t e4l_layer_begin(struct e4l_tree *t, const struct e4l_layer *layer);

/*
 * Ends the layer: now its whiteouts take effect on earlier layers' entries.
 * Beginning another layer and planning end it as well.  Errors: ENOMEM.
 */
errcode_t e4l_layer_end(struct e4l_tree *t);

/* The layer's content is below the directory @path.  Errors are errno's. */
errcode_t e4l_layer_open_dir(struct e4l_tree *t, const char *path);

/* *@id is the entry at @path, 0 when there is none. */
errcode_t e4l_layer_find(struct e4l_tree *t, const char *path, uint32_t *id);

/*
 * Puts an entry at @path: as e4l_tree_put(), and with an empty path as
 * e4l_tree_set() of the layer's directory.
 */
errcode_t e4l_layer_put(struct e4l_tree *t, const char *path,
			const struct e4l_entry *entry, uint32_t *id);

/*
 * Makes @path a further name of the file at @target, both below the layer's
 * directory; *@id is that file.  Errors: E4L_ET_NO_TARGET as well.
 */
errcode_t e4l_layer_link(struct e4l_tree *t, const char *path,
			 const char *target, uint32_t *id);

/*
 * Hides the earlier layers' entry at @path (a whiteout), or all earlier layers'
 * entries below the directory @path (an opaque directory).  Entries of the layer
 * itself stay, wherever they come.  Errors: E4L_ET_HIDES_NOTHING as well, which
 * changes nothing.
 */
errcode_t e4l_layer_hide(struct e4l_tree *t, const char *path);
errcode_t e4l_layer_hide_below(struct e4l_tree *t, const char *path);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* layer: a source that is applied on top of a tree. */
#ifndef E4L_LAYER_H
#define E4L_LAYER_H

#include <e4layout/tree.h>

#define E4L_LAYER_MAX	65535u

/* How a layer is applied.  All strings and entries are copied. */
struct e4l_layer {
	const char *name; /* name of the source in messages; may be NULL */
	/*
	 * path of the directory in the tree to which the layer is applied;
	 * NULL: the root
	 */
	const char *below;
	/*
	 * attributes of parent directories that are missing in the tree, and
	 * that e4l_layer functions create; extended attributes are ignored
	 */
	const struct e4l_entry *missing;
};

/*
 * Begins a layer.  Entries of the layer replace entries of earlier layers with
 * the same path.  If a directory replaces a directory, the entries of the old
 * directory stay.  No layer can begin after the tree has been planned.
 *
 * Paths of all e4l_layer functions are relative to the layer's directory; a
 * leading "/" and "." components are ignored.  A symbolic link before the last
 * component is followed inside the tree, as in a process whose root is the
 * tree.  Functions that add entries create missing directories of the path.
 *
 * Errors: E4L_ET_DOT_DOT (".." in a path), E4L_ET_LEAVES_TREE, E4L_ET_LINK_LOOP
 * (more than 40 symbolic links), E4L_ET_NOT_DIR, E4L_ET_TREE_TOO_LARGE, ENOMEM,
 * and the errors of e4l_tree_add().
 */
errcode_t e4l_layer_begin(struct e4l_tree *t, const struct e4l_layer *layer);

/*
 * Ends the current layer, and removes the entries of earlier layers that the
 * layer's whiteouts hide.  e4l_layer_begin() and planning also end the current
 * layer.  Errors: ENOMEM.
 */
errcode_t e4l_layer_end(struct e4l_tree *t);

/*
 * Makes the directory @path of the host the source of the contents of the
 * layer's files.  Errors: errno values; E4L_ET_BAD_ARGUMENT if the layer
 * already has a source.
 */
errcode_t e4l_layer_open_dir(struct e4l_tree *t, const char *path);

/*
 * Sets *@id to the entry at @path.  If no entry has this path, sets *@id to 0.
 */
errcode_t e4l_layer_find(struct e4l_tree *t, const char *path, uint32_t *id);

/*
 * Puts an entry at @path, as e4l_tree_put() does.  If @path is empty, sets the
 * attributes of the layer's directory, as e4l_tree_set() does.
 */
errcode_t e4l_layer_put(struct e4l_tree *t, const char *path,
			const struct e4l_entry *entry, uint32_t *id);

/*
 * Makes @path another name of the file at @target, and sets *@id to the file.
 * @path and @target are relative to the layer's directory.  Errors: errors of
 * e4l_layer_begin(), and E4L_ET_NO_TARGET (there is no file at @target).
 */
errcode_t e4l_layer_link(struct e4l_tree *t, const char *path,
			 const char *target, uint32_t *id);

/*
 * Checks for lost entries.  If an entry of the layer is below a directory that
 * a later entry of the layer has replaced, returns ENOTEMPTY, and
 * e4l_tree_where() returns the path of the lost entry.  The caller must check
 * before the layer ends.
 */
errcode_t e4l_layer_check(struct e4l_tree *t);

/*
 * e4l_layer_hide() hides the entry of earlier layers at @path (a whiteout).
 * e4l_layer_hide_below() hides all entries of earlier layers below the
 * directory @path (an opaque directory).  Entries of the current layer are
 * never hidden, whether the whiteout or the entry was added first.  Additional
 * error: E4L_ET_HIDES_NOTHING (nothing has changed).
 */
errcode_t e4l_layer_hide(struct e4l_tree *t, const char *path);
errcode_t e4l_layer_hide_below(struct e4l_tree *t, const char *path);

#endif

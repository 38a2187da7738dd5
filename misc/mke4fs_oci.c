/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads container images: OCI image layouts (in a directory or an archive), and
 * archives of docker save.  The digest of each document and each layer is
 * verified.  The digest is stored in the document that refers to the document
 * or layer.
 */
#include "config.h"
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include "e4layout/base/stat.h"
#include "mke4fs_blob.h"
#include "mke4fs_oci.h"
#include "support/say.h"

#define MAX_INDEXES	8	/* maximum nesting depth of OCI indexes */
#define MAX_OCI_LAYERS	4096
#define REF_NAME	"org.opencontainers.image.ref.name"

struct platform {
	char os[32], arch[32], variant[32];	/* @variant can be empty */
};

struct descriptor {
	const char *media_type;		/* media type of the document */
	struct digest digest;
	uint64_t size;
};

struct oci {
	struct load *l;
	const char *name;		/* name of the source */
	struct store store;
	/* requested tag or digest; NULL: no image was requested by name */
	const char *ref;
	struct platform platform;
	json_t *config;
};

static bool refuse(const struct oci *o, const char *where, const char *what)
{
	say("%s: %s: %s", o->name, where, what);
	return false;
}

/* ----------------------------------------------------------------- platforms */

/*
 * Maps the machine of uname(2) to the architecture and variant in the terms of
 * Go.
 */
static const struct {
	const char *machine, *arch, *variant;
} machines[] = {
	{ "x86_64", "amd64", "" }, { "aarch64", "arm64", "" },
	{ "armv7l", "arm", "v7" }, { "armv6l", "arm", "v6" },
	{ "i686", "386", "" }, { "i586", "386", "" },
	{ "ppc64le", "ppc64le", "" }, { "s390x", "s390x", "" },
	{ "riscv64", "riscv64", "" }, { "loongarch64", "loong64", "" },
	{ "mips64", "mips64le", "" },
};

static struct platform host_platform(void)
{
	struct platform p = { .os = "linux" };
	struct utsname u;
	size_t i;

	if (uname(&u))
		return p;
	snprintf(p.arch, sizeof(p.arch), "%.31s", u.machine);
	for (i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		if (strcmp(machines[i].machine, u.machine))
			continue;
		strcpy(p.arch, machines[i].arch);
		strcpy(p.variant, machines[i].variant);
	}
	return p;
}

static struct platform find_platform(const struct config *c)
{
	struct platform p = { .os = "" };

	if (!c->platform)
		return host_platform();
	sscanf(c->platform, "%31[^/]/%31[^/]/%31[^/]", p.os, p.arch, p.variant);
	return p;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/*
 * Returns whether @object has the requested os, architecture and variant.  If
 * @object has no variant, or no variant is requested, the variant matches.
 */
static bool suits(const struct oci *o, const json_t *object)
{
	const struct platform *p = &o->platform;
	const char *variant = text_of(object, "variant");

	return !strcmp(text_of(object, "os"), p->os) &&
	       !strcmp(text_of(object, "architecture"), p->arch) &&
	       (!*p->variant || !*variant || !strcmp(variant, p->variant));
}

/* ----------------------------------------------------------------- documents */

static json_t *parse(const struct oci *o, const char *name, const char *text,
		     size_t len)
{
	json_error_t error;
	json_t *json = json_loadb(text, len, 0, &error);
	char what[JSON_ERROR_TEXT_LENGTH + 40];

	if (json && json_is_object(json))
		return json;
	snprintf(what, sizeof(what), "not a JSON object%s%s",
		 json ? "" : ": ", json ? "" : error.text);
	refuse(o, name, what);
	json_decref(json);
	return NULL;
}

static json_t *read_document(const struct oci *o, const struct descriptor *d,
			     char **text, size_t *len)
{
	char name[BLOB_NAME_LEN];
	json_t *json;

	digest_name(&d->digest, name);
	*text = blob_text(&o->store, name, &d->digest, d->size, len);
	json = *text ? parse(o, name, *text, *len) : NULL;
	if (!json) {
		free(*text);
		*text = NULL;
	}
	return json;
}

static bool read_descriptor(const struct oci *o, const char *where,
			    const json_t *json, struct descriptor *d)
{
	json_int_t size = json_integer_value(json_object_get(json, "size"));

	d->media_type = text_of(json, "mediaType");
	d->size = size;
	if (!digest_parse(&d->digest, text_of(json, "digest")))
		return refuse(o, where,
			"a descriptor has no sha256 or sha512 digest");
	return (json_is_integer(json_object_get(json, "size")) && size >= 0) ||
	       refuse(o, where, "a descriptor has no size");
}

/* Media types of documents and layers. */
enum media {
	MEDIA_UNKNOWN, MEDIA_INDEX, MEDIA_MANIFEST, MEDIA_CONFIG, MEDIA_LAYER,
	MEDIA_FOREIGN,
};

static const struct {
	const char *name;
	enum media media;
} media[] = {
	{ "application/vnd.oci.image.index.v1+json", MEDIA_INDEX },
	{ "application/vnd.docker.distribution.manifest.list.v2+json",
	  MEDIA_INDEX },
	{ "application/vnd.oci.image.manifest.v1+json", MEDIA_MANIFEST },
	{ "application/vnd.docker.distribution.manifest.v2+json",
	  MEDIA_MANIFEST },
	{ "application/vnd.oci.image.config.v1+json", MEDIA_CONFIG },
	{ "application/vnd.docker.container.image.v1+json", MEDIA_CONFIG },
	{ "application/vnd.oci.image.layer.v1.tar", MEDIA_LAYER },
	{ "application/vnd.oci.image.layer.v1.tar+gzip", MEDIA_LAYER },
	{ "application/vnd.oci.image.layer.v1.tar+zstd", MEDIA_LAYER },
	{ "application/vnd.docker.image.rootfs.diff.tar", MEDIA_LAYER },
	{ "application/vnd.docker.image.rootfs.diff.tar.gzip", MEDIA_LAYER },
	{ "application/vnd.docker.image.rootfs.diff.tar.zstd", MEDIA_LAYER },
	{ "application/vnd.oci.image.layer.nondistributable.v1.tar",
	  MEDIA_FOREIGN },
	{ "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
	  MEDIA_FOREIGN },
	{ "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
	  MEDIA_FOREIGN },
	{ "application/vnd.docker.image.rootfs.foreign.diff.tar",
	  MEDIA_FOREIGN },
	{ "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
	  MEDIA_FOREIGN },
};

static enum media media_of(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(media) / sizeof(*media); i++)
		if (!strcmp(media[i].name, name))
			return media[i].media;
	return MEDIA_UNKNOWN;
}

static bool refuse_media(const struct oci *o, const char *where,
			 const char *type)
{
	say("%s: %s: the media type '%s' is not supported", o->name, where,
	    type);
	return false;
}

/* -------------------------------------------------------------------- layers */

static bool load_layer(struct oci *o, size_t number, const char *name,
		       const struct digest *digest, uint64_t size, bool unpacks)
{
	struct blob b;
	const struct tar_input in = { .read = blob_read, .priv = &b };
	char *label = NULL;
	bool done;

	if (asprintf(&label, "%s: layer %zu", o->name, number) < 0)
		return refuse(o, name, "out of memory");
	o->l->name = label;
	o->l->is_layer = true;
	done = blob_open(&b, &o->store, name, digest, size, unpacks, false) &&
	       load_tar(o->l, &in) && blob_finish(&b);
	blob_close(&b);
	o->l->name = o->name;
	free(label);
	return done;
}

static bool load_oci_layers(struct oci *o, const json_t *layers)
{
	char name[BLOB_NAME_LEN], where[40];
	struct descriptor d;
	const json_t *json;
	size_t i;

	json_array_foreach(layers, i, json) {
		snprintf(where, sizeof(where), "layer %zu", i + 1);
		if (!read_descriptor(o, where, json, &d))
			return false;
		if (media_of(d.media_type) == MEDIA_FOREIGN)
			return refuse(o, where,
				"foreign layers, which have to be downloaded, "
				"are not supported");
		if (media_of(d.media_type) != MEDIA_LAYER)
			return refuse_media(o, where, d.media_type);
		digest_name(&d.digest, name);
		if (!load_layer(o, i + 1, name, &d.digest, d.size, false))
			return false;
	}
	return true;
}

/*
 * Keeps the configuration for --oci-config, and checks it against --platform.
 * Returns false after printing an error.
 */
static bool take_config(struct oci *o, const char *where, json_t *config,
			char *text, size_t len)
{
	o->config = config;
	free(*o->l->config_text);
	*o->l->config_text = text;
	*o->l->config_len = len;
	return !o->l->c->platform || suits(o, config) ||
	       refuse(o, where, "the image does not match --platform");
}

static bool load_manifest_of(struct oci *o, const struct descriptor *d)
{
	struct descriptor config;
	char *text, *config_text;
	size_t len;
	json_t *json = read_document(o, d, &text, &len), *layers, *c;
	bool done = false;

	free(text);
	if (!json)
		return false;
	layers = json_object_get(json, "layers");
	if (!json_is_array(layers) ||
	    json_array_size(layers) > MAX_OCI_LAYERS) {
		refuse(o, "manifest", "no list of layers, or more than 4096 "
				      "layers");
		goto out;
	}
	if (!read_descriptor(o, "manifest", json_object_get(json, "config"),
			     &config))
		goto out;
	if (media_of(config.media_type) != MEDIA_CONFIG) {
		refuse_media(o, "config", config.media_type);
		goto out;
	}
	c = read_document(o, &config, &config_text, &len);
	done = c && take_config(o, "config", c, config_text, len) &&
	       load_oci_layers(o, layers);
out:
	json_decref(json);
	return done;
}

/* -------------------------------------------------------------------- indexes */

/*
 * Returns whether @json, an entry of an index, has the requested tag or digest.
 * If neither a tag nor a digest is requested, returns true.
 */
static bool is_meant(const struct oci *o, const json_t *json)
{
	const json_t *notes = json_object_get(json, "annotations");

	return !o->ref || !strcmp(text_of(json, "digest"), o->ref) ||
	       !strcmp(text_of(notes, REF_NAME), o->ref);
}

/*
 * Returns whether an entry of an index is not an image.  Such an entry, for
 * example an attestation, has the os "unknown".
 */
static bool is_beside(const json_t *platform)
{
	return platform && !strcmp(text_of(platform, "os"), "unknown");
}

/*
 * Returns the entry of @index for the requested image and platform.  If @by_ref
 * is false, the name of the entry does not matter.  Returns NULL after printing
 * an error.
 */
static const json_t *choose(const struct oci *o, const json_t *index,
			    bool by_ref)
{
	const json_t *list = json_object_get(index, "manifests"), *json;
	const json_t *found = NULL, *suited = NULL, *platform;
	size_t i, n = 0, n_suited = 0, n_plain = 0;

	json_array_foreach(list, i, json) {
		platform = json_object_get(json, "platform");
		if ((by_ref && !is_meant(o, json)) || is_beside(platform))
			continue;
		found = json;
		n++;
		n_plain += !platform;
		if (platform && suits(o, platform)) {
			suited = suited ? suited : json;
			n_suited++;
		}
	}
	if (n == 1 && !o->l->c->platform && by_ref)
		return found;
	if (suited && (n_suited == 1 || !by_ref || o->ref))
		return suited;
	if (n == 1 && !json_object_get(found, "platform"))
		return found;
	if (!n && by_ref && o->ref)
		refuse(o, o->ref, "no image of this name in the image layout");
	else if (!n || (!n_suited && n_plain < n))
		say("%s: index: no image for the platform %s/%s%s%s (see "
		    "--platform)", o->name,
		    o->platform.os, o->platform.arch,
		    *o->platform.variant ? "/" : "", o->platform.variant);
	else
		refuse(o, "index", "contains several images: append :TAG or "
				   "@DIGEST to the file name");
	return NULL;
}

static bool load_index(struct oci *o, json_t *index)
{
	struct descriptor d;
	const json_t *json;
	bool done = false;
	char *text;
	size_t len;
	int depth;

	for (depth = 0; index && depth < MAX_INDEXES; depth++) {
		json = choose(o, index, !depth);
		if (!json || !read_descriptor(o, "index", json, &d))
			break;
		if (media_of(d.media_type) == MEDIA_MANIFEST) {
			done = load_manifest_of(o, &d);
			break;
		}
		if (media_of(d.media_type) != MEDIA_INDEX) {
			refuse_media(o, "index", d.media_type);
			break;
		}
		json = index;
		index = read_document(o, &d, &text, &len);
		free(text);
		json_decref((json_t *)json);
	}
	if (depth == MAX_INDEXES)
		refuse(o, "index", "indexes are nested more than 8 levels deep");
	json_decref(index);
	return done;
}

/*
 * Reads the JSON document @name, whose digest is unknown.  If @is_list is true,
 * the document must be an array.  Returns NULL after printing an error.
 */
static json_t *read_named(const struct oci *o, const char *name, bool is_list)
{
	size_t len;
	char *text = blob_text(&o->store, name, NULL, UINT64_MAX, &len);
	json_error_t error;
	json_t *json = NULL;

	if (text && is_list) {
		json = json_loadb(text, len, 0, &error);
		if (!json_is_array(json)) {
			refuse(o, name, "not a JSON array");
			json_decref(json);
			json = NULL;
		}
	} else if (text) {
		json = parse(o, name, text, len);
	}
	free(text);
	return json;
}

static bool load_layout(struct oci *o)
{
	json_t *json = read_named(o, "oci-layout", false);
	bool known = json && !strncmp(text_of(json, "imageLayoutVersion"), "1.",
				      2);

	if (json && !known)
		refuse(o, "oci-layout", "imageLayoutVersion is not 1");
	json_decref(json);
	json = known ? read_named(o, "index.json", false) : NULL;
	return json && load_index(o, json);
}

/* -------------------------------------------------------------------- docker */

/*
 * Returns whether the image name @name in an archive equals the name @ref that
 * the user gave.  In @ref, the name of Docker's own registry may be omitted.
 */
static bool is_name(const char *name, const char *ref)
{
	static const char *const implied[] = {
		"", "docker.io/", "docker.io/library/",
	};
	size_t i, len;

	for (i = 0; i < sizeof(implied) / sizeof(*implied); i++) {
		len = strlen(implied[i]);
		if (!strncmp(name, implied[i], len) && !strcmp(name + len, ref))
			return true;
	}
	return false;
}

/*
 * Returns whether the image has the requested name.  If no name is requested,
 * returns true.
 */
static bool has_name(const struct oci *o, const json_t *image)
{
	const json_t *names = json_object_get(image, "RepoTags"), *name;
	size_t i;

	if (!o->ref)
		return true;
	json_array_foreach(names, i, name)
		if (json_is_string(name) &&
		    is_name(json_string_value(name), o->ref))
			return true;
	return false;
}

static const json_t *choose_docker(const struct oci *o, const json_t *list)
{
	const json_t *found = NULL, *image;
	size_t i, n = 0;

	json_array_foreach(list, i, image) {
		if (!has_name(o, image))
			continue;
		found = image;
		n++;
	}
	if (n == 1)
		return found;
	refuse(o, "manifest.json", n ? "contains several images: append :NAME "
				       "to the file name" :
	       "no image of this name");
	return NULL;
}

/*
 * If the name of a configuration consists of its digest, returns the digest.
 * Otherwise, returns NULL.
 */
static const struct digest *digest_in_name(const char *name, struct digest *d)
{
	const char *slash = strrchr(name, '/');
	char text[sizeof(d->text)];

	name = slash ? slash + 1 : name;
	snprintf(text, sizeof(text), "sha256:%.64s", name);
	return digest_parse(d, text) && (!name[64] || !strcmp(name + 64,
				".json")) ? d : NULL;
}

/*
 * Loads the layers @names.  The configuration contains the digests of the
 * unpacked layers.  Returns false after printing an error.
 */
static bool load_docker_layers(struct oci *o, const json_t *names)
{
	const json_t *rootfs = json_object_get(o->config, "rootfs");
	const json_t *ids = json_object_get(rootfs, "diff_ids"), *json;
	struct digest digest;
	const char *id, *name;
	size_t i;

	if (!json_is_array(names) || !json_is_array(ids) ||
	    json_array_size(ids) != json_array_size(names) ||
	    json_array_size(names) > MAX_OCI_LAYERS)
		return refuse(o, "manifest.json",
			"the layers differ from those in the configuration");
	json_array_foreach(names, i, json) {
		name = json_string_value(json);
		id = json_string_value(json_array_get(ids, i));
		if (!name || !id || !digest_parse(&digest, id))
			return refuse(o, "manifest.json",
				      "a layer has no name or no valid digest");
		if (!load_layer(o, i + 1, name, &digest, UINT64_MAX, true))
			return false;
	}
	return true;
}

static bool load_docker(struct oci *o)
{
	json_t *list = read_named(o, "manifest.json", true), *config;
	const json_t *image = list ? choose_docker(o, list) : NULL;
	const char *name = text_of(image, "Config");
	struct digest digest;
	bool done = false;
	char *text;
	size_t len;

	if (!image)
		goto out;
	if (!*name) {
		refuse(o, "manifest.json", "the image has no configuration");
		goto out;
	}
	text = blob_text(&o->store, name, digest_in_name(name, &digest),
			 UINT64_MAX, &len);
	config = text ? parse(o, name, text, len) : NULL;
	if (!config)
		free(text);
	done = config && take_config(o, name, config, text, len) &&
	       load_docker_layers(o, json_object_get(image, "Layers"));
out:
	json_decref(list);
	return done;
}

/* ------------------------------------------------------------------- sources */

/*
 * If @path does not exist, removes ":REF" or "@DIGEST" from its end, and
 * returns REF or DIGEST.  The remaining path exists, and is as long as
 * possible.  If @path exists, or if no such path exists, returns NULL and does
 * not change @path.
 */
static const char *cut_ref(char *path)
{
	struct stat st;
	size_t i;
	bool found;
	char sign;

	if (!e4l_stat(path, &st))
		return NULL;
	for (i = strlen(path); i-- > 1;) {
		sign = path[i];
		if (sign != ':' && sign != '@')
			continue;
		path[i] = '\0';
		found = !e4l_stat(path, &st);
		if (found)
			return path + i + 1;
		path[i] = sign;
	}
	return NULL;
}

bool load_stored(struct load *l, const struct store *store, const char *ref,
		 bool is_docker)
{
	struct oci o = {
		.l = l, .name = l->name, .store = *store, .ref = ref,
		.platform = find_platform(l->c),
	};
	bool done = is_docker ? load_docker(&o) : load_layout(&o);

	json_decref(o.config);
	return done;
}

static bool load_from(struct load *l, const char *path, bool is_archive,
		      bool is_docker)
{
	char *copy = strdup(path);
	struct store store = { .l = l, .path = copy, .is_archive = is_archive };
	const char *ref = copy ? cut_ref(copy) : NULL;
	struct stat st;
	bool done = false;

	if (!copy)
		say("out of memory");
	else if (e4l_stat(copy, &st))
		say_error(l->name, copy, errno);
	else if (is_archive && !S_ISREG(st.st_mode))
		say("%s: %s: not a regular file: an image archive cannot be "
		    "read from a pipe or device", l->name, copy);
	else if (!refuse_image(l->c, l->name, copy))
		done = load_stored(l, &store, ref, is_docker);
	free(copy);
	return done;
}

bool load_oci(struct load *l, const char *path)
{
	return load_from(l, path, false, false);
}

bool load_oci_archive(struct load *l, const char *path)
{
	return load_from(l, path, true, false);
}

bool load_docker_archive(struct load *l, const char *path)
{
	return load_from(l, path, true, true);
}

#include "walpost/wal/partitions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/json.h"

#define RUNNING_MAX (1 << 18) /* MAX_BACKENDS of the server */

void wp_partitions_release(struct wp_partitions *p)
{
	free(p->items);
	free(p->roots);
	wp_buffer_release(&p->names);
	free(p->running);
	free(p->harmless);
	*p = (struct wp_partitions){ 0 };
}

/* Takes digits, and `end` after them unless the text ends there. */
static bool take_digits_until(const char **at, char end, uint64_t *ret)
{
	char *rest;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*ret = strtoull(*at, &rest, 10);
	if (errno != 0 || (*rest != end && *rest != '\0'))
		return false;
	*at = *rest == '\0' ? rest : rest + 1;
	return true;
}

static size_t count_listed(const char *list)
{
	size_t count = *list != '\0';

	for (; *list != '\0'; list++)
		count += *list == ',';
	return count;
}

/* Makes one more than there are, for none is no reason to have no list. */
static void *new_list(size_t count, size_t size)
{
	return calloc(count + 1, size);
}

/* -- roots ------------------------------------------------------------------ */

/* The names go behind one another, each with its NUL. */
static enum wp_rc read_partition_name(struct wp_partitions *p, struct wp_json_walk *walk)
{
	struct wp_span none;
	struct wp_json value;

	if (!wp_json_walk_next(walk, &none, &value) || value.kind != WP_JSON_STRING)
		return WP_PROTO;
	enum wp_rc rc = wp_json_unescape(value.text, &p->names);
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(&p->names, '\0');
	return rc == WP_DATA ? WP_PROTO : rc;
}

/* Reads "16380": ["schema", "name"]; the oid has its quotes. */
static enum wp_rc read_root(struct wp_partitions *p, struct wp_span oid, const struct wp_json *pair)
{
	struct wp_json_walk walk;

	if (pair->kind != WP_JSON_ARRAY)
		return WP_PROTO;
	p->roots[p->root_count++].oid = (uint32_t)strtoul((const char *)oid.data + 1, NULL, 10);
	wp_json_walk_init(&walk, pair);
	enum wp_rc rc = read_partition_name(p, &walk);
	return rc == WP_OK ? read_partition_name(p, &walk) : rc;
}

/* The buffer does not move any more. */
static void point_to_names(struct wp_partitions *p)
{
	const char *at = (const char *)p->names.data;

	for (size_t i = 0; i < p->root_count; i++) {
		p->roots[i].schema = at;
		at += strlen(at) + 1;
		p->roots[i].name = at;
		at += strlen(at) + 1;
	}
}

static enum wp_rc read_roots(struct wp_partitions *p, const char *text)
{
	struct wp_json_walk walk;
	struct wp_span oid;
	struct wp_json pair;
	size_t count = 0;
	enum wp_rc rc = WP_OK;

	wp_buffer_init(&p->names, SIZE_MAX / 2);
	wp_json_walk_text(&walk, wp_span_of(text));
	while (wp_json_walk_next(&walk, &oid, &pair))
		count++;
	if (walk.state != WP_JSON_WALK_ENDED)
		return WP_PROTO;
	if (count > WP_PARTITIONS_MAX)
		return WP_FULL;
	p->roots = new_list(count, sizeof(p->roots[0]));
	if (p->roots == NULL)
		return WP_NOMEM;
	wp_json_walk_text(&walk, wp_span_of(text));
	while (rc == WP_OK && wp_json_walk_next(&walk, &oid, &pair))
		rc = read_root(p, oid, &pair);
	if (rc == WP_OK)
		point_to_names(p);
	return rc;
}

/* Compares with the oid of a root or a partition, which both begin with it. */
static int compare_oids(const void *key, const void *item)
{
	uint32_t oid = *(const uint32_t *)key;
	uint32_t other = *(const uint32_t *)item;

	return (oid > other) - (oid < other);
}

static const struct wp_partition_root *find_root(const struct wp_partitions *p, uint32_t oid)
{
	return oid == 0 ? NULL
			: bsearch(&oid, p->roots, p->root_count, sizeof(p->roots[0]), compare_oids);
}

/* -- partitions --------------------------------------------------------------- */

/* Takes c, and a comma unless the text ends there. */
static bool take_child(const char **at)
{
	if (**at != 'c')
		return false;
	(*at)++;
	if (**at == ',')
		(*at)++;
	else if (**at != '\0')
		return false;
	return true;
}

static enum wp_rc read_partitions(struct wp_partitions *p, const char *at)
{
	size_t count = count_listed(at);
	uint64_t oid;
	uint64_t table;
	uint64_t root;

	if (count > WP_PARTITIONS_MAX)
		return WP_FULL;
	p->items = new_list(count, sizeof(p->items[0]));
	if (p->items == NULL)
		return WP_NOMEM;
	for (; p->count < count; p->count++) {
		uint64_t before = p->count > 0 ? p->items[p->count - 1].oid : 0;
		if (!take_digits_until(&at, ' ', &oid))
			return WP_PROTO;
		bool has_more = at[strspn(at, "0123456789")] == ' ';
		root = 0;
		if (!take_digits_until(&at, has_more ? ' ' : ',', &table))
			return WP_PROTO;
		bool inherits = has_more && take_child(&at);
		if (has_more && !inherits && !take_digits_until(&at, ',', &root))
			return WP_PROTO;
		if (oid <= before || oid > UINT32_MAX || table > UINT32_MAX || root > UINT32_MAX)
			return WP_PROTO;
		p->items[p->count] = (struct wp_partition){
			(uint32_t)oid,
			(uint32_t)table,
			find_root(p, (uint32_t)root),
			inherits,
		};
	}
	return WP_OK;
}

/* They are read in 64 bits, of which the log has the lower half. */
static enum wp_rc read_xids(const char *at, uint32_t **ret, size_t *ret_count)
{
	size_t count = count_listed(at);
	uint64_t xid;

	if (count > RUNNING_MAX)
		return WP_FULL;
	*ret = new_list(count, sizeof((*ret)[0]));
	if (*ret == NULL)
		return WP_NOMEM;
	for (; *ret_count < count; (*ret_count)++) {
		if (!take_digits_until(&at, ',', &xid))
			return WP_PROTO;
		(*ret)[*ret_count] = (uint32_t)xid;
	}
	return WP_OK;
}

/* Reads xmin:xmax:xip,... */
static enum wp_rc read_snapshot(struct wp_partitions *p, const char *at)
{
	uint64_t xmin;
	uint64_t xmax;

	if (!take_digits_until(&at, ':', &xmin) || !take_digits_until(&at, ':', &xmax))
		return WP_PROTO;
	p->xmin = (uint32_t)xmin;
	p->xmax = (uint32_t)xmax;
	return read_xids(at, &p->running, &p->running_count);
}

enum wp_rc wp_partitions_read(struct wp_partitions *ret, const struct wp_partitions_text *text)
{
	struct wp_partitions p = { .known = true };
	enum wp_rc rc = read_roots(&p, text->roots);

	if (rc == WP_OK)
		rc = read_partitions(&p, text->partitions);
	if (rc == WP_OK)
		rc = read_snapshot(&p, text->snapshot);
	if (rc == WP_OK)
		rc = read_xids(text->harmless, &p.harmless, &p.harmless_count);
	if (rc != WP_OK) {
		wp_partitions_release(&p);
		return rc;
	}
	wp_partitions_release(ret);
	*ret = p;
	return WP_OK;
}

/* They are compared as the server does it (TransactionIdPrecedes): they come round. */
static bool xid_precedes(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static bool is_listed_xid(const uint32_t *xids, size_t count, uint32_t xid)
{
	for (size_t i = 0; i < count; i++) {
		if (xids[i] == xid)
			return true;
	}
	return false;
}

bool wp_partitions_cover(const struct wp_partitions *p, uint32_t xid)
{
	if (!p->known || !xid_precedes(xid, p->xmax))
		return false;
	return xid_precedes(xid, p->xmin) || !is_listed_xid(p->running, p->running_count, xid);
}

bool wp_partitions_cover_committed(const struct wp_partitions *p, uint32_t xid)
{
	return wp_partitions_cover(p, xid) || is_listed_xid(p->harmless, p->harmless_count, xid);
}

const struct wp_partition *wp_partitions_find(const struct wp_partitions *p, uint32_t oid)
{
	if (p->count == 0)
		return NULL;
	return bsearch(&oid, p->items, p->count, sizeof(p->items[0]), compare_oids);
}

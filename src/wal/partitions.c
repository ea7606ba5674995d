#include "walpost/wal/partitions.h"

#include <errno.h>
#include <stdlib.h>

#define RUNNING_MAX (1 << 18) /* MAX_BACKENDS of the server */

void wp_partitions_release(struct wp_partitions *p)
{
	free(p->items);
	free(p->running);
	free(p->harmless);
	*p = (struct wp_partitions){ 0 };
}

/* Takes digits, and `end` after them unless the text ends there. */
static bool take_number(const char **at, char end, uint64_t *ret)
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

static size_t count_of(const char *list)
{
	size_t count = *list != '\0';

	for (; *list != '\0'; list++)
		count += *list == ',';
	return count;
}

/* One more than there are, for none is no reason to have no list. */
static void *new_list(size_t count, size_t size)
{
	return calloc(count + 1, size);
}

static enum wp_rc read_partitions(struct wp_partitions *p, const char *at)
{
	size_t count = count_of(at);
	uint64_t oid;
	uint64_t table;

	if (count > WP_PARTITIONS_MAX)
		return WP_FULL;
	p->items = new_list(count, sizeof(p->items[0]));
	if (p->items == NULL)
		return WP_NOMEM;
	for (; p->count < count; p->count++) {
		uint64_t before = p->count > 0 ? p->items[p->count - 1].oid : 0;
		if (!take_number(&at, ' ', &oid) || !take_number(&at, ',', &table))
			return WP_PROTO;
		if (oid <= before || oid > UINT32_MAX || table > UINT32_MAX)
			return WP_PROTO;
		p->items[p->count] = (struct wp_partition){ (uint32_t)oid, (uint32_t)table };
	}
	return WP_OK;
}

/* In 64 bits, of which the log has the lower half. */
static enum wp_rc read_xids(const char *at, uint32_t **ret, size_t *ret_count)
{
	size_t count = count_of(at);
	uint64_t xid;

	if (count > RUNNING_MAX)
		return WP_FULL;
	*ret = new_list(count, sizeof((*ret)[0]));
	if (*ret == NULL)
		return WP_NOMEM;
	for (; *ret_count < count; (*ret_count)++) {
		if (!take_number(&at, ',', &xid))
			return WP_PROTO;
		(*ret)[*ret_count] = (uint32_t)xid;
	}
	return WP_OK;
}

/* xmin:xmax:xip,... */
static enum wp_rc read_snapshot(struct wp_partitions *p, const char *at)
{
	uint64_t xmin;
	uint64_t xmax;

	if (!take_number(&at, ':', &xmin) || !take_number(&at, ':', &xmax))
		return WP_PROTO;
	p->xmin = (uint32_t)xmin;
	p->xmax = (uint32_t)xmax;
	return read_xids(at, &p->running, &p->running_count);
}

enum wp_rc wp_partitions_read(struct wp_partitions *ret, const char *partitions,
			      const char *snapshot, const char *harmless)
{
	struct wp_partitions p = { .known = true };
	enum wp_rc rc = read_partitions(&p, partitions);

	if (rc == WP_OK)
		rc = read_snapshot(&p, snapshot);
	if (rc == WP_OK)
		rc = read_xids(harmless, &p.harmless, &p.harmless_count);
	if (rc != WP_OK) {
		wp_partitions_release(&p);
		return rc;
	}
	wp_partitions_release(ret);
	*ret = p;
	return WP_OK;
}

/* As the server compares them (TransactionIdPrecedes): they come round. */
static bool precedes(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static bool is_among(const uint32_t *xids, size_t count, uint32_t xid)
{
	for (size_t i = 0; i < count; i++) {
		if (xids[i] == xid)
			return true;
	}
	return false;
}

bool wp_partitions_cover(const struct wp_partitions *p, uint32_t xid)
{
	if (!p->known || !precedes(xid, p->xmax))
		return false;
	return precedes(xid, p->xmin) || !is_among(p->running, p->running_count, xid);
}

bool wp_partitions_cover_committed(const struct wp_partitions *p, uint32_t xid)
{
	return wp_partitions_cover(p, xid) || is_among(p->harmless, p->harmless_count, xid);
}

static int compare_oids(const void *key, const void *item)
{
	uint32_t oid = *(const uint32_t *)key;
	uint32_t other = ((const struct wp_partition *)item)->oid;

	return (oid > other) - (oid < other);
}

const struct wp_partition *wp_partitions_find(const struct wp_partitions *p, uint32_t oid)
{
	if (p->count == 0)
		return NULL;
	return bsearch(&oid, p->items, p->count, sizeof(p->items[0]), compare_oids);
}

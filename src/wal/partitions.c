#include "walpost/wal/partitions.h"

#include <errno.h>
#include <stdlib.h>

#define RUNNING_MAX (1 << 18) /* MAX_BACKENDS of the server */

void wp_partitions_release(struct wp_partitions *p)
{
	free(p->items);
	free(p->running);
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

/* xmin:xmax:xip,... in 64 bits, of which the log has the lower half. */
static enum wp_rc read_snapshot(struct wp_partitions *p, const char *at)
{
	uint64_t xmin;
	uint64_t xmax;
	uint64_t xid;

	if (!take_number(&at, ':', &xmin) || !take_number(&at, ':', &xmax))
		return WP_PROTO;
	size_t count = count_of(at);
	if (count > RUNNING_MAX)
		return WP_FULL;
	p->running = new_list(count, sizeof(p->running[0]));
	if (p->running == NULL)
		return WP_NOMEM;
	p->xmin = (uint32_t)xmin;
	p->xmax = (uint32_t)xmax;
	for (; p->running_count < count; p->running_count++) {
		if (!take_number(&at, ',', &xid))
			return WP_PROTO;
		p->running[p->running_count] = (uint32_t)xid;
	}
	return WP_OK;
}

enum wp_rc wp_partitions_read(struct wp_partitions *ret, const char *partitions,
			      const char *snapshot)
{
	struct wp_partitions p = { .known = true };
	enum wp_rc rc = read_partitions(&p, partitions);

	if (rc == WP_OK)
		rc = read_snapshot(&p, snapshot);
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

bool wp_partitions_cover(const struct wp_partitions *p, uint32_t xid)
{
	if (!p->known || !precedes(xid, p->xmax))
		return false;
	if (precedes(xid, p->xmin))
		return true;
	for (size_t i = 0; i < p->running_count; i++) {
		if (p->running[i] == xid)
			return false;
	}
	return true;
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

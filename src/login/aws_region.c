#include "aws_region.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define LABELS_MAX 16

struct labels {
	struct {
		const char *text;
		size_t size;
	} all[LABELS_MAX];
	size_t count;
};

static struct labels labels_of(const char *host)
{
	struct labels l = { .count = 0 };

	while (l.count < LABELS_MAX) {
		size_t size = strcspn(host, ".");
		l.all[l.count].text = host;
		l.all[l.count++].size = size;
		if (host[size] == '\0')
			return l;
		host += size + 1;
	}
	l.count = 0; /* too many to be one of AWS */
	return l;
}

static bool is(const struct labels *l, size_t index, const char *text)
{
	return index < l->count && l->all[index].size == strlen(text) &&
	       strncasecmp(l->all[index].text, text, l->all[index].size) == 0;
}

bool wp_aws_region_is_valid(const char *region)
{
	size_t size = strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return size > 0 && size < WP_AWS_REGION_SIZE && region[size] == '\0';
}

const char *wp_aws_domain(const char *region)
{
	return strncmp(region, "cn-", 3) == 0 ? "amazonaws.com.cn" : "amazonaws.com";
}

static bool take(const struct labels *l, size_t index, char ret[WP_AWS_REGION_SIZE])
{
	if (index >= l->count || l->all[index].size >= WP_AWS_REGION_SIZE)
		return false;
	for (size_t i = 0; i < l->all[index].size; i++)
		ret[i] = (char)tolower((unsigned char)l->all[index].text[i]);
	ret[l->all[index].size] = '\0';
	return strchr(ret, '-') != NULL && wp_aws_region_is_valid(ret);
}

/*
 * Hosts are named like these:
 *
 *   b-1.demo.ab12.c2.kafka.<region>.amazonaws.com            boot-ab.c1.kafka-serverless.<region>.amazonaws.com
 *   db.cab12.<region>.rds.amazonaws.com                      db.cab12.rds.<region>.amazonaws.com.cn
 */
bool wp_aws_region_of_host(const char *host, char ret[WP_AWS_REGION_SIZE])
{
	struct labels l = labels_of(host);
	bool is_aws = false;

	for (size_t i = 0; i < l.count; i++)
		is_aws = is_aws || is(&l, i, "amazonaws");
	if (!is_aws)
		return false;
	for (size_t i = 1; i < l.count; i++) {
		if (is(&l, i, "kafka") || is(&l, i, "kafka-serverless"))
			return take(&l, i + 1, ret);
		if (is(&l, i, "rds"))
			return take(&l, is(&l, i + 1, "amazonaws") ? i - 1 : i + 1, ret);
	}
	return false;
}

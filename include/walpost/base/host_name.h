/*
 * Does a host name belong to a domain? Case does not matter, and a name that is written in full
 * ends with a dot. The name is `host`, of `size` bytes. And which host does a list name first? Pure.
 */
#ifndef WALPOST_BASE_HOST_NAME_H
#define WALPOST_BASE_HOST_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static inline bool wp_host_ends_with(const char *host, size_t size, const char *end)
{
	size_t end_size = strlen(end);

	if (size > 0 && host[size - 1] == '.')
		size--;
	return size > end_size && strncasecmp(host + size - end_size, end, end_size) == 0;
}

static inline bool wp_host_holds(const char *host, size_t size, const char *within)
{
	size_t within_size = strlen(within);

	for (size_t at = 0; at + within_size <= size; at++)
		if (strncasecmp(host + at, within, within_size) == 0)
			return true;
	return false;
}

/*
 * Finds the bare "::1" in "SASL_SSL://[::1]:9092,b:9093": librdkafka takes a protocol before a host, and an
 * IPv6 address stands in brackets.
 */
static inline const char *wp_host_first(const char *list, size_t *ret_size)
{
	const char *protocol = strstr(list, "://");
	const char *host = list;

	if (protocol != NULL && protocol < list + strcspn(list, ","))
		host = protocol + 3;
	host += strspn(host, " \t\n\r");
	*ret_size = strcspn(host, *host == '[' ? "],\n" : ":, \t\n\r");
	if (*host != '[')
		return host;
	(*ret_size)--;
	return host + 1;
}

#endif

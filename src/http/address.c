#include <stdio.h>
#include <string.h>

#include "walpost/http/address.h"

#define PORT_MAX 65535

static bool read_port(const char *text, unsigned *ret)
{
	unsigned port = 0;
	size_t digits = strlen(text);

	if (digits == 0 || digits > 5)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		port = port * 10 + (unsigned)(*text - '0');
	}
	*ret = port;
	return port <= PORT_MAX;
}

static bool read_host(const char *text, size_t size, struct wp_http_address *ret)
{
	bool in_brackets = size > 2 && text[0] == '[' && text[size - 1] == ']';

	ret->is_ipv6 = in_brackets;
	if (in_brackets) {
		text++;
		size -= 2;
	}
	const char *allowed = in_brackets ? "0123456789abcdefABCDEF:." : "0123456789.";
	if (size == 0 || size >= sizeof(ret->host) || strspn(text, allowed) < size)
		return false;
	memcpy(ret->host, text, size);
	ret->host[size] = '\0';
	return true;
}

enum wp_rc wp_http_address_parse(const char *text, struct wp_http_address *ret,
				 struct wp_error *error)
{
	const char *colon = strrchr(text, ':');
	bool ok;

	*ret = (struct wp_http_address){ .host = "127.0.0.1" };
	if (colon == NULL)
		ok = read_port(text, &ret->port);
	else
		ok = read_host(text, (size_t)(colon - text), ret) &&
		     read_port(colon + 1, &ret->port);
	if (ok)
		return WP_OK;
	return wp_error_set(error, WP_CONFIG,
			    "\"%.100s\" is not an address to listen on; use a port (9187: on "
			    "127.0.0.1 only), or an address and a port (0.0.0.0:9187, [::]:9187)",
			    text);
}

const char *wp_http_address_to_ask(const struct wp_http_address *a)
{
	if (a->is_ipv6)
		return strspn(a->host, "0:") == strlen(a->host) ? "::1" : a->host;
	return strcmp(a->host, "0.0.0.0") == 0 ? "127.0.0.1" : a->host;
}

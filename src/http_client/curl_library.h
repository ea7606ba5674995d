/*
 * libcurl is loaded when the first request needs it: linked, it would cost each relay 6 MiB of resident
 * memory and 2 ms of its start for what few need.
 *
 * Thread-safe. It is loaded once and never unloaded.
 */
#ifndef WALPOST_SRC_HTTP_CLIENT_CURL_LIBRARY_H
#define WALPOST_SRC_HTTP_CLIENT_CURL_LIBRARY_H

#include <curl/curl.h>

#include "walpost/base/error.h"

/* These are functions of libcurl, named as there without the prefix. */
struct wp_curl {
	CURLcode (*global_init)(long flags);
	CURL *(*easy_init)(void);
	CURLcode (*easy_setoption)(CURL *easy, CURLoption option, ...);
	CURLcode (*easy_perform)(CURL *easy);
	CURLcode (*easy_getinformation)(CURL *easy, CURLINFO info, ...);
	void (*easy_reset)(CURL *easy);
	void (*easy_cleanup)(CURL *easy);
	const char *(*easy_error)(CURLcode code);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void (*slist_free_all)(struct curl_slist *list);
};

/* Returns WP_CONFIG with the error when the library is not there, or too old. */
enum wp_rc wp_curl_load(const struct wp_curl **ret, struct wp_error *error) WP_MUST_CHECK;

#endif

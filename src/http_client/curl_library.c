#include "curl_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static struct {
	pthread_once_t once;
	struct wp_curl functions;
	enum wp_rc rc;
	struct wp_error error;
} loaded = { .once = PTHREAD_ONCE_INIT };

/* ISO C has no conversion from a pointer to data to one to a function; POSIX says that they are alike. */
static bool find(void *library, const char *name, void *ret)
{
	void *function = dlsym(library, name);

	memcpy(ret, &function, sizeof(function));
	return function != NULL;
}

static bool find_all(void *library, struct wp_curl *f)
{
	return find(library, "curl_global_init", &f->global_init) &&
	       find(library, "curl_easy_init", &f->easy_init) &&
	       find(library, "curl_easy_setopt", &f->easy_setoption) &&
	       find(library, "curl_easy_perform", &f->easy_perform) &&
	       find(library, "curl_easy_getinfo", &f->easy_getinformation) &&
	       find(library, "curl_easy_reset", &f->easy_reset) &&
	       find(library, "curl_easy_cleanup", &f->easy_cleanup) &&
	       find(library, "curl_easy_strerror", &f->easy_error) &&
	       find(library, "curl_slist_append", &f->slist_append) &&
	       find(library, "curl_slist_free_all", &f->slist_free_all);
}

static void load(void)
{
	/* Debian has a flavour with OpenSSL, which is here anyway, then one with GnuTLS. */
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };
	void *library = NULL;

	for (size_t i = 0; library == NULL && i < sizeof(names) / sizeof(names[0]); i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		loaded.rc = wp_error_set(&loaded.error, WP_CONFIG,
					 "libcurl.so.4 cannot be loaded, which HTTP requests need; "
					 "install libcurl (Debian: libcurl4)");
	else if (!find_all(library, &loaded.functions) ||
		 loaded.functions.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		loaded.rc = wp_error_set(&loaded.error, WP_CONFIG,
					 "libcurl.so.4 cannot be initialized; "
					 "reinstall libcurl (Debian: libcurl4)");
}

enum wp_rc wp_curl_load(const struct wp_curl **ret, struct wp_error *error)
{
	(void)pthread_once(&loaded.once, load); /* fails only when misused */
	if (loaded.rc != WP_OK)
		return wp_error_set(error, loaded.rc, "%s", loaded.error.text);
	*ret = &loaded.functions;
	return WP_OK;
}

/*
 * Which files stand behind [kafka], and has one of them changed since the client was made of
 * them? librdkafka reads certificates and keys once, when a client is made. A file is known by
 * what stat() tells through all symbolic links, so that Kubernetes' swap of a mounted secret
 * is seen as well as a file put in place of another.
 *
 * Borrows: the properties. Bounded: WP_SECRETS_MAX files, more are not
 * watched. Calls stat() and nothing else.
 */
#ifndef WALPOST_KAFKA_SECRETS_H
#define WALPOST_KAFKA_SECRETS_H

#include <stdbool.h>
#include <stdint.h>

#include "walpost/base/error.h"
#include "walpost/kafka/options.h"

#define WP_SECRETS_MAX 32

struct wp_stamp {
	bool exists;
	uint64_t device, inode, size;
	int64_t seconds, nanoseconds; /* of its last change */
	bool is_folder;
};

struct wp_secrets {
	struct wp_watched {
		const char *property;
		const char *path;
		struct wp_stamp applied; /* of what is in use */
		struct wp_stamp seen;	 /* at the last check */
	} list[WP_SECRETS_MAX];
	size_t count;
};

enum wp_secrets_state {
	WP_SECRETS_SAME,
	WP_SECRETS_UNSETTLED, /* otherwise than at the check before: somebody writes */
	WP_SECRETS_UNUSABLE,  /* one is gone or empty, and stays so */
	WP_SECRETS_CHANGED,   /* otherwise than applied, as at the check before */
};

void wp_secrets_init(struct wp_secrets *s, const struct wp_kafka_options *options);
/* Says that what was seen at the last check has been read since, and is in use. */
void wp_secrets_apply(struct wp_secrets *s);
/* `error` is written when UNUSABLE. */
enum wp_secrets_state wp_secrets_check(struct wp_secrets *s, struct wp_error *error);
/* Had only user or password of SASL changed at the last check? */
bool wp_secrets_is_login(const struct wp_secrets *s);
/* Writes what had changed at the last check: "ssl.key.location (/run/key.pem), ..."; "" when nothing had. */
void wp_secrets_changed(const struct wp_secrets *s, struct wp_error *ret);

#endif

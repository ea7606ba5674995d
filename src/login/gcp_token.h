/*
 * Google's logins are made of these: the assertion that a service account signs, and the form in which its
 * managed Kafka takes an access token. Pure.
 */
#ifndef WALPOST_LOGIN_GCP_TOKEN_H
#define WALPOST_LOGIN_GCP_TOKEN_H

#include "walpost/base/buffer.h"

struct wp_gcp_account {
	const char *email;
	const char *key_id; /* "" : not said */
	const char *key;    /* PEM */
	const char *token_url;
};

/*
 * Appends a JWT, signed by RS256, good for an hour. Returns WP_DATA when `key` is not a key; WP_FULL, WP_NOMEM.
 * https://developers.google.com/identity/protocols/oauth2/service-account#authorizingrequests
 */
enum wp_rc wp_gcp_assertion(const struct wp_gcp_account *a, const char *scope, int64_t now_s,
			    struct wp_buffer *into) WP_MUST_CHECK;
/*
 * Appends header, claims and token, each in base64url, with dots between.
 * https://github.com/googleapis/managedkafka (kafka-auth-local-server). Returns WP_FULL, WP_NOMEM.
 */
enum wp_rc wp_gcp_kafka_token(const char *email, const char *access_token, int64_t now_s,
			      int64_t expires_s, struct wp_buffer *into) WP_MUST_CHECK;
/* Reads a claim of a JWT that is a text. Returns false when there is none, or it does not fit. */
bool wp_gcp_claim(const char *jwt, const char *name, char *ret, size_t size);

#endif

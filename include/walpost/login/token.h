/*
 * A login gives a secret with its lifetime, and whom it stands for. A program or a file
 * says it as plain text or as a JSON object, {"token": ..., "expires_at": ..., "principal": ...,
 * "extensions": {...}}; of a JWT (RFC 7519) lifetime and subject stand in its claims.
 *
 * Owns: its text, which is overwritten before it is freed. Pure. Bounded: WP_TOKEN_SIZE_MAX,
 * WP_TOKEN_EXTENSIONS_MAX.
 */
#ifndef WALPOST_LOGIN_TOKEN_H
#define WALPOST_LOGIN_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "walpost/base/buffer.h"

#define WP_TOKEN_SIZE_MAX 65536
#define WP_TOKEN_EXTENSIONS_MAX 8

struct wp_token_extension {
	char name[64];
	char value[256];
};

struct wp_token {
	char *text;	       /* NUL-terminated; NULL: none */
	int64_t fetched_at_ms; /* Unix time */
	int64_t expires_at_ms; /* Unix time; 0: it does not say */
	char principal[256];   /* "" : it does not say */
	struct wp_token_extension extensions[WP_TOKEN_EXTENSIONS_MAX]; /* RFC 7628, 3.1 */
	size_t extension_count;
};

/* Takes a copy of `text`. Returns WP_CONFIG with the error when it holds what no secret does; WP_NOMEM. */
enum wp_rc wp_token_set(struct wp_token *t, struct wp_span text,
			struct wp_error *error) WP_MUST_CHECK;
void wp_token_release(struct wp_token *t);
/* `ret` is released by the caller. Returns WP_NOMEM. */
enum wp_rc wp_token_copy(const struct wp_token *t, struct wp_token *ret) WP_MUST_CHECK;
/* Parses what a program printed or a file holds. Returns WP_CONFIG with the error, which never quotes it; WP_NOMEM. */
enum wp_rc wp_token_parse(struct wp_span text, int64_t now_ms, struct wp_token *ret,
			  struct wp_error *error) WP_MUST_CHECK;
/*
 * Gives the claims of a JWT as JSON; returns false when it is none. `ret` is released by the caller in every
 * case, as the secret that it is (base/secret_buffer.h).
 */
bool wp_token_claims(const char *jwt, struct wp_buffer *ret);
/* Reads lifetime and subject of a JWT, where the token says neither; others stay as they are. */
void wp_token_read_claims(struct wp_token *t);
/* Reads "2026-11-26T07:00:00Z", or with an offset (RFC 3339). Returns false when it is not one. */
bool wp_token_time(const char *text, int64_t *ret_ms) WP_MUST_CHECK;
/* Can it be a bearer token (RFC 6750)? Returns WP_CONFIG with the error when it cannot. */
enum wp_rc wp_token_judge_bearer(const struct wp_token *t, struct wp_error *error) WP_MUST_CHECK;
/*
 * Adds "name=value,name=value", as sasl.oauthbearer.extensions of librdkafka has them; those that the token
 * has already stay. Returns WP_CONFIG with the error.
 */
enum wp_rc wp_token_extend(struct wp_token *t, const char *extensions,
			   struct wp_error *error) WP_MUST_CHECK;
/* From this time on, at 80 % of its lifetime, it is to be replaced. 0 means that it does not say. */
int64_t wp_token_renew_at_ms(const struct wp_token *t);

#endif

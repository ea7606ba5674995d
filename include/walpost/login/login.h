/*
 * Login answers one question: with which secret is a client let in now? A program, a file, or a
 * provider's own endpoints say it. What they said is kept and given again until 80 % of its lifetime
 * is over, or until the other side refused it; when a new one cannot be had, the one that is kept
 * serves while it lasts.
 *
 * Owns: what is kept. Thread-safe: one fetch at a time; others wait for it, and share its failure. Fetching
 * blocks, for options.timeout_ms at most, and as long for one who waits: never call it on the loop.
 * Logs that a fetch failed, and that one succeeded again; never a secret.
 */
#ifndef WALPOST_LOGIN_LOGIN_H
#define WALPOST_LOGIN_LOGIN_H

#include "walpost/login/options.h"
#include "walpost/login/token.h"

enum wp_login_purpose { WP_LOGIN_FOR_POSTGRES, WP_LOGIN_FOR_KAFKA };

/* These are of the OAuth 2.0 client credentials grant (RFC 6749, 4.4). */
struct wp_login_oidc {
	const char *token_url;
	const char *client_id;
	const char *client_secret;
	const char *scope; /* "" : none */
};

/* This is all that a provider needs to know. Strings are never NULL, but may be "". */
struct wp_login_request {
	enum wp_login_purpose purpose;
	const struct wp_login_options *options;
	const char *host; /* bare, without protocol, port and brackets; of Kafka the first */
	const char *port;
	const char *user; /* of Postgres */
	struct wp_login_oidc oidc;
	const char *
		extensions; /* of Kafka: "name=value,...", beside those that the token brings; NULL: none */
	const char *ca_file; /* certificates that HTTPS trusts; "" : the system's */
};

struct wp_login;

/* `options` are copied, texts and all. Returns NULL when out of memory. */
struct wp_login *wp_login_new(enum wp_login_purpose purpose,
			      const struct wp_login_options *options);
/* Now one more frees it: a fetch may outlive whoever began it. */
struct wp_login *wp_login_hold(struct wp_login *l);
/* NULL is fine. */
void wp_login_free(struct wp_login *l);
/*
 * `ret` is released by the caller. Returns WP_CONFIG when a human must act; WP_IO when later it may succeed;
 * WP_NOMEM. `request.purpose` and `.options` are filled in.
 */
enum wp_rc wp_login_get(struct wp_login *l, const struct wp_login_request *request,
			struct wp_token *ret, struct wp_error *error) WP_MUST_CHECK;
/* Gives what is kept, refused or not, without a fetch, at once. Returns WP_AGAIN when nothing is, or
 * somebody fetches just now; WP_NOMEM. */
enum wp_rc wp_login_peek(struct wp_login *l, struct wp_token *ret) WP_MUST_CHECK;
/*
 * Describes what was fetched last, refused or not, in words without the secret: "from OIDC, for orders-relay,
 * expires in 899 s". Returns false when nothing was.
 */
bool wp_login_describe(struct wp_login *l, struct wp_error *ret);
/* Says that the other side did not take what is kept: the next get fetches. It returns at once, also while
 * somebody fetches. */
void wp_login_refused(struct wp_login *l);
/*
 * Says that the process ends: programs that still run are killed, with all that they have started, and none
 * is started any more. It returns at once; thread-safe.
 */
void wp_login_stop(void);

/*
 * The providers, each a file, make one fetch and keep nothing. They find their own credentials where the
 * provider's SDKs do. `ret` is empty before. Return WP_CONFIG, WP_IO, WP_NOMEM.
 */
enum wp_rc wp_login_aws(const struct wp_login_request *r, struct wp_token *ret,
			struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_login_azure(const struct wp_login_request *r, struct wp_token *ret,
			  struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_login_gcp(const struct wp_login_request *r, struct wp_token *ret,
			struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_login_oidc(const struct wp_login_request *r, struct wp_token *ret,
			 struct wp_error *error) WP_MUST_CHECK;

#endif

#include "gcp_token.h"

#include <inttypes.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "walpost/base/base64.h"
#include "walpost/base/json.h"
#include "walpost/base/secret_buffer.h"
#include "walpost/http_client/answer_fields.h"
#include "walpost/login/token.h"

#define HOUR_S 3600
#define PART_SIZE_MAX 8192
#define SIGNATURE_SIZE_MAX 1024

static void put_string(struct wp_writer *w, const char *text)
{
	wp_writer_keep(w, wp_json_write_string(w->into, wp_span_of(text), WP_JSON_NEEDED));
}

/* Appends `part` in base64url; then it is empty again. */
static enum wp_rc encode(struct wp_writer *part, const char *separator, struct wp_buffer *into)
{
	enum wp_rc rc = part->rc;

	if (rc == WP_OK)
		rc = wp_buffer_append_text(into, separator);
	if (rc == WP_OK)
		rc = wp_base64url_write(into, wp_buffer_span(part->into));
	wp_buffer_reset(part->into);
	return rc;
}

/* ---- the assertion ---- */

static enum wp_rc write_parts(const struct wp_gcp_account *a, const char *scope, int64_t now_s,
			      struct wp_buffer *part, struct wp_buffer *into)
{
	struct wp_writer w = { .into = part, .rc = WP_OK };

	wp_writer_put(&w, "{\"alg\":\"RS256\",\"typ\":\"JWT\"");
	if (a->key_id[0] != '\0') {
		wp_writer_put(&w, ",\"kid\":");
		put_string(&w, a->key_id);
	}
	wp_writer_put(&w, "}");
	enum wp_rc rc = encode(&w, "", into);
	if (rc != WP_OK)
		return rc;
	wp_writer_put(&w, "{\"iss\":");
	put_string(&w, a->email);
	wp_writer_put(&w, ",\"scope\":");
	put_string(&w, scope);
	wp_writer_put(&w, ",\"aud\":");
	put_string(&w, a->token_url);
	wp_writer_printf(&w, ",\"iat\":%" PRId64 ",\"exp\":%" PRId64 "}", now_s, now_s + HOUR_S);
	return encode(&w, ".", into);
}

/* Without a callback OpenSSL would ask the terminal for the passphrase of a key. */
static int no_passphrase(char *buffer, int size, int rwflag, void *context)
{
	return -1;
}

static enum wp_rc sign(const char *key_text, struct wp_span text, struct wp_buffer *into)
{
	uint8_t signature[SIGNATURE_SIZE_MAX];
	size_t size = sizeof(signature);
	BIO *bio = BIO_new_mem_buf(key_text, -1);
	EVP_PKEY *key =
		bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	enum wp_rc rc = bio == NULL || context == NULL ? WP_NOMEM : WP_OK;

	if (rc == WP_OK && (key == NULL || EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA ||
			    EVP_PKEY_get_size(key) > SIGNATURE_SIZE_MAX ||
			    EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) != 1 ||
			    EVP_DigestSign(context, signature, &size, text.data, text.size) != 1))
		rc = WP_DATA;
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(into, '.');
	if (rc == WP_OK)
		rc = wp_base64url_write(into, (struct wp_span){ signature, size });
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(key); /* overwrites it */
	BIO_free(bio);
	return rc;
}

enum wp_rc wp_gcp_assertion(const struct wp_gcp_account *a, const char *scope, int64_t now_s,
			    struct wp_buffer *into)
{
	struct wp_buffer part;
	size_t begin = into->size;

	enum wp_rc rc = wp_secret_buffer_init(&part, PART_SIZE_MAX, NULL);
	if (rc == WP_OK)
		rc = write_parts(a, scope, now_s, &part, into);
	wp_secret_buffer_release(&part);
	if (rc != WP_OK)
		return rc;
	return sign(a->key, (struct wp_span){ into->data + begin, into->size - begin }, into);
}

/* ---- for Kafka ---- */

enum wp_rc wp_gcp_kafka_token(const char *email, const char *access_token, int64_t now_s,
			      int64_t expires_s, struct wp_buffer *into)
{
	struct wp_buffer part;
	enum wp_rc rc = wp_secret_buffer_init(&part, PART_SIZE_MAX, NULL);
	struct wp_writer w = { .into = &part, .rc = rc };

	wp_writer_put(&w, "{\"typ\":\"JWT\",\"alg\":\"GOOG_OAUTH2_TOKEN\"}");
	if (w.rc == WP_OK)
		w.rc = encode(&w, "", into);
	wp_writer_printf(&w,
			 "{\"exp\":%" PRId64 ",\"iss\":\"Google\",\"iat\":%" PRId64
			 ",\"scope\":\"kafka\",\"sub\":",
			 expires_s, now_s);
	put_string(&w, email);
	wp_writer_put(&w, "}");
	if (w.rc == WP_OK)
		w.rc = encode(&w, ".", into);
	wp_writer_put(&w, access_token);
	if (w.rc == WP_OK)
		w.rc = encode(&w, ".", into);
	wp_secret_buffer_release(&part);
	return w.rc;
}

bool wp_gcp_claim(const char *jwt, const char *name, char *ret, size_t size)
{
	struct wp_buffer claims;

	bool found = wp_token_claims(jwt, &claims) &&
		     wp_json_text_member(wp_buffer_span(&claims), name, ret, size);
	wp_secret_buffer_release(&claims);
	return found;
}

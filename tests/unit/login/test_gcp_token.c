#include "gcp_token.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "support/check.h"
#include "walpost/base/base64.h"
#include "walpost/base/secret_buffer.h"

#define SIZE_MAX_HERE 16384
#define SCOPE "https://www.googleapis.com/auth/cloud-platform"

static EVP_PKEY *key; /* made once for all tests */
static char pem[8192];

static void make_key(void)
{
	BIO *bio = BIO_new(BIO_s_mem());

	key = EVP_RSA_gen(2048);
	CHECK(key != NULL);
	CHECK_EQ(PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL), 1);
	int size = BIO_read(bio, pem, sizeof(pem) - 1);
	CHECK(size > 0);
	pem[size] = '\0';
	BIO_free(bio);
}

static const struct wp_gcp_account account = {
	.email = "a\"b@x.iam", .key_id = "7", .key = pem, .token_url = "https://t.example/token"
};

/* The part of `text` with that number, counted from 0, decoded. */
static void check_part(const char *text, int number, const char *wanted)
{
	struct wp_buffer part;

	for (; number > 0; number--)
		text = strchr(text, '.') + 1;
	CHECK_EQ(wp_secret_buffer_init(&part, SIZE_MAX_HERE, NULL), WP_OK);
	struct wp_span encoded = { (const uint8_t *)text, strcspn(text, ".") };
	CHECK_EQ(wp_base64url_read(&part, encoded), WP_OK);
	CHECK_TEXT(wp_secret_buffer_text(&part), wanted);
	wp_secret_buffer_release(&part);
}

static void check_signature(const char *jwt)
{
	const char *last = strrchr(jwt, '.');
	struct wp_buffer signature;
	EVP_MD_CTX *context = EVP_MD_CTX_new();

	CHECK_EQ(wp_secret_buffer_init(&signature, SIZE_MAX_HERE, NULL), WP_OK);
	CHECK_EQ(wp_base64url_read(&signature, wp_span_of(last + 1)), WP_OK);
	CHECK_EQ(EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key), 1);
	CHECK_EQ(EVP_DigestVerify(context, signature.data, signature.size, (const uint8_t *)jwt,
				  (size_t)(last - jwt)),
		 1);
	EVP_MD_CTX_free(context);
	wp_secret_buffer_release(&signature);
}

static void an_assertion_is_signed_and_good_for_an_hour(void **state)
{
	struct wp_buffer jwt;

	CHECK_EQ(wp_secret_buffer_init(&jwt, SIZE_MAX_HERE, NULL), WP_OK);
	CHECK_EQ(wp_gcp_assertion(&account, SCOPE, 1000, &jwt), WP_OK);
	const char *text = wp_secret_buffer_text(&jwt);
	check_part(text, 0, "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"7\"}");
	check_part(text, 1,
		   "{\"iss\":\"a\\\"b@x.iam\",\"scope\":\"" SCOPE
		   "\",\"aud\":\"https://t.example/token\",\"iat\":1000,\"exp\":4600}");
	check_signature(text);
	wp_secret_buffer_release(&jwt);
}

static void what_is_no_rsa_key_is_refused(void **state)
{
	struct wp_gcp_account bad = account;
	struct wp_buffer jwt;

	CHECK_EQ(wp_secret_buffer_init(&jwt, SIZE_MAX_HERE, NULL), WP_OK);
	bad.key = "";
	CHECK_EQ(wp_gcp_assertion(&bad, SCOPE, 1000, &jwt), WP_DATA);
	bad.key = "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n";
	CHECK_EQ(wp_gcp_assertion(&bad, SCOPE, 1000, &jwt), WP_DATA);
	wp_secret_buffer_release(&jwt);
}

static void an_assertion_that_does_not_fit_is_refused(void **state)
{
	struct wp_buffer jwt;

	CHECK_EQ(wp_secret_buffer_init(&jwt, 200, NULL), WP_OK);
	CHECK_EQ(wp_gcp_assertion(&account, SCOPE, 1000, &jwt), WP_FULL);
	wp_secret_buffer_release(&jwt);
}

static void the_token_of_managed_kafka(void **state)
{
	struct wp_buffer token;

	CHECK_EQ(wp_secret_buffer_init(&token, SIZE_MAX_HERE, NULL), WP_OK);
	CHECK_EQ(wp_gcp_kafka_token("me@x.iam", "ya29.t-o_k", 1000, 4600, &token), WP_OK);
	const char *text = wp_secret_buffer_text(&token);
	check_part(text, 0, "{\"typ\":\"JWT\",\"alg\":\"GOOG_OAUTH2_TOKEN\"}");
	check_part(text, 1,
		   "{\"exp\":4600,\"iss\":\"Google\",\"iat\":1000,\"scope\":\"kafka\",\"sub\":\"me@"
		   "x.iam\"}");
	check_part(text, 2, "ya29.t-o_k");
	wp_secret_buffer_release(&token);
}

static void a_claim_of_a_jwt(void **state)
{
	char email[16];

	/* {"email":"me@x.y"} */
	CHECK(wp_gcp_claim("e30.eyJlbWFpbCI6Im1lQHgueSJ9.x", "email", email, sizeof(email)));
	CHECK_TEXT(email, "me@x.y");
	CHECK(!wp_gcp_claim("e30.eyJlbWFpbCI6Im1lQHgueSJ9.x", "sub", email, sizeof(email)));
	CHECK(!wp_gcp_claim("e30.eyJlbWFpbCI6Im1lQHgueSJ9.x", "email", email, 6));
	CHECK(!wp_gcp_claim("e30", "email", email, sizeof(email)));
	CHECK(!wp_gcp_claim("e30.!.x", "email", email, sizeof(email)));
}

int main(void)
{
	make_key();
	int failed = RUN(PLAIN(an_assertion_is_signed_and_good_for_an_hour),
			 PLAIN(what_is_no_rsa_key_is_refused),
			 PLAIN(an_assertion_that_does_not_fit_is_refused),
			 PLAIN(the_token_of_managed_kafka), PLAIN(a_claim_of_a_jwt));
	EVP_PKEY_free(key);
	return failed;
}

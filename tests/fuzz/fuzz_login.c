/*
 * Answers of endpoints, tokens of programs, and files that AWS's SDKs share. A text that is found
 * fits; what is told of an answer is short, and one line; a token holds no control character.
 */
#include <string.h>

#include "fuzz.h"
#include "walpost/login/token.h"

#include "../../src/login/aws_keys.h"
#include "../../src/login/aws_profile.h"
#include "../../src/login/aws_region.h"
#include "../../src/login/gcp_token.h"
#include "walpost/http_client/answer_fields.h"
#include "walpost/http_client/refusal.h"

#define CODE_LINE_SIZE_MAX 512

static void need_printable(const char *text)
{
	for (; *text != '\0'; text++)
		NEED((unsigned char)*text >= ' ' && *text != 127);
}

static void try_fields(struct wp_span input)
{
	char text[16];
	int64_t number;

	if (wp_json_text_member(input, "access_token", text, sizeof(text)))
		NEED(text[0] != '\0' && strlen(text) < sizeof(text));
	if (wp_xml_text(input, "Code", text, sizeof(text)))
		NEED(text[0] != '\0' && strlen(text) < sizeof(text) && strpbrk(text, "<&") == NULL);
	if (wp_json_number_member(input, "expires_in", &number))
		NEED(number > -1000000000000000 && number < 1000000000000000);
}

static void try_refusal(struct wp_span input)
{
	struct wp_http_place place = wp_http_place_of("https://a.example/x");
	struct wp_error error;

	NEED(wp_http_refusal(&place, 400, input, &error) != WP_OK);
	NEED(strlen(error.text) < CODE_LINE_SIZE_MAX);
	need_printable(error.text);
}

static void try_text(char *text)
{
	char value[WP_AWS_REGION_SIZE];
	struct wp_http_place place = wp_http_place_of(text);

	NEED(strlen(place.text) < sizeof(place.text) && strchr(place.text, '#') == NULL);
	need_printable(place.text);
	for (int which = WP_AWS_CREDENTIALS_FILE; which <= WP_AWS_CONFIG_FILE; which++)
		if (wp_aws_profile_setting(text, (enum wp_aws_file)which, "default", "region",
					   value, sizeof(value))) {
			NEED(wp_aws_profile_is_in(text, (enum wp_aws_file)which, "default"));
			NEED(value[0] != '\0' && strlen(value) < sizeof(value));
		}
	if (wp_aws_region_of_host(text, value))
		NEED(wp_aws_region_is_valid(value));
	(void)wp_gcp_claim(text, "email", value, sizeof(value)); /* most are no JWT */
}

static void try_token(struct wp_span input)
{
	struct wp_token t = { .text = NULL };
	struct wp_error error;

	if (wp_token_parse(input, 1000, &t, &error) != WP_OK)
		return;
	NEED(t.text != NULL && t.text[0] != '\0');
	need_printable(t.text);
	NEED(t.extension_count <= WP_TOKEN_EXTENSIONS_MAX);
	wp_token_release(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_span input = { data, size };
	struct wp_aws_credentials keys = { .id = "" };
	struct wp_error error;
	char *text = malloc(size + 1);

	if (text == NULL)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	try_fields(input);
	try_refusal(input);
	try_token(input);
	if (wp_aws_keys_read(input, "http://a/", &keys, &error) == WP_OK)
		NEED(keys.id[0] != '\0' && keys.secret[0] != '\0' && keys.session[0] != '\0');
	try_text(text);
	free(text);
	return 0;
}

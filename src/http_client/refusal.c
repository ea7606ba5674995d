#include "walpost/http_client/refusal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "walpost/http_client/answer_fields.h"

#define CODE_SIZE 80
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

struct wp_http_place wp_http_place_of(const char *url)
{
	struct wp_http_place place = { .text = "" };
	size_t letters = strspn(url, LETTERS "+.-");
	size_t scheme = strncmp(url + letters, "://", 3) == 0 ? letters + 3 : 0;
	const char *rest = url + scheme;
	const char *user = strchr(rest, '@');

	if (user != NULL && (size_t)(user - rest) < strcspn(rest, "/?#"))
		rest = user + 1;
	(void)snprintf(place.text, sizeof(place.text), "%.*s%.*s", (int)(scheme < 16 ? scheme : 16),
		       url, (int)strcspn(rest, "?#"), rest); /* a long one is cut */
	for (char *c = place.text; *c != '\0'; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
	return place;
}

/* A code is one word: what is more than one may be anything, a secret too. */
static bool is_code(const char *text)
{
	size_t size = strspn(text, LETTERS "_.-");

	return size > 0 && text[size] == '\0';
}

/* The code stands in front, as in "AADSTS7000215: Invalid client secret provided. ...". */
static bool azure_code(struct wp_span body, char ret[CODE_SIZE])
{
	char text[1024];

	if (!wp_json_text_member(body, "error_description", text, sizeof(text)))
		return false;
	size_t size = strcspn(text, ":");
	if (size >= CODE_SIZE || strncmp(text, "AADSTS", 6) != 0)
		return false;
	memcpy(ret, text, size);
	ret[size] = '\0';
	return is_code(ret);
}

static bool find_code(struct wp_span body, char ret[CODE_SIZE])
{
	static const char *const names[] = { "error", "code", "Code", "__type" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (wp_json_text_member(body, names[i], ret, CODE_SIZE) && is_code(ret))
			return true;
	return wp_xml_text(body, "Code", ret, CODE_SIZE) && is_code(ret);
}

bool wp_http_may_pass(long status, struct wp_span body)
{
	char code[CODE_SIZE];

	if (status == 408 || status == 429 || status >= 500)
		return true;
	/* AWS says these with status 400. */
	return status == 400 && find_code(body, code) &&
	       (strncmp(code, "Throttl", 7) == 0 || strcmp(code, "RequestLimitExceeded") == 0 ||
		strcmp(code, "IDPCommunicationError") == 0);
}

enum wp_rc wp_http_refusal(const struct wp_http_place *place, long status, struct wp_span body,
			   struct wp_error *error)
{
	enum wp_rc rc = wp_http_may_pass(status, body) ? WP_IO : WP_CONFIG;
	char code[CODE_SIZE], more[CODE_SIZE];
	bool has_code = find_code(body, code);
	bool has_more = azure_code(body, more);

	if (status >= 300 && status <= 399)
		return wp_error_set(
			error, rc,
			"%s answered with a redirect (status %ld), which is not followed",
			place->text, status);
	return wp_error_set(error, rc, "%s answered with status %ld%s%s%s%s", place->text, status,
			    has_code ? " " : "", has_code ? code : "", has_more ? " " : "",
			    has_more ? more : "");
}

/* Judges bearer tokens, and adds the extensions of sasl.oauthbearer.extensions. */
#include <stdio.h>
#include <string.h>

#include "walpost/login/token.h"

/* By RFC 7628, 3.1, a key has letters only, and "auth" is taken. */
static bool is_name(struct wp_span name)
{
	for (size_t i = 0; i < name.size; i++) {
		uint8_t c = name.data[i] | 0x20;
		if (c < 'a' || c > 'z')
			return false;
	}
	return name.size > 0 && !wp_span_is(name, "auth");
}

static bool is_printable(struct wp_span text, uint8_t first)
{
	for (size_t i = 0; i < text.size; i++)
		if (text.data[i] < first || text.data[i] > '~')
			return false;
	return true;
}

static bool has(const struct wp_token *t, struct wp_span name)
{
	for (size_t i = 0; i < t->extension_count; i++)
		if (wp_span_is(name, t->extensions[i].name))
			return true;
	return false;
}

static enum wp_rc add(struct wp_token *t, struct wp_span part, struct wp_error *error)
{
	const uint8_t *equals = part.size > 0 ? memchr(part.data, '=', part.size) : NULL;
	struct wp_span name = { part.data, equals != NULL ? (size_t)(equals - part.data) : 0 };

	if (!is_name(name))
		return wp_error_set(error, WP_CONFIG,
				    "sasl.oauthbearer.extensions: \"%.*s\" is not name=value, with "
				    "a name of letters only",
				    (int)part.size, (const char *)part.data);
	if (has(t, name))
		return WP_OK;
	if (t->extension_count == WP_TOKEN_EXTENSIONS_MAX)
		return wp_error_set(error, WP_CONFIG,
				    "sasl.oauthbearer.extensions: they are more than %d, with "
				    "those of the token",
				    WP_TOKEN_EXTENSIONS_MAX);
	struct wp_token_extension *to = &t->extensions[t->extension_count];
	struct wp_span value = { equals + 1, part.size - name.size - 1 };
	if (name.size >= sizeof(to->name) || value.size >= sizeof(to->value) ||
	    !is_printable(value, ' '))
		return wp_error_set(error, WP_CONFIG,
				    "sasl.oauthbearer.extensions: %.*s must have printable ASCII "
				    "as its value, of at most %zu bytes",
				    (int)name.size, (const char *)name.data, sizeof(to->value) - 1);
	(void)snprintf(to->name, sizeof(to->name), "%.*s", (int)name.size, (const char *)name.data);
	(void)snprintf(to->value, sizeof(to->value), "%.*s", (int)value.size,
		       (const char *)value.data);
	t->extension_count++;
	return WP_OK;
}

enum wp_rc wp_token_extend(struct wp_token *t, const char *extensions, struct wp_error *error)
{
	enum wp_rc rc = WP_OK;

	while (rc == WP_OK && *extensions != '\0') {
		size_t size = strcspn(extensions, ",");
		size_t blanks = strspn(extensions, " ");
		if (blanks < size)
			rc = add(t,
				 (struct wp_span){ (const uint8_t *)extensions + blanks,
						   size - blanks },
				 error);
		extensions += size + (extensions[size] == ',');
	}
	return rc;
}

/* By RFC 6749, A.12, a token is visible ASCII, but for the space, which ends it in a header. */
enum wp_rc wp_token_judge_bearer(const struct wp_token *t, struct wp_error *error)
{
	if (is_printable(wp_span_of(t->text), '!'))
		return WP_OK;
	return wp_error_set(error, WP_CONFIG,
			    "the token holds a space or a character beyond ASCII, as no token "
			    "does; print the token alone, or JSON");
}

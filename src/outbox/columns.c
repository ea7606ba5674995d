#include <string.h>

#include "walpost/outbox/origin.h"
#include "walpost/outbox/columns.h"

#define LIST_FORM                                                                              \
	"allowed is a comma-separated list of column[:name], with double quotes around names " \
	"with a comma, a colon or a double quote"

struct reader {
	const char *at;
	const char *wrong; /* NULL: nothing yet */
	char *to;	   /* where the next name goes */
	size_t left;
};

static void fail(struct reader *r, const char *wrong)
{
	if (r->wrong == NULL)
		r->wrong = wrong;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_spaces(struct reader *r)
{
	while (is_space(*r->at))
		r->at++;
}

static void put(struct reader *r, char c)
{
	if (r->left == 0) {
		fail(r, "its names are longer than 8192 bytes together");
		return;
	}
	*r->to++ = c;
	r->left--;
}

static void read_quoted(struct reader *r)
{
	for (r->at++; *r->at != '\0'; r->at++) {
		if (*r->at == '"' && *++r->at != '"')
			return;
		put(r, *r->at);
	}
	fail(r, "a double quote is not closed");
}

/* column::json is one name. */
static const char *end_of_plain(const char *at)
{
	const char *end = at + strcspn(at, ",:\"");

	while (end[0] == ':' && end[1] == ':')
		end = end + 2 + strcspn(end + 2, ",:\"");
	return end;
}

static void read_plain(struct reader *r)
{
	const char *end = end_of_plain(r->at);

	if (*end == '"')
		fail(r, "a double quote is inside a name");
	while (end > r->at && is_space(end[-1]))
		end--;
	while (r->at < end)
		put(r, *r->at++);
}

/* Reads the name of a column or a header, NUL-terminated in the storage. */
static const char *read_name(struct reader *r)
{
	const char *name = r->to;

	skip_spaces(r);
	if (*r->at == '"')
		read_quoted(r);
	else
		read_plain(r);
	if (r->to == name)
		fail(r, "an item or a name is empty");
	put(r, '\0');
	skip_spaces(r);
	return name;
}

static void read_item(struct reader *r, struct wp_column_list *columns)
{
	if (columns->count == WP_COLUMN_LIST_MAX) {
		fail(r, "it has more than 60 items");
		return;
	}
	struct wp_listed_column *item = &columns->items[columns->count++];
	item->column = item->name = read_name(r);
	if (r->wrong == NULL && *r->at == ':') {
		r->at++;
		item->name = read_name(r);
	} else if (wp_origin_variable(item->column) != WP_ORIGIN_NONE)
		item->name = wp_origin_name(wp_origin_variable(item->column));
	if (*r->at != ',' && *r->at != '\0')
		fail(r, "text follows the end of a name");
}

enum wp_rc wp_column_list_parse(const char *list, const char *option, struct wp_column_list *ret,
				struct wp_error *error)
{
	struct reader r = { .at = list, .to = ret->storage, .left = sizeof(ret->storage) };

	ret->count = 0;
	skip_spaces(&r);
	if (*r.at == '\0')
		return WP_OK;
	read_item(&r, ret);
	while (r.wrong == NULL && *r.at == ',') {
		r.at++;
		read_item(&r, ret);
	}
	if (r.wrong != NULL) {
		ret->count = 0;
		return wp_error_set(error, WP_CONFIG, "%s = \"%.200s\": %s; " LIST_FORM, option,
				    list, r.wrong);
	}
	return WP_OK;
}

/*
 * Prints arrays that came in binary. Source: array_send(), array_recv() and array_out() of
 * arrayfuncs.c.
 */
#include "print.h"
#include "walpost/base/wire.h"

#define DIMENSIONS_MAX 6 /* array.h: MAXDIM */
#define FLAG_HAS_NULL 1
#define SIZE_OF_NULL UINT32_MAX
#define BOUNDS_ROOM (sizeof("[-2147483648:-2147483648]") - 1)

/*
 * array_send:
 *   Int32  dimensions
 *   Int32  flags: 1, there may be NULLs
 *   Int32  the elements' type, which the array's own has told already
 *   Int32  length     of each dimension,
 *   Int32  lower bound
 *   Int32  size       of each element, -1 for NULL,
 *   Bytes  what the element's type sends
 */
struct array {
	struct wp_wire items;
	size_t dimension_count;
	int32_t lengths[DIMENSIONS_MAX];
	int32_t lower_bounds[DIMENSIONS_MAX];
	/* Each opening brace of a dimension holds so many items; that of the first holds all. */
	uint64_t blocks[DIMENSIONS_MAX];
	uint64_t count; /* of items; each has 4 bytes at least */
};

static bool read_dimensions(struct array *a)
{
	for (size_t i = 0; i < a->dimension_count; i++) {
		a->lengths[i] = (int32_t)wp_wire_u32(&a->items);
		a->lower_bounds[i] = (int32_t)wp_wire_u32(&a->items);
		/* ArrayCheckBounds() */
		if (a->lengths[i] < 0 || (int64_t)a->lower_bounds[i] + a->lengths[i] > INT32_MAX)
			return false;
	}
	return true;
}

static bool is_empty(const struct array *a)
{
	bool empty = a->dimension_count == 0;

	for (size_t i = 0; i < a->dimension_count; i++)
		empty = empty || a->lengths[i] == 0;
	return empty;
}

/* Bounded by what is there, or a few bytes could ask for any number of NULLs. */
static bool count_items(struct array *a)
{
	if (is_empty(a))
		return true;
	a->count = 1;
	for (size_t i = a->dimension_count; i-- > 0;) {
		a->count *= (uint64_t)a->lengths[i];
		if (a->count > a->items.left / sizeof(uint32_t))
			return false;
		a->blocks[i] = a->count;
	}
	return true;
}

static bool read_array(struct wp_span value, struct array *ret)
{
	*ret = (struct array){ .dimension_count = 0 };
	wp_wire_init(&ret->items, value);
	uint32_t dimension_count = wp_wire_u32(&ret->items);
	uint32_t flags = wp_wire_u32(&ret->items);
	(void)wp_wire_u32(&ret->items); /* the elements' type */
	if (dimension_count > DIMENSIONS_MAX || flags > FLAG_HAS_NULL)
		return false;
	ret->dimension_count = dimension_count;
	return read_dimensions(ret) && count_items(ret) && !ret->items.bad;
}

/* Returns a null span for NULL, or when what is there is too short. */
static struct wp_span next_item(struct array *a)
{
	uint32_t size = wp_wire_u32(&a->items);

	if (size == SIZE_OF_NULL)
		return (struct wp_span){ 0 };
	return wp_wire_bytes(&a->items, size);
}

/* -- room ------------------------------------------------------------------ */

static bool needs_escape(uint8_t c)
{
	return c == '"' || c == '\\';
}

static size_t count_escapes(struct wp_span text)
{
	size_t count = 0;

	for (size_t i = 0; i < text.size; i++)
		count += needs_escape(text.data[i]);
	return count;
}

/* It takes quotes; of what is printed only bytea and "char" have a backslash, and only one. */
static size_t item_room(enum wp_type element, struct wp_span item)
{
	size_t printed = wp_scalar_room(element, item);

	return 2 + (printed > 0 ? printed + 1 : item.size + count_escapes(item));
}

/* A value that turns out to be cut has a room, too: up to where it is. */
size_t wp_array_room(enum wp_type element, struct wp_span value)
{
	struct array a;

	if (!read_array(value, &a))
		return 0;
	if (a.count == 0)
		return sizeof("{}") - 1;
	size_t room = a.dimension_count * BOUNDS_ROOM + 1;
	for (size_t i = 0; i < a.dimension_count; i++)
		room += 2 * (size_t)(a.count / a.blocks[i]);
	for (uint64_t i = 0; i < a.count && !a.items.bad; i++) {
		struct wp_span item = next_item(&a);
		room += 1 + (wp_span_is_null(item) ? sizeof("NULL") - 1 : item_room(element, item));
	}
	return room;
}

/* -- text ------------------------------------------------------------------ */

static bool is_null_word(struct wp_span text)
{
	static const char word[] = "null";

	if (text.size != sizeof(word) - 1)
		return false;
	for (size_t i = 0; i < text.size; i++) {
		if ((text.data[i] | 0x20) != word[i])
			return false;
	}
	return true;
}

/* All of these types have a comma between elements (pg_type.typdelim). */
static bool needs_array_quotes(struct wp_span text)
{
	static const char special[] = "\"\\{}, \t\n\r\v\f";

	if (text.size == 0 || is_null_word(text))
		return true;
	for (size_t i = 0; i < text.size; i++) {
		if (memchr(special, text.data[i], sizeof(special) - 1) != NULL)
			return true;
	}
	return false;
}

/* Quotes what stands at the end of `texts` from `start` on, moved byte by byte, from behind. */
static void quote_item(struct wp_buffer *texts, size_t start)
{
	struct wp_span text = { .data = texts->data + start, .size = texts->size - start };
	size_t more = 2 + count_escapes(text);
	size_t from = texts->size;

	assert(more <= texts->capacity - texts->size);
	texts->size += more;
	size_t to = texts->size;
	texts->data[--to] = '"';
	while (from > start) {
		uint8_t c = texts->data[--from];
		texts->data[--to] = c;
		if (needs_escape(c))
			texts->data[--to] = '\\';
	}
	texts->data[--to] = '"';
	assert(to == start);
}

static enum wp_rc print_item(enum wp_type element, struct wp_span item, struct wp_buffer *texts)
{
	size_t start = texts->size;
	struct wp_span text;

	if (wp_span_is_null(item)) {
		wp_print_text(texts, "NULL");
		return WP_OK;
	}
	enum wp_rc rc = wp_scalar_text(element, item, texts, &text);
	if (rc != WP_OK)
		return rc;
	if (texts->size == start) /* nothing was printed: it stands in the value */
		wp_print_bytes(texts, text.data, text.size);
	if (needs_array_quotes(text))
		quote_item(texts, start);
	return WP_OK;
}

/* Prints [2:3][1:2]=, unless all begin with 1. */
static void print_array_bounds(const struct array *a, struct wp_buffer *texts)
{
	bool is_plain = true;

	for (size_t i = 0; i < a->dimension_count; i++)
		is_plain = is_plain && a->lower_bounds[i] == 1;
	if (is_plain)
		return;
	for (size_t i = 0; i < a->dimension_count; i++) {
		wp_print_char(texts, '[');
		wp_print_integer(texts, a->lower_bounds[i]);
		wp_print_char(texts, ':');
		wp_print_integer(texts, (int64_t)a->lower_bounds[i] + a->lengths[i] - 1);
		wp_print_char(texts, ']');
	}
	wp_print_char(texts, '=');
}

/* Prints one for each dimension in which the item of this index is the first, or the last. */
static void print_braces(const struct array *a, uint64_t index, char brace, struct wp_buffer *texts)
{
	for (size_t i = 0; i < a->dimension_count; i++) {
		if (index % a->blocks[i] == 0)
			wp_print_char(texts, brace);
	}
}

static enum wp_rc print_items(struct array *a, enum wp_type element, struct wp_buffer *texts)
{
	for (uint64_t i = 0; i < a->count; i++) {
		struct wp_span item = next_item(a);
		if (a->items.bad)
			return WP_CONFIG;
		if (i > 0)
			wp_print_char(texts, ',');
		print_braces(a, i, '{', texts);
		enum wp_rc rc = print_item(element, item, texts);
		if (rc != WP_OK)
			return rc;
		print_braces(a, i + 1, '}', texts);
	}
	return WP_OK;
}

enum wp_rc wp_print_array(enum wp_type element, struct wp_span value, struct wp_buffer *texts)
{
	struct array a;

	if (!read_array(value, &a))
		return WP_CONFIG;
	if (a.count == 0) {
		wp_print_text(texts, "{}");
	} else {
		print_array_bounds(&a, texts);
		enum wp_rc rc = print_items(&a, element, texts);
		if (rc != WP_OK)
			return rc;
	}
	return wp_wire_end(&a.items) == WP_OK ? WP_OK : WP_CONFIG;
}

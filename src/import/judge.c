/*
 * The settings of a report are judged by walpost's own configuration: each note that names one puts
 * it out of force, until nothing is left to be said.
 */
#include <stdlib.h>
#include <string.h>

#include "walpost/base/buffer.h"

#include "translate.h"

#define SET "--set: "
#define DEFAULT "default: "
#define SETTINGS_MAX 1024

static bool is_in_force(const struct wp_import_entry *entry)
{
	return entry->line.key != NULL && entry->refused == NULL;
}

/* Gathers all settings in force as section.key=value; their texts follow each other in `texts`. */
static enum wp_rc gather(const struct wp_import_report *r, struct wp_buffer *texts,
			 const char **ret, size_t *ret_count)
{
	size_t offsets[SETTINGS_MAX];
	size_t count = 0;
	enum wp_rc rc = WP_OK;

	wp_buffer_reset(texts);
	for (size_t i = 0; i < r->count && rc == WP_OK && count < SETTINGS_MAX; i++) {
		const struct wp_import_line *line = &r->entries[i].line;

		if (!is_in_force(&r->entries[i]))
			continue;
		offsets[count++] = texts->size;
		rc = wp_buffer_append_text(texts, line->section);
		if (rc == WP_OK)
			rc = wp_buffer_append_byte(texts, '.');
		if (rc == WP_OK)
			rc = wp_buffer_append_text(texts, line->key);
		if (rc == WP_OK)
			rc = wp_buffer_append_byte(texts, '=');
		if (rc == WP_OK)
			rc = wp_buffer_append_text(texts, line->value);
		if (rc == WP_OK)
			rc = wp_buffer_append_byte(texts, '\0');
	}
	for (size_t i = 0; i < count; i++)
		ret[i] = (const char *)texts->data + offsets[i];
	*ret_count = count;
	return rc;
}

/* Returns what stands in the note behind the section, or NULL if it names another. */
static const char *behind_section(const char *note, const char *section)
{
	size_t size = strlen(section);

	return strncmp(note, section, size) == 0 && note[size] == '.' ? note + size + 1 : NULL;
}

/* The note names the outbox that is wrong, and [outbox] may be where it has the setting from. */
static const char *behind_inherited(const char *note, const char *section)
{
	const char *rest = behind_section(note, section);

	if (rest == NULL || strcmp(section, "outbox") != 0)
		return NULL;
	rest += strcspn(rest, ".");
	return *rest == '.' ? rest + 1 : NULL;
}

static bool is_key(const char *rest, const char *key)
{
	size_t size = strlen(key);

	return rest != NULL && strncmp(rest, key, size) == 0 && strchr(" :", rest[size]) != NULL;
}

/* Is it one of a property whose placeholder is marked already? */
static bool is_of_placeholder(const struct wp_import_report *r, size_t index)
{
	const char *section = r->entries[index].line.section;

	for (size_t i = index + 1; i > 0; i--) {
		const struct wp_import_line *line = &r->entries[i - 1].line;

		if (line->about != NULL && strcmp(line->section, section) == 0)
			return line->is_placeholder;
	}
	return false;
}

static void refuse_entry(struct wp_import_report *r, size_t index, const char *note)
{
	r->entries[index].refused = is_of_placeholder(r, index) ? "" : wp_import_keep(r, note);
}

static bool refuse_by(struct wp_import_report *r, const char *note,
		      const char *(*find)(const char *note, const char *section))
{
	for (size_t i = 0; i < r->count; i++) {
		const struct wp_import_line *line = &r->entries[i].line;

		if (!is_in_force(&r->entries[i]) || !is_key(find(note, line->section), line->key))
			continue;
		refuse_entry(r, i, note);
		return true;
	}
	return false;
}

/* A replacement that is not set names a group that the expression of its section does not have. */
static bool refuse_expression(struct wp_import_report *r, const char *note)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct wp_import_line *line = &r->entries[i].line;

		if (!is_in_force(&r->entries[i]) || strcmp(line->key, "topic.regex") != 0 ||
		    (!is_key(behind_section(note, line->section), "topic.replacement") &&
		     !is_key(behind_inherited(note, line->section), "topic.replacement")))
			continue;
		refuse_entry(r, i, note);
		return true;
	}
	return false;
}

/* Returns true if what the note is about was put out of force. */
static bool refuse(struct wp_import_report *r, const char *note)
{
	if (strncmp(note, DEFAULT, strlen(DEFAULT)) == 0)
		return refuse_expression(r, note + strlen(DEFAULT));
	if (strncmp(note, SET, strlen(SET)) != 0)
		return false;
	note += strlen(SET);
	return refuse_by(r, note, behind_section) || refuse_by(r, note, behind_inherited);
}

/* A note that names no setting of ours has nowhere else to be said. */
static void complain(struct wp_import_report *r, const char *note)
{
	wp_import_report_add(r, &(struct wp_import_line){
					.section = WP_IMPORT_REST,
					.about = "the whole configuration",
					.verdict = WP_IMPORT_UNSUPPORTED,
					.error = note,
				});
}

static enum wp_rc load(const char *const *sets, size_t count, struct wp_config_notes *notes)
{
	const struct wp_config_sources sources = { .sets = sets, .set_count = count };
	struct wp_config config;
	enum wp_rc rc = wp_config_load(&sources, &config, notes);

	if (rc == WP_OK)
		rc = wp_config_check(&config, notes);
	wp_config_release(&config);
	return rc;
}

/* Returns true if it is to be judged once more, without what was put out of force. */
static bool weigh(struct wp_import_report *r, const struct wp_config_notes *notes)
{
	bool again = false;

	for (size_t i = 0; i < notes->count; i++)
		if (notes->notes[i].level == WP_CONFIG_NOTE_ERROR)
			again = refuse(r, notes->notes[i].error.text) || again;
	for (size_t i = 0; i < notes->count && !again; i++)
		if (notes->notes[i].level == WP_CONFIG_NOTE_ERROR)
			complain(r, notes->notes[i].error.text);
	return again;
}

enum wp_rc wp_import_report_judge(struct wp_import_report *r)
{
	struct wp_config_notes *notes = calloc(1, sizeof(*notes));
	const char *sets[SETTINGS_MAX];
	struct wp_buffer texts;
	enum wp_rc rc = notes == NULL ? WP_NOMEM : r->rc;
	bool again = rc == WP_OK;

	/* Each setting is a property's, or one of a few of ours, with little around it. */
	wp_buffer_init(&texts, (size_t)1 << 24);
	while (again && rc == WP_OK) {
		size_t count = 0;

		rc = gather(r, &texts, sets, &count);
		if (rc != WP_OK)
			break;
		rc = load(sets, count, notes);
		again = rc == WP_CONFIG && weigh(r, notes);
		if (rc == WP_CONFIG)
			rc = r->rc;
	}
	wp_buffer_release(&texts);
	free(notes);
	return rc == WP_OK ? r->rc : WP_NOMEM;
}

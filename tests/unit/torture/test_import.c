#include "support/check.h"
#include "torture.h"
#include "walpost/import/import.h"

/* Everything that allocates: lists, a predicate, a refused setting, several sections. */
static const char text[] =
	"{\"config\": {\"connector.class\": \"PostgresConnector\", \"plugin.name\": \"pgoutput\",\n"
	"\"database.hostname\": \"db\", \"database.user\": \"o'neil\", \"topic.prefix\": \"t\",\n"
	"\"slot.name\": \"Refused\", \"publication.autocreate.mode\": \"filtered\",\n"
	"\"table.include.list\": \"a.one,a.two,a.three\", \"predicates\": \"p\",\n"
	"\"heartbeat.action.query\": \"UPDATE a.beat SET ts = now()\",\n"
	"\"predicates.p.type\": "
	"\"org.apache.kafka.connect.transforms.predicates.TopicNameMatches\", "
	"\"predicates.p.pattern\": \"t.a.t.*\",\n"
	"\"transforms\": \"o\", \"transforms.o.type\": "
	"\"io.debezium.transforms.outbox.EventRouter\",\n"
	"\"transforms.o.predicate\": \"p\", \"transforms.o.route.topic.regex\": \"(\",\n"
	"\"transforms.o.table.fields.additional.placement\": \"a:header:b,c:envelope\",\n"
	"\"key.converter\": \"org.apache.kafka.connect.storage.StringConverter\", "
	"\"value.converter\": \"org.apache.kafka.connect.json.JsonConverter\"}}";

/* An alias, a list, a name made of several. */
static const char yaml[] = "x: &x\n- DEBEZIUM_SINK_TYPE=kafka\ny: *x\ndebezium:\n  source:\n"
			   "    connector.class: PostgresConnector\n    plugin: {name: pgoutput}\n"
			   "    table.include.list: ${LIST:public.outbox}\n";

static enum wp_rc import_text(const char *form, size_t changes)
{
	struct wp_import *import = NULL;
	struct wp_error error;

	enum wp_rc rc = wp_import_new(wp_span_of(form), NULL, &import, &error);
	if (rc == WP_OK)
		CHECK_EQ(wp_import_changes(import), changes);
	wp_import_free(import);
	return rc;
}

static enum wp_rc import(void)
{
	enum wp_rc rc = import_text(text, 4);

	return rc == WP_OK ? import_text(yaml, 2) : rc;
}

static void a_configuration_is_imported_or_there_was_no_memory(void **state)
{
	torture(import);
}

int main(void)
{
	return RUN(PLAIN(a_configuration_is_imported_or_there_was_no_memory));
}

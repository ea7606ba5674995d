/*
 * The world of the simulation: one Postgres, one Kafka, a clock, all in memory and
 * all from one seed. Relays (the real relay code) live in it through a fake source
 * and a fake sink. What the world knows and the relay does not is the truth: which
 * events were committed, which are kept.
 *
 * Times are virtual milliseconds. Single-threaded.
 */
#ifndef WALPOST_TESTS_SIM_WORLD_H
#define WALPOST_TESTS_SIM_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "walpost/relay/relay.h"
#include "walpost/source/cleanup.h"
#include "walpost/source/parked.h"

enum {
	EVENTS_MAX = 20000,
	TRANSACTIONS_MAX = 8000,
	PARTITIONS = 4,
	AGGREGATES = 12,
	AGGREGATES_MAX = 256, /* of a run in which events are parked */
	LINKS_MAX = 256,
	FRAME_BYTES = 512,
	PIPE_FRAMES = 24, /* what fits between walsender and relay */
	REQUESTS_MAX = 5, /* in flight for a partition */
	QUEUE_MAX = 512,  /* a producer's messages */
	BATCH_MAX = 4,
};

struct transaction {
	wp_lsn commit_lsn;
	wp_lsn end_lsn;
	uint32_t first_event;
	uint32_t event_count;
	bool unpublished; /* written while the publication was broken */
	uint32_t drain;	  /* the mark of a drain: its number; 0: none */
};

/* -- Postgres -- */

enum server_state { SERVER_UP, SERVER_STOPPING, SERVER_DOWN };

struct frame {
	uint8_t bytes[FRAME_BYTES];
	size_t size;
	int64_t arrives_ms;
};

/* What a walsender does next. */
enum walsender_at { AT_BEGIN, AT_RELATION, AT_ROWS, AT_COMMIT, AT_MARK };

/* A connection: both ends of it. */
struct link {
	bool used;
	unsigned serial;     /* of all links the one */
	int relay;	     /* whose */
	bool broken;	     /* the relay's end knows at its next look */
	bool cut;	     /* nothing passes any more, and nobody is told */
	bool streaming;	     /* the server's end: a walsender */
	bool done_by_client; /* CopyDone was read */
	bool ended;	     /* the walsender ended the copy in order */
	struct frame frames[PIPE_FRAMES];
	size_t frame_first;
	size_t frame_count;
	/* walsender */
	size_t next_tx;
	enum walsender_at at;
	uint32_t next_row;
	bool relation_sent;
	wp_lsn sent;	  /* end of what it has sent */
	int64_t heard_ms; /* from the relay */
	bool asked;
	int64_t keepalive_ms;
	/* the relay's last status, on its way */
	bool status_waits;
	int64_t status_arrives_ms;
	wp_lsn status_flush;
};

struct server {
	enum server_state state;
	int64_t up_at_ms;
	int64_t stopping_since_ms;
	int64_t stop_took_ms; /* the longest */
	wp_lsn wal;	      /* end of what is written */
	struct transaction transactions[TRANSACTIONS_MAX];
	size_t transaction_count;
	uint32_t event_count;
	uint8_t aggregate_of[EVENTS_MAX];
	wp_lsn confirmed; /* of the slot */
	wp_lsn persisted; /* what a crash leaves of it */
	wp_lsn sent_most; /* by any walsender */
	int holder;	  /* link, or -1; none while the thief has it */
	uint64_t decoded; /* transactions, for the slot; a crash forgets them */
	unsigned life;	  /* of the statistics */
	char slot_checkpoint_owner[WP_OWNER_SIZE];
	unsigned slot_checkpoint_version;
	wp_lsn slot_checkpoint_at;
	char slot_checkpoint_topics[64];
	wp_lsn slot_checkpoint_confirmed;
	bool slot_checkpoint_stopped;
	uint64_t slot_checkpoint_decoded;
	unsigned slot_checkpoint_life;
	uint32_t slot_checkpoint_timeline;
	/* A hand at the slot: where it stood before; 0: none. */
	wp_lsn moved_from;
	bool stolen; /* by the thief below; else the slot was made anew */
	/* A client that is no relay, and has the slot until then; 0: none has. */
	int64_t thief_until_ms;
	bool thief_is_walpost; /* by its name: an older one, without rights to the row */
	/* Whose start did not see it, and who has not said so since; "": none. */
	char unnoticed_by[WP_OWNER_SIZE];
	wp_lsn stolen_to;
	bool written_off[EVENTS_MAX];
	int64_t written_off_ms;	     /* when that was, last */
	char told_by[WP_OWNER_SIZE]; /* the relay that said last: it is beyond what is known */
	int64_t unmoved_ms;	     /* when a hand put it back last */
	uint64_t moved_decoded;
	/* A hand at the publication: what is committed now is not streamed. */
	bool broken;
	uint32_t breaks; /* so far */
	int64_t broken_ms;
	int found_by; /* the relay that said so and must confirm nothing more, or -1 */
	wp_lsn found_at;
	uint32_t timeouts; /* walsenders ended for a relay's silence, with nothing cut or frozen */
	struct link links[LINKS_MAX];
	unsigned serials;
	struct wp_timelines timelines;
	int64_t wal_sender_timeout_ms;
	/* A drain: its number while it waits, 0: none does; and how many there were. */
	uint32_t drain;
	uint32_t drains;
	int64_t drain_ends_ms;
};

/* -- Kafka -- */

struct request {
	bool used;
	bool landed; /* written; the answer is on its way */
	uint32_t events[BATCH_MAX];
	wp_ticket tickets[BATCH_MAX];
	bool letters[BATCH_MAX]; /* dead letters */
	size_t count;
	int64_t lands_ms;
	int64_t answers_ms;
};

struct message {
	wp_ticket ticket;
	uint32_t event;
	uint8_t partition;
	bool letter;
};

struct producer {
	bool used;
	bool orphan; /* its process or handle is gone; requests may land still */
	bool broken;
	int64_t tells_ms; /* by what: it may say that it is broken earlier */
	bool one_by_one;
	struct request requests[PARTITIONS][REQUESTS_MAX]; /* oldest first */
	size_t request_count[PARTITIONS];
	struct message queue[QUEUE_MAX];
	size_t queue_count;
	struct message held[QUEUE_MAX]; /* taken, and not to be sent before their topic is there */
	size_t held_count;
	bool refused; /* one of these: nothing more is taken */
	struct wp_report reports[QUEUE_MAX * 2];
	size_t report_count;
	size_t in_flight; /* taken and not reported */
};

enum { PRODUCERS_MAX = 64 };

struct broker {
	int64_t down_until_ms;
	int64_t slow_until_ms;
	int64_t topic_missing_until_ms;
	uint32_t *log[PARTITIONS]; /* event numbers, in order */
	size_t log_count[PARTITIONS];
	size_t log_size;
	bool kept[EVENTS_MAX]; /* at least once */
	int64_t poison;	       /* the first of the events that are refused always, or -1 */
	int64_t poisons;       /* how many they are, side by side */
	bool is_poison[EVENTS_MAX];
	bool was_poison[EVENTS_MAX];
	bool dead[EVENTS_MAX]; /* in the dead-letter topic */
	uint32_t refuse_next;  /* batches that will get an error that is not the event's */
	struct producer producers[PRODUCERS_MAX];
};

/* -- walpost.parked and walpost.parking: tables of the server -- */

enum { STATEMENT_ROWS_MAX = 32, STATEMENTS_MAX = 32, REASON_SIZE = 96 };

enum parked_act { NOT_ASKED, ASKED_RETRY, ASKED_SKIP };

/* Of the event of its number. What the event itself tells is in its content. */
struct parked_row {
	bool there;
	bool alone;
	enum parked_act act;
	uint32_t attempts;
	int64_t due_ms;	   /* INT64_MAX: never by itself */
	int64_t parked_ms; /* when */
	uint64_t place;	   /* in the order of its aggregate: its number */
	char code[WP_PARKING_CODE_SIZE];
	char reason[REASON_SIZE];
	char first_reason[REASON_SIZE];
};

/* The same in each row that the event ever has. Owned: NULL until it is put for the first time. */
struct parked_content {
	char *outbox;
	char *key; /* NULL: none; so are these: */
	char *relation;
	char *row;
	char *settings;
	int64_t commit_time_us;
	struct wp_position position;
};

enum statement_kind {
	STATEMENT_RAISE,
	STATEMENT_SET,
	STATEMENT_STANDBY,
	STATEMENT_PUT,
	STATEMENT_CHANGE,
	STATEMENT_LOAD,
	STATEMENT_LOOK,
	STATEMENT_KINDS,
};

struct put {
	uint32_t event;
	uint64_t ticket;
	size_t size;
	size_t mark; /* of the journal, once it is committed */
	struct parked_row row;
};

struct stored_change {
	enum wp_parked_change_kind kind;
	uint32_t event;
	struct parked_row row; /* its new code, reason, attempts, alone */
	int64_t due_in_ms;
};

/* On its way to the server; it may arrive when nobody waits for the answer any more. */
struct statement {
	bool used;
	struct fake_parked *asker; /* NULL: its connection is gone */
	enum statement_kind kind;
	uint64_t generation;
	unsigned link_serial; /* of the stream beside it */
	int64_t sent_ms;
	int64_t lands_ms;
	int64_t answers_ms;
	bool loses_answer;
	bool landed;
	/* The answer: */
	bool broken; /* the connection is: nobody knows what became of it */
	bool refused;
	bool refused_for_good; /* a row is */
	bool fenced;
	uint64_t generation_now;
	size_t mark;
	struct put puts[STATEMENT_ROWS_MAX];
	struct stored_change changes[STATEMENT_ROWS_MAX];
	size_t count;
};

/* What changed, as it is now: a standby applies it in this order. */
struct journal_entry {
	bool is_generation;
	uint64_t generation;
	uint32_t event;
	struct parked_row row;
};

enum refusal { DELIVERABLE, BY_SHAPE, BY_SINK, BY_KAFKA };

struct park {
	/* What cannot be delivered, and until when. */
	enum refusal refusal[EVENTS_MAX];
	int64_t cure_ms[EVENTS_MAX]; /* INT64_MAX: never */
	bool bulky[EVENTS_MAX];	     /* neither can its dead letter, with its value */
	bool keyless[EVENTS_MAX];
	bool unstorable[EVENTS_MAX];  /* the table does not take it */
	bool given_up[EVENTS_MAX];    /* a person skipped it */
	bool was_retried[EVENTS_MAX]; /* a person asked for it */
	uint32_t guilty[EVENTS_MAX];  /* that are not deliverable now */
	size_t guilty_count;
	size_t guilty_ever;
	size_t guilty_max;
	unsigned guilty_per_mille;
	unsigned never_per_mille; /* of these; likewise: */
	unsigned unstorable_per_mille;
	int64_t cure_max_ms;
	unsigned aggregates;
	unsigned hot_per_mille;
	unsigned keyless_per_mille;
	uint64_t size_seed;
	bool is_calm; /* all is refused before it is sent, and the tables are always at hand */
	bool all_cured;
	bool ends_as_letter; /* what cannot be delivered, after some attempts */

	/* The tables. */
	uint64_t generation;
	struct parked_row rows[EVENTS_MAX];
	struct parked_content contents[EVENTS_MAX];
	uint32_t there[EVENTS_MAX]; /* numbers of the rows that are there, ascending */
	size_t there_count;
	struct statement statements[STATEMENTS_MAX];
	int64_t trouble_until_ms;
	unsigned troubled; /* statements of these kinds are refused, a bit each */
	int64_t locked_until_ms;
	size_t puts_max; /* of a store, at a time */
	unsigned trouble_per_mille;
	unsigned loss_per_mille;
	unsigned slow_per_mille;
	unsigned people_per_mille;

	/* A failover slot, and the standby that it is on. */
	bool has_standby;
	struct parked_row *standby; /* owned */
	uint64_t standby_generation;
	struct journal_entry *journal; /* owned */
	size_t journal_count;
	size_t journal_room;
	size_t applied;
	int64_t standby_stalls_until_ms;
};

/* -- the outbox: a table of the server -- */

struct outbox_table {
	uint64_t random;
	uint32_t places[EVENTS_MAX]; /* the row's event; UINT32_MAX: free */
	uint32_t place_count;
	uint32_t free[EVENTS_MAX];
	size_t free_count;
	bool never_streamed[EVENTS_MAX]; /* or passed over, by a slot that people moved */
	uint32_t floor;			 /* events below are not known to have been streamed */
	uint32_t floor_of;		 /* which state of the publication; UINT32_MAX: none yet */
	uint64_t removed;
};

/* -- all -- */

struct relay_slot; /* sim.c */

struct world {
	uint64_t random;
	int64_t now_ms;
	struct server server;
	struct broker broker;
	struct park *park;	    /* owned; NULL: nothing is parked in this run */
	struct outbox_table *table; /* owned; NULL: rows stay in this run */
	bool wake[2];		    /* a relay should step */
	bool frozen[2];
	const char *violation; /* the first broken promise; NULL: none */
	char detail[256];
	bool trace;
};

uint64_t any(struct world *w, uint64_t below); /* 0 .. below - 1 */
bool chance(struct world *w, unsigned per_mille);
void violate(struct world *w, const char *promise, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void trace(const struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* server.c */
void server_init(struct world *w);
void server_tick(struct world *w);
void server_commit(struct world *w, uint32_t events);
void server_other_wal(struct world *w);
/* A drain begins and writes its mark. */
void server_drain(struct world *w, int64_t patience_ms);
void server_crash(struct world *w, int64_t down_ms);
void server_stop(struct world *w);
/* The slot ahead of what was confirmed, or anew: nobody told the relays. */
void server_move_slot(struct world *w);
void server_unmove_slot(struct world *w);
/* The relay of that name starts, which saw that as it looked last. */
void server_accept_move(struct world *w, const char *owner, const struct wp_source_facts *seen);
/* A client that is no relay takes the slot for a while, and confirms all that is written then. */
void server_steal_slot(struct world *w, int64_t for_ms, bool is_walpost);
void server_accept_slot(struct world *w);
void server_break_publication(struct world *w);
int link_open(struct world *w, int relay);  /* -1: none free */
void link_break(struct world *w, int link); /* both ends know soon */
bool link_holds_slot(const struct world *w, int link);
void server_start_stream(struct world *w, int link, wp_lsn at);
void server_take_status(struct world *w, int link, wp_lsn flush);

/* broker.c */
void broker_init(struct world *w);
void broker_release(struct world *w);
void broker_tick(struct world *w);
int producer_open(struct world *w, bool one_by_one);
void producer_orphan(struct world *w, int producer);
/* `hold`: it is kept until producer_let_go(). */
bool producer_send(struct world *w, int producer, wp_ticket ticket, uint32_t event, bool letter,
		   bool hold);
void producer_let_go(struct world *w, int producer);
void producer_purge(struct world *w, int producer);

/* parked_table.c; all but park_is_safe() only where something is parked. */
void park_init(struct world *w);
void park_release(struct world *w);
void park_tick(struct world *w);
/* People do something to what is parked. */
void park_people(struct world *w);
/* The topics' limits are raised, for all or those that are ever to be cured. */
void park_heal(struct world *w, bool all);
/* From then on, now and then: people ask for what is not tried any more, and give up what cannot be cured. */
void park_tend(struct world *w);
/* Whatever kept the table from taking some rows is mended. */
void park_make_storable(struct world *w);
/* People give up all that is parked. */
void park_purge(struct world *w);
/* How an event is, which was just committed. */
void park_commit(struct world *w, uint32_t event);
/* The standby is the server now. */
void park_failover(struct world *w);
void park_break_connections(struct world *w);
/* An event need not come by the log again: Kafka has it, or the table for certain, or nobody wants it. */
bool park_is_safe(const struct world *w, uint32_t event);
/* The first that Kafka has not, nobody gave up, and nothing of its aggregate holds up; or that is parked though. */
uint32_t park_first_unsettled(const struct world *w);
bool park_is_refused(const struct world *w, uint32_t event, enum refusal by);
size_t park_size_of(const struct world *w, uint32_t event);
/* Keys: "a" and a number. */
unsigned park_aggregate(struct wp_span key);
bool park_is_of(const struct world *w, uint32_t event, struct wp_span key,
		const struct wp_position *position);
uint32_t park_event_at(const struct world *w, const struct wp_position *position);
struct statement *park_send(struct world *w, struct fake_parked *asker, enum statement_kind kind);
/* Nobody waits for it any more: it may arrive all the same. */
void park_abandon(struct world *w, struct statement *s);

/* The fakes: what contract.h's suites run against. */
struct fake_source {
	struct wp_source base;
	struct world *world;
	int relay;
	int link; /* -1 */
	struct wp_source_view view;
	int64_t ready_ms; /* when the operation under way is over */
	wp_lsn start_at;
	char topics[64]; /* to be written down */
	bool reading;
	struct frame current;
	int64_t probe_ms;
	int64_t watch_ms;
	unsigned version; /* of the slot checkpoint row, as it was read */
	bool writes;	  /* it is being written */
	int64_t writes_ms;
	wp_lsn writes_confirmed;
	uint32_t drain; /* that was told of last; 0: none */
	wp_lsn told;	/* what the slot does not stand beyond by us; 0: we have not had it */
	const struct wp_requirements *wanted;
	char owner[WP_OWNER_SIZE];
};
/* What the server refuses to bring. */
extern const struct wp_requirements *const refused_wanted;
void fake_source_init(struct fake_source *s, struct world *w, int relay, const char *owner);
void fake_source_tick(struct fake_source *s);
void fake_source_die(struct fake_source *s);

struct fake_sink {
	struct wp_sink base;
	struct world *world;
	int relay;
	int producer; /* -1 while starting */
	enum wp_batching batching;
	int64_t ready_ms;
	int64_t topic_ends_ms; /* when the question about topic ends is answered; INT64_MAX: none is open */
	struct wp_sink_view view;
};
void fake_sink_init(struct fake_sink *s, struct world *w, int relay);
void fake_sink_tick(struct fake_sink *s);
void fake_sink_die(struct fake_sink *s);

enum { FAKE_PUTS_MAX = 128 };

struct fake_parked {
	struct wp_parked_store base;
	struct world *world;
	int relay;
	const struct fake_source *source; /* the stream beside which it is */
	struct wp_parked_view view;
	struct statement *statement; /* under way; NULL: none */
	int64_t again_ms;	     /* nothing is tried before */
	int64_t standby_ms;	     /* likewise, with the standby */
	uint64_t generation;
	wp_lsn from;
	size_t aggregates_max;
	bool raised;
	bool has_set;
	bool on_standby;   /* what was committed before the generation was raised, up to: */
	size_t raise_mark; /* of the journal */
	struct put puts[FAKE_PUTS_MAX]; /* durable, then committed, then sent, then not */
	size_t put_count;
	size_t durable;
	size_t committed;
	size_t sent;
	size_t put_size;
	size_t singly;		       /* so many are sent one by one: one of them is refused */
	struct stored_change *changes; /* owned */
	size_t change_count;
	size_t change_room;
	size_t changes_sent;
	bool loading;
	bool looking;
	size_t load_waits; /* so many puts not committed are to be before a load */
	struct wp_parked_choice choices[64];
	char keys[64][16];
	size_t choice_count;
	size_t size_max;
	/* What the server answered; owned. */
	struct wp_parked_aggregate *aggregates;
	struct wp_position *positions;
	struct wp_parked_row *rows;
	char (*reasons)[2][REASON_SIZE];
	struct wp_parked_asked *asked;
	struct wp_parked_set read_set;
	size_t row_count;
	size_t asked_count;
	bool rows_cut;
};
void fake_parked_init(struct fake_parked *s, struct world *w, int relay,
		      const struct fake_source *source);
void fake_parked_tick(struct fake_parked *s);
void fake_parked_die(struct fake_parked *s);
/* fake_cleanup.c; all only where rows are removed. */
void table_init(struct world *w, uint64_t random);
void table_release(struct world *w);
void table_insert(struct world *w, uint32_t event);
void table_tick(struct world *w);
void table_accept_slot(struct world *w);

enum { CLEANUP_ROWS = 8 };

struct fake_cleanup {
	struct wp_cleanup_store base;
	struct world *world;
	int relay;
	const struct fake_source *source; /* the stream beside which it is */
	struct wp_cleanup_view view;
	int64_t due_ms;
	wp_lsn asked_at; /* the log's end then */
	bool leaves;	 /* closed while a removal was on its way */
	uint32_t places[CLEANUP_ROWS];
	uint32_t events[CLEANUP_ROWS];
	size_t count;
};
void fake_cleanup_init(struct fake_cleanup *c, struct world *w, int relay,
		       const struct fake_source *source);
void fake_cleanup_tick(struct fake_cleanup *c);

/* The server executes what was asked: only reading. */
void fake_parked_read(struct fake_parked *s, enum statement_kind kind);

#endif

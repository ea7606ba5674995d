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

enum {
	EVENTS_MAX = 20000,
	TRANSACTIONS_MAX = 8000,
	PARTITIONS = 4,
	AGGREGATES = 12,
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
};

/* -- Postgres -- */

enum server_state { SERVER_UP, SERVER_STOPPING, SERVER_DOWN };

struct frame {
	uint8_t bytes[FRAME_BYTES];
	size_t size;
	int64_t arrives_ms;
};

/* What a walsender does next. */
enum walsender_at { AT_BEGIN, AT_RELATION, AT_ROWS, AT_COMMIT };

/* A connection: both ends of it. */
struct link {
	bool used;
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
	int holder;	  /* link, or -1 */
	uint64_t decoded; /* transactions, for the slot; a crash forgets them */
	unsigned life;	  /* of the statistics */
	char checkpoint_owner[WP_OWNER_SIZE];
	wp_lsn checkpoint_at;
	char checkpoint_topics[64];
	wp_lsn checkpoint_confirmed;
	bool checkpoint_stopped;
	uint64_t checkpoint_decoded;
	unsigned checkpoint_life;
	/* A hand at the slot: where it stood before; 0: none. */
	wp_lsn moved_from;
	int64_t unmoved_ms; /* when a hand put it back last */
	uint64_t moved_decoded;
	/* A hand at the publication: what is committed now is not streamed. */
	bool broken;
	int64_t broken_ms;
	int found_by; /* the relay that said so and must confirm nothing more, or -1 */
	wp_lsn found_at;
	uint32_t timeouts; /* walsenders ended for a relay's silence, with nothing cut or frozen */
	struct link links[LINKS_MAX];
	int64_t wal_sender_timeout_ms;
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

/* -- all -- */

struct relay_slot; /* sim.c */

struct world {
	uint64_t random;
	int64_t now_ms;
	struct server server;
	struct broker broker;
	bool wake[2]; /* a relay should step */
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
void server_crash(struct world *w, int64_t down_ms);
void server_stop(struct world *w);
/* The slot ahead of what was confirmed, or anew: nobody told the relays. */
void server_move_slot(struct world *w);
void server_unmove_slot(struct world *w);
void server_accept_move(struct world *w);
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
	wp_lsn told; /* what the slot does not stand beyond by us; 0: we have not had it */
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
	int64_t tail_ms; /* when a question about the tail is answered; INT64_MAX: none is open */
	struct wp_sink_view view;
};
void fake_sink_init(struct fake_sink *s, struct world *w, int relay);
void fake_sink_tick(struct fake_sink *s);
void fake_sink_die(struct fake_sink *s);

#endif

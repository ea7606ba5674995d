/*
 * Messages as PostgreSQL 15 sent them (pg_logical_slot_peek_binary_changes with
 * proto_version 1 and messages), in hex. The tables were
 *
 *   outbox (id uuid primary key, aggregatetype text not null, aggregateid text,
 *           type text, payload jsonb)
 *   wide (id bigint primary key, b bytea, d raw, m mood, note text)
 *           replica identity full; raw is a domain over bytea, mood an enum
 *   "Ünïcode.""t""" ("Ä" int primary key)
 */
#ifndef WALPOST_TESTS_UNIT_WAL_MESSAGES_H
#define WALPOST_TESTS_UNIT_WAL_MESSAGES_H

/* xid 731 */
#define BEGIN "420000000001548d70000303c66f11fdd2000002db"
/* of that transaction */
#define COMMIT "43000000000001548d700000000001548da0000303c66f11fdd2"
/* "far", 0/ABCDEF */
#define ORIGIN "4f0000000000abcdef66617200"
/* oid 16391 */
#define RELATION_OUTBOX                                                                    \
	"52000040077075626c6963006f7574626f78006400050169640000000b86ffffffff006167677265" \
	"67617465747970650000000019ffffffff0061676772656761746569640000000019ffffffff0074" \
	"7970650000000019ffffffff007061796c6f61640000000edaffffffff"
/* oid 16398 */
#define RELATION_WIDE                                                                      \
	"520000400e7075626c69630077696465006600050169640000000014ffffffff01620000000011ff" \
	"ffffff01640000004001ffffffff016d0000004003ffffffff016e6f74650000000019ffffffff"
/* oid 16405 */
#define RELATION_UNICODE                                                                   \
	"52000040157075626c696300c39c6ec3af636f64652e2274220064000101c3840000000017ffffff" \
	"ff"
/* oid 16385: the domain goes by its base type */
#define TYPE_RAW "590000400100627974656100"
/* oid 16387 */
#define TYPE_MOOD "59000040037075626c6963006d6f6f6400"
/* (...1, order, o-1, created, {"a": 1}) */
#define INSERT_TEXT                                                                        \
	"49000040074e0005740000002430303030303030302d303030302d303030302d303030302d303030" \
	"30303030303030303174000000056f7264657274000000036f2d3174000000076372656174656474" \
	"000000087b2261223a20317d"
/* (...2, order, NULL, '', null): SQL NULL, empty text, JSON null */
#define INSERT_NULL                                                                        \
	"49000040074e0005740000002430303030303030302d303030302d303030302d303030302d303030" \
	"30303030303030303274000000056f726465726e740000000074000000046e756c6c"
/* wide (1, \x00ff41, \x4142, ok, xxxxxxxxxx), binary 'true' */
#define INSERT_BINARY                                                                      \
	"490000400e4e000562000000080000000000000001620000000300ff416200000002414262000000" \
	"026f6b620000000a78787878787878787878"
/* outbox, without the old row */
#define UPDATE                                                                             \
	"55000040074e0005740000002430303030303030302d303030302d303030302d303030302d303030" \
	"30303030303030303174000000056f7264657274000000036f2d3174000000076368616e67656474" \
	"000000087b2261223a20317d"
/* wide, with replica identity full */
#define DELETE_OLD                                                                         \
	"440000400e4f000574000000013174000000085c7830306666343174000000065c78343134327400" \
	"0000026f6b740000000a78787878787878787878"
/* outbox, by its primary key */
#define DELETE_KEY                                                                         \
	"44000040074b0005740000002430303030303030302d303030302d303030302d303030302d303030" \
	"3030303030303030316e6e6e6e"
/* wide and outbox, cascade */
#define TRUNCATE "5400000002010000400e00004007"
/* transactional: walpost, inside */
#define MESSAGE_INSIDE "4d010000000001548d7077616c706f73740000000006696e73696465"
/* not transactional: walpost, outside */
#define MESSAGE_OUTSIDE "4d000000000001548de877616c706f737400000000076f757473696465"
/* made by hand: oid 16398, old row (NULL), new row (1, unchanged) */
#define UPDATE_OLD "550000400e4f00016e4e000274000000013175"

#endif

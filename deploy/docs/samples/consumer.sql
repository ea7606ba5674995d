-- What a consumer writes: its effect, and what it has consumed. In one database, for one transaction.
CREATE TABLE booking (
  number   bigserial PRIMARY KEY,
  order_id text NOT NULL,
  cents    bigint NOT NULL
);

-- By position: one row for each partition and source, however many events there are.
CREATE TABLE consumed_position (
  topic     text NOT NULL,
  partition int NOT NULL,
  source    text NOT NULL,
  position  text COLLATE "C" NOT NULL,
  PRIMARY KEY (topic, partition, source)
);

-- By id: one row for each event. Rows older than what the topic keeps may be deleted.
CREATE TABLE consumed_event (
  id          uuid PRIMARY KEY,
  consumed_at timestamptz NOT NULL DEFAULT now()
);

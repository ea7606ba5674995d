-- A consumer writes its effect and its progress in one database, in one transaction.
CREATE TABLE booking (
  number   bigserial PRIMARY KEY,
  order_id text NOT NULL,
  cents    bigint NOT NULL
);

-- By position: one row per partition and source.
CREATE TABLE consumed_position (
  topic     text NOT NULL,
  partition int NOT NULL,
  source    text NOT NULL,
  position  text COLLATE "C" NOT NULL,
  PRIMARY KEY (topic, partition, source)
);

-- By id: one row per event. Rows older than the topic's retention may be deleted.
CREATE TABLE consumed_event (
  id          uuid PRIMARY KEY,
  consumed_at timestamptz NOT NULL DEFAULT now()
);

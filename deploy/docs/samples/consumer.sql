-- The consumer's effect. walpost.accept(), from inbox.sql, is called in the transaction that writes it.
CREATE TABLE booking (
  number   bigserial PRIMARY KEY,
  order_id text NOT NULL,
  cents    bigint NOT NULL
);

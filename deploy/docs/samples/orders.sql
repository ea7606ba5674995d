-- A table of the service; `walpost init` creates the outbox.
CREATE TABLE orders (
  id       text PRIMARY KEY,
  customer text NOT NULL,
  cents    bigint NOT NULL CHECK (cents > 0)
);

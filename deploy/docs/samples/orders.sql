-- A table of the service; the outbox is made by `walpost init`.
CREATE TABLE orders (
  id       text PRIMARY KEY,
  customer text NOT NULL,
  cents    bigint NOT NULL CHECK (cents > 0)
);

CREATE TABLE IF NOT EXISTS "watermill_orders" (
    "offset"         bigserial,
    "uuid"           varchar(36) NOT NULL,
    "created_at"     timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "payload"        json DEFAULT NULL,
    "metadata"       json DEFAULT NULL,
    "transaction_id" xid8 NOT NULL,
    PRIMARY KEY ("transaction_id", "offset")
);

CREATE TABLE outbox_messages (
    id               uuid PRIMARY KEY,
    type             text NOT NULL,
    content          jsonb NOT NULL,
    occurred_on_utc  timestamp with time zone NOT NULL,
    processed_on_utc timestamp with time zone NULL,
    error            text NULL
);

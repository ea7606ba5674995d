CREATE SCHEMA eventuate;

CREATE TABLE eventuate.message (
    id                varchar(1000) PRIMARY KEY,
    destination       text NOT NULL,
    headers           text NOT NULL,
    payload           text NOT NULL,
    published         smallint DEFAULT 0,
    message_partition smallint,
    creation_time     bigint
);

CREATE INDEX message_published_idx ON eventuate.message (published, id);

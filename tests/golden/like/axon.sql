CREATE TABLE domain_event_entry (
    global_index         bigint NOT NULL,
    event_identifier     varchar(255) NOT NULL,
    meta_data            bytea,
    payload              bytea NOT NULL,
    payload_revision     varchar(255),
    payload_type         varchar(255) NOT NULL,
    time_stamp           varchar(255) NOT NULL,
    aggregate_identifier varchar(255) NOT NULL,
    sequence_number      bigint NOT NULL,
    type                 varchar(255),
    PRIMARY KEY (global_index),
    UNIQUE (aggregate_identifier, sequence_number),
    UNIQUE (event_identifier)
);

CREATE SEQUENCE domain_event_entry_seq;

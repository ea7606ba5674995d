CREATE SCHEMA app;

CREATE TABLE app."OutboxMessages" (
    "Id"            uuid NOT NULL,
    "OccurredOn"    timestamp with time zone NOT NULL,
    "Type"          varchar(255) NOT NULL,
    "Data"          text NOT NULL,
    "ProcessedDate" timestamp with time zone NULL,
    CONSTRAINT "PK_app_OutboxMessages_Id" PRIMARY KEY ("Id")
);

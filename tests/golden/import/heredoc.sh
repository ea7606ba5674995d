#!/bin/bash
# Registers the outbox of the parking lots, once Connect answers. Don't run it twice.
cat <<JSON | curl -s -X PUT -H 'Content-Type: application/json' --data @- "$CONNECT/connectors/lots/config"
{
  "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
  "tasks.max": "1",
  "database.hostname": "${DB_HOST:-lots-db}",
  "database.port": "${DB_PORT}",
  "database.user": "relay",
  "database.password": "${DB_PASSWORD:-hush}",
  "database.dbname": "lots",
  "slot.name": "lots_outbox",
  "plugin.name": "pgoutput",
  "topic.prefix": "lots",
  "schema.include.list": "lots",
  "table.include.list": "^lots\\.outbox$",
  "publication.autocreate.mode": "filtered",
  "tombstones.on.delete": "false",
  "key.converter": "org.apache.kafka.connect.storage.StringConverter",
  "value.converter": "org.apache.kafka.connect.json.JsonConverter",
  "value.converter.schemas.enable": "false",
  "topic.creation.default.partitions": "6",
  "topic.creation.default.replication.factor": "3",
  "transforms": "outbox",
  "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
  "transforms.outbox.table.expand.json.payload": "true",
  "transforms.outbox.route.topic.replacement": "lots.${routedByValue}"
}
JSON

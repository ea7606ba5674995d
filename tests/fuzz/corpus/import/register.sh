#!/usr/bin/env bash
set -euo pipefail
CONNECT_URL=${CONNECT_URL:-http://connect:8083}
until curl -sf "$CONNECT_URL/" > /dev/null; do sleep 2; done
if [ "$(curl -s -o /dev/null -w '%{http_code}' "$CONNECT_URL/connectors/accounts")" = 200 ]; then
  curl -sf -X DELETE "$CONNECT_URL/connectors/accounts"
fi
curl -sf -X POST "$CONNECT_URL/connectors" -H 'Content-Type: application/json' -d '{
    "name": "accounts",
    "config": {
      "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
      "database.hostname": "accounts_db",
      "database.port": "5432",
      "database.user": "relay",
      "database.password": "$DB_PASSWORD",
      "database.dbname": "accounts",
      "topic.prefix": "accounts",
      "table.include.list": "public.outbox_events",
      "plugin.name": "pgoutput",
      "tombstones.on.delete": "false",
      "transforms": "outbox",
      "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
      "transforms.outbox.table.field.event.key": "aggregate_id",
      "transforms.outbox.route.by.field": "aggregate_type",
      "transforms.outbox.route.topic.replacement": "account-events",
      "transforms.outbox.table.fields.additional.placement": "event_type:header:eventType",
      "key.converter": "org.apache.kafka.connect.storage.StringConverter",
      "value.converter": "org.apache.kafka.connect.storage.StringConverter"
    }
  }'

#!/bin/sh
docker run -d --name debezium \
  -e DEBEZIUM_SINK_TYPE=kafka -e DEBEZIUM_SINK_KAFKA_PRODUCER_BOOTSTRAP_SERVERS=kafka:9092 \
  -e DEBEZIUM_SOURCE_CONNECTOR_CLASS=io.debezium.connector.postgresql.PostgresConnector \
  -e DEBEZIUM_SOURCE_DATABASE_HOSTNAME="$DB_HOST" \
  -e "DEBEZIUM_SOURCE_DATABASE_PASSWORD=hush hush" \
  -e DEBEZIUM_SOURCE_DATABASE_DBNAME=shop \
  -e DEBEZIUM_SOURCE_TOPIC_PREFIX=shop \
  -e DEBEZIUM_SOURCE_PLUGIN_NAME=pgoutput \
  -e DEBEZIUM_SOURCE_TABLE_INCLUDE_LIST=public.outbox \
  -e DEBEZIUM_SOURCE_EXTENDED_HEADERS_ENABLED=false \
  --env=DEBEZIUM_FORMAT_KEY=simplestring \
  --env=DEBEZIUM_FORMAT_VALUE=simplestring \
  --env=DEBEZIUM_FORMAT_HEADER=simplestring \
  --env DEBEZIUM_TRANSFORMS=outbox \
  --env DEBEZIUM_TRANSFORMS_OUTBOX_TYPE=io.debezium.transforms.outbox.EventRouter \
  -p 8080:8080 quay.io/debezium/server:3.0

// Watermill itself, around walpost: publishes in an SQL transaction as an application does, and reads with its own
// Kafka subscriber.
//
//	watermill write|forward DATABASE_URL TABLE_TOPIC TOPIC
//	watermill read BROKER TOPIC COUNT
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	watermillsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/forwarder"
	"github.com/ThreeDotsLabs/watermill/message"
	_ "github.com/jackc/pgx/v5/stdlib"
)

var messages = []*message.Message{
	orderPlaced("11111111-0000-0000-0000-000000000001", "order-1", `{"order": 1}`),
	orderPlaced("11111111-0000-0000-0000-000000000002", "order-2", `{"order": "zwei € <&>"}`),
	message.NewMessage("11111111-0000-0000-0000-000000000003", []byte(`{}`)),
}

func orderPlaced(uuid, key, payload string) *message.Message {
	m := message.NewMessage(uuid, []byte(payload))
	m.Metadata.Set("name", "OrderPlaced")
	m.Metadata.Set("partition_key", key)
	return m
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Makes the table with its first publisher, then publishes within a transaction; another is rolled back.
func write(url, table, topic string, wrapped bool) {
	db, err := sql.Open("pgx", url)
	must(err)
	schema := watermillsql.DefaultPostgreSQLSchema{}
	subscriber, err := watermillsql.NewSubscriber(watermillsql.BeginnerFromStdSQL(db), watermillsql.SubscriberConfig{
		SchemaAdapter: schema, OffsetsAdapter: watermillsql.DefaultPostgreSQLOffsetsAdapter{},
	}, nil)
	must(err)
	must(subscriber.SubscribeInitialize(table))
	for _, commits := range []bool{false, true} {
		tx, err := db.Begin()
		must(err)
		var publisher message.Publisher
		publisher, err = watermillsql.NewPublisher(watermillsql.TxFromStdSQL(tx),
			watermillsql.PublisherConfig{SchemaAdapter: schema}, watermill.NopLogger{})
		must(err)
		if wrapped {
			publisher = forwarder.NewPublisher(publisher, forwarder.PublisherConfig{ForwarderTopic: table})
		}
		must(publisher.Publish(topic, messages...))
		if commits {
			must(tx.Commit())
		} else {
			must(tx.Rollback())
		}
	}
}

func read(broker, topic string, count int) {
	config := kafka.DefaultSaramaSubscriberConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	subscriber, err := kafka.NewSubscriber(kafka.SubscriberConfig{
		Brokers: []string{broker}, OverwriteSaramaConfig: config, ConsumerGroup: topic,
		Unmarshaler: kafka.DefaultMarshaler{},
	}, nil)
	must(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	found, err := subscriber.Subscribe(ctx, topic)
	must(err)
	for ; count > 0; count-- {
		m, ok := <-found
		if !ok {
			must(fmt.Errorf("%d messages are missing", count))
		}
		must(json.NewEncoder(os.Stdout).Encode(map[string]any{
			"uuid": m.UUID, "metadata": m.Metadata, "payload": string(m.Payload),
		}))
		m.Ack()
	}
	must(subscriber.Close())
}

func main() {
	switch os.Args[1] {
	case "write":
		write(os.Args[2], os.Args[3], os.Args[4], false)
	case "forward":
		write(os.Args[2], os.Args[3], os.Args[4], true)
	case "read":
		count, err := strconv.Atoi(os.Args[4])
		must(err)
		read(os.Args[2], os.Args[3], count)
	}
}

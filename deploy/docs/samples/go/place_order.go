// Places an order and inserts its event, in one transaction, with pgx.
//
//	DATABASE_URL=postgres://app@localhost/shop go run . outbox|emit ORDER CUSTOMER CENTS
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/jackc/pgx/v5"
)

type order struct {
	id       string
	customer string
	cents    int64
}

// orderPlaced is the payload: a shape of its own, not the row.
type orderPlaced struct {
	Order    string `json:"order"`
	Customer string `json:"customer"`
	Cents    int64  `json:"cents"`
}

func (o order) placed() orderPlaced {
	return orderPlaced{Order: o.id, Customer: o.customer, Cents: o.cents}
}

func insert(ctx context.Context, tx pgx.Tx, o order) error {
	_, err := tx.Exec(ctx, `INSERT INTO orders (id, customer, cents) VALUES ($1, $2, $3)`, o.id, o.customer, o.cents)
	return err
}

// place writes the order, and a row in the outbox.
func place(ctx context.Context, tx pgx.Tx, o order) error {
	if err := insert(ctx, tx, o); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)
		VALUES (gen_random_uuid(), 'order', $1, 'OrderPlaced', $2)`, o.id, o.placed())
	return err
}

// placeByMessage writes the order, and an event that exists only in the WAL.
func placeByMessage(ctx context.Context, tx pgx.Tx, o order) error {
	if err := insert(ctx, tx, o); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `SELECT walpost.emit('order', $1, 'OrderPlaced', $2)`, o.id, o.placed())
	return err
}

func run(ctx context.Context, how, id, customer, cents string) error {
	amount, err := strconv.ParseInt(cents, 10, 64)
	if err != nil {
		return err
	}
	ways := map[string]func(context.Context, pgx.Tx, order) error{"outbox": place, "emit": placeByMessage}
	way, known := ways[how]
	if !known {
		return fmt.Errorf("outbox or emit, not %q", how)
	}
	connection, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer connection.Close(ctx)
	// Commits when the function returns nil, rolls back when it does not.
	return pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error {
		return way(ctx, tx, order{id: id, customer: customer, cents: amount})
	})
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: place_order outbox|emit ORDER CUSTOMER CENTS")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

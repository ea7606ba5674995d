// Places an order and inserts its event, in one transaction, with node-postgres.
//
//     npm ci && npm run build
//     DATABASE_URL=postgres://app@localhost/shop node dist/place_order.js outbox|emit ORDER CUSTOMER CENTS

import { randomUUID } from "node:crypto";
import pg from "pg";

interface Order {
  id: string;
  customer: string;
  cents: number;
}

/** The payload: a shape of its own, not the row. */
function placed(order: Order) {
  return { order: order.id, customer: order.customer, cents: order.cents };
}

/** One client from begin to end: pool.query() could take another one for each statement. */
async function inTransaction(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  let broken: unknown;
  try {
    await client.query("BEGIN");
    await work(client);
    await client.query("COMMIT");
  } catch (error) {
    broken = error;
    throw error;
  } finally {
    // With an error the connection is closed, and the server rolls back.
    client.release(broken !== undefined);
  }
}

async function insert(client: pg.PoolClient, order: Order): Promise<void> {
  await client.query("INSERT INTO orders (id, customer, cents) VALUES ($1, $2, $3)",
    [order.id, order.customer, order.cents]);
}

/** The order, and a row in the outbox. */
async function place(client: pg.PoolClient, order: Order): Promise<void> {
  await insert(client, order);
  await client.query(
    "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) VALUES ($1, $2, $3, $4, $5)",
    [randomUUID(), "order", order.id, "OrderPlaced", placed(order)]);
}

/** The order, and an event that exists only in the WAL. */
async function placeByMessage(client: pg.PoolClient, order: Order): Promise<void> {
  await insert(client, order);
  await client.query("SELECT walpost.emit($1, $2, $3, $4)", ["order", order.id, "OrderPlaced", placed(order)]);
}

const ways: Record<string, typeof place> = { outbox: place, emit: placeByMessage };
const [how, id, customer, cents] = process.argv.slice(2);
const way = ways[how];
if (way === undefined) {
  throw new Error(`outbox or emit, not ${how}`);
}
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
try {
  await inTransaction(pool, (client) => way(client, { id, customer, cents: Number(cents) }));
} finally {
  await pool.end();
}

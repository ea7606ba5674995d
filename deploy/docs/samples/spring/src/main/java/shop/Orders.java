package shop;

import java.util.UUID;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** Each method is one transaction: the order and its event are there together, or neither is. */
@Service
public class Orders {
    private final JdbcTemplate jdbc;

    public Orders(JdbcTemplate jdbc) {
        this.jdbc = jdbc;
    }

    /** The order, and a row in the outbox. */
    @Transactional
    public void place(Order order) {
        insert(order);
        jdbc.update(
            "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) VALUES (?, ?, ?, ?, ?::jsonb)",
            UUID.randomUUID(), "order", order.id(), "OrderPlaced", order.placed());
    }

    /** The order, and an event that exists only in the WAL. Returns the event's id. */
    @Transactional
    public UUID placeByMessage(Order order) {
        insert(order);
        return jdbc.queryForObject(
            "SELECT walpost.emit(?, ?, ?, ?::jsonb)", UUID.class, "order", order.id(), "OrderPlaced", order.placed());
    }

    private void insert(Order order) {
        jdbc.update("INSERT INTO orders (id, customer, cents) VALUES (?, ?, ?)",
            order.id(), order.customer(), order.cents());
    }
}

package billing;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Books each order once, whatever comes twice: OrderConsumer position|id.
 *
 * <p>Settings are in the environment: BOOTSTRAP_SERVERS, TOPIC, GROUP, GROUP_INSTANCE (a name that this process keeps
 * when it is started again, so that it goes on at once), DATABASE_URL. Its tables are in consumer.sql.
 */
public final class OrderConsumer {
    private static final String NEW_POSITION = """
        INSERT INTO consumed_position (topic, partition, source, position) VALUES (?, ?, ?, ?)
        ON CONFLICT (topic, partition, source) DO UPDATE SET position = EXCLUDED.position
        WHERE consumed_position.position < EXCLUDED.position
        """;
    private static final String NEW_ID = "INSERT INTO consumed_event (id) VALUES (?) ON CONFLICT DO NOTHING";
    private static final String BOOK = "INSERT INTO booking (order_id, cents) VALUES (?, ?)";
    private static final ObjectMapper JSON = new ObjectMapper();

    private interface IsNew {
        boolean test(Connection database, ConsumerRecord<String, String> message) throws SQLException;
    }

    /** False: this event, or a later one, was here before. */
    private static boolean newByPosition(Connection database, ConsumerRecord<String, String> message)
            throws SQLException {
        return update(database, NEW_POSITION, message.topic(), message.partition(),
            header(message, "walpost-source", ""), header(message, "walpost-position", null)) == 1;
    }

    /** False: this event was here before. */
    private static boolean newById(Connection database, ConsumerRecord<String, String> message) throws SQLException {
        return update(database, NEW_ID, UUID.fromString(header(message, "id", null))) == 1;
    }

    /** One transaction: that the event was consumed, and what it does. */
    private static void handle(Connection database, ConsumerRecord<String, String> message, IsNew isNew)
            throws Exception {
        JsonNode event = JSON.readTree(message.value());
        if (isNew.test(database, message)) {
            update(database, BOOK, event.get("order").asText(), event.get("cents").asLong());
        }
        database.commit();
    }

    private static int update(Connection database, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = database.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) {
                statement.setObject(i + 1, values[i]);
            }
            return statement.executeUpdate();
        }
    }

    private static String header(ConsumerRecord<String, String> message, String name, String otherwise) {
        Header header = message.headers().lastHeader(name);
        if (header == null && otherwise == null) {
            throw new IllegalArgumentException("a message without a header " + name);
        }
        return header == null ? otherwise : new String(header.value(), UTF_8);
    }

    public static void main(String[] args) throws Exception {
        IsNew isNew = args[0].equals("position") ? OrderConsumer::newByPosition : OrderConsumer::newById;
        Map<String, String> env = System.getenv();
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", env.get("BOOTSTRAP_SERVERS"),
            "group.id", env.get("GROUP"),
            "group.instance.id", env.get("GROUP_INSTANCE"),
            "auto.offset.reset", "earliest",
            "enable.auto.commit", false);
        var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        Thread main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            consumer.wakeup();
            try {
                main.join();
            } catch (InterruptedException given_up) {
                Thread.currentThread().interrupt();
            }
        }));
        try (consumer; Connection database = DriverManager.getConnection(env.get("DATABASE_URL"))) {
            database.setAutoCommit(false);
            consumer.subscribe(List.of(env.get("TOPIC")));
            while (true) {
                for (ConsumerRecord<String, String> message : consumer.poll(Duration.ofSeconds(1))) {
                    handle(database, message, isNew);
                }
                consumer.commitSync();
            }
        } catch (WakeupException stopped) {
            // SIGTERM. What was handled since offsets were last told comes again, and is dropped.
        }
    }
}

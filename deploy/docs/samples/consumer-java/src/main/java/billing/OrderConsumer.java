package billing;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Books each order once, however often it is delivered.
 *
 * <p>Settings are in the environment: BOOTSTRAP_SERVERS, TOPIC, GROUP, GROUP_INSTANCE (a name that this process keeps
 * when it is started again, so that it goes on at once), DATABASE_URL. Its table is in consumer.sql, walpost.accept() in
 * inbox.sql.
 */
public final class OrderConsumer {
    private static final String ACCEPT = "SELECT walpost.accept(?, ?)";
    private static final String BOOK = "INSERT INTO booking (order_id, cents) VALUES (?, ?)";
    private static final ObjectMapper JSON = new ObjectMapper();

    /** One transaction: that the event is accepted, and what it does. */
    private static void handle(Connection database, String consumer, ConsumerRecord<String, String> message)
            throws Exception {
        JsonNode event = JSON.readTree(message.value());
        if (accept(database, consumer, header(message, "id"))) {
            book(database, event.get("order").asText(), event.get("cents").asLong());
        }
        database.commit();
    }

    private static boolean accept(Connection database, String consumer, String id) throws SQLException {
        try (PreparedStatement statement = database.prepareStatement(ACCEPT)) {
            statement.setString(1, consumer);
            statement.setString(2, id);
            try (ResultSet answer = statement.executeQuery()) {
                answer.next();
                return answer.getBoolean(1);
            }
        }
    }

    private static void book(Connection database, String order, long cents) throws SQLException {
        try (PreparedStatement statement = database.prepareStatement(BOOK)) {
            statement.setString(1, order);
            statement.setLong(2, cents);
            statement.executeUpdate();
        }
    }

    private static String header(ConsumerRecord<String, String> message, String name) {
        Header header = message.headers().lastHeader(name);
        if (header == null) {
            throw new IllegalArgumentException("a message without a header " + name);
        }
        return new String(header.value(), UTF_8);
    }

    public static void main(String[] args) throws Exception {
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
                    handle(database, env.get("GROUP"), message);
                }
                consumer.commitSync();
            }
        } catch (WakeupException stopped) {
            // SIGTERM. What was handled since offsets were last told comes again, and is not accepted.
        }
    }
}

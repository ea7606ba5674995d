package shop;

import javax.sql.DataSource;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;

/** Without Spring Boot, which creates these beans: place_order outbox|emit ORDER CUSTOMER CENTS. */
@Configuration
@EnableTransactionManagement
@Import(Orders.class)
public class PlaceOrder {
    @Bean
    DataSource dataSource() {
        return new DriverManagerDataSource(System.getenv("DATABASE_URL"));
    }

    @Bean
    JdbcTemplate jdbcTemplate(DataSource dataSource) {
        return new JdbcTemplate(dataSource);
    }

    @Bean
    PlatformTransactionManager transactionManager(DataSource dataSource) {
        return new JdbcTransactionManager(dataSource);
    }

    public static void main(String[] args) {
        Order order = new Order(args[1], args[2], Long.parseLong(args[3]));
        try (var context = new AnnotationConfigApplicationContext(PlaceOrder.class)) {
            Orders orders = context.getBean(Orders.class);
            switch (args[0]) {
                case "outbox" -> orders.place(order);
                case "emit" -> orders.placeByMessage(order);
                default -> throw new IllegalArgumentException(args[0]);
            }
        }
    }
}

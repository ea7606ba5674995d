package shop;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.Map;

public record Order(String id, String customer, long cents) {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** The payload, as JSON: a shape of its own, not the row. */
    public String placed() {
        Map<String, Object> event = new LinkedHashMap<>();
        event.put("order", id);
        event.put("customer", customer);
        event.put("cents", cents);
        try {
            return JSON.writeValueAsString(event);
        } catch (JsonProcessingException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}

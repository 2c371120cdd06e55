// Keeps a copy of the collection t.docs in memory by Debezium's engine, until the document "end" arrives. Then prints one line:
// {"documents": {_id: n}, "events": …, "kinds": {c: …, u: …}}.
//
//   java Capture URI FILE     FILE keeps how far it has read
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;

public class Capture {
  static final ObjectMapper json = new ObjectMapper();
  static final Map<String, Integer> documents = new TreeMap<>(), kinds = new TreeMap<>();
  static final CountDownLatch end = new CountDownLatch(1);
  static int events = 0;

  static void apply(ChangeEvent<String, String> event) {
    try {
      if (event.key() == null || event.value() == null) return;  // a tombstone
      String id = json.readTree(json.readTree(event.key()).get("id").asText()).asText();
      JsonNode value = json.readTree(event.value());
      String kind = value.get("op").asText();
      events += 1;
      kinds.merge(kind, 1, Integer::sum);
      if (id.equals("end")) end.countDown();
      else if (kind.equals("d")) documents.remove(id);
      else if (value.hasNonNull("after")) documents.put(id, json.readTree(value.get("after").asText()).get("n").asInt());
    } catch (Exception error) {
      throw new RuntimeException(error);
    }
  }

  public static void main(String[] arguments) throws Exception {
    Properties settings = new Properties();
    settings.setProperty("name", "capture");
    settings.setProperty("connector.class", "io.debezium.connector.mongodb.MongoDbConnector");
    settings.setProperty("mongodb.connection.string", arguments[0]);
    settings.setProperty("topic.prefix", "copy");
    settings.setProperty("collection.include.list", "t.docs");
    settings.setProperty("capture.mode", "change_streams_update_full");
    settings.setProperty("offset.storage", "org.apache.kafka.connect.storage.FileOffsetBackingStore");
    settings.setProperty("offset.storage.file.filename", arguments[1]);
    settings.setProperty("offset.flush.interval.ms", "500");
    settings.setProperty("errors.max.retries", "-1");
    settings.setProperty("key.converter.schemas.enable", "false");
    settings.setProperty("value.converter.schemas.enable", "false");
    DebeziumEngine<ChangeEvent<String, String>> engine =
        DebeziumEngine.create(Json.class).using(settings).notifying(Capture::apply).using((ok, message, error) -> {
          if (!ok) System.err.println(message + " " + error);
          end.countDown();
        }).build();
    Executors.newSingleThreadExecutor().execute(engine);
    System.out.println("reading");
    end.await();
    System.out.println(json.writeValueAsString(Map.of("documents", documents, "events", events, "kinds", kinds)));
    System.out.flush();
    System.exit(0);
  }
}

// Uses a replica set through the official Java driver. Prints `ask …` where a member is to be killed, paused or continued, and
// goes on when it reads `done`; leaves with 0 when everything is as it should be.  java ReplicaSetProgram URI-OF-ONE-MEMBER
import com.mongodb.*;
import com.mongodb.bulk.BulkWriteResult;
import com.mongodb.client.*;
import com.mongodb.client.model.*;
import com.mongodb.client.model.changestream.ChangeStreamDocument;
import com.mongodb.connection.*;
import com.mongodb.event.*;
import java.io.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.stream.*;
import org.bson.Document;

public class ReplicaSetProgram {
  interface Condition { boolean holds() throws Exception; }
  interface Work { void run() throws Exception; }

  static final BufferedReader answers = new BufferedReader(new InputStreamReader(System.in));
  static volatile ClusterDescription seen;
  static final List<String> primaries = new CopyOnWriteArrayList<>();
  static MongoDatabase db;

  static void check(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }

  static void ask(String what) throws Exception {
    System.out.println("ask " + what);
    check("done".equals(answers.readLine()), what);
  }

  static void until(String what, Condition condition) throws Exception {
    for (long end = System.nanoTime() + 120_000_000_000L; !condition.holds(); Thread.sleep(20)) check(System.nanoTime() < end, "never: " + what);
  }

  static List<String> of(ServerType type) {
    if (seen == null) return List.of();
    return seen.getServerDescriptions().stream().filter(each -> each.getType() == type).map(each -> each.getAddress().toString()).collect(Collectors.toList());
  }

  static boolean whole() { return of(ServerType.REPLICA_SET_PRIMARY).size() == 1 && of(ServerType.REPLICA_SET_SECONDARY).size() == 2; }

  static void changed(ClusterDescriptionChangedEvent event) {
    synchronized (primaries) {
      seen = event.getNewDescription();
      for (String primary : of(ServerType.REPLICA_SET_PRIMARY)) {
        if (primaries.isEmpty() || !primaries.get(primaries.size() - 1).equals(primary)) primaries.add(primary);
      }
    }
  }

  static String primary() { return primaries.get(primaries.size() - 1); }

  static MongoCollection<Document> coll(String name) { return db.getCollection(name); }

  static Document id(Object id) { return new Document("_id", id); }

  static int refused(Work work) throws Exception {
    try {
      work.run();
    } catch (MongoWriteConcernException error) {
      return error.getWriteConcernError().getCode();
    } catch (MongoException error) {
      return error.getCode();
    }
    throw new AssertionError("nothing was refused");
  }

  // Transfers between accounts: one that meets another writer runs again, and one that can't be paid leaves nothing behind.
  static void transactions(MongoClient client) throws Exception {
    MongoCollection<Document> accounts = coll("accounts");
    accounts.insertMany(List.of(id("a").append("n", 100), id("b").append("n", 0)));
    TransactionOptions options = TransactionOptions.builder().readConcern(ReadConcern.SNAPSHOT).writeConcern(WriteConcern.MAJORITY).build();
    AtomicInteger tries = new AtomicInteger();
    try (ClientSession session = client.startSession()) {
      session.withTransaction(() -> transfer(session, 30, tries), options);
      check(tries.get() == 2, tries + " tries");
      check(balances(accounts.find()).equals(List.of(75, 30)), "30 were paid");
      try {
        session.withTransaction(() -> transfer(session, 1000, tries), options);
        check(false, "it was not there to be paid");
      } catch (IllegalStateException error) {
        check(balances(accounts.find()).equals(List.of(75, 30)), "nothing was paid");
      }
      session.startTransaction(options);
      accounts.deleteOne(session, id("a"));
      check(balances(accounts.find(session)).equals(List.of(30)), "the transaction sees what it deleted");
      check(balances(accounts.find()).equals(List.of(75, 30)), "others don't");
      session.abortTransaction();
    }
    check(balances(accounts.find()).equals(List.of(75, 30)), "it is there again");
  }

  static Object transfer(ClientSession session, int amount, AtomicInteger tries) {
    MongoCollection<Document> accounts = coll("accounts");
    int there = accounts.find(session, id("a")).first().getInteger("n");
    if (tries.incrementAndGet() == 1) accounts.updateOne(id("a"), Updates.inc("n", 5));
    accounts.updateOne(session, id("b"), Updates.inc("n", amount));
    if (there < amount) throw new IllegalStateException("not enough");
    accounts.updateOne(session, id("a"), Updates.set("n", there - amount));
    return null;
  }

  static List<Integer> balances(FindIterable<Document> found) {
    return found.sort(id(1)).map(each -> each.getInteger("n")).into(new ArrayList<>());
  }

  // The driver's one retry hides a change of primary, and nothing is done twice. Returns who was primary before.
  static String whileWriting(String name, Work change) throws Exception {
    MongoCollection<Document> target = coll(name);
    String before = primary();
    AtomicBoolean stop = new AtomicBoolean(), written = new AtomicBoolean();  // written: the last insert is counted
    AtomicInteger count = new AtomicInteger();
    // A change stream goes on over all that, and has every insert once, in order.
    MongoChangeStreamCursor<ChangeStreamDocument<Document>> stream = target.watch(List.of(Aggregates.match(new Document("operationType", "insert")))).cursor();
    List<Object> inserted = new CopyOnWriteArrayList<>();
    target.insertOne(id("sum").append("n", 0));
    ExecutorService pool = Executors.newFixedThreadPool(2);
    Future<?> reading = pool.submit(() -> {
      while (!written.get() || inserted.size() <= count.get()) {
        ChangeStreamDocument<Document> event = stream.tryNext();
        if (event != null) inserted.add(event.getFullDocument().get("_id"));
      }
    });
    Future<?> writing = pool.submit(() -> {
      while (!stop.get()) {
        target.insertOne(id(count.get()));
        target.updateOne(id("sum"), Updates.inc("n", 1));
        count.incrementAndGet();
      }
    });
    Work more = () -> {
      int enough = count.get() + 15;
      until("writes go on", () -> writing.isDone() || count.get() >= enough);
    };
    more.run();
    change.run();
    until("another primary is seen", () -> writing.isDone() || !primary().equals(before));
    more.run();
    stop.set(true);
    writing.get();
    written.set(true);
    reading.get(120, TimeUnit.SECONDS);
    stream.close();
    pool.shutdown();
    check(inserted.size() == count.get() + 1 && inserted.get(0).equals("sum"), "the stream has " + inserted.size() + " of " + count.get() + " inserts");
    for (int i = 0; i < count.get(); ++i) check(inserted.get(i + 1).equals(i), i + " comes as " + inserted.get(i + 1));
    check(target.countDocuments() == count.get() + 1, "a write is missing");
    check(target.find(id("sum")).first().getInteger("n") == count.get(), "an update was lost or done twice");
    check(count.get() > 20, "only " + count.get() + " writes");
    return before;
  }

  public static void main(String[] arguments) throws Exception {
    java.util.logging.LogManager.getLogManager().reset();
    MongoClientSettings settings = MongoClientSettings.builder()
        .applyConnectionString(new ConnectionString(arguments[0]))
        .applyToServerSettings(each -> each.heartbeatFrequency(500, TimeUnit.MILLISECONDS))
        .applyToClusterSettings(each -> each.serverSelectionTimeout(120, TimeUnit.SECONDS).addClusterListener(new ClusterListener() {
          @Override public void clusterDescriptionChanged(ClusterDescriptionChangedEvent event) { changed(event); }
        }))
        .build();
    try (MongoClient client = MongoClients.create(settings)) {
      until("three members are found from one", ReplicaSetProgram::whole);
      db = client.getDatabase("drivers_java");
      db.drop();

      // Who answers.
      Document hello = new Document("hello", 1);
      check(primary().equals(db.runCommand(hello, ReadPreference.primary()).getString("me")), "the primary answers");
      for (int i = 0; i < 5; ++i) check(db.runCommand(hello, ReadPreference.secondary()).getBoolean("secondary"), "a secondary answers");
      check(db.runCommand(hello, ReadPreference.nearest()).getString("setName").equals("rs"), "someone near answers");
      for (String n : List.of("0", "1", "2")) {
        Document answer = db.runCommand(hello, ReadPreference.nearest(new TagSet(new Tag("n", n))));
        check(answer.get("tags", Document.class).getString("n").equals(n), "who has the tag answers");
      }

      // A session reads what it wrote, wherever it reads.
      try (ClientSession session = client.startSession(ClientSessionOptions.builder().causallyConsistent(true).build())) {
        MongoCollection<Document> causal = coll("causal"), far = causal.withReadPreference(ReadPreference.secondary());
        for (int i = 0; i < 40; ++i) {
          causal.insertOne(session, id(i));
          check(far.find(session, id(i)).first() != null, i + " is not read back");
        }
        check(session.getOperationTime() != null, "the session has a time");
      }

      transactions(client);

      // Many writes in one command, in order and not.
      BulkWriteResult bulk = coll("bulk").bulkWrite(List.of(
          new InsertOneModel<>(id(1).append("n", 1)), new InsertOneModel<>(id(2).append("n", 2)),
          new UpdateManyModel<>(new Document(), Updates.inc("n", 10)),
          new ReplaceOneModel<>(id(3), new Document("n", 3), new ReplaceOptions().upsert(true)), new DeleteOneModel<>(id(1))));
      check(bulk.getInsertedCount() == 2 && bulk.getModifiedCount() == 2 && bulk.getUpserts().size() == 1 && bulk.getDeletedCount() == 1, bulk.toString());
      try {
        coll("bulk").insertMany(List.of(id(2), id(4), id(3)), new InsertManyOptions().ordered(false));
        check(false, "duplicates were taken");
      } catch (MongoBulkWriteException error) {
        check(error.getWriteErrors().stream().allMatch(each -> each.getCode() == 11000) && error.getWriteErrors().size() == 2, error.toString());
      }
      check(coll("bulk").countDocuments() == 3, "the third of them was inserted");

      // Write concerns that can't be met, at once and in time.
      coll("concern").withWriteConcern(WriteConcern.MAJORITY.withJournal(true)).insertOne(id(1));
      coll("concern").withWriteConcern(WriteConcern.W3).insertOne(id(2));
      check(refused(() -> coll("concern").withWriteConcern(new WriteConcern(5)).insertOne(id(3))) == 100, "five of three");
      String paused = of(ServerType.REPLICA_SET_SECONDARY).get(0);
      ask("pause " + paused);
      int late = refused(() -> coll("concern").withWriteConcern(WriteConcern.W3.withWTimeout(300, TimeUnit.MILLISECONDS)).insertOne(id(4)));
      check(late == 64, "three of two: " + late);
      coll("concern").withWriteConcern(WriteConcern.MAJORITY.withWTimeout(120, TimeUnit.SECONDS)).insertOne(id(5));
      ask("continue " + paused);
      until("all are back", ReplicaSetProgram::whole);

      // Writes go on while the primary changes.
      MongoDatabase admin = client.getDatabase("admin");
      whileWriting("stepped", () -> admin.runCommand(new Document("replSetStepDown", 20).append("secondaryCatchUpPeriodSecs", 20)));
      until("all are back", ReplicaSetProgram::whole);
      String leader = primary();
      String killed = whileWriting("killed", () -> ask("kill " + leader));
      ask("start " + killed);
      until("all are back", ReplicaSetProgram::whole);
      coll("concern").withWriteConcern(WriteConcern.W3.withWTimeout(120, TimeUnit.SECONDS)).insertOne(id(6));
    }
    System.out.println("passed");
    System.exit(0);
  }
}

// Keeps a copy of the collection t.docs in memory by the npm package mongochangestream, until the document "end" arrives. Then prints one line:
// {"documents": {_id: n}, "events": …, "repeated": …, "restarts": …}.
//
//   node synchronizer.mjs URI
import { initSync } from "mongochangestream";
import { MongoClient } from "mongodb";

// What the package asks of Redis.
const kept = new Map();
const store = {
  get: async (key) => kept.get(key) ?? null,
  set: async (key, value) => kept.set(key, value),
  setnx: async (key, value) => kept.has(key) || kept.set(key, value),
  mset: async (...pairs) => { for (let i = 0; i < pairs.length; i += 2) kept.set(pairs[i], pairs[i + 1]); },
  exists: async (key) => (kept.has(key) ? 1 : 0),
  del: async (...keys) => keys.forEach((key) => kept.delete(key)),
};

const client = await new MongoClient(process.argv[2], { serverSelectionTimeoutMS: 60000 }).connect();
const sync = initSync(store, client.db("t").collection("docs"));
const documents = new Map();
const seen = new Set();
let events = 0, repeated = 0, restarts = 0;

const apply = async (records) => {
  for (const event of records) {
    events += 1;
    if (seen.has(event._id?._data)) repeated += 1;
    if (event._id?._data) seen.add(event._id._data);
    const id = event.documentKey._id;
    if (event.operationType === "delete") documents.delete(id);
    else if (event.fullDocument) documents.set(id, event.fullDocument.n);
    if (id !== "end") continue;
    documents.delete(id);
    process.stdout.write(JSON.stringify({ documents: Object.fromEntries(documents), events, repeated, restarts }) + "\n", () => process.exit(0));
  }
};

const scan = await sync.runInitialScan(apply);
const stream = await sync.processChangeStream(apply, { timeout: 200 });
sync.emitter.on("cursorError", async () => {
  restarts += 1;
  await stream.restart();
});
stream.start();
process.stdout.write("reading\n");
await scan.start();

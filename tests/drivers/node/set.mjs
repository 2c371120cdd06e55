// Uses a replica set through the official Node driver. Prints `ask …` where a member is to be killed, paused or continued, and
// goes on when it reads `done`; leaves with 0 when everything is as it should be.  node set.mjs URI-OF-ONE-MEMBER
import assert from 'node:assert/strict';
import {createRequire} from 'node:module';
import readline from 'node:readline';

const {MongoClient, MongoNetworkError, ReadPreference} = createRequire(process.env.DRIVER_MODULES + '/')('mongodb');
const answers = readline.createInterface({input: process.stdin})[Symbol.asyncIterator]();
const sleep = ms => new Promise(done => setTimeout(done, ms));

async function ask(what) {
  console.log('ask ' + what);
  assert.equal((await answers.next()).value, 'done', what);
}

async function until(what, holds, seconds = 120) {
  for (const end = Date.now() + seconds * 1000; !(await holds()); await sleep(20)) assert(Date.now() < end, 'never: ' + what);
}

async function fails(work) {
  try {
    await work();
  } catch (error) {
    return error;
  }
  assert.fail('nothing was refused');
}

const client = new MongoClient(process.argv[2], {serverSelectionTimeoutMS: 120000, heartbeatFrequencyMS: 500});
let members = new Map();  // address -> type, as monitoring tells
const primaries = [];
client.on('topologyDescriptionChanged', event => {
  members = new Map([...event.newDescription.servers].map(([address, server]) => [address, server.type]));
  const [primary] = [...members].find(([, type]) => type === 'RSPrimary') ?? [];
  if (primary && primary !== primaries.at(-1)) primaries.push(primary);
});
const of = type => [...members].filter(([, each]) => each === type).map(([address]) => address);
const whole = () => of('RSPrimary').length === 1 && of('RSSecondary').length === 2;

await client.connect();
await until('three members are found from one', whole);
const db = client.db('drivers_node');
await db.dropDatabase();

// Who answers.
const answered = async readPreference => (await db.command({hello: 1}, {readPreference})).me;
assert.equal(await answered('primary'), of('RSPrimary')[0]);
for (let i = 0; i < 5; ++i) assert(of('RSSecondary').includes(await answered('secondary')));
assert(members.has(await answered('nearest')));
for (const n of [0, 1, 2]) {
  const hello = await db.command({hello: 1}, {readPreference: new ReadPreference('nearest', [{n: String(n)}])});
  assert.equal(hello.tags.n, String(n));
}

// A session reads what it wrote, wherever it reads.
await client.withSession({causalConsistency: true}, async session => {
  for (let i = 0; i < 40; ++i) {
    await db.collection('causal').insertOne({_id: i}, {session});
    assert(await db.collection('causal').findOne({_id: i}, {session, readPreference: 'secondary'}), `${i} is not read back`);
  }
  assert(session.operationTime);
});

// Transfers between accounts: one that meets another writer runs again, and one that can't be paid leaves nothing behind.
const accounts = db.collection('accounts');
await accounts.insertMany([{_id: 'a', n: 100}, {_id: 'b', n: 0}]);
let tries = 0;
async function transfer(session, amount) {
  const {n} = await accounts.findOne({_id: 'a'}, {session});
  if (++tries === 1) await accounts.updateOne({_id: 'a'}, {$inc: {n: 5}});
  await accounts.updateOne({_id: 'b'}, {$inc: {n: amount}}, {session});
  if (n < amount) throw new Error('not enough');
  await accounts.updateOne({_id: 'a'}, {$set: {n: n - amount}}, {session});
}
const balances = async options => (await accounts.find({}, options).sort({_id: 1}).toArray()).map(each => each.n);
await client.withSession(async session => {
  const options = {readConcern: {level: 'snapshot'}, writeConcern: {w: 'majority'}};
  await session.withTransaction(() => transfer(session, 30), options);
  assert.equal(tries, 2);
  assert.deepEqual(await balances(), [75, 30]);
  assert.equal((await fails(() => session.withTransaction(() => transfer(session, 1000), options))).message, 'not enough');
  assert.deepEqual(await balances(), [75, 30]);
  session.startTransaction(options);
  await accounts.deleteOne({_id: 'a'}, {session});
  assert.deepEqual(await balances({session}), [30]);
  assert.deepEqual(await balances(), [75, 30]);
  await session.abortTransaction();
  assert.deepEqual(await balances(), [75, 30]);
});

// Many writes in one command, in order and not.
const bulk = await db.collection('bulk').bulkWrite([
  {insertOne: {document: {_id: 1, n: 1}}}, {insertOne: {document: {_id: 2, n: 2}}}, {updateMany: {filter: {}, update: {$inc: {n: 10}}}},
  {replaceOne: {filter: {_id: 3}, replacement: {n: 3}, upsert: true}}, {deleteOne: {filter: {_id: 1}}}]);
assert.deepEqual([bulk.insertedCount, bulk.modifiedCount, bulk.upsertedCount, bulk.deletedCount], [2, 2, 1, 1]);
const twice = await fails(() => db.collection('bulk').insertMany([{_id: 2}, {_id: 4}, {_id: 3}], {ordered: false}));
assert.deepEqual(twice.writeErrors.map(each => each.code), [11000, 11000]);
assert.equal(await db.collection('bulk').countDocuments(), 3);

// Write concerns that can't be met, at once and in time.
await db.collection('concern').insertOne({_id: 1}, {writeConcern: {w: 'majority', journal: true}});
await db.collection('concern').insertOne({_id: 2}, {writeConcern: {w: 3}});
assert.equal((await fails(() => db.collection('concern').insertOne({_id: 3}, {writeConcern: {w: 5}}))).code, 100);
const paused = of('RSSecondary')[0];
await ask('pause ' + paused);
const late = await fails(() => db.collection('concern').insertOne({_id: 4}, {writeConcern: {w: 3, wtimeoutMS: 300}}));
assert.equal(late.code, 64);
assert.equal(late.result?.writeConcernError?.errInfo?.wtimeout ?? late.errInfo?.wtimeout ?? true, true);
await db.collection('concern').insertOne({_id: 5}, {writeConcern: {w: 'majority', wtimeoutMS: 120000}});
await ask('continue ' + paused);
await until('all are back', whole);

// Writes go on while the primary changes: the driver's one retry hides it, and nothing is done twice. But where its monitor
// sees the connection end before the waiting write does, this driver takes the connection for stale and doesn't retry
// (`decorateCommandError` in its sdam/server.js): such a write may have been done or not, with any server.
async function whileWriting(collection, change) {
  const target = db.collection(collection), before = primaries.at(-1);
  let stop = false, written = false, count = 0, unclear = 0;  // written: the last insert is counted
  const unlessStale = async (write, again) => {
    try {
      await write();
    } catch (error) {
      if (!(error instanceof MongoNetworkError) || error.hasErrorLabel('RetryableWriteError')) throw error;
      await again();
    }
  };
  // A change stream goes on over all that, and has every insert once, in order.
  const stream = target.watch([{$match: {operationType: 'insert'}}]), inserted = [];
  await stream.tryNext();
  const reading = (async () => {
    while (!written || inserted.length <= count) {
      const event = await stream.tryNext();
      if (event) inserted.push(event.documentKey._id);
    }
  })();
  reading.catch(() => {});
  await target.insertOne({_id: 'sum', n: 0});
  const writing = (async () => {
    for (; !stop; ++count) {
      const document = {_id: count};
      await unlessStale(() => target.insertOne(document), () => target.replaceOne(document, document, {upsert: true}));
      await unlessStale(() => target.updateOne({_id: 'sum'}, {$inc: {n: 1}}), () => ++unclear);
    }
  })();
  writing.catch(() => {});
  const more = () => { const enough = count + 15; return Promise.race([writing, until('writes go on', () => count >= enough)]); };
  await more();
  await change(before);
  await Promise.race([writing, until('another primary is seen', () => primaries.at(-1) !== before)]);
  await more();
  stop = true;
  await writing;
  written = true;
  await Promise.race([reading, until('the stream has all inserts', () => inserted.length > count)]);
  await reading;
  await stream.close();
  assert.deepEqual(inserted, ['sum', ...Array(count).keys()]);
  assert.equal(await target.countDocuments(), count + 1);
  const {n} = await target.findOne({_id: 'sum'});
  assert(unclear <= 1 && n <= count && n >= count - unclear, `${n} of ${count}, ${unclear} unclear`);
  assert(count > 20, `only ${count} writes`);
  return before;
}
await whileWriting('stepped', () => client.db('admin').command({replSetStepDown: 20, secondaryCatchUpPeriodSecs: 20}));
await until('all are back', whole);
const killed = await whileWriting('killed', primary => ask('kill ' + primary));
await ask('start ' + killed);
await until('all are back', whole);
await db.collection('concern').insertOne({_id: 6}, {writeConcern: {w: 3, wtimeoutMS: 120000}});
await client.close();
console.log('passed');
process.exit(0);

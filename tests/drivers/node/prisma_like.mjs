// Does through the Node driver what Prisma's engine does for its interactive transactions: it selects by aggregations with $expr, writes what it has
// selected by _id, updates by pipelines, and begins again after a conflict. Leaves with 0 when everything is as it should be.
//   node prisma_like.mjs URI
import assert from 'node:assert/strict';
import {createRequire} from 'node:module';

// The choices of one seed are always the same: mulberry32. PALIMPSEST_TEST_SEED repeats those of a run that printed its seed.
let state = Number(process.env.PALIMPSEST_TEST_SEED || Date.now() % 2 ** 32);
console.log(`PALIMPSEST_TEST_SEED=${state}`);
function random() {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), state | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

const {MongoClient, ObjectId} = createRequire(process.env.DRIVER_MODULES + '/')('mongodb');
const client = new MongoClient(process.argv[2], {serverSelectionTimeoutMS: 120000});
const db = client.db();
const [users, posts] = [db.collection('User'), db.collection('Post')];
await users.createIndex({email: 1}, {unique: true, name: 'User_email_key'});

// findMany, findUnique and findFirst.
function find(collection, conditions, session, {sort, take, fields} = {}) {
  const stages = [{$match: {$expr: {$and: conditions}}}];
  if (sort) stages.push({$sort: sort});
  if (take) stages.push({$limit: take});
  stages.push({$project: fields});
  return collection.aggregate(stages, {session}).toArray();
}
const equals = (field, value) => ({$and: [{$eq: ['$' + field, value]}, {$ne: ['$' + field, '$$REMOVE']}]});
const user = {_id: 1, email: 1, balance: 1}, post = {_id: 1, title: 1, authorId: 1};

// create: what was inserted is read back by its id.
async function create(collection, document, session, fields) {
  const {insertedId} = await collection.insertOne(document, {session});
  return (await find(collection, [equals('_id', insertedId)], session, {fields}))[0];
}

// update and updateMany: the ids first, then a pipeline.
async function update(collection, conditions, changes, session) {
  const ids = (await find(collection, conditions, session, {fields: {_id: 1}})).map(each => each._id);
  if (!ids.length) return 0;
  return (await collection.updateMany({_id: {$in: ids}}, [{$set: changes}], {session})).matchedCount;
}
const add = (field, value) => ({[field]: {$cond: {if: {$ne: ['$' + field, '$$REMOVE']}, then: {$add: ['$' + field, value]}, else: '$$REMOVE'}}});

// $transaction(async tx => …): a conflict is Prisma's P2034, after which applications try again.
async function transaction(work) {
  for (let tries = 0;; ++tries) {
    const session = client.startSession();
    session.startTransaction();
    try {
      const result = await work(session);
      await session.commitTransaction();
      return {result, tries};
    } catch (error) {
      if (session.inTransaction()) await session.abortTransaction();
      if (!error.hasErrorLabel?.('TransientTransactionError') || tries === 200) throw error;
      await new Promise(done => setTimeout(done, random() * 20));
    } finally {
      await session.endSession();
    }
  }
}

const balances = async () => (await find(users, [], undefined, {sort: {email: 1}, fields: user})).map(each => each.balance);
const [ann, bob] = [await create(users, {email: 'ann@x', balance: 100}, undefined, user), await create(users, {email: 'bob@x', balance: 0}, undefined, user)];
assert.deepEqual(ann, {_id: ann._id, email: 'ann@x', balance: 100});

async function transfer(session, from, to, amount) {
  assert.equal(await update(users, [equals('_id', from)], add('balance', -amount), session), 1);
  const [sender] = await find(users, [equals('_id', from)], session, {take: 1, fields: user});
  if (sender.balance < 0) throw new Error(`${sender.email} doesn't have enough`);
  assert.equal(await update(users, [equals('_id', to)], add('balance', amount), session), 1);
}
await transaction(session => transfer(session, ann._id, bob._id, 70));
assert.deepEqual(await balances(), [30, 70]);
await assert.rejects(transaction(session => transfer(session, ann._id, bob._id, 70)), /enough/);
assert.deepEqual(await balances(), [30, 70]);

// Nested writes, in a collection that isn't there yet; then a relation that is loaded, and an upsert.
const {result: author} = await transaction(async session => {
  const made = await create(users, {email: 'eve@x', balance: 1}, session, user);
  await posts.insertMany([{title: 'one', authorId: made._id}, {title: 'two', authorId: made._id}], {session});
  assert.equal(await posts.countDocuments(), 0);
  assert.equal((await find(posts, [{$in: ['$authorId', [made._id]]}], session, {sort: {title: -1}, fields: post})).length, 2);
  const missing = new ObjectId();
  if (await update(posts, [equals('_id', missing)], {title: {$literal: 'new'}}, session) === 0)
    await create(posts, {_id: missing, title: 'three', authorId: made._id}, session, post);
  return made;
});
const related = await users.aggregate([{$match: {$expr: equals('_id', author._id)}},
  {$lookup: {from: 'Post', as: 'posts', let: {left: '$_id'}, pipeline: [{$match: {$expr: {$eq: ['$authorId', '$$left']}}}, {$sort: {title: 1}}]}}]).toArray();
assert.deepEqual(related[0].posts.map(each => each.title), ['one', 'three', 'two']);

// deleteMany goes by ids, too, and an error takes back all of it.
await assert.rejects(transaction(async session => {
  const ids = (await find(posts, [equals('authorId', author._id)], session, {fields: {_id: 1}})).map(each => each._id);
  assert.equal((await posts.deleteMany({_id: {$in: ids}}, {session})).deletedCount, 3);
  await create(users, {email: 'ann@x', balance: 1}, session, user);
}), error => error.code === 11000);
assert.equal(await posts.countDocuments(), 3);

// Many at once: none is lost, and the sum stays.
const many = await Promise.all(Array.from({length: 40}, (_, i) => transaction(session => transfer(session, i % 2 ? ann._id : bob._id, i % 2 ? bob._id : ann._id, 1))));
assert.deepEqual(await balances(), [30, 70, 1]);
assert(many.some(each => each.tries > 0), 'nobody met a conflict');
await client.close();
console.log('passed');

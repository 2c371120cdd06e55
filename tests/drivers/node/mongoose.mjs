// Uses transactions as applications on Mongoose do. Leaves with 0 when everything is as it should be.  node mongoose.mjs URI
import assert from 'node:assert/strict';
import {createRequire} from 'node:module';

const mongoose = createRequire(process.env.DRIVER_MODULES + '/')('mongoose');
await mongoose.connect(process.argv[2], {serverSelectionTimeoutMS: 120000});

const Account = mongoose.model('Account', new mongoose.Schema({owner: {type: String, unique: true}, balance: {type: Number, min: 0}}, {optimisticConcurrency: true}));
const Order = mongoose.model('Order', new mongoose.Schema({
  buyer: {type: mongoose.Schema.Types.ObjectId, ref: 'Account'}, total: Number, lines: [{item: String, price: Number}]}, {timestamps: true}));
const Never = mongoose.model('Never', new mongoose.Schema({n: Number}, {autoCreate: false, autoIndex: false}));  // its collection comes with a transaction
for (const model of [Account, Order]) await model.init();  // their collections and indexes are there

async function fails(work) {
  try {
    await work();
  } catch (error) {
    return error;
  }
  assert.fail('nothing was refused');
}

const [ann, bob] = await Account.create([{owner: 'ann', balance: 100}, {owner: 'bob', balance: 0}], {ordered: true});
const balances = async () => (await Account.find().sort('owner')).map(each => each.balance);

async function buy(session, buyer, seller, price) {
  const from = await Account.findById(buyer).session(session);
  from.balance -= price;
  await from.save();  // the document knows its session
  await Account.updateOne({_id: seller}, {$inc: {balance: price}}, {session});
  const [order] = await Order.create([{buyer, total: price, lines: [{item: 'book', price}]}], {session});
  return order;
}

// session.withTransaction: all of it or nothing.
const session = await mongoose.startSession();
const order = await session.withTransaction(() => buy(session, ann._id, bob._id, 30));
assert.deepEqual(await balances(), [70, 30]);
assert.equal((await Order.findById(order._id).populate('buyer')).buyer.owner, 'ann');
assert.equal((await fails(() => session.withTransaction(() => buy(session, ann._id, bob._id, 1000)))).name, 'ValidationError');
assert.equal((await fails(() => session.withTransaction(async () => {
  await buy(session, ann._id, bob._id, 10);
  await Account.create([{owner: 'bob', balance: 1}], {session});
}))).code, 11000);
assert.deepEqual(await balances(), [70, 30]);
assert.equal(await Order.countDocuments(), 1);

// Others see nothing before the commit, also of a collection that is new.
await session.withTransaction(async () => {
  await Never.insertMany([{n: 1}, {n: 2}], {session});
  assert.equal(await Never.countDocuments({}, {session}), 2);
  assert.deepEqual(await Never.aggregate([{$group: {_id: null, sum: {$sum: '$n'}}}]).session(session), [{_id: null, sum: 3}]);
  assert.equal(await Never.countDocuments(), 0);
  for await (const each of Never.find().session(session).cursor({batchSize: 1})) {
    each.n *= 10;
    await each.save({session});
  }
});
assert.deepEqual((await Never.find().sort('n')).map(each => each.n), [10, 20]);

// connection.transaction takes another attempt after a conflict, and a document that it has saved is to be saved again then.
const mine = await Account.findOne({owner: 'ann'});
let attempts = 0;
await mongoose.connection.transaction(async own => {
  if (++attempts === 1) {
    await Account.countDocuments({}, {session: own});
    await Account.updateOne({owner: 'bob'}, {$inc: {balance: 1}});
  }
  mine.balance = 75;
  await mine.save({session: own});
  await Account.findOneAndUpdate({owner: 'bob'}, {$inc: {balance: -5}}, {session: own, new: true});
}, {readConcern: {level: 'snapshot'}, writeConcern: {w: 'majority'}});
assert.equal(attempts, 2);
assert.deepEqual(await balances(), [75, 26]);

// A session that is begun and ended by hand, with bulkWrite.
session.startTransaction();
await Account.bulkWrite([{updateOne: {filter: {owner: 'ann'}, update: {$set: {balance: 0}}}}, {insertOne: {document: {owner: 'cyd', balance: 7}}},
                         {deleteOne: {filter: {owner: 'bob'}}}], {session});
assert.equal(await Account.exists({owner: 'bob'}).session(session), null);
await session.abortTransaction();
assert.deepEqual(await balances(), [75, 26]);

// The session of a transaction goes to each operation by itself.
mongoose.set('transactionAsyncLocalStorage', true);
await fails(() => mongoose.connection.transaction(async () => {
  await Account.deleteMany();
  throw new Error('not so');
}));
assert.deepEqual(await balances(), [75, 26]);
await session.endSession();
await mongoose.disconnect();
console.log('passed');

// Uses a replica set through the official Go driver. Prints `ask …` where a member is to be killed, paused or continued, and
// goes on when it reads `done`; leaves with 0 when everything is as it should be.  set URI-OF-ONE-MEMBER
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/tag"
)

var (
	ctx     = context.Background()
	answers = bufio.NewScanner(os.Stdin)
	db      *mongo.Database
)

func check(holds bool, what ...any) {
	if !holds {
		panic(fmt.Sprint(what...))
	}
}

func sound(err error) { check(err == nil, err) }

func ask(what string) {
	fmt.Println("ask " + what)
	check(answers.Scan() && answers.Text() == "done", what)
}

func until(what string, holds func() bool) {
	for end := time.Now().Add(120 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		check(time.Now().Before(end), "never: ", what)
	}
}

// What monitoring tells.
var watch struct {
	sync.Mutex
	kinds     map[string]string // by address
	primaries []string
}

func changed(e *event.TopologyDescriptionChangedEvent) {
	watch.Lock()
	defer watch.Unlock()
	watch.kinds = map[string]string{}
	for _, server := range e.NewDescription.Servers {
		watch.kinds[server.Addr.String()] = server.Kind
		if n := len(watch.primaries); server.Kind == "RSPrimary" && (n == 0 || watch.primaries[n-1] != server.Addr.String()) {
			watch.primaries = append(watch.primaries, server.Addr.String())
		}
	}
}

func of(kind string) (found []string) {
	watch.Lock()
	defer watch.Unlock()
	for address, each := range watch.kinds {
		if each == kind {
			found = append(found, address)
		}
	}
	return
}

func whole() bool { return len(of("RSPrimary")) == 1 && len(of("RSSecondary")) == 2 }

func primary() string {
	watch.Lock()
	defer watch.Unlock()
	return watch.primaries[len(watch.primaries)-1]
}

type hello struct {
	Me        string
	Secondary bool
	Tags      map[string]string
}

func answered(by *readpref.ReadPref) (reply hello) {
	sound(db.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}, options.RunCmd().SetReadPreference(by)).Decode(&reply))
	return
}

func id(value any) bson.D { return bson.D{{Key: "_id", Value: value}} }

func with(concern *writeconcern.WriteConcern) *mongo.Collection {
	return db.Collection("concern", options.Collection().SetWriteConcern(concern))
}

func insert(into *mongo.Collection, document bson.D) error {
	_, err := into.InsertOne(ctx, document)
	return err
}

func concernCode(err error) int {
	var failed mongo.WriteException
	check(errors.As(err, &failed) && failed.WriteConcernError != nil, "not a write concern's: ", err)
	return failed.WriteConcernError.Code
}

// The driver's one retry hides a change of primary, and nothing is done twice. Returns who was primary before.
func whileWriting(name string, change func(primary string)) string {
	target, before := db.Collection(name), primary()
	var stop atomic.Bool
	var count atomic.Int64
	var written atomic.Bool // the last insert is counted
	// A change stream goes on over all that, and has every insert once, in order.
	stream, err := target.Watch(ctx, mongo.Pipeline{{{Key: "$match", Value: bson.D{{Key: "operationType", Value: "insert"}}}}})
	sound(err)
	inserted, reading := []any{}, make(chan error, 1)
	go func() {
		for !written.Load() || int64(len(inserted)) <= count.Load() {
			var event struct{ DocumentKey struct{ ID any `bson:"_id"` } `bson:"documentKey"` }
			if stream.TryNext(ctx) {
				if err := stream.Decode(&event); err != nil {
					reading <- err
					return
				}
				inserted = append(inserted, event.DocumentKey.ID)
			} else if err := stream.Err(); err != nil {
				reading <- err
				return
			}
		}
		reading <- nil
	}()
	sound(insert(target, append(id("sum"), bson.E{Key: "n", Value: 0})))
	writing := make(chan error, 1)
	go func() {
		for !stop.Load() {
			if err := insert(target, id(count.Load())); err != nil {
				writing <- err
				return
			}
			if _, err := target.UpdateOne(ctx, id("sum"), bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: 1}}}}); err != nil {
				writing <- err
				return
			}
			count.Add(1)
		}
		writing <- nil
	}()
	more := func() {
		enough := count.Load() + 15
		until("writes go on", func() bool { return len(writing) > 0 || count.Load() >= enough })
	}
	more()
	change(before)
	until("another primary is seen", func() bool { return len(writing) > 0 || primary() != before })
	more()
	stop.Store(true)
	sound(<-writing)
	written.Store(true)
	sound(<-reading)
	sound(stream.Close(ctx))
	check(int64(len(inserted)) == count.Load()+1 && inserted[0] == "sum", len(inserted), " events of ", count.Load(), " inserts")
	for i, each := range inserted[1:] {
		check(each == int64(i), i, " comes as ", each)
	}
	found, err := target.CountDocuments(ctx, bson.D{})
	sound(err)
	check(found == count.Load()+1, found, " documents after ", count.Load(), " writes")
	var sum struct{ N int64 }
	sound(target.FindOne(ctx, id("sum")).Decode(&sum))
	check(sum.N == count.Load(), "an update was lost or done twice: ", sum.N, " of ", count.Load())
	check(count.Load() > 20, "only ", count.Load(), " writes")
	return before
}

// Transfers between accounts: one that meets another writer runs again, and one that can't be paid leaves nothing behind.
func transactions(client *mongo.Client) {
	accounts, tries, notEnough := db.Collection("accounts"), 0, errors.New("not enough")
	_, err := accounts.InsertMany(ctx, []any{append(id("a"), bson.E{Key: "n", Value: 100}), append(id("b"), bson.E{Key: "n", Value: 0})})
	sound(err)
	change := func(ctx context.Context, account, operator string, n int) error {
		_, err := accounts.UpdateOne(ctx, id(account), bson.D{{Key: operator, Value: bson.D{{Key: "n", Value: n}}}})
		return err
	}
	transfer := func(amount int) func(context.Context) (any, error) {
		return func(inSession context.Context) (any, error) {
			var from struct{ N int }
			if err := accounts.FindOne(inSession, id("a")).Decode(&from); err != nil {
				return nil, err
			}
			if tries++; tries == 1 {
				sound(change(ctx, "a", "$inc", 5))
			}
			if err := change(inSession, "b", "$inc", amount); err != nil {
				return nil, err
			}
			if from.N < amount {
				return nil, notEnough
			}
			return nil, change(inSession, "a", "$set", from.N-amount)
		}
	}
	balances := func(ctx context.Context, what string, wanted ...int) {
		cursor, err := accounts.Find(ctx, bson.D{}, options.Find().SetSort(id(1)))
		sound(err)
		var found []struct{ N int }
		sound(cursor.All(ctx, &found))
		check(len(found) == len(wanted), what, ": ", found)
		for i := range wanted {
			check(found[i].N == wanted[i], what, ": ", found)
		}
	}
	session, err := client.StartSession()
	sound(err)
	defer session.EndSession(ctx)
	how := options.Transaction().SetReadConcern(readconcern.Snapshot()).SetWriteConcern(writeconcern.Majority())
	_, err = session.WithTransaction(ctx, transfer(30), how)
	sound(err)
	check(tries == 2, tries, " tries")
	balances(ctx, "30 were paid", 75, 30)
	_, err = session.WithTransaction(ctx, transfer(1000), how)
	check(errors.Is(err, notEnough), "it was not there to be paid: ", err)
	balances(ctx, "nothing was paid", 75, 30)
	sound(session.StartTransaction(how))
	inSession := mongo.NewSessionContext(ctx, session)
	_, err = accounts.DeleteOne(inSession, id("a"))
	sound(err)
	balances(inSession, "the transaction sees what it deleted", 30)
	balances(ctx, "others don't", 75, 30)
	sound(session.AbortTransaction(ctx))
	balances(ctx, "it is there again", 75, 30)
}

func main() {
	client, err := mongo.Connect(options.Client().ApplyURI(os.Args[1]).SetServerSelectionTimeout(120 * time.Second).
		SetHeartbeatInterval(500 * time.Millisecond).SetServerMonitor(&event.ServerMonitor{TopologyDescriptionChanged: changed}))
	sound(err)
	until("three members are found from one", whole)
	db = client.Database("drivers_go")
	sound(db.Drop(ctx))

	// Who answers.
	check(answered(readpref.Primary()).Me == primary(), "the primary answers")
	for i := 0; i < 5; i++ {
		check(answered(readpref.Secondary()).Secondary, "a secondary answers")
	}
	check(answered(readpref.Nearest()).Me != "", "someone near answers")
	for _, n := range []string{"0", "1", "2"} {
		by := readpref.Nearest(readpref.WithTagSets(tag.NewTagSetFromMap(map[string]string{"n": n})))
		check(answered(by).Tags["n"] == n, "who has the tag answers")
	}

	// A session reads what it wrote, wherever it reads.
	session, err := client.StartSession(options.Session().SetCausalConsistency(true))
	sound(err)
	inSession := mongo.NewSessionContext(ctx, session)
	far := db.Collection("causal", options.Collection().SetReadPreference(readpref.Secondary()))
	for i := 0; i < 40; i++ {
		_, err := db.Collection("causal").InsertOne(inSession, id(i))
		sound(err)
		sound(far.FindOne(inSession, id(i)).Err())
	}
	check(session.OperationTime() != nil, "the session has a time")
	session.EndSession(ctx)

	transactions(client)

	// Many writes in one command, in order and not.
	bulk, err := db.Collection("bulk").BulkWrite(ctx, []mongo.WriteModel{
		mongo.NewInsertOneModel().SetDocument(append(id(1), bson.E{Key: "n", Value: 1})),
		mongo.NewInsertOneModel().SetDocument(append(id(2), bson.E{Key: "n", Value: 2})),
		mongo.NewUpdateManyModel().SetFilter(bson.D{}).SetUpdate(bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: 10}}}}),
		mongo.NewReplaceOneModel().SetFilter(id(3)).SetReplacement(bson.D{{Key: "n", Value: 3}}).SetUpsert(true),
		mongo.NewDeleteOneModel().SetFilter(id(1))})
	sound(err)
	check(bulk.InsertedCount == 2 && bulk.ModifiedCount == 2 && bulk.UpsertedCount == 1 && bulk.DeletedCount == 1, *bulk)
	_, err = db.Collection("bulk").InsertMany(ctx, []any{id(2), id(4), id(3)}, options.InsertMany().SetOrdered(false))
	var twice mongo.BulkWriteException
	check(errors.As(err, &twice) && len(twice.WriteErrors) == 2 && twice.WriteErrors[0].Code == 11000, err)
	count, err := db.Collection("bulk").CountDocuments(ctx, bson.D{})
	check(err == nil && count == 3, count, err)

	// Write concerns that can't be met, at once and in time.
	journaled := true
	sound(insert(with(&writeconcern.WriteConcern{W: "majority", Journal: &journaled}), id(1)))
	sound(insert(with(&writeconcern.WriteConcern{W: 3}), id(2)))
	check(concernCode(insert(with(&writeconcern.WriteConcern{W: 5}), id(3))) == 100, "five of three")
	paused := of("RSSecondary")[0]
	ask("pause " + paused)
	// This driver has no wtimeout of its own any more; the command takes it.
	late := db.RunCommand(ctx, bson.D{{Key: "insert", Value: "concern"}, {Key: "documents", Value: bson.A{id(4)}},
		{Key: "writeConcern", Value: bson.D{{Key: "w", Value: 3}, {Key: "wtimeout", Value: 300}}}})
	check(concernCode(late.Err()) == 64, "three of two: ", late.Err())
	sound(insert(with(writeconcern.Majority()), id(5)))
	ask("continue " + paused)
	until("all are back", whole)

	// Writes go on while the primary changes.
	whileWriting("stepped", func(string) {
		sound(client.Database("admin").RunCommand(ctx, bson.D{{Key: "replSetStepDown", Value: 20}, {Key: "secondaryCatchUpPeriodSecs", Value: 20}}).Err())
	})
	until("all are back", whole)
	killed := whileWriting("killed", func(primary string) { ask("kill " + primary) })
	ask("start " + killed)
	until("all are back", whole)
	sound(insert(with(&writeconcern.WriteConcern{W: 3}), id(6)))
	sound(client.Disconnect(ctx))
	fmt.Println("passed")
}

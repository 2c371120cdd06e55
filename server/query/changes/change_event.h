// Change events are what a change stream returns for a row of the log:
//
//   {_id: token, operationType: "update", clusterTime, wallTime, ns: {db, coll}, documentKey: {_id}, updateDescription: {…}}
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bson/builder.h"
#include "replication/log_feed.h"
#include "server/query/changes/resume_token.h"

namespace server {
class OperationContext;
}

namespace server::query {

enum class PostImage { plain, lookup, when_available, required };  // fullDocument of updates; plain: none
enum class PreImage { off, when_available, required };             // fullDocumentBeforeChange

struct EventOptions {
  PostImage full_document = PostImage::plain;
  PreImage before = PreImage::off;
  bool expanded = false;  // showExpandedEvents
  bool system = false;    // showSystemEvents
  bool raw = false;       // showRawUpdateDescription
  bool commits = false;   // events of a branched database's commits, and no others
};

struct ChangeEvent {
  ResumeToken token;
  std::shared_ptr<const bson::Document> document;
  bool invalidates = false;  // the stream ends with it
};

// This class is not thread-safe.
class ChangeEvents {
 public:
  // `db` and `collection` are those of the stream, empty if it has none.
  ChangeEvents(replication::LogScope scope, std::string db, std::string collection, const EventOptions& options);

  const replication::LogScope& scope() const { return scope_; }
  const std::string& db() const { return db_; }
  const std::string& collection() const { return collection_; }
  const EventOptions& options() const { return options_; }

  // Appends the events of a change that the scope has: none, one, or one and the invalidation of the stream. Looks documents up
  // for `op`. Throws NoMatchingDocument if an image is required that isn't there.
  void append(OperationContext& op, const replication::LoggedChangePtr& change, std::vector<ChangeEvent>& out) const;
  // Returns what tells the feed which changes have events that a $match behind the stream lets through; nullptr: only the stream
  // can say, or it takes longer than to compare a few values.
  std::shared_ptr<const replication::LogFeed::Filter> filter(const bson::Document& match) const;
  // Returns whether a $match behind the stream leaves out the change's event by what is in every event of a document: its type,
  // place and key. False: the event itself must say. Throws what ends the operation, to which it accounts for its work.
  bool leaves_out(OperationContext& op, const bson::Document& match, const replication::LoggedChange& change) const;
  // Returns whether the change has an event with this token, without making it.
  bool has(OperationContext& op, const replication::LoggedChange& change, const ResumeToken& token) const;

 private:
  struct Place {
    std::string db, collection;
  };
  // A meaning says what a command of the log, or a change of a view's definition, is to the stream.
  struct Meaning {
    std::string type;  // the operationType; empty: no event
    Place place;
    bson::Document to;           // of a rename
    bson::Document description;  // operationDescription
    bool invalidates = false;
    bson::Document before = {};  // stateBeforeChange
  };

  bool shows(std::string_view db, std::string_view collection) const;
  // Returns whether the change is one of a view's definition, and shown as such.
  bool defines_view(const replication::LoggedChange& change) const;
  Meaning meaning_of_view(const replication::LoggedChange& change) const;
  Meaning meaning_of(OperationContext& op, const replication::LoggedChange& change) const;
  Meaning meaning_for_branch(OperationContext& op, const replication::LoggedChange& change) const;
  bson::Document commit_event(OperationContext& op, const replication::LoggedChange& change) const;

  const replication::LogScope scope_;
  const std::string db_, collection_;
  const EventOptions options_;
};

}  // namespace server::query

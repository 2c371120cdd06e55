// $changeStream returns the changes of a collection, a database or all databases as they are majority-committed, and waits for
// more.
#include "server/query/stages/change_stream.h"

#include <algorithm>
#include <deque>
#include <iterator>

#include "replication/coordinator.h"
#include "replication/log_feed.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/text.h"
#include "server/query/branches/states.h"
#include "server/query/changes/change_event.h"
#include "server/query/changes/snapshot_difference.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"
#include "storage/store.h"
#include "versions/database/databases.h"
#include "versions/past/past.h"

namespace server::query {

using base::ErrorCode;
using bson::DocumentView;
using bson::Element;
using replication::history_lost;
using replication::LogScope;
using storage::Stamp;

namespace {

constexpr std::string_view allowed_behind[] = {
    "$addFields", "$changeStreamSplitLargeEvent", "$match", "$project", "$redact", "$replaceRoot", "$replaceWith", "$set",
    "$unset"};

// A stream begins at one of these, or now.
struct Start {
  std::optional<ResumeToken> token;  // behind this event, or at this time
  std::optional<Stamp> time;
  std::optional<std::string> snapshot;  // a declared one
};

class ChangeStream final : public Stage, public ChangeStreamSource {
 public:
  ChangeStream(PipelineContext& context, const LogScope& scope, const EventOptions& options, const Start& start,
               const bson::Document& match)
      : Stage(nullptr), op_(context.op), events_(scope, context.db, context.collection, options), match_(match) {
    context.change_stream = this;
    if (!match.empty()) filter_ = events_.filter(match);
    if (start.token && start.token->part) resumed_in_parts_ = start.token;
    const Stamp newest = committed();
    if (start.token && start.token->kind == ResumeToken::Kind::event && start.token->time > newest) {
      // Another member has returned the event, and this one will have it too. Until then its events wake the stream.
      awaited_ = token_ = *start.token;
      follower_ = op_->services().log_feed->follow(events_.scope(), newest);
      return;
    }
    follow(find_start(start));
  }

  bool next() override {
    for (;;) {
      op_->check_interrupt();
      if (!pending_.empty()) {
        current_ = std::move(pending_.front());
        pending_.pop_front();
        token_ = current_.token;
        closed_ = current_.invalidates;
        return true;
      }
      if (closed_) return false;
      if (awaited_) {
        // The stream doesn't return what comes before the event, and what was read doesn't wake it again.
        while (follower_->next(op_->interrupted())) {
        }
        if (committed() < awaited_->time) return false;
        follow(find_event(*std::exchange(awaited_, std::nullopt)));
        continue;
      }
      if (difference_) {
        if (auto event = difference_->next(*op_)) {
          pending_.push_back(std::move(*event));
          continue;
        }
        token_ = ResumeToken::at(difference_->moment() + 1);
        difference_.reset();
      }
      const auto change = follower_->next(op_->interrupted());
      if (!change) {
        // The stream has returned everything of its own that lies before this time.
        if (const Stamp passed = follower_->passed(); passed > token_.time) token_ = ResumeToken::at(passed);
        return false;
      }
      append(change);
    }
  }
  DocumentView document() override { return *current_.document; }
  void begin(OperationContext& op) override { op_ = &op; }
  void end() override { op_ = nullptr; }

  bson::Document resume_token() const override { return token_.document(); }
  ResumeToken event_token() const override { return current_.token; }
  std::optional<ResumeToken> resumed_in_parts() const override { return resumed_in_parts_; }
  bool closed() const override { return closed_ && pending_.empty(); }
  std::function<void(std::function<void()>)> when_more() override {
    return [weak = std::weak_ptr(follower_)](std::function<void()> wake) {
      if (const auto follower = weak.lock())
        follower->when_more(std::move(wake));
      else
        wake();
    };
  }

 private:
  Stamp committed() const { return op_->services().replica_set->progress().committed.optime.ts; }
  void follow(Stamp behind) { follower_ = op_->services().log_feed->follow(events_.scope(), behind, filter_); }

  void append(const replication::LoggedChangePtr& change) {
    std::vector<ChangeEvent> made;
    try {
      events_.append(*op_, change, made);
    } catch (const base::OperationError& error) {
      if (error.code() != ErrorCode::bson_object_too_large || !events_.leaves_out(*op_, match_, *change)) throw;
    }
    std::move(made.begin(), made.end(), std::back_inserter(pending_));
  }

  // Returns the row of the log that the stream begins behind.
  Stamp find_start(const Start& start) {
    storage::Store& store = *op_->services().store;
    replication::Oplog& oplog = *op_->services().oplog;
    if (start.token && start.token->kind == ResumeToken::Kind::event) return find_event(*start.token);
    if (start.token && start.token->kind == ResumeToken::Kind::difference) {
      refuse(ErrorCode::change_stream_history_lost,
             "A change stream can't be resumed among the differences from a snapshot; start it at the snapshot again");
    }
    if (start.snapshot) return find_snapshot(*start.snapshot);
    if (!start.token && !start.time) {
      const Stamp newest = oplog.newest().optime.ts;
      token_ = ResumeToken::at(newest + 1);
      return newest;
    }
    token_ = start.token ? *start.token : ResumeToken::at(*start.time);
    const Stamp before = token_.time == 0 ? 0 : token_.time - 1;
    if (!replication::log_reaches(store, oplog, before)) history_lost();
    return std::min(before, replication::row_before(store, oplog, token_.time));
  }

  Stamp find_snapshot(const std::string& name) {
    const auto snapshot = op_->services().past->snapshots().find(name);
    if (!snapshot) refuse(ErrorCode::namespace_not_found, "there is no snapshot '" + name + "'");
    token_ = ResumeToken::at(snapshot->stamp);
    if (replication::log_reaches(*op_->services().store, *op_->services().oplog, snapshot->stamp - 1)) return snapshot->stamp - 1;
    difference_ =
        std::make_unique<SnapshotDifference>(*op_, events_.db(), events_.collection(), snapshot->number, events_.options());
    token_ = ResumeToken::at(difference_->moment());
    return difference_->moment();
  }

  Stamp find_event(const ResumeToken& token) {
    storage::Store& store = *op_->services().store;
    replication::Oplog& oplog = *op_->services().oplog;
    const auto change = replication::find_change(store, oplog, token.time, token.index, op_->interrupted());
    if (!change || !events_.has(*op_, *change, token)) {
      if (!replication::log_reaches(store, oplog, token.time - 1)) history_lost();
      refuse(ErrorCode::change_stream_fatal_error,
             "cannot resume stream; the resume token was not found. " + show(token.document().view()));
    }
    token_ = token;
    std::vector<ChangeEvent> made;
    events_.append(*op_, change, made);
    bool behind = false;
    for (ChangeEvent& event : made) {
      const bool is_it = event.token.same_event(token);
      if (behind || (is_it && token.part)) pending_.push_back(std::move(event));
      behind = behind || is_it;
    }
    return change->row;
  }

  OperationContext* op_;  // nullptr between batches
  const ChangeEvents events_;
  const bson::Document match_;                                  // of the $match that comes next; empty: there is none
  std::shared_ptr<const replication::LogFeed::Filter> filter_;  // of the pipeline's $match; nullptr: none
  std::shared_ptr<replication::LogFeed::Follower> follower_;
  std::optional<ResumeToken> awaited_;  // its event isn't here yet
  std::deque<ChangeEvent> pending_;
  ChangeEvent current_;
  ResumeToken token_;
  std::optional<ResumeToken> resumed_in_parts_;
  std::unique_ptr<SnapshotDifference> difference_;  // comes before the log's changes
  bool closed_ = false;
};

class ChangeStreamSpec final : public SourceSpec, public Narrowing {
 public:
  ChangeStreamSpec(const Element& specification, LogScope scope, const EventOptions& options, Start start)
      : SourceSpec(specification.name, specification), scope_(std::move(scope)), options_(options), start_(std::move(start)) {}
  StagePtr start(StagePtr, PipelineContext& context) const override {
    return std::make_unique<ChangeStream>(context, scope_, options_, start_, match_);
  }
  void narrow(DocumentView filter) override { match_ = bson::Document(filter); }

 private:
  const LogScope scope_;
  const EventOptions options_;
  const Start start_;
  bson::Document match_;  // of the $match that comes next; empty: there is none
};

// Reads a string that is one of `names`; the result is its place among them.
size_t choice(const Arguments& arguments, std::string_view field, std::initializer_list<std::string_view> names) {
  const auto given = arguments.string(field);
  if (!given) return 0;
  const auto found = std::find(names.begin(), names.end(), *given);
  if (found == names.end()) {
    refuse(ErrorCode::bad_value,
           "Enumeration value '" + std::string(*given) + "' for field '" + arguments.dotted(field) + "' is not a valid value.");
  }
  return static_cast<size_t>(found - names.begin());
}

// A name with a ref must be a branch's: other states of a database never change.
void check_branch(const PipelineContext& context) {
  if (!versions::split_name(context.db).ref) return;
  const States states(*context.op, branched_database(*context.op, context.db));
  if (states.place(versions::ref_of_database(context.db)).branch) return;
  refuse(ErrorCode::illegal_operation, "$changeStream may not be opened on '" + context.db + "', which is no branch");
}

LogScope scope_of(const PipelineContext& context, bool whole_deployment) {
  const std::string& db = context.db;
  const std::string ns = db + "." + context.collection;
  if (whole_deployment) {
    if (db != "admin" || !context.collection.empty()) {
      refuse(
          ErrorCode::invalid_options,
          "A $changeStream with 'allChangesForCluster:true' may only be opened on the 'admin' database, and with no collection "
          "name; found " +
              (context.collection.empty() ? db + ".$cmd.aggregate" : ns));
    }
    return LogScope::deployment();
  }
  if (db == "admin" || db == "config" || db == "local")
    refuse(ErrorCode::invalid_namespace, "$changeStream may not be opened on the internal " + db + " database");
  if (context.collection.starts_with("system."))
    refuse(ErrorCode::invalid_namespace, "$changeStream may not be opened on the internal " + ns + " collection");
  check_branch(context);
  return context.collection.empty() ? LogScope::database(db) : LogScope::collection(ns);
}

Start start_of(const Arguments& arguments) {
  Start start;
  const auto resume = arguments.object("resumeAfter"), after = arguments.object("startAfter");
  if (resume && after) refuse(50865, "Do not specify both 'resumeAfter' and 'startAfter' in a $changeStream stage");
  const auto time = arguments.any("startAtOperationTime");
  if (!time.is_nullish() && time.exists()) {
    if (time.type() != bson::Type::timestamp) {
      refuse(ErrorCode::type_mismatch, "BSON field '$changeStream.startAtOperationTime' is the wrong type '" + type_of(time) +
                                           "', expected type 'timestamp'");
    }
    start.time = replication::stamp_of(time.as_timestamp());
  }
  if (const auto snapshot = arguments.string("startAtSnapshot")) start.snapshot = *snapshot;
  if (start.snapshot && (start.time || resume || after))
    refuse(40674, "Only one type of resume option is allowed, but multiple were found.");
  if (!resume && !after) return start;
  start.token = ResumeToken::parse(resume ? *resume : *after);
  if (resume && start.token->from_invalidate) {
    refuse(ErrorCode::invalid_resume_token,
           "Attempting to resume a change stream using 'resumeAfter' is not allowed from an invalidate notification.");
  }
  if (start.time) refuse(40674, "Only one type of resume option is allowed, but multiple were found.");
  return start;
}

// Checks that the pipeline has left an event's _id alone.
void check_token(DocumentView document, const ChangeStreamSource& source) {
  const bson::Document token = source.event_token().document();
  const Element id = document["_id"];
  if (id.is_object() && id.as_document().bytes() == token.bytes()) return;
  bson::Builder expected, found;
  expected.append("_id", token);
  if (id.exists()) found.append_element(id);
  refuse(ErrorCode::change_stream_fatal_error,
         "Encountered an event whose _id field, which contains the resume token, was modified by the pipeline. Modifying the _id "
         "field of an event makes it impossible to resume the stream from that point. Only transformations that retain the "
         "unmodified _id field are allowed. Expected: " +
             show(expected.done().view()) + " but found: " + show(found.done().view()));
}

class KeptTokens final : public Stage {
 public:
  KeptTokens(StagePtr from, const ChangeStreamSource& source) : Stage(std::move(from)), stream_(source) {}
  bool next() override {
    if (!source().next()) return false;
    check_token(source().document(), stream_);
    return true;
  }
  DocumentView document() override { return source().document(); }

 private:
  const ChangeStreamSource& stream_;
};

// $changeStreamSplitLargeEvent returns an event that is too large for a reply in parts, each with some of its fields.
class SplitLargeEvent final : public Stage {
 public:
  SplitLargeEvent(StagePtr from, const ChangeStreamSource& source) : Stage(std::move(from)), stream_(source) {}

  bool next() override {
    if (at_ + 1 < parts_.size()) {
      ++at_;
      return true;
    }
    for (;;) {
      parts_.clear();
      at_ = 0;
      if (!source().next()) return false;
      const DocumentView event = source().document();
      check_token(event, stream_);
      if (event.size() <= bson::document_bytes_max) return true;
      split(event);
      const auto resumed = stream_.resumed_in_parts();
      if (!resumed || !resumed->same_event(stream_.event_token())) return true;
      at_ = static_cast<size_t>(*resumed->part) + 1;
      if (at_ < parts_.size()) return true;
    }
  }
  DocumentView document() override { return parts_.empty() ? source().document() : parts_[at_].view(); }

 private:
  // Small fields go first, so that they come together.
  void split(DocumentView event) {
    constexpr size_t head_bytes = 512;  // _id and splitEvent
    std::vector<Element> fields;
    for (const Element& field : event) {
      if (field.name != "_id") fields.push_back(field);
    }
    const auto bytes_of = [](const Element& field) { return field.bytes().size() + field.name.size() + 2; };
    std::stable_sort(fields.begin(), fields.end(), [&](const Element& a, const Element& b) { return bytes_of(a) < bytes_of(b); });
    std::vector<std::vector<Element>> groups(1);
    size_t bytes = head_bytes;
    for (const Element& field : fields) {
      if (head_bytes + bytes_of(field) > bson::document_bytes_max)
        refuse(ErrorCode::bson_object_too_large,
               "Splitting change event failed: field '" + std::string(field.name) + "' is larger than a document may be");
      if (bytes + bytes_of(field) > bson::document_bytes_max) {
        groups.emplace_back();
        bytes = head_bytes;
      }
      groups.back().push_back(field);
      bytes += bytes_of(field);
    }
    for (size_t part = 0; part < groups.size(); ++part) {
      ResumeToken token = stream_.event_token();
      token.part = static_cast<int64_t>(part);
      bson::Builder out;
      out.append("_id", token.document());
      {
        bson::Builder place = out.object("splitEvent");
        place.append("fragment", static_cast<int32_t>(part + 1)).append("of", static_cast<int32_t>(groups.size()));
      }
      for (const Element& field : groups[part]) out.append_element(field);
      parts_.push_back(out.done());
    }
  }

  const ChangeStreamSource& stream_;
  std::vector<bson::Document> parts_;  // empty: the event is whole
  size_t at_ = 0;
};

class SplitSpec final : public PlainSpec {
 public:
  using PlainSpec::PlainSpec;
  bool in_facet() const override { return false; }
  StagePtr start(StagePtr source, PipelineContext& context) const override {
    return std::make_unique<SplitLargeEvent>(std::move(source), *context.change_stream);
  }
};

}  // namespace

StageSpecPtr parse_change_stream(const Element& specification, PipelineContext& context) {
  if (!specification.is_object()) refuse(50808, "$changeStream stage expects a document as argument");
  const Services& services = context.op->services();
  if (!services.log_feed || services.replica_set->state() == replication::MemberState::startup)
    refuse(40573, "The $changeStream stage is only supported on replica sets");
  if (context.depth > 0) refuse(51047, "$changeStream is not allowed within a sub-pipeline");
  const Arguments arguments("$changeStream", specification.as_document());
  arguments.only({"fullDocument", "fullDocumentBeforeChange", "resumeAfter", "startAfter", "startAtOperationTime",
                  "allChangesForCluster", "showExpandedEvents", "showSystemEvents", "showRawUpdateDescription",
                  "showMigrationEvents", "allowToRunOnConfigDB", "allowToRunOnSystemNS", "commits", "startAtSnapshot"});
  EventOptions options;
  options.full_document =
      static_cast<PostImage>(choice(arguments, "fullDocument", {"default", "updateLookup", "whenAvailable", "required"}));
  options.before = static_cast<PreImage>(choice(arguments, "fullDocumentBeforeChange", {"off", "whenAvailable", "required"}));
  options.expanded = arguments.boolean("showExpandedEvents").value_or(false);
  options.system = arguments.boolean("showSystemEvents").value_or(false);
  options.raw = arguments.boolean("showRawUpdateDescription").value_or(false);
  options.commits = arguments.boolean("commits").value_or(false);
  for (const std::string_view unknown : {"showMigrationEvents", "allowToRunOnConfigDB", "allowToRunOnSystemNS"}) {
    if (arguments.boolean(unknown).value_or(false))
      refuse(ErrorCode::invalid_options, "$changeStream's option '" + std::string(unknown) + "' is not supported");
  }
  LogScope scope = scope_of(context, arguments.boolean("allChangesForCluster").value_or(false));
  if (options.commits && (scope.is_collection() || scope.is_deployment()))
    refuse(ErrorCode::invalid_options, "A $changeStream of commits may only be opened on a database");
  Start start = start_of(arguments);
  if (start.snapshot && (options.commits || scope.is_deployment())) {
    refuse(ErrorCode::invalid_options,
           "startAtSnapshot is for streams of a collection or a database, and not for streams of commits");
  }
  return std::make_unique<ChangeStreamSpec>(specification, std::move(scope), options, std::move(start));
}

StageSpecPtr parse_split_large_event(const Element& specification, PipelineContext&) {
  if (!specification.is_object() || !specification.as_document().empty())
    refuse(7182800, "$changeStreamSplitLargeEvent spec should be an empty object");
  return std::make_unique<SplitSpec>(specification.name, specification);
}

bool is_change_stream(const Pipeline& pipeline) {
  return !pipeline.empty() && pipeline.specs()[0]->name() == "$changeStream";
}

void check_change_stream(const Pipeline& pipeline) {
  const bool stream = is_change_stream(pipeline);
  for (size_t i = 0; i < pipeline.specs().size(); ++i) {
    const std::string_view name = pipeline.specs()[i]->name();
    if (name == "$changeStreamSplitLargeEvent") {
      if (!stream)
        refuse(ErrorCode::illegal_operation, "$changeStreamSplitLargeEvent can only be used in a change stream pipeline");
      if (i + 1 != pipeline.specs().size())
        refuse(7182802, "$changeStreamSplitLargeEvent must be the last stage in the pipeline");
    }
    if (stream && i > 0 && std::find(std::begin(allowed_behind), std::end(allowed_behind), name) == std::end(allowed_behind))
      refuse(ErrorCode::illegal_operation, std::string(name) + " is not permitted in a $changeStream pipeline");
  }
}

StagePtr keep_tokens(StagePtr top, const Pipeline& pipeline, const ChangeStreamSource& source) {
  const bool split = pipeline.specs().back()->name() == "$changeStreamSplitLargeEvent";
  if (!split && source.resumed_in_parts()) {
    refuse(ErrorCode::change_stream_fatal_error,
           "cannot resume from a split event's token without $changeStreamSplitLargeEvent at the end of the pipeline");
  }
  return split || pipeline.specs().size() == 1 ? std::move(top) : std::make_unique<KeptTokens>(std::move(top), source);
}

}  // namespace server::query

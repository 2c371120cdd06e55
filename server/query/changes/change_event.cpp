#include "server/query/changes/change_event.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/error.h"
#include "bson/diff.h"
#include "server/core/allowance.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/text.h"
#include "server/query/changes/commit_event.h"
#include "server/query/changes/update_description.h"
#include "server/query/matcher.h"
#include "server/query/views.h"
#include "storage/collections/catalog.h"
#include "storage/engine/names.h"
#include "storage/store.h"
#include "versions/database/databases.h"

namespace server::query {

using bson::Document;
using bson::DocumentView;
using replication::Entry;
using replication::LoggedChange;

namespace {

constexpr uint8_t uuid_subtype = 4;
constexpr std::string_view main_branch = "main";
constexpr int32_t buffer_too_large = 13548;
// A larger event is made for each stream by itself.
constexpr size_t shared_bytes_max = 1 << 20;

bool is_none(base::BytesView uuid) {
  return uuid.find_first_not_of('\0') == base::BytesView::npos;
}

ResumeToken token_of(const LoggedChange& change) {
  ResumeToken token;
  token.time = change.time;
  token.kind = ResumeToken::Kind::event;
  token.index = change.index;
  if (!is_none(change.entry.uuid)) token.collection = base::Bytes(change.entry.uuid);
  return token;
}

// Returns whether an update wrote the document anew, as a replacement does.
bool replaces(const Entry& entry) {
  return !entry.o2 && !entry.outline;
}

std::string_view type_of(const Entry& entry) {
  switch (entry.op) {
    case 'i': return "insert";
    case 'u': return replaces(entry) ? "replace" : "update";
    case 'd': return "delete";
    default: return "";
  }
}

bson::ValueView id_of(const Entry& entry) {
  return entry.o2 ? (*entry.o2)["_id"] : entry.o["_id"];
}

DocumentView diff_in(DocumentView update) {
  const auto diff = update["diff"];
  return diff.is_object() ? diff.as_document() : DocumentView();
}

Document key_document(const bson::ValueView& id) {
  bson::Builder out;
  out.append("_id", id);
  return out.done();
}

// Returns the newest majority-committed state. A state becomes readable a moment after it is committed; one that lacks the change
// itself would show what the document was before.
std::shared_ptr<const storage::Snapshot> committed_state(OperationContext& op, const LoggedChange& change) {
  constexpr std::chrono::milliseconds step{1};
  storage::Engine& engine = op.services().store->engine();
  for (;; op.sleep(step)) {
    auto snapshot = engine.keep_snapshot();
    if (snapshot->stamp >= change.time) return snapshot;
    engine.set_majority_committed(change.time);
  }
}

// The majority-committed document. Whoever dropped or replaced the collection since took it away.
std::optional<Document> look_up(OperationContext& op, const LoggedChange& change) {
  const Entry& entry = change.entry;
  storage::Store& store = *op.services().store;
  const auto state = committed_state(op, change);
  const auto collection = store.catalog().open(entry.ns);
  if (!collection || base::BytesView(collection->uuid_bytes()) != entry.uuid) return std::nullopt;
  try {
    const std::shared_lock schema(collection->schema_mutex());
    if (collection->dropped()) return std::nullopt;
    storage::Transaction transaction(store, *state);
    const auto record = collection->find_id(transaction, id_of(entry));
    return record ? collection->find(transaction, *record) : std::nullopt;
  } catch (const base::OperationError&) {
    if (!collection->dropped()) throw;
    return std::nullopt;
  }
}

std::optional<Document> before_of(OperationContext& op, const LoggedChange& change) {
  auto bytes = op.services().oplog->pre_images().find(change.row);
  if (!bytes) return std::nullopt;
  return Document(DocumentView(*bytes));
}

// Returns the document right after the update: the log has it, or a diff makes it of the document before.
std::optional<Document> after_of(const Entry& entry, const std::optional<Document>& before) {
  if (!entry.o2) return Document(entry.o);
  if (!before) return std::nullopt;
  return bson::diff::apply(*before, diff_in(entry.o)).or_throw();
}

[[noreturn]] void no_image(std::string_view which, std::string_view of, const LoggedChange& change) {
  throw base::OperationError(base::ErrorCode::no_matching_document,
                             "Change stream was configured to require a " + std::string(which) + "-image for all " +
                                 std::string(of) + ", but the " + std::string(which) +
                                 "-image was not found for event: " + show(key_document(id_of(change.entry)).view()));
}

void append_place(bson::Builder& out, std::string_view name, std::string_view db, std::string_view collection) {
  bson::Builder place = out.object(name);
  place.append("db", db);
  if (!collection.empty()) place.append("coll", collection);
}

Document place_document(std::string_view db, std::string_view collection) {
  bson::Builder place;
  place.append("db", db).append("coll", collection);
  return place.done();
}

// Returns the fields of a command but its first.
Document rest_of(DocumentView command) {
  bson::Builder out;
  bool first = true;
  for (const auto& field : command) {
    if (!std::exchange(first, false)) out.append_element(field);
  }
  return out.done();
}

// An entry without o2 is of a version that logged the name alone.
Document dropped_index(const Entry& entry) {
  if (entry.o2) return Document(*entry.o2);
  bson::Builder index;
  index.append("name", static_cast<bson::ValueView>(entry.o["index"]));
  return index.done();
}

// The log has {collectionOptions_old, indexOptions_old}.
Document state_before(const Entry& entry) {
  if (!entry.o2) return {};
  bson::Builder out;
  out.append("collectionOptions", static_cast<bson::ValueView>((*entry.o2)["collectionOptions_old"]));
  if (const auto index = entry.o2->find("indexOptions_old"); index.exists())
    out.append("indexOptions", static_cast<bson::ValueView>(index));
  return out.done();
}

Document index_list(const Document& index) {
  bson::Builder out;
  {
    bson::ArrayBuilder list = out.array("indexes");
    list.append(index);
  }
  return out.done();
}

// Returns the name of the collection that a change of branches gives by its UUID; empty if nobody knows it. One that no branch
// has any more is dropped altogether by an entry that follows, and this one has the name.
std::string collection_of(OperationContext& op, const LoggedChange& change) {
  const std::string_view db = storage::database_of(change.entry.ns);
  const auto uuid = change.entry.o["collection"];
  if (uuid.type() != bson::Type::binary) return {};
  for (const auto& collection : op.services().store->catalog().collections(db)) {
    if (base::BytesView(collection->uuid_bytes()) == uuid.as_binary().bytes)
      return std::string(storage::collection_of(collection->ns()));
  }
  constexpr size_t bytes_max = 1 << 20, rows_max = 10'000;
  const auto commands = replication::read_changes(
      *op.services().store, *op.services().oplog, change.row, op.services().replica_set->progress().committed.optime.ts,
      [&](const replication::LogSubject& subject) { return subject.command && subject.db == change.subject.db; }, bytes_max,
      rows_max, op.interrupted());
  for (const auto& command : commands.changes) {
    const Entry& entry = command->entry;
    if (entry.uuid == uuid.as_binary().bytes && !entry.o.empty() && entry.o.first().name == "drop" && entry.o.first().is_string())
      return std::string(entry.o.first().as_string());
  }
  return {};
}

// Appends the fields that every event begins with.
void append_head(const LoggedChange& change, const ResumeToken& token, std::string_view type, bool expanded, bson::Builder& out) {
  out.append("_id", token.document()).append("operationType", type);
  out.append("clusterTime", replication::timestamp_of(change.time));
  if (expanded && !token.collection.empty() && type != "invalidate")
    out.append("collectionUUID", bson::Binary{uuid_subtype, token.collection});
  out.append("wallTime", bson::Date{change.entry.wall_ms});
  if (!change.session.empty()) {
    out.append("lsid", replication::lsid_document(change.session)).append("txnNumber", change.txn_number);
  }
}

// `op` looks up documents, if the options ask for them. An update's description has `description_bytes_max`.
Document build_event(OperationContext* op, const LoggedChange& change, const EventOptions& options,
                     size_t description_bytes_max) {
  const Entry& entry = change.entry;
  const std::string_view type = type_of(entry);
  bson::Builder out;
  append_head(change, token_of(change), type, options.expanded, out);
  const bool is_update = type == "update", shows_before = type != "insert" && options.before != PreImage::off;
  const bool shows_after =
      is_update && (options.full_document == PostImage::when_available || options.full_document == PostImage::required);
  const auto before = shows_before || (shows_after && entry.o2) ? before_of(*op, change) : std::nullopt;
  if (type == "insert" || type == "replace") {
    out.append("fullDocument", entry.o);
  } else if (is_update && options.full_document != PostImage::plain) {
    const auto document = shows_after ? after_of(entry, before) : look_up(*op, change);
    if (document)
      out.append("fullDocument", *document);
    else if (options.full_document == PostImage::required)
      no_image("post", "update events", change);
    else
      out.append_null("fullDocument");
  }
  append_place(out, "ns", storage::database_of(entry.ns), storage::collection_of(entry.ns));
  out.append("documentKey", key_document(id_of(entry)));
  if (is_update) {
    const Document made = entry.outline ? replication::diff_of(entry) : Document();
    const DocumentView diff = diff_in(entry.outline ? made.view() : entry.o);
    {
      bson::Builder description = out.object("updateDescription");
      append_update_description(diff, options.expanded, description_bytes_max, description);
    }
    if (options.raw) out.append("rawUpdateDescription", diff);
  }
  if (shows_before) {
    if (before)
      out.append("fullDocumentBeforeChange", *before);
    else if (options.before == PreImage::required)
      no_image("pre", "update, delete and replace events", change);
    else
      out.append_null("fullDocumentBeforeChange");
  }
  return out.done();
}

// An event into which nothing is looked up is the same for all streams.
bool is_shared(const Entry& entry, const EventOptions& options) {
  const bool is_update = entry.op == 'u' && !replaces(entry);
  return !(is_update && (options.full_document != PostImage::plain || options.raw)) &&
         (options.before == PreImage::off || entry.op == 'i');
}

// The same, with the error that says which limit it is about.
Document document_event(OperationContext& op, const LoggedChange& change, const EventOptions& options) {
  try {
    return build_event(&op, change, options, bson::buffer_bytes_max);
  } catch (const base::OperationError& error) {
    if (static_cast<int32_t>(error.code()) != buffer_too_large) throw;
    throw base::OperationError(base::ErrorCode::bson_object_too_large,
                               "the change event is larger than " + std::to_string(bson::buffer_bytes_max) + " bytes");
  }
}

// An event that is the same for all streams is kept in the change, where it lives as long as that; or else it is the caller's.
// Both are empty: it is large.
struct SharedEvent {
  const Document* kept = nullptr;
  std::optional<Document> own;
};

SharedEvent shared_event(const LoggedChange& change, const EventOptions& options) {
  const size_t place = options.expanded ? 1 : 0;
  if (const Document* const kept = change.shown(place)) return {kept, {}};
  if (change.entry.o.size() > shared_bytes_max) return {};
  EventOptions plain;
  plain.expanded = options.expanded;
  try {
    Document made = build_event(nullptr, change, plain, shared_bytes_max);
    if (const Document* const kept = change.show(place, made)) return {kept, {}};
    return {nullptr, std::move(made)};
  } catch (const base::OperationError& error) {
    if (error.code() != base::ErrorCode::bson_object_too_large) throw;
    return {};
  }
}

// One thread asks the filters of all streams, and no operation can stop it there. So it asks only those that take a time like the
// event's size: short ones, of comparisons.
constexpr size_t quick_bytes_max = 16 << 10;

bool is_quick(DocumentView filter);

bool all_quick(const bson::Element& list) {
  if (!list.is_array()) return false;
  for (const bson::Element& one : list.as_document()) {
    if (!one.is_object() || !is_quick(one.as_document())) return false;
  }
  return true;
}

bool is_quick_operator(const bson::Element& field) {
  static constexpr std::string_view plain[] = {"$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$exists", "$type"};
  if (std::find(std::begin(plain), std::end(plain), field.name) != std::end(plain)) return field.type() != bson::Type::regex;
  if ((field.name != "$in" && field.name != "$nin") || !field.is_array()) return false;
  for (const bson::Element& value : field.as_document()) {
    if (value.type() == bson::Type::regex) return false;
  }
  return true;
}

bool is_quick(DocumentView filter) {
  for (const bson::Element& field : filter) {
    if (field.name == "$and" || field.name == "$or" || field.name == "$nor") {
      if (!all_quick(field)) return false;
      continue;
    }
    if (field.name.starts_with('$') || field.type() == bson::Type::regex) return false;
    if (!field.is_object() || !field.as_document().first().name.starts_with('$')) continue;
    for (const bson::Element& part : field.as_document()) {
      if (!is_quick_operator(part)) return false;
    }
  }
  return true;
}

}  // namespace

ChangeEvents::ChangeEvents(replication::LogScope scope, std::string db, std::string collection, const EventOptions& options)
    : scope_(std::move(scope)), db_(std::move(db)), collection_(std::move(collection)), options_(options) {}

bool ChangeEvents::shows(std::string_view db, std::string_view collection) const {
  if (collection.starts_with("system.") && !options_.system) return false;
  if (scope_.is_deployment()) return true;
  return db == db_ && (collection_.empty() || collection == collection_);
}

// Changes of branches are commands of their database. To a stream of a branch, losing the branch is as a database being dropped.
ChangeEvents::Meaning ChangeEvents::meaning_for_branch(OperationContext& op, const LoggedChange& change) const {
  const std::string_view home = storage::database_of(change.entry.ns);
  const bson::Element first = change.entry.o.first();
  const std::string_view name = first.name;
  const std::string_view branch = first.is_string() ? first.as_string() : std::string_view();
  const std::string db = branch == main_branch ? std::string(home) : std::string(home) + "@" + std::string(branch);
  const bool own = !scope_.is_deployment() && db == db_;
  Meaning out;
  if (name == "dropBranch" || name == "renameBranch") {
    if (own) out = {collection_.empty() ? "dropDatabase" : "drop", {db_, collection_}, {}, {}, true};
  } else if (name == "resetBranch") {
    if (own) out.invalidates = true;
  } else if (name == "makeCollection" || name == "dropCollection") {
    if (!own && !(scope_.is_deployment() && branch == main_branch)) return out;
    const std::string collection = collection_of(op, change);
    if (collection.empty() || !shows(db, collection)) return out;
    if (name == "dropCollection")
      out = {"drop", {db, collection}, {}, {}, !collection_.empty()};
    else if (options_.expanded)
      out = {"create", {db, collection}, {}, {}};
  }
  return out;
}

bool ChangeEvents::defines_view(const LoggedChange& change) const {
  return change.entry.op != 'c' && options_.expanded && collection_.empty() &&
         storage::collection_of(change.entry.ns) == views_collection &&
         (scope_.is_deployment() || storage::database_of(change.entry.ns) == db_);
}

ChangeEvents::Meaning ChangeEvents::meaning_of_view(const LoggedChange& change) const {
  const auto id = id_of(change.entry);
  if (!id.is_string() || id.as_string().find('.') == std::string_view::npos) return {};
  Meaning out;
  out.type = change.entry.op == 'i' ? "create" : change.entry.op == 'u' ? "modify" : "drop";
  out.place = {std::string(storage::database_of(change.entry.ns)), std::string(storage::collection_of(id.as_string()))};
  // The server replaces definitions as wholes; what changes a part of one came from elsewhere, and the event is without it.
  if (change.entry.op != 'd' && !change.entry.o2) {
    bson::Builder description;
    for (const auto& field : change.entry.o) {
      if (field.name != "_id") description.append_element(field);
    }
    out.description = description.done();
  }
  return out;
}

ChangeEvents::Meaning ChangeEvents::meaning_of(OperationContext& op, const LoggedChange& change) const {
  if (defines_view(change)) return meaning_of_view(change);
  const DocumentView o = change.entry.o;
  Meaning out;
  if (o.empty()) return out;
  const std::string_view db = storage::database_of(change.entry.ns), name = o.first().name;
  const bool whole_database = collection_.empty() && !scope_.is_deployment();
  if (name == "dropDatabase") {
    const std::string shown = scope_.is_deployment() ? std::string(db) : db_;
    const bool concerns = scope_.is_deployment() || db == std::string_view(db_).substr(0, db_.find('@'));
    // A collection's stream has the drop of its collection, which goes before.
    if (concerns && collection_.empty()) out = {"dropDatabase", {shown, {}}, {}, {}, whole_database};
    return out;
  }
  if (!o.first().is_string()) return out;
  if (name == "renameCollection") {
    const std::string_view from = o.first().as_string(), to = o["to"].is_string() ? o["to"].as_string() : std::string_view();
    const auto part = [](std::string_view ns) {
      return Place{std::string(storage::database_of(ns)), std::string(storage::collection_of(ns))};
    };
    const Place source = part(from), target = part(to);
    if (!shows(source.db, source.collection) && !shows(target.db, target.collection)) return out;
    bson::Builder description;
    description.append("to", place_document(target.db, target.collection));
    if (o["dropTarget"].type() == bson::Type::binary) description.append_element(o["dropTarget"]);
    return {"rename", source, place_document(target.db, target.collection), description.done(), !collection_.empty()};
  }
  const std::string_view collection = o.first().as_string();
  if (name == "drop") {
    // In a database with branches a collection goes when no branch has it any more, and each branch has said so before.
    if (!shows(db, collection) || op.services().databases->find(std::string(db))) return out;
    return {"drop", {std::string(db), std::string(collection)}, {}, {}, !collection_.empty()};
  }
  const bool schema = name == "create" || name == "createIndexes" || name == "dropIndexes" || name == "collMod";
  if (!schema) return meaning_for_branch(op, change);
  if (!options_.expanded || !shows(db, collection)) return out;
  out.place = {std::string(db), std::string(collection)};
  out.type = name == "collMod" ? "modify" : std::string(name);
  if (name == "createIndexes") {
    out.description = index_list(rest_of(o));
  } else if (name == "dropIndexes") {
    out.description = index_list(dropped_index(change.entry));
  } else {
    out.description = rest_of(o);
    out.before = state_before(change.entry);
  }
  return out;
}

Document ChangeEvents::commit_event(OperationContext& op, const LoggedChange& change) const {
  const std::string_view branch = branch_of_commit(change.entry.o), home = storage::database_of(change.entry.ns);
  if (branch.empty()) return {};
  const std::string db = branch == main_branch ? std::string(home) : std::string(home) + "@" + std::string(branch);
  // The database's own name stands for all branches.
  if (db_ != home && db != db_) return {};
  bson::Builder event;
  append_head(change, token_of(change), type_of_commit(change.entry.o), false, event);
  append_place(event, "ns", db, {});
  append_commit(op, home, change.entry.o, event);
  return event.done();
}

std::shared_ptr<const replication::LogFeed::Filter> ChangeEvents::filter(const Document& match) const {
  if (options_.commits || match.size() > quick_bytes_max || !is_quick(match)) return nullptr;
  std::shared_ptr<const Matcher> matcher;
  try {
    matcher = Matcher::parse(match);  // without expressions, which belong to one operation
  } catch (const base::OperationError&) {
    return nullptr;
  }
  auto out = std::make_shared<replication::LogFeed::Filter>();
  // Streams whose events differ have filters of their own.
  for (const int option :
       {static_cast<int>(options_.full_document), static_cast<int>(options_.before), int{options_.expanded}, int{options_.raw}})
    out->name += std::to_string(option);
  out->name += std::string(match.view().bytes());
  out->wants = [matcher = std::move(matcher), options = options_](const LoggedChange& change) {
    const bool may_be_view = options.expanded && storage::collection_of(change.entry.ns) == views_collection;
    if (change.entry.op == 'c' || may_be_view || !is_shared(change.entry, options)) return true;
    const SharedEvent event = shared_event(change, options);
    return event.kept ? matcher->matches(*event.kept) : !event.own || matcher->matches(*event.own);
  };
  return out;
}

bool ChangeEvents::leaves_out(OperationContext& op, const Document& match, const LoggedChange& change) const {
  if (change.entry.op == 'c' || options_.commits || defines_view(change)) return false;
  static constexpr std::string_view shown[] = {"operationType", "ns", "documentKey"};
  bson::Builder conditions;
  for (const bson::Element& field : match) {
    const std::string_view name = field.name.substr(0, field.name.find('.'));
    if (std::find(std::begin(shown), std::end(shown), name) != std::end(shown)) conditions.append_element(field);
  }
  bson::Builder event;
  event.append("operationType", type_of(change.entry));
  append_place(event, "ns", storage::database_of(change.entry.ns), storage::collection_of(change.entry.ns));
  event.append("documentKey", key_document(id_of(change.entry)));
  try {
    const auto matcher =
        Matcher::parse(conditions.done(), {.expressions = nullptr, .let = {}, .op = &op, .allowance = &op.allowance()});
    return !matcher->matches(event.done());
  } catch (const base::OperationError& error) {
    if (stops_operation(error.code())) throw;
    return false;
  }
}

void ChangeEvents::append(OperationContext& op, const replication::LoggedChangePtr& held, std::vector<ChangeEvent>& out) const {
  const LoggedChange& change = *held;
  const ResumeToken token = token_of(change);
  if (options_.commits) {
    if (change.entry.op != 'c') return;
    if (auto event = commit_event(op, change); !event.empty())
      out.push_back({token, std::make_shared<const Document>(std::move(event))});
    return;
  }
  if (change.entry.op != 'c' && !defines_view(change)) {
    if (!shows(storage::database_of(change.entry.ns), storage::collection_of(change.entry.ns))) return;
    auto shared = is_shared(change.entry, options_) ? shared_event(change, options_) : SharedEvent();
    if (shared.kept)
      out.push_back({token, std::shared_ptr<const Document>(held, shared.kept)});
    else
      out.push_back(
          {token, std::make_shared<const Document>(shared.own ? std::move(*shared.own) : document_event(op, change, options_))});
    return;
  }
  const Meaning meaning = meaning_of(op, change);
  if (!meaning.type.empty()) {
    bson::Builder event;
    append_head(change, token, meaning.type, options_.expanded && change.entry.op == 'c', event);
    append_place(event, "ns", meaning.place.db, meaning.place.collection);
    if (!meaning.to.empty()) event.append("to", meaning.to);
    // A modification may have an empty description: it changed nothing.
    const bool described = !meaning.description.empty() || meaning.type == "modify";
    if (options_.expanded && described) event.append("operationDescription", meaning.description);
    if (options_.expanded && !meaning.before.empty()) event.append("stateBeforeChange", meaning.before);
    out.push_back({token, std::make_shared<const Document>(event.done())});
  }
  if (!meaning.invalidates) return;
  ResumeToken end = token;
  end.from_invalidate = true;
  bson::Builder event;
  append_head(change, end, "invalidate", false, event);
  out.push_back({end, std::make_shared<const Document>(event.done()), true});
}

bool ChangeEvents::has(OperationContext& op, const LoggedChange& change, const ResumeToken& token) const {
  if (!scope_.has(change.subject)) return false;
  ResumeToken own = token_of(change);
  own.from_invalidate = token.from_invalidate;
  if (!own.same_event(token)) return false;
  if (options_.commits) return change.entry.op == 'c' && !branch_of_commit(change.entry.o).empty();
  if (change.entry.op != 'c' && !defines_view(change))
    return !token.from_invalidate && shows(storage::database_of(change.entry.ns), storage::collection_of(change.entry.ns));
  const Meaning meaning = meaning_of(op, change);
  return token.from_invalidate ? meaning.invalidates : !meaning.type.empty();
}

}  // namespace server::query

#include "server/commands/versions/fetched.h"

#include <algorithm>

#include "server/commands/shared/view_rights.h"
#include "server/commands/versions/moved_refs.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/write/arrivals.h"
#include "server/write/commit_importer.h"
#include "server/write/target.h"
#include "storage/store.h"
#include "versions/database/commit_packer.h"
#include "versions/database/imported_commit.h"
#include "versions/pack/pack_reader.h"

namespace server {

using base::ErrorCode;
using base::OperationError;
namespace pack = versions::pack;

namespace {

// The documents of a cursor on the other server, whose answers are checked.
class RemoteCursor {
 public:
  RemoteCursor(RemoteServer& server, const bson::Document& command) : server_(server) { take(server.run(command), "firstBatch"); }
  ~RemoteCursor() {
    if (id_ == 0) return;
    try {
      bson::Builder kill;
      kill.append("killCursors", collection_);
      kill.array("cursors").append(id_);
      server_.run(kill.done());
    } catch (const OperationError&) {
      // It goes when its time is over.
    }
  }
  RemoteCursor(const RemoteCursor&) = delete;
  RemoteCursor& operator=(const RemoteCursor&) = delete;

  // nullopt: there are no more.
  std::optional<bson::DocumentView> next() {
    while (at_ == batch_.size()) {
      if (id_ == 0) return std::nullopt;
      bson::Builder more;
      more.append("getMore", id_).append("collection", collection_);
      take(server_.run(more.done()), "nextBatch");
    }
    return batch_[at_++].view();
  }

 private:
  void take(const bson::Document& reply, std::string_view name) {
    const bson::Element cursor = reply.view().find("cursor");
    if (!cursor.is_object()) refuse();
    const bson::Element id = cursor.as_document().find("id"), ns = cursor.as_document().find("ns");
    const bson::Element batch = cursor.as_document().find(name);
    if (id.type() != bson::Type::int64 || !ns.is_string() || !batch.is_array()) refuse();
    id_ = id.as_int64();
    const std::string_view whole = ns.as_string();
    collection_ = whole.substr(std::min(whole.find('.') + 1, whole.size()));
    batch_.clear();
    at_ = 0;
    for (const bson::Element& one : batch.as_document()) {
      if (!one.is_object()) refuse();
      batch_.emplace_back(one.as_document());
    }
  }
  [[noreturn]] static void refuse() {
    throw OperationError(ErrorCode::protocol_error, "the remote's answer to packCommits isn't a cursor");
  }

  RemoteServer& server_;
  int64_t id_ = 0;
  std::string collection_;
  std::vector<bson::Document> batch_;
  size_t at_ = 0;
};

constexpr int64_t depth_max = INT64_MAX;

bson::Document request_of(OperationContext& op, const std::string& db, const Remote& remote, const FetchRequest& what,
                          bool deltas) {
  bson::Builder out;
  out.append("packCommits", 1);
  if (what.names) {
    auto refs = out.array("refs");
    for (const std::string& name : *what.names) refs.append(name);
  }
  std::vector<versions::Hash> boundaries;
  {
    auto have = out.array("have");
    if (const auto database = op.services().databases->find(db)) {
      storage::Transaction transaction(write::store_of(op), storage::Transaction::Mode::read);
      const auto& graph = database->branches().graph();
      for (const versions::Hash& id : versions::KnownCommits::of(transaction, graph))
        have.append(bson::Binary{0, versions::view(id)});
      // The commits behind a dropped one aren't here either.
      for (const versions::CommitNumber number : graph.boundaries(transaction, true))
        boundaries.push_back(graph.commit(transaction, number)->id);
    }
  }
  if (!boundaries.empty()) {
    auto shallow = out.array("shallow");
    for (const versions::Hash& id : boundaries) shallow.append(bson::Binary{0, versions::view(id)});
  }
  remote.selection.append_to(out);
  if (what.depth) out.append("depth", static_cast<int64_t>(std::min<uint64_t>(*what.depth, depth_max)));
  if (!deltas) out.append("deltas", false);
  return out.done();
}

// A database that doesn't exist takes a shallow history as it is, and so does one whose own is shallow.
bool may_be_shallow(OperationContext& op, const std::string& db) {
  const auto database = op.services().databases->find(db);
  if (!database) return true;
  storage::Transaction transaction(write::store_of(op), storage::Transaction::Mode::read);
  const auto& graph = database->branches().graph();
  const auto first = graph.commit(transaction, graph.first(transaction));
  return versions::begins_shallow(*first) || !graph.boundaries(transaction).empty();
}

Fetched fetch_once(OperationContext& op, const Request& request, const std::string& db, const Remote& remote,
                   const FetchRequest& what, bool deltas) {
  RemoteServer server(op, remote.uri);
  RemoteCursor cursor(server, request_of(op, db, remote, what, deltas));
  const auto first = cursor.next();
  if (!first) throw OperationError(ErrorCode::protocol_error, "the remote's answer to packCommits is empty");
  const bson::Element commits = first->find("commits");
  Progress progress{
      .what = "Fetching commits", .done = 0, .total = commits.is_number() ? std::max<int64_t>(0, commits.to_int64()) : 0};
  const write::CommitImporter* importing = nullptr;
  pack::PackReader reader([&]() -> base::Bytes {
    if (importing) progress.done = std::min(static_cast<int64_t>(importing->made()), progress.total);
    op.set_progress(progress);
    const auto document = cursor.next();
    if (!document) return {};
    const bson::Element piece = document->find("pack");
    if (piece.type() != bson::Type::binary || piece.as_binary().bytes.empty())
      throw OperationError(ErrorCode::protocol_error, "the remote's answer to packCommits isn't a pack");
    return base::Bytes(piece.as_binary().bytes);
  });
  Fetched fetched;
  fetched.refs = reader.header().refs;
  for (const pack::Ref& ref : fetched.refs) versions::check_branch_name(remote.tag(ref.name));
  // The remote has taken the choice. It is kept before a commit comes, since other choices have other commits.
  if (!(remote_of(op, db, remote.name).selection == remote.selection)) put_remote(op, db, remote);
  using Shallow = write::CommitImporter::Shallow;
  const Shallow shallow = what.depth || may_be_shallow(op, db) ? Shallow::allowed : Shallow::refused;
  write::CommitImporter importer(
      op, db, [&](bson::DocumentView view) { check_may_define_view(op, request, db, view); }, shallow);
  importing = &importer;
  importer.import(reader);
  fetched.made = importer.made();
  if (!importer.database()) throw OperationError(ErrorCode::illegal_operation, "the remote has no commits");
  fetched.main_left = make_indexes(op, importer, reader.header(), fetched.refs) != "unchanged";
  fetched.moved = track(op, *importer.database(), remote, fetched.refs);
  leave_shallow_root(op, *importer.database(), fetched.refs);
  write::end_arrival(op, db);
  return fetched;
}

}  // namespace

std::optional<uint64_t> depth_of(const Arguments& arguments) {
  const bson::Element given = arguments.any("depth");
  const bool unshallow = arguments.boolean("unshallow").value_or(false);
  if (!given.exists()) return unshallow ? std::optional(UINT64_MAX) : std::nullopt;
  const auto depth = arguments.unsigned_integer("depth");
  if (unshallow || !depth || *depth < 1)
    throw OperationError(ErrorCode::bad_value, "'depth' is at least 1, and doesn't go with 'unshallow'");
  return static_cast<uint64_t>(*depth);
}

void select(OperationContext& op, const std::string& db, Remote& remote, versions::Selection selection) {
  if (selection.empty() || selection == remote.selection) return;
  bool fetched = false;
  if (const auto database = op.services().databases->find(db)) {
    storage::Transaction transaction(write::store_of(op), storage::Transaction::Mode::read);
    const auto tags = database->branches().graph().tags(transaction);
    fetched = std::any_of(tags.begin(), tags.end(), [&](const auto& tag) { return is_of_remote({remote}, tag.first); });
  }
  if (fetched) {
    throw OperationError(ErrorCode::illegal_operation,
                         "remote '" + remote.name + "' brings " + (remote.selection.empty() ? "all" : "other") +
                             " collections and documents: another choice has other commits, and needs a database of its own");
  }
  remote.selection = std::move(selection);
}

Fetched fetch_from(OperationContext& op, const Request& request, const std::string& db, const Remote& remote,
                   const FetchRequest& what) {
  try {
    return fetch_once(op, request, db, remote, what, true);
  } catch (const OperationError& error) {
    if (error.code() != ErrorCode::operation_failed) throw;
    // A delta is of a document that was purged here. What has arrived stays.
    return fetch_once(op, request, db, remote, what, false);
  }
}

}  // namespace server

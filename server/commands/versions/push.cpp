// push brings commits to a remote, and moves a branch or a tag there.
#include <algorithm>

#include "base/uuid.h"
#include "server/commands/shared/branches.h"
#include "server/commands/versions/moved_refs.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "versions/database/commit_packer.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;
namespace pack = versions::pack;

// A pack that was cut off is sent again, so none is large unless a commit is. What has come in whole packs stays.
constexpr uint64_t pack_bytes = 4 << 20;

// The remote said this of itself.
struct There {
  std::vector<pack::Ref> refs;
  std::vector<versions::Hash> known;
  std::vector<versions::Hash> shallow;  // commits whose parents it lacks
  std::vector<versions::Hash> has;      // those that it was asked for
};

// Returns the commits at the boundary of a shallow history, and their parents.
std::vector<versions::Hash> around_boundary(const query::States& states) {
  const auto& graph = states.branches().graph();
  std::vector<versions::Hash> ids;
  for (const versions::CommitNumber number : graph.boundaries(states.transaction())) {
    const auto commit = graph.commit(states.transaction(), number);
    ids.push_back(commit->id);
    for (const versions::CommitNumber parent : commit->parents) ids.push_back(graph.commit(states.transaction(), parent)->id);
  }
  return ids;
}

There ask(RemoteServer& server, const std::vector<versions::Hash>& has) {
  There there;
  bson::Builder command;
  command.append("packCommits", 1);
  command.array("refs");
  if (!has.empty()) {
    auto ids = command.array("has");
    for (const versions::Hash& id : has) ids.append(bson::Binary{0, versions::view(id)});
  }
  bson::Document reply;
  try {
    reply = server.run(command.done());
  } catch (const OperationError& error) {
    if (error.code() == ErrorCode::namespace_not_found) return there;  // the commits that come begin its branches
    throw;
  }
  const Arguments answer("packCommits", reply);
  const Arguments cursor("packCommits.cursor", answer.required_object("cursor"));
  for (const bson::Element& first : cursor.required_array("firstBatch")) {
    if (!first.is_object()) break;
    const Arguments one("packCommits", first.as_document());
    for (const bson::Element& ref : one.required_array("refs")) {
      if (!ref.is_object()) throw OperationError(ErrorCode::protocol_error, "the remote's answer to packCommits names no refs");
      there.refs.push_back(ref_of_document(ref.as_document()));
    }
    there.known = ids_of(one.required_array("known"), "known");
    if (const auto shallow = one.array("shallow")) there.shallow = ids_of(*shallow, "shallow");
    if (const auto ids = one.array("has")) there.has = ids_of(*ids, "has");
    break;
  }
  return there;
}

class Push : public Command {
 public:
  std::string_view name() const override { return "push"; }
  std::string_view help() const override {
    return "bring commits to a remote, and move a branch or a tag of the same name there\n"
           "{ push: <remote>, branch: <name; default that of the database's name>, tag: <name>, force: <bool> }\n"
           "A branch there that has other commits is given up with force alone.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"branch", "tag", "force"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const Remote remote = remote_of(op, database_of(request), arguments.required_string("push"));
    if (!remote.selection.empty()) {
      throw OperationError(ErrorCode::illegal_operation,
                           "remote '" + remote.name +
                               "' has other collections or documents beside those that were fetched: the commits here aren't "
                               "the remote's, and can't be pushed to it");
    }
    const bool force = arguments.boolean("force").value_or(false);
    const auto database = branched(op, request);
    RemoteServer server(op, remote.uri);
    There there;
    {
      std::vector<versions::Hash> has;
      {
        const query::States states(op, database);
        has = around_boundary(states);
      }
      there = ask(server, has);
    }
    int64_t commits = 0, bytes = 0;
    pack::Ref ref;
    bson::Document answer;
    {
      query::States states(op, database);
      ref = chosen(arguments, ref_of(request), states);
      check_forward(states, there, ref, force);
      versions::CommitPacker::What what{.refs = {ref},
                                        .known = there.known,
                                        .shallow = there.shallow,
                                        .deltas = true,
                                        .pack_bytes = pack_bytes,
                                        .interrupted = op.interrupted()};
      what.known.insert(what.known.end(), there.has.begin(), there.has.end());
      for (const pack::Ref& known : there.refs) what.known.push_back(known.commit);
      versions::CommitPacker packer(*database, states.transaction(), std::move(what));
      commits = static_cast<int64_t>(packer.commits());
      const bool is_there = std::find(there.refs.begin(), there.refs.end(), ref) != there.refs.end();
      answer = send(op, server, packer, ref, force, is_there, bytes);
    }
    track(op, *database, remote, {ref});
    reply.append("remote", remote.name);
    reply.append(ref.kind == pack::Ref::Kind::branch ? "branch" : "tag", ref.name).append("commit", hex(ref.commit));
    append_count(reply, "sent", commits);
    append_count(reply, "bytes", bytes);
    reply.append("change", change_of(answer));
  }

 private:
  static pack::Ref chosen(const Arguments& arguments, const versions::Ref& own, const query::States& states) {
    const auto branch = arguments.string("branch"), tag = arguments.string("tag");
    if (branch && tag) throw OperationError(ErrorCode::bad_value, "'branch' and 'tag' don't go together");
    const std::string name(tag ? *tag : branch ? *branch : own.name);
    const versions::Place place = states.place(tag || branch ? versions::Ref{.name = name} : own);
    const bool is_tag = states.branches().graph().tag(states.transaction(), name).has_value();
    if (tag ? !is_tag : !place.branch)
      throw OperationError(ErrorCode::bad_value, "'" + name + "' is no " + (tag ? "tag" : "branch"));
    return {.kind = tag ? pack::Ref::Kind::tag : pack::Ref::Kind::branch,
            .name = name,
            .commit = states.branches().graph().commit(states.transaction(), place.commit)->id};
  }

  // The remote checks it too; but then the commits are there already.
  static void check_forward(const query::States& states, const There& there, const pack::Ref& ref, bool force) {
    if (force || ref.kind != pack::Ref::Kind::branch) return;
    const auto& graph = states.branches().graph();
    for (const pack::Ref& one : there.refs) {
      if (one.name != ref.name || one.commit == ref.commit) continue;
      const auto theirs = graph.find(states.transaction(), hex(one.commit)),
                 ours = graph.find(states.transaction(), hex(ref.commit));
      if (theirs && graph.common_ancestor(states.transaction(), *theirs, *ours) == *theirs) continue;
      throw OperationError(ErrorCode::illegal_operation,
                           "branch '" + ref.name +
                               "' has commits on the remote that it doesn't have here: fetch and merge them first. "
                               "With force: true the remote's branch gives them up");
    }
  }

  // A pack without commits names the collections: if their commits came with a push that was interrupted, the remote may have no
  // indexes yet.
  static bson::Document send(OperationContext& op, RemoteServer& server, versions::CommitPacker& packer, const pack::Ref& ref,
                             bool force, bool is_there, int64_t& bytes) {
    base::Bytes id = base::random_uuid();
    const auto begin = [&](bson::Builder& out) { out.append("receivePack", bson::Binary{4, id}); };
    const auto name_ref = [&](bson::Builder& out) {
      auto refs = out.array("refs");
      auto one = refs.object();
      one.append_all(document_of(ref)).append("force", force);
    };
    if (packer.commits() == 0 && is_there) {
      bson::Builder out;
      begin(out);
      name_ref(out);
      return server.run(out.done());
    }
    bson::Document answer;
    int64_t offset = 0;
    while (auto piece = packer.next(op.interrupted())) {
      bson::Builder out;
      begin(out);
      out.append("offset", offset).append("pack", bson::Binary{0, piece->bytes});
      if (piece->ends_pack) out.append("last", true);
      const bool ends = piece->ends_pack && packer.left() == 0;
      if (ends) name_ref(out);
      answer = server.run(out.done());
      offset += static_cast<int64_t>(piece->bytes.size());
      bytes += static_cast<int64_t>(piece->bytes.size());
      if (ends) break;
      if (!piece->ends_pack) continue;
      offset = 0;
      id = base::random_uuid();
    }
    return answer;
  }

  static std::string change_of(const bson::Document& answer) {
    const bson::Element refs = answer.view().find("refs");
    if (!refs.is_array()) return "";
    for (const bson::Element& one : refs.as_document()) {
      if (!one.is_object()) break;
      const bson::Element change = one.as_document().find("change");
      return change.is_string() ? std::string(change.as_string()) : "";
    }
    return "";
  }
};

}  // namespace

std::unique_ptr<Command> make_push_command() {
  return std::make_unique<Push>();
}

}  // namespace server

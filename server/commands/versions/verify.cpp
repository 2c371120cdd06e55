// verify checks what is stored of a commit against the commit's id.
#include "bson/key_id.h"
#include "server/commands/shared/branches.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/scale.h"

namespace server {
namespace {

class Verify : public Command {
 public:
  std::string_view name() const override { return "verify"; }
  std::string_view help() const override {
    return "whether what is stored of the commit that the database's name says is what its id says\n"
           "{ verify: 1, deep: <bool; reads every node and document of it> }\nOf a branch its last commit is meant.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"deep"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const bool deep = Arguments(request).boolean("deep").value_or(false);
    const query::States states(op, branched(op, request));
    const versions::CommitNumber commit = states.place(ref_of(request)).commit;
    const auto verified = states.database().verify(states.transaction(), commit, deep, damage_max, [&] { op.check_interrupt(); });
    reply.append("commit", hex(states.branches().graph().commit(states.transaction(), commit)->id))
        .append("valid", verified.damaged == 0)
        .append("deep", deep);
    append_collections(verified, deep, reply);
    append_count(reply, "damageCount", static_cast<int64_t>(verified.damaged));
    auto list = reply.array("damage");
    for (const versions::Damage& one : verified.damage) {
      bson::Builder out = list.object();
      if (one.collection) out.append("collection", verified.names[*one.collection]);
      if (one.node) out.append("node", hex(*one.node));
      if (!one.key.empty()) append_id(one.key, out);
      out.append("what", one.what);
    }
  }

 private:
  static constexpr size_t damage_max = 1000;  // more are only counted

  static void append_collections(const versions::BranchedDatabase::Verified& verified, bool deep, bson::Builder& reply) {
    auto list = reply.array("collections");
    for (size_t i = 0; i < verified.names.size(); ++i) {
      const versions::Verification::Collection& one = verified.collections[i];
      bson::Builder out = list.object();
      out.append("name", verified.names[i]).append("said", one.has_root);
      if (!one.has_root) continue;
      out.append("root", hex(one.root));
      append_count(out, "nodes", static_cast<int64_t>(one.nodes));
      if (!deep) continue;
      append_count(out, "documents", static_cast<int64_t>(one.documents));
      append_count(out, "purged", static_cast<int64_t>(one.purged));
    }
  }

  static void append_id(base::BytesView key, bson::Builder& out) {
    if (const auto id = bson::id_of_key(key))
      out.append_all(*id);
    else
      out.append("key", base::to_hex(key));
  }
};

}  // namespace

std::unique_ptr<Command> make_verify_command() {
  return std::make_unique<Verify>();
}

}  // namespace server

// receivePack makes the commits of a pack in the database, and moves branches and tags to them.
#include "server/commands/shared/branches.h"
#include "server/commands/shared/view_rights.h"
#include "server/commands/versions/moved_refs.h"
#include "server/commands/versions/uploads.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/core/services.h"
#include "server/write/arrivals.h"
#include "server/write/commit_importer.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;
namespace pack = versions::pack;

class ReceivePack : public Command {
 public:
  std::string_view name() const override { return "receivePack"; }
  std::string_view help() const override {
    return "make the commits of a pack (packCommits) in the database, and move branches and tags to them\n"
           "{ receivePack: <UUID>, offset: <long>, pack: <bytes>, last: <bool>, refs: [ { branch | tag: <name>, commit: <id>, "
           "force: "
           "<bool> }, … ], shallow: <bool> }\n"
           "A pack may come in pieces, of which the last one says so. What it has made stays, whatever comes after it. With "
           "shallow: true parents may be missing, and history becomes shallow.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"offset", "pack", "last", "refs", "shallow"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const bson::Element id = arguments.any("receivePack");
    if (id.type() != bson::Type::binary || id.as_binary().bytes.size() != 16)
      throw OperationError(ErrorCode::bad_value, "'receivePack' is a UUID, which all pieces of one pack have in common");
    if (versions::split_name(request.db).ref)
      throw OperationError(ErrorCode::illegal_operation, "receivePack is of a database: its name has no '@'");
    const bson::Element piece = arguments.any("pack");
    const bool last = arguments.boolean("last").value_or(false);
    const auto refs = refs_of(arguments);
    if (piece.exists() && piece.type() != bson::Type::binary)
      throw OperationError(ErrorCode::type_mismatch, "'pack' is binary data");
    if (!piece.exists() && (last || arguments.any("offset").exists()))
      throw OperationError(ErrorCode::bad_value, "'offset' and 'last' go with 'pack'");
    if (piece.exists() && !last && !refs.empty())
      throw OperationError(ErrorCode::bad_value, "'refs' go with the last piece of a pack, or with none");
    Imported imported;
    std::vector<pack::Ref> named;
    for (const auto& [ref, force] : refs) named.push_back(ref);
    if (piece.exists()) {
      const std::string key(id.as_binary().bytes);
      if (!last) write::renew_arrival(op, request.db);  // before the piece is taken, which can't be sent twice
      Uploads::Upload upload = uploads_.take(op, key, request.db, arguments.unsigned_integer("offset").value_or(0));
      bson::Builder out;
      out.append("pack", piece.as_binary());
      upload.file->write(out.done());
      upload.bytes += static_cast<int64_t>(piece.as_binary().bytes.size());
      if (!last) {
        append_count(reply, "received", upload.bytes);
        uploads_.keep(op, key, std::move(upload));
        return;
      }
      imported = import(op, request, upload, arguments.boolean("shallow").value_or(false), named);
    }
    const auto database = refs.empty() ? op.services().databases->find(request.db) : branched(op, request);
    std::vector<std::pair<pack::Ref, std::string_view>> moved;
    for (const auto& [ref, force] : refs) {
      std::string_view change = move_ref(op, *database, ref, force);
      const bool is_main = ref.kind == pack::Ref::Kind::branch && ref.name == versions::BranchedDatabase::main;
      if (is_main && change == "unchanged") change = imported.main;
      moved.emplace_back(ref, change);
    }
    if (!refs.empty()) {
      leave_shallow_root(op, *database, named);
      write::end_arrival(op, request.db);
    }
    append_count(reply, "made", static_cast<int64_t>(imported.made));
    auto list = reply.array("refs");
    for (const auto& [ref, happened] : moved) {
      auto one = list.object();
      one.append_all(document_of(ref)).append("change", happened);
    }
  }

 private:
  struct Imported {
    uint64_t made = 0;
    std::string_view main = "unchanged";  // what happened to it before refs moved
    std::shared_ptr<versions::BranchedDatabase> database = {};
    base::SharedHold unnamed = {};  // the commits stay until refs name them
  };
  static Imported import(OperationContext& op, const Request& request, Uploads::Upload& upload, bool may_be_shallow,
                         const std::vector<pack::Ref>& refs) {
    using Shallow = write::CommitImporter::Shallow;
    write::CommitImporter importer(
        op, request.db, [&](bson::DocumentView view) { check_may_define_view(op, request, request.db, view); },
        may_be_shallow ? Shallow::allowed : Shallow::refused);
    upload.file->rewind();
    pack::PackReader reader([&]() -> base::Bytes {
      const auto next = upload.file->read();
      return next ? base::Bytes(next->view().find("pack").as_binary().bytes) : base::Bytes();
    });
    importer.import(reader);
    Imported imported;
    if (!refs.empty() && importer.database()) imported.main = make_indexes(op, importer, reader.header(), refs);
    imported.made = importer.made();
    imported.database = importer.database();
    imported.unnamed = importer.keep_unnamed();
    return imported;
  }

  static std::vector<std::pair<pack::Ref, bool>> refs_of(const Arguments& arguments) {
    std::vector<std::pair<pack::Ref, bool>> refs;
    const auto given = arguments.array("refs");
    if (!given) return refs;
    for (const bson::Element& one : *given) {
      if (!one.is_object()) throw OperationError(ErrorCode::type_mismatch, "'refs' must be an array of objects");
      const Arguments fields("receivePack.refs", one.as_document());
      fields.only({"branch", "tag", "commit", "force"});
      refs.emplace_back(ref_of_document(one.as_document()), fields.boolean("force").value_or(false));
    }
    return refs;
  }

  Uploads uploads_;
};

}  // namespace

std::unique_ptr<Command> make_receive_pack_command() {
  return std::make_unique<ReceivePack>();
}

}  // namespace server

// createBackup copies the data directory while the server is in use: to another folder of the machine, into an archive there, or
// to the client.
#include "bson/builder.h"
#include "server/commands/shared/list_cursor.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/query/cursor_registry.h"
#include "server/write/target.h"
#include "storage/store.h"
#include "storage/upkeep/backup_archive.h"
#include "storage/upkeep/backup_folder.h"
#include "storage/upkeep/backup_stream.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

void show_progress(OperationContext& op, uint64_t done, uint64_t total) {
  op.check_interrupt();
  op.set_progress(
      {.what = "copying the data directory", .done = static_cast<int64_t>(done), .total = static_cast<int64_t>(total)});
}

// Sends the backup's bytes (docs/formats/backup.md) in documents {data: <binary>}. The backup stays open between batches.
class BackupSource : public query::CursorSource {
 public:
  BackupSource(OperationContext& op, const std::string& from) : op_(&op), stream_(write::store_of(op).engine(), from) {}
  void begin(OperationContext& op) override { op_ = &op; }
  void end() override { op_ = nullptr; }
  bool next() override {
    show_progress(*op_, stream_.done_bytes(), stream_.head().bytes);
    const base::Bytes piece = stream_.next();
    if (piece.empty()) return false;
    bson::Builder document;
    document.append("data", bson::Binary{0, piece});
    document_ = document.done();
    return true;
  }
  bson::DocumentView document() override { return document_; }

 private:
  OperationContext* op_;  // nullptr between batches
  storage::BackupStream stream_;
  bson::Document document_;
};

class CreateBackup : public Command {
 public:
  std::string_view name() const override { return "createBackup"; }
  std::string_view help() const override {
    return "copies all data, with branches and snapshots\n"
           "{ createBackup: 1, backupDir: <absolute path> }: a data directory, on the server's machine\n"
           "{ createBackup: 1, archiveDir: <absolute path> }: into an archive on the server's machine; after the first time, "
           "what has changed\n"
           "{ createBackup: 1, incrementalFrom: <id of the backup before>, cursor: { batchSize: <int> } }: to the client";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"backupDir", "archiveDir", "incrementalFrom", "cursor"};
    return names;
  }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const auto archive = arguments.string("archiveDir");
    const auto from = arguments.string("incrementalFrom");
    const bool to_client = arguments.object("cursor").has_value();
    if (to_client + archive.has_value() + arguments.string("backupDir").has_value() > 1)
      throw OperationError(ErrorCode::invalid_options, "createBackup takes one of backupDir, archiveDir and cursor");
    if (from && !to_client)
      throw OperationError(ErrorCode::invalid_options, "createBackup takes incrementalFrom with cursor alone");
    if (to_client) return send(op, request, std::string(from.value_or("")), reply);
    if (archive) return add_to_archive(op, std::string(*archive), reply);
    const std::string folder(arguments.required_string("backupDir"));
    const auto made = storage::back_up_to_folder(write::store_of(op).engine(), folder,
                                                 [&](uint64_t done, uint64_t total) { show_progress(op, done, total); });
    reply.append("files", static_cast<int64_t>(made.files)).append("bytes", static_cast<int64_t>(made.bytes));
  }

 private:
  static void send(OperationContext& op, const Request& request, const std::string& from, bson::Builder& reply) {
    reply_source(op, request, request.db + ".$cmd.createBackup", std::make_unique<BackupSource>(op, from), reply);
  }

  static void add_to_archive(OperationContext& op, const std::string& folder, bson::Builder& reply) {
    storage::Engine& engine = write::store_of(op).engine();
    storage::ArchiveWriter archive(storage::backup_path(engine, folder));
    storage::BackupStream stream(engine, archive.newest());
    for (base::Bytes piece = stream.next(); !piece.empty(); piece = stream.next()) {
      archive.write(piece);
      show_progress(op, stream.done_bytes(), stream.head().bytes);
    }
    const storage::ArchivedBackup made = archive.finish();
    reply.append("backupId", made.head.link.id);
    if (!made.head.link.from.empty()) reply.append("incrementalFrom", made.head.link.from);
    reply.append("number", static_cast<int64_t>(made.number)).append("files", static_cast<int64_t>(made.head.files.size()));
    reply.append("bytes", static_cast<int64_t>(made.file_bytes));  // without the zeros that the journal's files end with
  }
};

}  // namespace

std::unique_ptr<Command> make_create_backup_command() {
  return std::make_unique<CreateBackup>();
}

}  // namespace server

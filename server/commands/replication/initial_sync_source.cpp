// _initialSyncBegin, _initialSyncFiles, _initialSyncRead, _initialSyncEnd: how another member copies this one's data.
//
//   begin -> backupId, how far the data is     files -> names and lengths, page by page
//   read  -> part of a file: data, how many zeros follow it, checksum     end
#include "base/hash.h"
#include "replication/entry.h"
#include "server/commands/replication/replica_set.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/peers/backup_host.h"

namespace server {
namespace {

using peers::BackupHost;
using replication::MemberState;

constexpr uint64_t read_bytes_max = 8 << 20;
constexpr size_t page_bytes_max = 8 << 20;  // of a list of files

constexpr auto agree_round = std::chrono::milliseconds(5);
constexpr int agree_rounds = 2000;

class InitialSyncSource : public ReplicaSetCommand {
 public:
  std::string_view help() const override { return "internal"; }

 protected:
  // Throws NoReplicationEnabled; NotPrimaryOrSecondary where there is no data to be had.
  static BackupHost& host_of(OperationContext& op) {
    const MemberState state = set_of(op).state();
    if (state != MemberState::primary && state != MemberState::secondary) {
      throw base::OperationError(base::ErrorCode::not_primary_or_secondary,
                                 "a member in state " + std::string(replication::state_name(state)) + " can't be copied from");
    }
    return *op.services().backups;
  }
};

class InitialSyncBegin : public InitialSyncSource {
 public:
  std::string_view name() const override { return "_initialSyncBegin"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"for"};
    return names;
  }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    BackupHost& host = host_of(op);
    // Read before: the backup has at least this. What is on its way is waited for: the configuration that sent the asker here
    // may be among it.
    const replication::Coordinator& set = set_of(op);
    replication::Progress progress = set.progress();
    const replication::OpTime wanted = progress.applied.optime;
    for (auto left = agree_rounds; progress.committed.optime < wanted; progress = set.progress()) {
      if (left-- == 0) throw base::OperationError(base::ErrorCode::exceeded_time_limit, "the set agrees on nothing at present");
      op.sleep(agree_round);
    }
    const int64_t term = set.standing().term;
    const BackupHost::Lent lent = host.begin(std::string(Arguments(request).required_string("for")));
    reply.append("backupId", lent.id).append("setName", set.set_name()).append("term", term);
    replication::append_optime(reply, "lastCommittedOpTime", progress.committed.optime);
    replication::append_optime(reply, "durableOpTime", progress.durable.optime);
    if (const storage::Stamp stamp = lent.backup->checkpointed_stamp())
      reply.append("checkpoint", replication::timestamp_of(stamp));
    reply.append("files", static_cast<int64_t>(lent.backup->files().size()))
        .append("bytes", static_cast<int64_t>(lent.backup->total_bytes()));
  }
};

class InitialSyncFiles : public InitialSyncSource {
 public:
  std::string_view name() const override { return "_initialSyncFiles"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"backupId", "skip"};
    return names;
  }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const auto backup = host_of(op).use(arguments.required_integer("backupId"));
    const std::vector<storage::BackupFile>& all = backup->files();
    auto listed = reply.array("files");
    for (size_t i = static_cast<size_t>(arguments.unsigned_integer("skip").value_or(0));
         i < all.size() && listed.size() < page_bytes_max; ++i) {
      auto one = listed.object();
      one.append("name", all[i].name).append("bytes", static_cast<int64_t>(all[i].bytes));
    }
  }
};

class InitialSyncRead : public InitialSyncSource {
 public:
  std::string_view name() const override { return "_initialSyncRead"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"backupId", "file", "offset", "bytes"};
    return names;
  }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const auto backup = host_of(op).use(arguments.required_integer("backupId"));
    const auto offset = static_cast<uint64_t>(arguments.unsigned_integer("offset").value_or(0));
    const auto bytes = static_cast<uint64_t>(arguments.unsigned_integer("bytes").value_or(read_bytes_max));
    if (bytes == 0 || bytes > read_bytes_max) {
      throw base::OperationError(base::ErrorCode::bad_value, "bytes must be between 1 and " + std::to_string(read_bytes_max));
    }
    const base::Bytes part = backup->read(std::string(arguments.required_string("file")), offset, bytes);
    // The journal's files are made long ahead of need: most of a young one is nothing.
    const size_t told = part.find_last_not_of('\0') + 1;
    const base::BytesView data(part.data(), told);
    const uint64_t zeros = part.size() - told;
    reply.append("data", bson::Binary{0, data}).append("zeros", static_cast<int64_t>(zeros));
    reply.append("checksum", static_cast<int64_t>(base::hash64(data, zeros)));
  }
};

class InitialSyncEnd : public InitialSyncSource {
 public:
  std::string_view name() const override { return "_initialSyncEnd"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"backupId"};
    return names;
  }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    host_of(op).end(Arguments(request).required_integer("backupId"));
  }
};

}  // namespace

std::unique_ptr<Command> make_initial_sync_begin_command() {
  return std::make_unique<InitialSyncBegin>();
}
std::unique_ptr<Command> make_initial_sync_files_command() {
  return std::make_unique<InitialSyncFiles>();
}
std::unique_ptr<Command> make_initial_sync_read_command() {
  return std::make_unique<InitialSyncRead>();
}
std::unique_ptr<Command> make_initial_sync_end_command() {
  return std::make_unique<InitialSyncEnd>();
}

}  // namespace server

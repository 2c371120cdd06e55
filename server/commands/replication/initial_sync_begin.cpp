// _initialSyncBegin lends a backup of this member's data directory, and says how far its data is.
#include "replication/entry.h"
#include "server/commands/replication/initial_sync_source.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/peers/file_blocks.h"

namespace server {
namespace {

using peers::BackupHost;

constexpr auto wait_round = std::chrono::milliseconds(5);
constexpr int wait_rounds = 2000;

class InitialSyncBegin : public InitialSyncSource {
 public:
  std::string_view name() const override { return "_initialSyncBegin"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"for"};
    return names;
  }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    BackupHost& host = host_of(op);
    const std::string asker(Arguments(request).required_string("for"));
    // The progress is read before the backup begins, so the backup has at least that. It waits for entries that aren't
    // majority-committed yet if the configuration that names the copying member may be among them. A member that takes part may
    // be one without which nothing becomes majority-committed, and may have stopped acknowledging for the sake of the copy.
    const replication::Coordinator& set = set_of(op);
    replication::Progress progress = set.progress();
    const replication::OpTime wanted = progress.applied.optime;
    for (auto left = wait_rounds; !set.knows(asker) && progress.committed.optime < wanted; progress = set.progress()) {
      if (left-- == 0)
        throw base::OperationError(base::ErrorCode::exceeded_time_limit,
                                   "this member's writes have not become majority-committed in time");
      op.sleep(wait_round);
    }
    const int64_t term = set.standing().term;
    const BackupHost::Lent lent = host.begin(asker);
    reply.append("backupId", lent.id).append("setName", set.set_name()).append("term", term);
    replication::append_optime(reply, "lastCommittedOpTime", progress.committed.optime);
    replication::append_optime(reply, "durableOpTime", progress.durable.optime);
    if (const storage::Stamp stamp = lent.backup->checkpointed_stamp())
      reply.append("checkpoint", replication::timestamp_of(stamp));
    reply.append("files", static_cast<int64_t>(lent.backup->files().size()))
        .append("bytes", static_cast<int64_t>(lent.backup->total_bytes()))
        .append("blockBytes", static_cast<int64_t>(peers::file_block_bytes));
  }
};

}  // namespace

std::unique_ptr<Command> make_initial_sync_begin_command() {
  return std::make_unique<InitialSyncBegin>();
}

}  // namespace server

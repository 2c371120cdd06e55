#include "server/dispatch/profile_entry.h"

#include "base/clock.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "server/core/command.h"
#include "server/core/scale.h"
#include "server/core/services.h"
#include "server/core/text.h"
#include "server/core/valid_text.h"

namespace server {
namespace {

constexpr size_t command_bytes_max = 50 << 10;
constexpr size_t stages_bytes_max = 256 << 10;  // they show the filter too

// Returns "127.0.0.1" for "127.0.0.1:51234".
std::string_view host_of(std::string_view remote) {
  const size_t colon = remote.rfind(':');
  return colon == remote.npos ? remote : remote.substr(0, colon);
}

// A long command is cut, because the collection is to hold many entries.
void append_command(bson::Builder& out, std::string_view name, bson::DocumentView command) {
  if (command.size() <= command_bytes_max) {
    out.append(name, command);
    return;
  }
  auto cut = out.object(name);
  cut.append("$truncated", std::string(query::front_of(bson::to_json(command), command_bytes_max)) + "...");
  if (const auto comment = command.find("comment"); comment.exists()) cut.append_element(comment);
}

void append_counted(bson::Builder& out, std::string_view name, int64_t value) {
  if (value >= 0) append_count(out, name, value);
}

void append_counts(bson::Builder& out, const OperationContext::Counts& counts) {
  if (counts.cursor_id != 0) out.append("cursorid", counts.cursor_id);
  append_counted(out, "keysExamined", counts.keys_examined);
  append_counted(out, "docsExamined", counts.docs_examined);
  if (counts.sort) out.append("hasSortStage", true);
  if (counts.raced) out.append("fromMultiPlanner", true);
  if (counts.replanned) out.append("replanned", true);
  append_counted(out, "nMatched", counts.matched);
  append_counted(out, "nModified", counts.modified);
  append_counted(out, "ninserted", counts.inserted);
  append_counted(out, "ndeleted", counts.deleted);
  if (counts.exhausted) out.append("cursorExhausted", true);
  if (counts.upserted > 0) append_count(out, "nUpserted", counts.upserted);
  if (counts.write_conflicts > 0) append_count(out, "writeConflicts", counts.write_conflicts);
  append_count(out, "numYield", counts.yields);
}

void append_error(bson::Builder& out, const OperationEnd& end) {
  if (end.code == base::ErrorCode::ok) return;
  out.append("ok", 0.0);
  if (!end.message.empty()) out.append("errMsg", end.message);
  out.append("errName", base::code_name(end.code)).append("errCode", static_cast<int32_t>(end.code));
}

void append_client(bson::Builder& out, const Client& client) {
  out.append("client", host_of(client.remote()));
  if (const auto metadata = client.metadata(); metadata && !metadata->app_name.empty()) out.append("appName", metadata->app_name);
  { out.array("allUsers"); }
  out.append("user", "");
}

}  // namespace

bson::Document profile_entry(const OperationContext& op, const OperationEnd& end) {
  bson::Builder out;
  out.append("op", kind_name(end.command))
      .append("ns", end.ns.empty() ? shown_namespace(op.request(), end.command) : std::string(end.ns));
  append_command(out, "command", end.shown);
  if (op.originating) append_command(out, "originatingCommand", *op.originating);
  append_counts(out, op.counts);
  if (op.query_hash)
    out.append("queryHash", op.query_hash->shape).append("planCacheKey", op.query_hash->key).append("queryFramework", "classic");
  if (const auto concern = op.request().body.find("writeConcern"); concern.is_object())
    out.append("writeConcern", concern.as_document());
  append_error(out, end);
  append_counted(out, "nreturned", op.counts.returned);
  append_counted(out, "responseLength", end.reply_bytes);
  if (end.reply_bytes >= 0) out.append("protocol", "op_msg");
  append_count(out, "millis", end.us / 1000);
  if (const auto summary = op.plan_summary(); !summary.empty()) {
    out.append("planSummary", summary);
    if (op.execution && op.execution->size() <= stages_bytes_max) {
      // Invalid bytes take four times the room when they are shown.
      const bson::Document stages = with_valid_text(*op.execution);
      if (stages.size() <= stages_bytes_max) out.append("execStats", stages);
    }
  }
  out.append("ts", bson::Date{op.services().clock.wall_ms()});
  append_client(out, op.client());
  return with_valid_text(out.done());
}

}  // namespace server

// currentOp: what the server is busy with. The fields of the command beside its
// options are a filter over the operations.
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/arguments.h"
#include "server/command.h"
#include "server/generic_arguments.h"
#include "server/operation.h"
#include "server/query/matcher.h"
#include "server/services.h"

namespace server {
namespace {

constexpr size_t command_bytes_max = 1024;  // longer ones are shown by their size

std::string_view kind_name(const Command* command) {
  switch (command ? command->kind() : OpKind::command) {
    case OpKind::insert: return "insert";
    case OpKind::update: return "update";
    case OpKind::remove: return "remove";
    case OpKind::query: return "query";
    case OpKind::get_more: return "getmore";
    case OpKind::command: break;
  }
  return "command";
}

void append_command(bson::Builder& out, const OperationContext& op) {
  auto shown = out.object("command");
  const Request& request = op.request();
  if (op.command() && op.command()->sensitive(request)) {
    shown.append(request.command, 1);
    return;
  }
  for (const auto& field : request.body) {
    if (field.bytes().size() <= command_bytes_max) shown.append_element(field);
    else shown.append(field.name, "<" + std::to_string(field.bytes().size()) + " bytes>");
  }
}

bson::Document describe(const OperationContext& op, const std::string& host) {
  const Client& client = op.client();
  const Request& request = op.request();
  const auto first = request.body.first();
  const bool named = op.command() && op.command()->takes_collection() && first.is_string();
  const int64_t us = op.elapsed_us();
  bson::Builder out;
  out.append("type", "op").append("host", host).append("desc", client.description());
  out.append("connectionId", static_cast<int32_t>(client.id())).append("client", client.remote());
  if (const auto metadata = client.metadata()) {
    if (!metadata->app_name.empty()) out.append("appName", metadata->app_name);
    out.append("clientMetadata", metadata->document);
  }
  out.append("active", true).append("currentOpTime", base::iso_date(op.services().clock.wall_ms()));
  out.append("opid", op.id());
  if (const auto lsid = request.body.find("lsid"); lsid.is_object()) out.append("lsid", lsid.as_document());
  out.append("secs_running", us / 1'000'000).append("microsecs_running", us).append("op", kind_name(op.command()));
  out.append("ns", request.db + "." + (named ? std::string(first.as_string()) : "$cmd"));
  append_command(out, op);
  if (const auto summary = op.plan_summary(); !summary.empty()) out.append("planSummary", summary);
  if (op.killed()) out.append("killPending", true);
  return out.done();
}

class CurrentOp : public Command {
 public:
  std::string_view name() const override { return "currentOp"; }
  std::string_view help() const override { return "get the operations in progress"; }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    bson::Builder filter;
    auto field = request.body.begin();
    for (++field; field != request.body.end(); ++field) {
      // Without access control every operation is one's own, and what $all adds
      // (idle connections, system operations) has no operation here.
      const bool option = field->name == "$ownOps" || field->name == "$all" || field->name == "$truncateOps";
      if (!option && !is_generic_argument(field->name)) filter.append_element(*field);
    }
    const auto matcher = query::Matcher::parse(filter.done(), query::ParseContext{.expressions = nullptr, .let = {}, .op = &op});
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    std::vector<bson::Document> found;
    op.services().operations.visit([&](const OperationContext& running) { found.push_back(describe(running, host)); });
    auto list = reply.array("inprog");
    for (const auto& document : found) {
      if (matcher->matches(document)) list.append(document);
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_current_op_command() { return std::make_unique<CurrentOp>(); }

}  // namespace server

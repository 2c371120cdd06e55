#include "server/dispatch/fail_command.h"

#include <algorithm>
#include <chrono>

#include "bson/builder.h"
#include "server/core/client.h"
#include "server/core/command.h"
#include "server/core/fail_points.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/dispatch/set_rules.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr const char* point = "failCommand";
constexpr int32_t closed = 50985;

bool is_true(const bson::ValueView& value) {
  return value.type() == bson::Type::boolean && value.as_bool();
}

// Returns "shop.orders" for a command about a collection, and "shop" for others.
std::string target(const Request& request, const Command& command) {
  auto name = request.body.first();
  if (command.kind() == OpKind::get_more)
    name = request.body.find("collection");
  else if (!command.may_take_collection())
    return request.db;
  return name.is_string() ? request.db + "." + std::string(name.as_string()) : request.db;
}

// Returns the sender's name, which may be in the hello that is about to run.
std::string application(const Client& client, const Request& request) {
  if (const auto metadata = client.metadata()) return metadata->app_name;
  const auto described = request.body.find("client");
  const auto application = described.is_object() ? described.as_document().find("application") : bson::Element();
  const auto name = application.is_object() ? application.as_document().find("name") : bson::Element();
  return name.is_string() ? std::string(name.as_string()) : "";
}

bool is_called(const Command& command, std::string_view name) {
  if (command.name() == name) return true;
  const auto aliases = command.aliases();
  return std::find(aliases.begin(), aliases.end(), name) != aliases.end();
}

bool ends(bson::DocumentView data) {
  return is_true(data.find("closeConnection")) || data.find("errorCode").is_number();
}

bool acts_before(bson::DocumentView data) {
  return is_true(data.find("blockConnection")) || ends(data);
}

void block(OperationContext& op, bson::DocumentView data) {
  const auto ms = data.find("blockTimeMS");
  if (!ms.is_number())
    throw OperationError(ErrorCode::invalid_options, "must specify 'blockTimeMS' when 'blockConnection' is true");
  if (ms.to_int64() < 0) throw OperationError(ErrorCode::invalid_options, "'blockTimeMS' must be non-negative");
  // It blocks for its whole time, as mongod does: maxTimeMS is looked at afterwards, and a driver's own limit comes first.
  op.block(std::chrono::milliseconds(ms.to_int64()));
}

// Returns whether failCommand's data name this command.
bool names(bson::DocumentView data, const Client& client, const Request& request, const Command& command) {
  if (command.name() == "configureFailPoint" || !concerns(data, client, request, command)) return false;
  if (is_true(data.find("failAllCommands"))) return true;
  const auto list = data.find("failCommands");
  if (!list.is_array()) return false;
  for (const auto& name : list.as_document()) {
    if (name.is_string() && is_called(command, name.as_string())) return true;
  }
  return false;
}

// Appends the labels of a write concern's error: the fail point's, or if it has none those that the error has by itself.
void append_labels_of(const OperationContext& op, const Command& command, bson::DocumentView data, bson::DocumentView error,
                      bson::Builder& reply) {
  if (const auto labels = data.find("errorLabels"); labels.is_array()) {
    if (!labels.as_document().empty()) reply.append_array("errorLabels", labels.as_document());
  } else {
    append_labels(op, &command, static_cast<ErrorCode>(error.find("code").to_int64()), true, reply);
  }
}

}  // namespace

bool concerns(bson::DocumentView data, const Client& client, const Request& request, const Command& command) {
  if (const auto wanted = data.find("threadName"); wanted.is_string() && wanted.as_string() != client.description()) return false;
  if (const auto wanted = data.find("appName"); wanted.is_string() && wanted.as_string() != application(client, request))
    return false;
  const auto wanted = data.find("namespace");
  return !wanted.is_string() || wanted.as_string() == target(request, command);
}

bool would_fail(const FailPoints& points, const Client& client, const Request& request, const Command& command) {
  return points.armed(point, [&](bson::DocumentView data) { return ends(data) && names(data, client, request, command); });
}

void fail_before(OperationContext& op, const Command& command, CommandFault& fault) {
  FailPoints& points = op.services().fail_points;
  if (!points.any()) return;
  const auto data = points.strike(
      point, [&](bson::DocumentView each) { return acts_before(each) && names(each, op.client(), op.request(), command); });
  if (!data) return;
  if (const auto labels = data->find("errorLabels"); labels.is_array()) fault.labels = bson::Value(labels);
  if (is_true(data->find("blockConnection"))) block(op, *data);
  if (is_true(data->find("closeConnection"))) {
    op.close_connection = true;
    throw OperationError(closed,
                         "Failing command '" + op.request().command + "' via 'failCommand' failpoint. Action: close connection.");
  }
  if (const auto code = data->find("errorCode"); code.is_number()) {
    throw OperationError(static_cast<int32_t>(code.to_int64()), "Failing command via 'failCommand' failpoint");
  }
}

bson::Document fail_after(OperationContext& op, const Command& command, bson::Document reply) {
  FailPoints& points = op.services().fail_points;
  if (!points.any() || !command.takes_write_concern()) return reply;
  const auto data = points.strike(point, [&](bson::DocumentView each) {
    return each.find("writeConcernError").is_object() && names(each, op.client(), op.request(), command);
  });
  if (!data) return reply;
  const auto error = data->find("writeConcernError").as_document();
  bson::Builder out;
  for (const auto& field : reply) {
    if (field.name == "ok") {
      out.append("writeConcernError", error);
      append_labels_of(op, command, *data, error, out);
    }
    out.append_element(field);
  }
  return out.done();
}

}  // namespace server

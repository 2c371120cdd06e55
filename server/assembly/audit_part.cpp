#include "server/assembly/audit_part.h"

#include "base/clock.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "replication/committer.h"
#include "server/core/audit.h"
#include "server/core/options.h"
#include "server/query/matcher.h"
#include "storage/collections/catalog.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

Audit::Filter parse_filter(const std::string& text) {
  if (text.empty()) return {};
  auto filter = bson::from_json(text);
  if (!filter) throw OperationError(ErrorCode::bad_value, "auditFilter is not a JSON object: " + filter.failure().message);
  try {
    std::shared_ptr<const query::Matcher> matcher = query::Matcher::parse(*filter);
    return [matcher](bson::DocumentView event) { return matcher->matches(event); };
  } catch (const OperationError& error) {
    throw OperationError(ErrorCode::bad_value, std::string("auditFilter is not a filter: ") + error.what());
  }
}

struct Event {
  std::string atype;
  bson::Document param;
};

bson::Document of_namespace(std::string_view db, const bson::ValueView& collection) {
  bson::Builder out;
  out.append("ns", std::string(db) + "." + std::string(collection.as_string()));
  return out.done();
}

// The log's command of an index is {createIndexes: "orders", v: 2, key: {…}, name: "…"}.
bson::Document of_index(std::string_view db, bson::DocumentView command) {
  bson::Builder out;
  out.append("ns", std::string(db) + "." + std::string(command.first().as_string()));
  out.append("indexName", command.find("name").as_string());
  {
    auto spec = out.object("indexSpec");
    for (const auto& field : command) {
      if (field.name != "createIndexes") spec.append_element(field);
    }
  }
  out.append("indexBuildState", "IndexBuildSucceeded");
  return out.done();
}

// Changes of branches are the log's commands too; the commands that make them are events by their names (dispatch/audited.h).
std::optional<Event> event_of(std::string_view db, bson::DocumentView command) {
  const auto first = command.first();
  if (first.name == "create") return Event{"createCollection", of_namespace(db, first)};
  if (first.name == "drop") return Event{"dropCollection", of_namespace(db, first)};
  if (first.name == "createIndexes") return Event{"createIndex", of_index(db, command)};
  bson::Builder param;
  if (first.name == "dropDatabase") return Event{"dropDatabase", param.append("ns", db).done()};
  if (first.name == "renameCollection") {
    param.append("old", first.as_string()).append("new", command.find("to").as_string());
    return Event{"renameCollection", param.done()};
  }
  if (first.name == "dropIndexes") {
    param.append("ns", std::string(db) + "." + std::string(first.as_string()));
    return Event{"dropIndex", param.append("indexName", command.find("index").as_string()).done()};
  }
  if (first.name == "collMod") {
    param.append("ns", std::string(db) + "." + std::string(first.as_string()));
    {
      auto change = param.object("change");
      for (const auto& field : command) {
        if (field.name != "collMod") change.append_element(field);
      }
    }
    return Event{"collMod", param.done()};
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Audit> make_audit(const Options& options, base::Clock& clock) {
  auto filter = parse_filter(options.audit.filter);
  auto sink = make_audit_sink(options.audit, clock);
  return sink ? std::make_unique<Audit>(std::move(sink), std::move(filter), clock) : nullptr;
}

void audit_schemas(Audit& audit, replication::LocalCommitter& committer, const storage::Catalog& catalog) {
  committer.watch_schema([&audit, &catalog](std::string_view db, bson::DocumentView command) -> std::function<void()> {
    const auto event = event_of(db, command);
    if (!event) return [] {};
    const bool makes_database = event->atype == "createCollection" && catalog.collections(db).empty();
    return [&audit, event = *event, makes_database, db = std::string(db)] {
      if (makes_database) {
        bson::Builder param;
        audit.record("createDatabase", Audit::working_for(), param.append("ns", db).done());
      }
      audit.record(event.atype, Audit::working_for(), event.param);
    };
  });
}

}  // namespace server

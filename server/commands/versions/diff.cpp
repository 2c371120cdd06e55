// diff returns the documents that two states of a database show differently.
#include "base/error.h"
#include "bson/json.h"
#include "bson/json_patch.h"
#include "server/commands/shared/branches.h"
#include "server/commands/shared/list_cursor.h"
#include "server/core/allowance.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/branches/differences.h"
#include "server/query/cursor_registry.h"

namespace server {
namespace {

constexpr int32_t buffer_too_large = 13548;

enum class Format { documents, json_patch, lines };

// {collection, _id, change, patch}
bson::Document as_patch(bson::DocumentView one, Allowance& allowance) {
  const auto side = [&](std::string_view name) {
    const bson::Element document = one.find(name);
    return document.is_object() ? std::optional(document.as_document()) : std::nullopt;
  };
  bson::Builder out;
  for (const std::string_view name : {"collection", "_id", "change"}) out.append_element(one.find(name));
  Held held(allowance.memory());
  out.append_array("patch", bson::json_patch_of(
                                side("before"), side("after"), [&](size_t bytes) { allowance.work_on(bytes); },
                                [&](size_t bytes) { held.set(bytes); }));
  return out.done();
}

bson::Document as_line(bson::DocumentView one) {
  bson::Builder out;
  out.append("line", bson::to_json(one, bson::JsonMode::canonical));
  return out.done();
}

class DiffSource : public query::CursorSource {
 public:
  DiffSource(OperationContext& op, std::shared_ptr<versions::BranchedDatabase> database, const query::Differences::What& what,
             bson::DocumentView filter, Format format)
      : op_(&op),
        allowance_(op_, &op.services().memory),
        format_(format),
        filter_(query::Matcher::parse(filter, {.expressions = nullptr, .let = {}, .op = nullptr, .allowance = &allowance_})),
        differences_(op, std::move(database), what, allowance_) {}

  void begin(OperationContext& op) override {
    op_ = &op;
    differences_.begin(op);
  }
  void end() override {
    differences_.end();
    op_ = nullptr;
  }
  bool next() override {
    while (differences_.next()) {
      const bson::DocumentView one = differences_.document();
      if (!filter_->empty() && !filter_->matches(one)) continue;
      show(one);
      return true;
    }
    return false;
  }
  bson::DocumentView document() override { return shown_ ? shown_->view() : differences_.document(); }

 private:
  void show(bson::DocumentView one) {
    try {
      shown_ = in_format(one);
      if (document().size() <= bson::document_bytes_max) return;
    } catch (const base::OperationError& error) {
      if (static_cast<int32_t>(error.code()) != buffer_too_large) throw;
    }
    const bson::Document without = query::too_large(one);
    shown_ = format_ == Format::lines ? as_line(without) : without;
  }

  // nullopt: the difference as it is. Throws 13548 if the format makes too much of it.
  std::optional<bson::Document> in_format(bson::DocumentView one) {
    switch (format_) {
      case Format::json_patch: return as_patch(one, allowance_);
      case Format::lines: return as_line(one);
      case Format::documents: break;
    }
    return std::nullopt;
  }

  OperationContext* op_;  // nullptr between batches
  Allowance allowance_;
  const Format format_;
  const std::unique_ptr<query::Matcher> filter_;
  query::Differences differences_;
  std::optional<bson::Document> shown_;
};

class DiffCommand : public Command {
 public:
  std::string_view name() const override { return "diff"; }
  std::string_view help() const override {
    return "the documents that two states show differently: {collection, _id, change: insert | update | delete, before, after}\n"
           "{ diff: 1, from: <branch, tag or commit; default the last commit of what the database's name says>, to: <likewise; "
           "default that, with what is not committed>,\n"
           "  collection: <string>, filter: <over these documents>, format: \"jsonPatch\" | \"lines\" | \"documents\",\n"
           "  cursor: { batchSize: <int> } }\n"
           "applyPatch takes what comes out. jsonPatch: {collection, _id, change, patch: [ <operations of RFC 6902> ]}; lines: "
           "{line: <a document as canonical Extended JSON>}.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"from", "to", "collection", "filter", "format", "cursor"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    query::Differences::What what = query::Differences::between(arguments, request.db);
    if (const auto collection = arguments.string("collection")) what.collection = std::string(*collection);
    const auto filter = arguments.object("filter").value_or(bson::DocumentView());
    reply_source(op, request, request.db + ".$cmd.diff",
                 std::make_unique<DiffSource>(op, branched(op, request), what, filter, format_of(arguments)), reply);
  }

 private:
  static Format format_of(const Arguments& arguments) {
    const std::string_view given = arguments.string("format").value_or("documents");
    if (given == "documents") return Format::documents;
    if (given == "jsonPatch") return Format::json_patch;
    if (given == "lines") return Format::lines;
    throw base::OperationError(base::ErrorCode::bad_value,
                               "'" + std::string(given) + "' is no format of a diff: documents, jsonPatch, lines");
  }
};

}  // namespace

std::unique_ptr<Command> make_diff_command() {
  return std::make_unique<DiffCommand>();
}

}  // namespace server

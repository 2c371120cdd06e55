#include <algorithm>
#include <iterator>

#include "server/commands/crud/explainable.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/cursor_registry.h"
#include "server/query/expressions/now.h"
#include "server/query/let_variables.h"
#include "server/query/query_parameters.h"
#include "server/query/reader.h"
#include "server/query/stages/change_stream.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/support.h"
#include "server/query/views.h"
#include "server/write/output.h"

namespace server {
namespace {

using bson::Element;
using bson::Value;

constexpr std::string_view aggregating = "PlanExecutor error during aggregation";

// These stages read or write outside of the operation's storage transaction.
constexpr std::string_view outside_of_transactions[] = {
    "$acrossBranches", "$acrossSnapshots",   "$changeStream", "$collStats", "$currentOp", "$diff",          "$history",
    "$indexStats",     "$listLocalSessions", "$listSessions", "$merge",     "$out",       "$planCacheStats"};

void check_in_transaction(const query::Pipeline& pipeline) {
  for (const auto& spec : pipeline.specs()) {
    if (std::find(std::begin(outside_of_transactions), std::end(outside_of_transactions), spec->name()) ==
        std::end(outside_of_transactions))
      continue;
    throw base::OperationError(base::ErrorCode::operation_not_supported_in_transaction,
                               "Operation not permitted in transaction :: caused by :: Aggregation stage " +
                                   std::string(spec->name()) + " cannot run within a multi-document transaction");
  }
}

// A PipelineSource is a running pipeline behind a cursor.
class PipelineSource final : public query::CursorSource {
 public:
  PipelineSource(std::unique_ptr<query::PipelineContext> context, std::unique_ptr<query::Pipeline> pipeline)
      : context_(std::move(context)), pipeline_(std::move(pipeline)), stage_(pipeline_->start()) {
    if (context_->change_stream) stage_ = query::keep_tokens(std::move(stage_), *pipeline_, *context_->change_stream);
  }

  void begin(OperationContext& op) override {
    context_->op = &op;
    stage_->begin(op);
  }
  void end() override { stage_->end(); }
  bool next() override { return stage_->next(); }
  bson::DocumentView document() override { return stage_->document(); }
  bool closed() const override { return context_->change_stream && context_->change_stream->closed(); }
  std::function<void(std::function<void()>)> when_more() override {
    return context_->change_stream ? context_->change_stream->when_more() : nullptr;
  }
  std::optional<bson::Document> resume_token() const override {
    return context_->change_stream ? std::optional(context_->change_stream->resume_token()) : std::nullopt;
  }

 private:
  std::unique_ptr<query::PipelineContext> context_;
  std::unique_ptr<query::Pipeline> pipeline_;
  query::StagePtr stage_;
};

constexpr std::string_view known_fields[] = {"pipeline",  "cursor", "explain", "allowDiskUse", "bypassDocumentValidation",
                                             "collation", "hint",   "let"};

class Aggregate final : public Command, public Explainable {
 public:
  std::string_view name() const override { return "aggregate"; }
  std::string_view help() const override { return "Runs an aggregation pipeline over a collection."; }
  std::optional<FieldNames> fields() const override { return known_fields; }
  OpKind kind() const override { return OpKind::command; }
  bool may_take_collection() const override { return true; }
  bool takes_read_concern() const override { return true; }
  bool takes_snapshot() const override { return true; }
  bool takes_write_concern() const override { return true; }
  bool stable_api() const override { return true; }
  InTransaction in_transaction() const override { return InTransaction::allowed; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const bson::DocumentView stages = arguments.required_array("pipeline");
    auto context = make_context(op, request, arguments);
    auto pipeline = std::make_unique<query::Pipeline>(stages, *context);
    check_source(*pipeline, *context);
    check_computed(*context);
    query::check_change_stream(*pipeline);
    const bool stream = query::is_change_stream(*pipeline);
    op.change_stream = stream;
    if (stream) check_stream_concern(op);
    if (op.in_transaction) check_in_transaction(*pipeline);
    if (arguments.boolean("explain").value_or(false)) {
      bson::Builder shown;
      show(*pipeline, query::Verbosity::query_planner, shown);
      return append_explained(op, request, std::move(shown), reply);
    }

    const std::string ns =
        request.db + "." + (context->collection.empty() ? "$cmd.aggregate" : std::string(request.collection()));
    const auto cursor_options = arguments.object("cursor");
    if (!cursor_options) {
      throw base::OperationError(base::ErrorCode::failed_to_parse,
                                 "The 'cursor' option is required, except for aggregate with the explain argument");
    }
    const Arguments cursor_arguments("aggregate.cursor", *cursor_options);
    cursor_arguments.only({"batchSize"});
    const int64_t batch = cursor_arguments.unsigned_integer("batchSize").value_or(101);

    if (!pipeline->empty() && pipeline->specs().back()->writes()) {
      if (op.read_concern.level == "linearizable") {
        throw base::OperationError(
            base::ErrorCode::invalid_options,
            std::string(pipeline->specs().back()->name()) + " cannot be used with a 'linearizable' read concern level");
      }
      // It is run at once, whatever the batch size is: a client need not come back for a pipeline that writes.
      PipelineSource source(std::move(context), std::move(pipeline));
      op.error_context = aggregating;
      source.next();
      op.error_context = {};
      auto nothing = reply.object("cursor");
      nothing.array("firstBatch");
      nothing.append("id", int64_t{0}).append("ns", ns);
      return;
    }

    auto cursor = std::make_unique<query::Cursor>();
    cursor->ns = ns;
    cursor->tailable = cursor->await_data = stream;
    // A find on a view is the request of the operation, and its user may know nothing of what the view shows.
    cursor->command = std::make_shared<const bson::Document>(op.request().body);
    if (op.lsid.is_object()) cursor->lsid = bson::Document(op.lsid.as_document());
    cursor->source = std::make_unique<PipelineSource>(std::move(context), std::move(pipeline));
    cursor->plan_summary = op.plan_summary();
    query::reply_first_batch(op, *op.services().cursors, std::move(cursor), batch, false, reply, aggregating);
  }

  void explain(OperationContext& op, const Request& request, query::Verbosity verbosity, bson::Builder& reply) override {
    const Arguments arguments(request);
    auto context = make_context(op, request, arguments);
    const query::Pipeline pipeline(arguments.required_array("pipeline"), *context);
    check_source(pipeline, *context);
    check_computed(*context);
    show(pipeline, verbosity, reply);
  }

 private:
  static void show(const query::Pipeline& pipeline, query::Verbosity verbosity, bson::Builder& reply) {
    reply.append("explainVersion", "1");
    pipeline.explain(verbosity, reply);
  }

  // A change stream returns nothing but what is majority-committed, so it has nothing to wait for in the end.
  static void check_stream_concern(OperationContext& op) {
    if (!op.read_concern.level.empty() && op.read_concern.level != "majority") {
      throw base::OperationError(base::ErrorCode::invalid_options,
                                 "Aggregation stage $changeStream cannot run with a readConcern other than 'majority', or in a "
                                 "multi-document transaction. Current readConcern: " +
                                     op.read_concern.level);
    }
    op.read_concern.level.clear();
    op.led_term.reset();
  }

  static Value hint_of(const Arguments& arguments) {
    Value hint(arguments.any("hint"));
    if (hint.exists() && hint.type() != bson::Type::string && hint.type() != bson::Type::object) {
      throw base::OperationError(base::ErrorCode::failed_to_parse, "Hint must be a string or an object");
    }
    return hint;
  }

  static std::unique_ptr<query::PipelineContext> make_context(OperationContext& op, const Request& request,
                                                              const Arguments& arguments) {
    auto context = std::make_unique<query::PipelineContext>(query::command_time_ms(op), &op);
    context->db = request.db;
    context->make_sink = write::make_sink;
    context->check_unique = write::check_unique;
    context->hint = hint_of(arguments);
    context->allow_disk_use = arguments.boolean("allowDiskUse").value_or(query::uses_disk_by_default(op));
    const Element target = request.body.first();
    if (target.is_string()) {
      context->collection = request.collection();
    } else if (!target.is_number() || target.to_double() != 1) {
      throw base::OperationError(base::ErrorCode::failed_to_parse,
                                 "Invalid command format: the 'aggregate' field must specify a collection name or 1");
    }
    const auto collation = bson::parse_collation(arguments.any("collation"));
    context->set_collator(collator_of(op, *context, arguments, collation));
    if (const auto let = arguments.object("let")) {
      query::check_let(*let);
      bson::Builder values;
      for (const Element& variable : *let) {
        const query::ExpressionPtr expression = query::parse_expression(variable, context->scope);
        query::Frame frame(context->scope);
        const Value value = expression->evaluate(frame);
        values.append(variable.name, value.exists() ? value : Value::null());
      }
      context->define(values.done());
    }
    return context;
  }

  // A collection's default isn't the default of its change streams, which begin with whatever collection has the name.
  static bson::CollatorPtr collator_of(OperationContext& op, const query::PipelineContext& context, const Arguments& arguments,
                                       const bson::GivenCollation& given) {
    if (context.collection.empty()) return given.value_or(nullptr);
    const Element first = arguments.required_array("pipeline").first();
    if (first.is_object() && first.as_document().first().name == "$changeStream") return given.value_or(nullptr);
    const std::string ns = context.db + "." + context.collection;
    try {
      if (const auto view = query::find_view(op, ns)) return query::view_collator(*view, given);
      return query::collator_for(op, ns, given);
    } catch (const base::OperationError& error) {
      // A pipeline over snapshots may read a branch that is gone; another one fails where it reads.
      if (error.code() != base::ErrorCode::namespace_not_found) throw;
      return given.value_or(nullptr);
    }
  }

  // An expression that reads nothing fails before the first document is read.
  static void check_computed(const query::PipelineContext& context) {
    const auto& failure = context.scope.failure();
    if (!failure) return;
    throw base::OperationError(failure->code(), std::string("Failed to optimize pipeline :: caused by :: ") + failure->what());
  }

  static void check_source(const query::Pipeline& pipeline, const query::PipelineContext& context) {
    const std::string_view source =
        !pipeline.empty() && pipeline.specs()[0]->is_source() ? pipeline.specs()[0]->name() : std::string_view();
    if (source == "$changeStream") return;
    const bool own_source = source == "$documents" || source == "$listLocalSessions" || source == "$currentOp";
    if (context.collection.empty() && !own_source) {
      const std::string first = pipeline.empty() ? "" : std::string(pipeline.specs()[0]->name());
      throw base::OperationError(base::ErrorCode::invalid_namespace,
                                 "{aggregate: 1} is not valid for '" + first + "'; a collection is required.");
    }
    if (!context.collection.empty() && own_source) {
      throw base::OperationError(base::ErrorCode::invalid_namespace,
                                 "'" + std::string(source) + "' can only be run with {aggregate: 1}");
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_aggregate_command() {
  return std::make_unique<Aggregate>();
}

}  // namespace server

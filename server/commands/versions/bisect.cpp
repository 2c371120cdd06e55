// bisect finds the commit with which a pipeline began to return something.
#include <unordered_set>

#include "base/error.h"
#include "server/commands/shared/branches.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/query/expressions/now.h"
#include "server/query/reader.h"
#include "server/query/stages/pipeline.h"
#include "server/query/views.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;
using versions::CommitNumber;

class Bisection {
 public:
  Bisection(OperationContext& op, const query::States& states, std::string collection, bson::DocumentView pipeline)
      : op_(op),
        states_(states),
        collection_(std::move(collection)),
        pipeline_(pipeline),
        graph_(states.branches().graph().graph(states.transaction())) {}

  bool is_bad(CommitNumber commit) {
    op_.check_interrupt();
    ++tested_;
    query::PipelineContext context(query::command_time_ms(op_), &op_);
    context.db = states_.database().name() + "@" + id_of(commit);
    context.collection = collection_;
    const std::string ns = context.db + "." + collection_;
    context.set_collator(query::collator_for(op_, ns, std::nullopt));
    const query::Pipeline pipeline(pipeline_, context);
    query::refuse_output(pipeline, "bisect", 51047);
    return pipeline.start()->next();
  }

  // Returns the first bad one of the commits that `bad` comes from and `good` doesn't.
  CommitNumber search(CommitNumber good, CommitNumber bad) {
    clear(good);
    if (good_.contains(bad))
      throw OperationError(ErrorCode::illegal_operation, "what is to be good comes from what is to be bad");
    for (;;) {
      // Along first parents there is a last good one. The commit after it is bad because of itself, or because of what it merged.
      const std::vector<CommitNumber> line = suspects(bad);
      size_t known_bad = 0, good_from = line.size();
      while (good_from - known_bad > 1) {
        const size_t middle = (known_bad + good_from) / 2;
        (is_bad(line[middle]) ? known_bad : good_from) = middle;
      }
      for (size_t i = good_from; i < line.size(); ++i) clear(line[i]);
      bad = line[known_bad];
      const auto merged = merged_bad(bad);
      if (!merged) return bad;
      bad = *merged;
    }
  }

  std::string id_of(CommitNumber commit) const {
    return hex(states_.branches().graph().commit(states_.transaction(), commit)->id);
  }
  int64_t tested() const { return tested_; }

 private:
  // The commit and its first parents, without those that are good and those that retention dropped.
  std::vector<CommitNumber> suspects(CommitNumber commit) const {
    std::vector<CommitNumber> line;
    while (!good_.contains(commit)) {
      const versions::GraphNode& node = graph_.at(commit);
      if (!node.dropped) line.push_back(commit);
      if (node.parents.empty()) break;
      commit = node.parents.front();
    }
    return line;
  }

  std::optional<CommitNumber> merged_bad(CommitNumber merge) {
    const auto& parents = graph_.at(merge).parents;
    for (size_t i = 1; i < parents.size(); ++i) {
      if (good_.contains(parents[i]) || graph_.at(parents[i]).dropped) continue;
      if (is_bad(parents[i])) return parents[i];
      clear(parents[i]);
    }
    return std::nullopt;
  }

  // A good commit comes from good ones.
  void clear(CommitNumber good) {
    std::vector<CommitNumber> open{good};
    while (!open.empty()) {
      const CommitNumber commit = open.back();
      open.pop_back();
      if (!good_.insert(commit).second) continue;
      const auto& parents = graph_.at(commit).parents;
      open.insert(open.end(), parents.begin(), parents.end());
    }
  }

  OperationContext& op_;
  const query::States& states_;
  const std::string collection_;
  const bson::DocumentView pipeline_;
  const versions::Graph graph_;
  std::unordered_set<CommitNumber> good_;
  int64_t tested_ = 0;
};

class Bisect : public Command {
 public:
  std::string_view name() const override { return "bisect"; }
  std::string_view help() const override {
    return "find the commit with which a pipeline began to return something\n"
           "{ bisect: <collection>, pipeline: [ <stages> ], good: <branch, tag or commit where it returns nothing>, bad: <where "
           "it "
           "returns something; default what the database's name says> }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"pipeline", "good", "bad"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const query::States states(op, branched(op, request));
    const std::string collection(arguments.required_string("bisect"));
    const auto given = arguments.string("bad");
    const std::string good_name(arguments.required_string("good"));
    const CommitNumber good = states.place(ref_of(good_name)).commit;
    const CommitNumber bad = states.place(given ? ref_of(*given) : ref_of(request)).commit;
    if (query::find_view(op, states.database().name() + "." + collection))
      throw OperationError(ErrorCode::command_not_supported_on_view,
                           "bisect reads collections, and " + collection + " is a view");
    Bisection bisection(op, states, collection, arguments.required_array("pipeline"));
    if (bisection.is_bad(good))
      throw OperationError(ErrorCode::illegal_operation,
                           "the pipeline returns something of '" + good_name + "', which is to be good");
    if (!bisection.is_bad(bad))
      throw OperationError(ErrorCode::illegal_operation, "the pipeline returns nothing of " +
                                                             (given ? "'" + std::string(*given) + "'" : "the last commit") +
                                                             ", which is to be bad");
    const CommitNumber first = bisection.search(good, bad);
    const auto& graph = states.branches().graph();
    reply.append_all(query::describe(states.transaction(), graph, *graph.commit(states.transaction(), first)).view());
    append_count(reply, "tested", bisection.tested());
  }
};

}  // namespace

std::unique_ptr<Command> make_bisect_command() {
  return std::make_unique<Bisect>();
}

}  // namespace server

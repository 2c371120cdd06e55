#include "server/testing/query_grammar.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "server/query/expressions/registry.h"
#include "server/query/matcher.h"
#include "server/query/projection.h"
#include "server/query/sort_pattern.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/registry.h"
#include "server/query/test_support.h"
#include "server/write/update/operators.h"
#include "server/write/update/update.h"

using namespace server;
using bson::testing::Choices;
using server::testing::query_grammar;
using server::testing::random_choices;
using server::testing::rule_of;

namespace {

constexpr size_t tries = 200, bytes = 200;

// Tells whether any of some values that the rule makes is accepted; `refusal` receives why the last one wasn't.
template <class Accept>
bool ever_accepted(const std::string& rule, std::string& refusal, Accept&& accept) {
  for (const auto& input : random_choices(1, tries, bytes)) {
    Choices choices(input);
    const bson::Value made = query_grammar().make(rule, choices, false);
    try {
      accept(made);
      return true;
    } catch (const base::OperationError& error) {
      refusal = error.what() + (": " + bson::to_json(made));
    }
  }
  return false;
}

write::Predicate any_element(bson::DocumentView) {
  return [](bson::DocumentView) { return true; };
}

}  // namespace

TEST_CASE("each operator of expressions is made in a form that computes") {
  for (const auto family : query::operator_families()) {
    for (const auto& entry : family) {
      if (entry.name == "$meta") continue;  // no search gives documents a score here
      std::string refusal;
      const auto document = bson::json("{_id: 1, a: 2, b: {c: 3, d: 'x'}, l: [1, 2], s: 'text', o: [{k: 1}]}");
      CHECK((ever_accepted(rule_of("expression", entry.name), refusal,
                           [&](const bson::Value& made) {
                             query::Scope scope(0);
                             const auto expression = query::parse_expression(made, scope);
                             query::Frame frame(scope, document);
                             expression->evaluate(frame);
                           }) ||
             (UNSCOPED_INFO(entry.name << ": " << refusal), false)));
    }
  }
}

TEST_CASE("each operator of updates is made in a form that applies") {
  for (const auto name : write::operator_names()) {
    std::string refusal;
    CHECK((ever_accepted(rule_of("update", name), refusal,
                         [&](const bson::Value& made) { write::Update::parse(made, {}, any_element); }) ||
           (UNSCOPED_INFO(name << ": " << refusal), false)));
  }
}

TEST_CASE("each stage is made in a form that a pipeline takes") {
  query::TestServer server;
  query::TestServer::Operation operation(server);
  for (const auto name : query::stage_names()) {
    // There is no search index; streams of changes and branches need what this server hasn't got.
    if (name.find("earch") != std::string_view::npos || name == "$changeStream" || name == "$acrossBranches" ||
        name == "$acrossSnapshots" || name == "$history" || name == "$diff")
      continue;
    std::string refusal;
    CHECK((ever_accepted(rule_of("stage", name), refusal,
                         [&](const bson::Value& made) {
                           query::PipelineContext context(0, &operation.op);
                           context.db = "test";
                           context.collection =
                               name == "$documents" || name == "$currentOp" || name == "$listLocalSessions" ? "" : "c";
                           if (name == "$currentOp" || name == "$listLocalSessions") context.db = "admin";
                           if (name == "$listSessions") {
                             context.db = "config";
                             context.collection = "system.sessions";
                           }
                           bson::Builder out;
                           out.array("p").append(made.view());
                           query::Pipeline(out.done()["p"].as_document(), context);
                         }) ||
           (UNSCOPED_INFO(name << ": " << refusal), false)));
  }
}

TEST_CASE("most of what is made is accepted") {
  size_t filters = 0, projections = 0, sorts = 0;
  const query::ParseContext context{.expressions = query::expression_compiler(), .let = {}, .op = nullptr, .allowance = nullptr};
  const auto accepted = [](const auto& work) {
    try {
      work();
      return true;
    } catch (const base::OperationError&) {
      return false;
    }
  };
  for (const auto& input : random_choices(2, tries, bytes)) {
    Choices first(input), second(input), third(input);
    const auto filter = query_grammar().document("filter", first), projection = query_grammar().document("projection", second),
               sort = query_grammar().document("sort", third);
    filters += accepted([&] { query::Matcher::parse(filter, context); }) ? 1 : 0;
    projections += accepted([&] { query::Projection::parse(projection, nullptr, context); }) ? 1 : 0;
    sorts += accepted([&] { query::SortPattern::parse(sort); }) ? 1 : 0;
  }
  CHECK(filters > tries / 3);
  CHECK(projections > tries / 3);
  CHECK(sorts > tries / 2);
}

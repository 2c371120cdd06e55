// Expressions of all operators, computed over documents of all types. Each is refused, as an operation is, or gives a valid
// value, the same in whichever way it is computed: again; as a view; and with the document's values in the place of its paths, so
// that what is constant is computed while parsing.
//
// The input chooses what the grammar makes (server/testing/query_grammar.h).
#include "base/fuzz_target.h"
#include "bson/builder.h"
#include "bson/validate.h"
#include "server/query/expressions/expression.h"
#include "server/query/test_support.h"
#include "server/testing/query_grammar.h"

namespace {

using namespace server::query;
using bson::testing::Choices;
using server::testing::check_made;
using server::testing::query_grammar;

constexpr int64_t now_ms = 1'700'000'000'000;
constexpr int64_t time_max_ms = 5'000;  // the fuzzer stops at what goes on after that
constexpr bson::ValidateOptions made{.bytes_max = size_t{1} << 30, .depth_max = 4 * bson::nesting_max, .utf8 = true};

TestServer& server() {
  static TestServer one;
  return one;
}

bool is_valid(const bson::Value& value) {
  return bson::validate(bson::Builder().append("e", value).done().bytes(), made).ok();
}

// nullopt: it was refused.
std::optional<bson::Value> computed(const bson::Value& expression, bson::DocumentView document, bool as_view = false) {
  TestServer::Operation operation(server());
  operation.op.set_max_time_ms(time_max_ms);
  Scope scope(now_ms, &operation.op.allowance());
  std::optional<bson::Value> value;
  base::refuses([&] {
    const ExpressionPtr parsed = parse_expression(expression, scope);
    Frame frame(scope, document);
    bson::Value scratch;
    value = as_view ? bson::Value(parsed->view(frame, scratch)) : parsed->evaluate(frame);
  });
  return value;
}

// The value of a path takes the place of the path.
bson::testing::Grammar::Replace values_of(bson::DocumentView document) {
  return [document](std::string_view rule, const bson::ValueView& path) -> std::optional<bson::Value> {
    if (rule != "path" || !path.is_string() || !path.as_string().starts_with('$')) return std::nullopt;
    const bson::Value value = evaluate_path(document, path.as_string().substr(1));
    if (!value.exists()) return bson::Value("$$REMOVE");
    bson::Builder literal;
    return bson::Value(literal.append("$literal", value).done());
  };
}

bson::ValueView as_value(const bson::Document& document) {
  return {bson::Type::object, document.bytes()};
}

bool same(const bson::Value& a, const bson::Value& b) {
  return a.view().identical(b);
}

bool run(base::BytesView input) {
  Choices choices(input);
  const bson::Document document = query_grammar().document("document", choices);
  if (!bson::validate(document.bytes(), made).ok()) return false;
  Choices again = choices;
  const bson::Value expression = query_grammar().make("operator", choices);
  const auto value = computed(expression, document);
  if (!value) return false;
  check_made(is_valid(*value), "an expression gives a valid value", {expression, as_value(document), *value});
  if (server::testing::is_random(expression)) return true;
  for (const bool as_view : {false, true}) {
    const auto again_value = computed(expression, document, as_view);
    check_made(again_value && same(*again_value, *value),
               as_view ? "an expression's view is its value" : "a value stays the same",
               {expression, as_value(document), *value, again_value ? again_value->view() : bson::ValueView()});
  }
  const bson::Value constant = query_grammar().make("operator", again, true, values_of(document));
  if (const auto folded = computed(constant, document))
    check_made(same(*folded, *value), "what is constant gives the same value",
               {expression, constant, as_value(document), *value, *folded});
  return true;
}

std::vector<base::Bytes> seeds() {
  return server::testing::accepted_choices(1, 60, 120, run);
}

const base::FuzzTarget target("made_expression", run, seeds);

}  // namespace

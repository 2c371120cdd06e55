// Updates by operators, replacements and pipelines, applied to documents of all types. Each is refused, as an operation is, or
// gives a valid document with the same _id, the same one each time.
//
// The input chooses what the grammar makes (server/testing/query_grammar.h).
#include "base/fuzz_target.h"
#include "bson/compare.h"
#include "bson/validate.h"
#include "server/query/matcher.h"
#include "server/query/parse_context.h"
#include "server/query/test_support.h"
#include "server/testing/query_grammar.h"
#include "server/write/update/update.h"

namespace {

using namespace server::write;
using bson::testing::Choices;
using server::query::TestServer;
using server::testing::check_made;
using server::testing::query_grammar;

constexpr int64_t time_max_ms = 5'000;  // the fuzzer stops at what goes on after that
constexpr bson::ValidateOptions made{.bytes_max = size_t{1} << 30, .depth_max = 2 * bson::nesting_max, .utf8 = true};

TestServer& server_() {
  static TestServer one;
  return one;
}

Predicate compile(bson::DocumentView filter) {
  const server::query::ParseContext context{
      .expressions = server::query::expression_compiler(), .let = {}, .op = nullptr, .allowance = nullptr};
  std::shared_ptr<const server::query::Matcher> matcher = server::query::Matcher::parse(filter, context);
  return [matcher](bson::DocumentView document) { return matcher->matches(document); };
}

Application application_to(bson::DocumentView document, std::optional<size_t> position) {
  return {.document = document, .matched = position, .now_ms = 1'700'000'000'000, .timestamp = {1'700'000'000, 1}, .path = {}};
}

bson::ValueView as_value(bson::DocumentView document) {
  return {bson::Type::object, document.bytes()};
}

void check_applied(const Update& update, bson::DocumentView call, bson::DocumentView before, std::optional<size_t> position) {
  Application application = application_to(before, position), again = application_to(before, position);
  const auto after = update.apply(application);
  const auto second = update.apply(again);
  const bson::ValueView shown = after ? as_value(*after) : bson::ValueView();
  const bool same = after.has_value() == second.has_value() && (!after || after->bytes() == second->bytes());
  check_made(same || server::testing::is_random(as_value(call)), "an update does the same again",
             {as_value(call), as_value(before), shown, second ? as_value(*second) : bson::ValueView()});
  if (!after) return;
  check_made(bson::validate(after->bytes(), made).ok(), "an update gives a valid document", {as_value(call), as_value(before)});
  check_made(!before.has("_id") || bson::equal(after->view()["_id"], before["_id"]), "an update leaves the _id as it is",
             {as_value(call), as_value(before), shown});
}

void check_upsert(const Update& update, bson::DocumentView call) {
  Application application = application_to({}, std::nullopt);
  application.inserting = true;
  const auto inserted = update.make_upsert({}, application);
  check_made(bson::validate(inserted.bytes(), made).ok() && inserted.view().has("_id"), "an upsert inserts a valid document",
             {as_value(call)});
}

bool run(base::BytesView input) {
  Choices choices(input);
  const bson::Document document = query_grammar().document("document", choices);
  const bson::Document call = query_grammar().document("update_call", choices);
  if (!bson::validate(document.bytes(), made).ok() || !bson::validate(call.bytes(), made).ok()) return false;
  TestServer::Operation operation(server_());
  operation.op.set_max_time_ms(time_max_ms);
  UpdateOptions options;
  options.op = &operation.op;
  options.has_array_filters = call["arrayFilters"].is_array();
  if (options.has_array_filters) options.array_filters = call["arrayFilters"].as_document();
  std::unique_ptr<Update> update;
  if (base::refuses([&] { update = Update::parse(call["u"], options, compile); })) return false;
  const auto position = call["position"].is_number() ? std::optional<size_t>(call["position"].to_int64() & 7) : std::nullopt;
  bool applied = false;
  if (position || !update->needs_position()) applied = !base::refuses([&] { check_applied(*update, call, document, position); });
  if (!update->needs_position()) base::refuses([&] { check_upsert(*update, call); });
  return applied;
}

std::vector<base::Bytes> seeds() {
  return server::testing::accepted_choices(2, 80, 120, run);
}

const base::FuzzTarget target("made_update", run, seeds);

}  // namespace

// Any document is taken as an update of another one, and of what an upsert inserts. It is refused as an operation is, or gives a
// valid document with the same _id.
//
// The input is two documents: {u: <update>, arrayFilters: […], position: <what $ stands for>}, and the one that is updated.
#include "base/fuzz_target.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "server/query/matcher.h"
#include "server/write/update/update.h"

namespace {

using namespace server::write;

constexpr bson::ValidateOptions made{.bytes_max = size_t{1} << 30, .depth_max = 2 * bson::nesting_max};

Predicate compile(bson::DocumentView filter) {
  std::shared_ptr<const server::query::Matcher> matcher = server::query::Matcher::parse(filter);
  return [matcher](bson::DocumentView document) { return matcher->matches(document); };
}

void check_applied(const Update& update, bson::DocumentView before, std::optional<size_t> position) {
  Application application{
      .document = before, .matched = position, .now_ms = 1'700'000'000'000, .timestamp = {1'700'000'000, 1}, .path = {}};
  const auto after = update.apply(application);
  if (!after) return;
  base::check(bson::validate(after->bytes(), made).ok());
  if (before.has("_id")) base::check(bson::equal(after->view()["_id"], before["_id"]), "an update leaves the _id as it is");
}

void check_upsert(const Update& update) {
  Application application{
      .document = {}, .inserting = true, .matched = {}, .now_ms = 1'700'000'000'000, .timestamp = {1'700'000'000, 1}, .path = {}};
  const auto inserted = update.make_upsert({}, application);
  base::check(bson::validate(inserted.bytes(), made).ok() && inserted.view().has("_id"));
}

bool run(base::BytesView input) {
  const auto first = bson::validate(input);
  if (!first.ok()) return false;
  const auto second = bson::validate(input.substr(first.value().size()));
  if (!second.ok()) return false;
  const bson::DocumentView statement = first.value();
  if (statement["u"].is_array()) return false;  // a pipeline runs within an operation: pipeline_fuzz.cpp
  UpdateOptions options;
  options.has_array_filters = statement["arrayFilters"].is_array();
  if (options.has_array_filters) options.array_filters = statement["arrayFilters"].as_document();
  std::unique_ptr<Update> update;
  if (base::refuses([&] { update = Update::parse(statement["u"], options, compile); })) return false;
  const auto position =
      statement["position"].is_number() ? std::optional<size_t>(statement["position"].to_int64() & 0xff) : std::nullopt;
  if (position || !update->needs_position()) base::refuses([&] { check_applied(*update, second.value(), position); });
  if (!update->needs_position()) base::refuses([&] { check_upsert(*update); });
  return true;
}

std::vector<base::Bytes> seeds() {
  const auto document = bson::json("{_id: 1, a: 5, l: [3, {x: 1}, 'y'], o: {p: 1.5}, m: [1, 2]}").bytes();
  std::vector<base::Bytes> all;
  for (const char* one :
       {"{u: {$set: {a: 6, 'o.q': 1}, $inc: {'o.p': 2}, $unset: {'l.0': 1}}}", "{u: {a: 7, b: [1]}}",
        "{u: {$push: {l: {$each: [5, 1], $slice: -3, $sort: 1, $position: 1}}}}",
        "{u: {$pull: {l: {x: {$gte: 1}}}, $rename: {a: 'b'}}}", "{u: {$set: {'l.$[e].x': 5}}, arrayFilters: [{'e.x': 1}]}",
        "{u: {$mul: {'l.$': 2}}, position: 0}", "{u: {$addToSet: {l: 'z'}, $min: {a: 1}, $max: {'o.p': 9}}}",
        "{u: {$currentDate: {d: true, t: {$type: 'timestamp'}}, $setOnInsert: {n: 1}}}",
        "{u: {$bit: {a: {xor: 3}}, $pop: {l: -1}}}", "{u: {$pullAll: {l: [3]}, $inc: {'m.$[]': 1}}}"})
    all.push_back(bson::json(one).bytes() + document);
  return all;
}

const base::FuzzTarget target("update", run, seeds);

}  // namespace

// Any document is taken as a view's, of system.views. It is refused as an invalid definition, or has a pipeline of documents and
// a collation that is one or is refused.
#include "server/query/views.h"

#include "base/fuzz_target.h"
#include "bson/json.h"
#include "bson/validate.h"

namespace {

using namespace server::query;
using base::check;

constexpr int invalid_view_definition = 182;

bool run(base::BytesView input) {
  const auto document = bson::validate(input);
  if (!document.ok()) return false;
  std::optional<View> view;
  try {
    view = parse_view(document.value());
  } catch (const base::OperationError& error) {
    check(static_cast<int>(error.code()) == invalid_view_definition, "a document that is no view's is an invalid definition");
    return false;
  }
  check(!view->on.empty() && !view->series);
  for (const bson::Element& stage : view->pipeline.view()) check(stage.is_object(), "a stage is a document");
  base::refuses([&] { view_collator(*view, std::nullopt); });
  return true;
}

std::vector<base::Bytes> seeds() {
  std::vector<base::Bytes> out;
  for (const char* text : {"{_id: 'shop.recent', viewOn: 'orders', pipeline: [{$match: {day: {$gt: 19000}}}]}",
                           "{_id: 'shop.names', viewOn: 'recent', pipeline: [], collation: {locale: 'de', strength: 2}}"}) {
    out.push_back(bson::json(text).bytes());
  }
  return out;
}

const base::FuzzTarget target("view", run, seeds);

}  // namespace

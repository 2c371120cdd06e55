// Any document as a filter, a projection and a sort: refused with an error, or safe to use.
#include "base/error.h"
#include "bson/validate.h"
#include "server/query/match/node.h"
#include "server/query/matcher.h"
#include "server/query/plan/access.h"
#include "server/query/plan/bounds.h"
#include "server/query/projection.h"
#include "server/query/sort_pattern.h"

namespace {

template <class Work>
void attempt(Work&& work) {
  try {
    work();
  } catch (const base::OperationError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto result = bson::validate({reinterpret_cast<const char*>(data), size});
  if (!result.ok()) return 0;
  const bson::DocumentView document = result.value();
  attempt([&] {
    const auto matcher = server::query::Matcher::parse(document);
    std::optional<std::string> position;
    base::check(matcher->matches(document) == matcher->matches(document, position));
    bson::Builder shown;
    matcher->root().append(shown);
    shown.done();
    for (const auto* node : server::query::plan::flatten(matcher->root()))
      server::query::plan::bounds_of(*node, document.first().name, true);
    server::query::Projection::parse(document, matcher.get())->apply(document);
  });
  attempt([&] { server::query::SortPattern::parse(document).key(document); });
  return 0;
}

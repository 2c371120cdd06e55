#include "server/query/pattern_limits.h"

#include <memory>

namespace server::query {

namespace {

constexpr uint32_t match_limit = 1'000'000;
constexpr uint32_t depth_limit = 100'000;

struct ContextFree {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
using Context = std::unique_ptr<pcre2_match_context, ContextFree>;

Context make_limits() {
  Context context(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(context.get(), match_limit);
  pcre2_set_depth_limit(context.get(), depth_limit);
  return context;
}

}  // namespace

pcre2_match_context* pattern_limits() {
  static const Context limits = make_limits();
  return limits.get();
}

}  // namespace server::query

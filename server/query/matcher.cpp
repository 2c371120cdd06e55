#include "server/query/matcher.h"

#include <algorithm>

#include "server/core/allowance.h"
#include "server/query/match/comparison.h"
#include "server/query/match/parser.h"

namespace server::query {

Matcher::Matcher(bson::Document filter, const ParseContext& context) : filter_(std::move(filter)), collator_(context.collator) {
  const size_t bytes = parsed_bytes(filter_.size());
  if (!context.allowance || bytes == 0) return;
  held_ = std::make_unique<Held>(context.allowance->memory());
  held_->set(bytes);
}
Matcher::~Matcher() = default;

std::unique_ptr<Matcher> Matcher::parse(bson::DocumentView filter, const ParseContext& context) {
  std::unique_ptr<Matcher> matcher(new Matcher(bson::Document(filter), context));
  match::Parsing parsing{context};
  matcher->root_ = match::parse_filter(matcher->filter_, parsing);
  matcher->root_->account_to(context.allowance);
  return matcher;
}

std::unique_ptr<Matcher> Matcher::parse_operators(bson::DocumentView operators, const ParseContext& context) {
  std::unique_ptr<Matcher> matcher(new Matcher(bson::Document(operators), context));
  match::Parsing parsing{context};
  std::vector<match::NodePtr> parts;
  match::parse_operators("", matcher->filter_, parsing, parts);
  matcher->root_ = match::all_of(std::move(parts));
  matcher->root_->account_to(context.allowance);
  return matcher;
}

bool Matcher::is_operators(bson::DocumentView filter) {
  return match::is_value_match(filter);
}

bool Matcher::matches(bson::DocumentView document) const {
  return root_->matches(document, nullptr);
}

bool Matcher::matches(bson::DocumentView document, std::optional<std::string>& array_position) const {
  match::Details details;
  const bool matched = root_->matches(document, &details);
  array_position = std::move(details.array_position);
  return matched;
}

bool Matcher::matches_value(const bson::ValueView& value) const {
  return root_->matches_value(value);
}

namespace {

using Equalities = std::vector<std::pair<std::string, bson::Value>>;

void collect_equalities(const match::Node& node, Equalities& found) {
  switch (node.kind()) {
    case match::Kind::eq: {
      const auto& equality = static_cast<const match::Comparison&>(node);
      found.emplace_back(equality.path(), bson::Value(equality.value()));
      return;
    }
    case match::Kind::in: {
      const auto& in = static_cast<const match::In&>(node);
      if (in.values().size() == 1 && in.regexes().empty()) found.emplace_back(in.path(), bson::Value(in.values().front()));
      return;
    }
    case match::Kind::conjunction:
      for (const auto& child : static_cast<const match::TreeNode&>(node).children()) collect_equalities(*child, found);
      return;
    default: return;
  }
}

}  // namespace

Equalities Matcher::equalities() const {
  Equalities found;
  collect_equalities(*root_, found);
  return found;
}

}  // namespace server::query

#include "server/query/validator.h"

#include <algorithm>
#include <array>
#include <list>

#include "base/error.h"
#include "server/core/operation.h"
#include "server/query/match/node.h"

namespace server::query {

namespace {

// A server has few collections with validators, and few of them are written to at a time.
constexpr size_t kept_max = 16;

constexpr int function_in_validator = 4660800;
constexpr int32_t buffer_too_large = 13548;

// Calls visit(operator) for every operator in the rules, at any depth where a query has operators.
template <class Visit>
void each_operator(bson::DocumentView filter, const Visit& visit) {
  for (const bson::Element& field : filter) {
    if (field.name.starts_with('$')) visit(field);
    if (field.name == "$expr" || field.name == "$jsonSchema") continue;
    if (field.is_object()) each_operator(field.as_document(), visit);
    if (!field.is_array()) continue;
    for (const bson::Element& part : field.as_document()) {
      if (part.is_object()) each_operator(part.as_document(), visit);
    }
  }
}

// An expression may have operators anywhere.
bool has_function(bson::DocumentView expression) {
  for (const bson::Element& field : expression) {
    if (field.name == "$function") return true;
    if ((field.is_object() || field.is_array()) && has_function(field.as_document())) return true;
  }
  return false;
}

bool says(bson::DocumentView options, std::string_view name, std::string_view value) {
  const bson::Element option = options[name];
  return option.is_string() && option.as_string() == value;
}

}  // namespace

std::optional<Validation> read_validation(bson::DocumentView options) {
  if (options.empty()) return std::nullopt;
  const bson::Element rules = options["validator"];
  if (!rules.is_object() || rules.as_document().empty() || says(options, "validationLevel", "off")) return std::nullopt;
  return Validation{rules.as_document(), says(options, "validationLevel", "moderate"), says(options, "validationAction", "warn")};
}

void check_validator(bson::DocumentView rules, const ParseContext& context) {
  each_operator(rules, [](const bson::Element& one) {
    static constexpr std::array<std::string_view, 3> near = {"$near", "$nearSphere", "$geoNear"};
    if (one.name == "$where" || one.name == "$text")
      throw base::OperationError(base::ErrorCode::bad_value, std::string(one.name) + " is not allowed in this context");
    if (std::find(near.begin(), near.end(), one.name) != near.end())
      throw base::OperationError(base::ErrorCode::bad_value, "$geoNear, $near, and $nearSphere are not allowed in this context");
  });
  each_operator(rules, [](const bson::Element& one) {
    if (one.name == "$expr" && one.is_object() && has_function(one.as_document()))
      throw base::OperationError(function_in_validator, "$function cannot be used inside a validator.");
  });
  Matcher::parse(rules, context);
}

namespace {

// Makes the rules account to an operation. Those that a thread keeps serve one operation after the other, and no other thread.
class Accounting {
 public:
  Accounting(const Matcher& rules, Allowance& allowance) : root_(const_cast<match::Node&>(rules.root())) {
    root_.account_to(&allowance);
  }
  ~Accounting() { root_.account_to(nullptr); }
  Accounting(const Accounting&) = delete;
  Accounting& operator=(const Accounting&) = delete;

 private:
  match::Node& root_;
};

}  // namespace

bool fulfils(OperationContext& op, const Matcher& rules, bson::DocumentView document) {
  try {
    const Accounting accounting(rules, op.allowance());
    return rules.matches(document);
  } catch (const base::OperationError&) {
    op.check_interrupt();
    return false;
  }
}

std::shared_ptr<const Matcher> compile_validator(bson::DocumentView rules, const ParseContext& context) {
  thread_local std::list<std::shared_ptr<const Matcher>> kept;  // the last used first
  const auto same = [&](const std::shared_ptr<const Matcher>& one) {
    return one->filter().bytes() == rules.bytes() && bson::same_collation(one->collator().get(), context.collator.get());
  };
  if (const auto found = std::find_if(kept.begin(), kept.end(), same); found != kept.end()) {
    kept.splice(kept.begin(), kept, found);
    return kept.front();
  }
  bool expressions = false;
  each_operator(rules, [&](const bson::Element& one) { expressions |= one.name == "$expr"; });
  if (expressions) return Matcher::parse(rules, context);
  ParseContext plain;
  plain.collator = context.collator;
  kept.push_front(Matcher::parse(rules, plain));
  if (kept.size() > kept_max) kept.pop_back();
  return kept.front();
}

bson::Document error_info(OperationContext& op, bson::DocumentView rules, bson::DocumentView document,
                          const ParseContext& context) {
  bson::Builder info;
  info.append("failingDocumentId", static_cast<bson::ValueView>(document["_id"]));
  if (info.size() > error_info_bytes_max) return {};
  try {
    const bson::Document details = explain_invalid(rules, document, context);
    if (info.size() + details.size() <= error_info_bytes_max)
      info.append("details", details);
    else
      info.append("note", "detailed error was too large");
  } catch (const base::OperationError& error) {
    op.check_interrupt();
    const bool large = static_cast<int32_t>(error.code()) == buffer_too_large;
    info.append("note", large ? "detailed error was too large" : "failed to generate document validation error");
  }
  return info.done();
}

}  // namespace server::query

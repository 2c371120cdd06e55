// A validator is the query that a collection asks of its documents: its options `validator`, `validationLevel` and
// `validationAction`.
#pragma once

#include "server/query/matcher.h"

namespace server {
class OperationContext;
}

namespace server::query {

// The options of a collection say this of its validator.
struct Validation {
  bson::DocumentView rules;
  bool moderate = false;    // a document that breaks the rules already may be updated, and break them still
  bool only_warns = false;  // a document that breaks the rules is stored, and the server's log says so
};
// Returns nullopt if every document may be stored.
std::optional<Validation> read_validation(bson::DocumentView options);

// Throws for rules that no collection can have.
void check_validator(bson::DocumentView rules, const ParseContext& context);

// Returns the rules, compiled. A thread keeps those that it used last, with their collation, so they are compiled once; rules
// with expressions belong to the context's operation, and are compiled each time.
std::shared_ptr<const Matcher> compile_validator(bson::DocumentView rules, const ParseContext& context);

// Returns whether the document fulfils the rules; it doesn't if an expression in them can't be computed for it. Accounts for the
// work to the operation, which it may end.
bool fulfils(OperationContext& op, const Matcher& rules, bson::DocumentView document);

// Returns why the document breaks the rules, as `details` of errInfo show it. Throws 13548 if that gets too large.
bson::Document explain_invalid(bson::DocumentView rules, bson::DocumentView document, const ParseContext& context);

// The largest errInfo. The details quote values of the document once for each rule that they break.
inline constexpr size_t error_info_bytes_max = 4 << 20;
// Returns the whole errInfo: {failingDocumentId, details}; or {failingDocumentId, note} where the details would be too large, or
// can't be made. It is empty if the _id alone is too large.
bson::Document error_info(OperationContext& op, bson::DocumentView rules, bson::DocumentView document,
                          const ParseContext& context);

}  // namespace server::query

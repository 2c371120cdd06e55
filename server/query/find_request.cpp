#include "server/query/find_request.h"

#include "base/error.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/query/let_variables.h"
#include "server/query/parse_context.h"
#include "server/query/query_parameters.h"

namespace server::query {

namespace {

using base::ErrorCode;
using base::OperationError;

// $natural must be ±1 and stand alone.
void check_natural(bson::DocumentView given, const std::string& what) {
  const bson::Element natural = given.find("$natural");
  if (!natural.exists()) return;
  if (!natural.is_number() || (natural.to_double() != 1 && natural.to_double() != -1)) {
    throw OperationError(ErrorCode::bad_value, "$natural " + what + " cannot be set to a value other than -1 or 1.");
  }
}

bool same_names(bson::DocumentView a, bson::DocumentView b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const bson::Element& x, const bson::Element& y) { return x.name == y.name; });
}

// These checks don't depend on the collection, its indexes or its existence.
void check_min_max(const Query& query) {
  if (query.min.empty() && query.max.empty()) return;
  if (!query.min.empty() && !query.max.empty() && !same_names(query.min, query.max))
    throw OperationError(51176, "min and max must have the same field names");
  const bson::ValueView hint = query.hint.view();
  const bool names_index =
      hint.is_string() || (hint.is_object() && !hint.as_document().empty() && !hint.as_document().has("$natural"));
  if (!names_index) throw OperationError(51173, "When using min()/max() a hint of which index to use must be provided");
}

bool sorts_forward(bson::DocumentView sort) {
  return sort.count() == 1 && sort.first().name == "$natural" && sort.first().to_double() == 1;
}

void check_tailable(const FindRequest& find) {
  if (find.await_data && !find.tailable) {
    throw OperationError(ErrorCode::failed_to_parse, "Cannot set 'awaitData' without also setting 'tailable'");
  }
  if (!find.tailable) return;
  if (!find.query.sort.empty() && !sorts_forward(find.query.sort)) {
    throw OperationError(ErrorCode::bad_value, "cannot use tailable option with a sort other than {$natural: 1}");
  }
  if (find.single_batch) throw OperationError(ErrorCode::bad_value, "cannot use tailable option with the 'singleBatch' option");
}

}  // namespace

bson::Value checked_hint(const bson::Element& hint) {
  if (!hint.exists() || hint.is_string() || hint.is_object()) return bson::Value(hint);
  throw OperationError(ErrorCode::failed_to_parse, "Hint must be a string or an object");
}

bson::Document constant_let(const OperationContext& op, bson::DocumentView let, const bson::GivenCollation& collation) {
  check_let(let);
  const ParseContext context = parse_context(op, {}, collation.value_or(nullptr));
  bson::Builder constants;
  for (const bson::Element& variable : let) {
    if (!context.expressions) throw OperationError(ErrorCode::failed_to_parse, "let is not supported");
    const bson::Value value = context.expressions->compile(variable, context)->evaluate(bson::DocumentView());
    constants.append(variable.name, value.exists() ? value : bson::Value::null());
  }
  return constants.done();
}

StatementLets::StatementLets(const OperationContext& op, bson::DocumentView let)
    : op_(op), let_(let), plain_(constant_let(op, let)) {}

bson::DocumentView StatementLets::of(const bson::GivenCollation& collation) {
  if (!collation || !*collation || let_.empty()) return plain_;
  return collated_.emplace_back(constant_let(op_, let_, collation));
}

FindRequest parse_find(const OperationContext& op, const Request& request) {
  const Arguments arguments("FindCommandRequest", request.body);
  const auto object = [&](std::string_view name) {
    return bson::Document(arguments.object(name).value_or(bson::DocumentView()));
  };
  FindRequest find;
  Query& query = find.query;
  query.ns = request.ns();
  query.filter = object("filter");
  query.projection = object("projection");
  query.sort = object("sort");
  query.min = object("min");
  query.max = object("max");
  query.hint = checked_hint(arguments.any("hint"));
  query.skip = arguments.unsigned_integer("skip").value_or(0);
  query.limit = arguments.unsigned_integer("limit").value_or(0);
  query.return_key = arguments.boolean("returnKey").value_or(false);
  query.show_record_id = arguments.boolean("showRecordId").value_or(false);
  query.allow_disk_use = arguments.boolean("allowDiskUse").value_or(uses_disk_by_default(op));
  query.collation = bson::parse_collation(arguments.any("collation"));
  if (const auto let = arguments.object("let")) query.let = constant_let(op, *let, query.collation);

  find.batch_size = arguments.unsigned_integer("batchSize").value_or(101);
  find.single_batch = arguments.boolean("singleBatch").value_or(false);
  find.tailable = arguments.boolean("tailable").value_or(false);
  find.await_data = arguments.boolean("awaitData").value_or(false);
  find.no_timeout = arguments.boolean("noCursorTimeout").value_or(false);
  for (std::string_view ignored : {"allowPartialResults", "oplogReplay", "readOnce"}) arguments.boolean(ignored);
  check_natural(query.sort, "sort");
  if (query.hint.view().is_object()) check_natural(query.hint.view().as_document(), "hint");
  check_min_max(query);
  check_tailable(find);
  query.tailable = find.tailable;
  return find;
}

}  // namespace server::query

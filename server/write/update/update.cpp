#include "server/write/update/update.h"

#include "base/error.h"
#include "bson/builder.h"
#include "bson/compare.h"
#include "server/write/storable.h"
#include "server/write/update/array_filters.h"
#include "server/write/update/node.h"
#include "server/write/update/operators.h"
#include "server/write/update/operators/families.h"
#include "server/write/update/pipeline_update.h"
#include "server/write/update/shell_text.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;
using bson::DocumentView;
using bson::ValueView;

namespace {

constexpr int32_t constants_without_pipeline = 51198;
constexpr auto not_single_value_field = static_cast<ErrorCode>(54);
constexpr auto not_exact_value_field = static_cast<ErrorCode>(111);

void refuse_filters(const UpdateOptions& options, const char* style) {
  if (!options.has_array_filters) return;
  throw OperationError(ErrorCode::failed_to_parse, std::string("arrayFilters may not be specified for ") + style + " updates");
}

void check_unaltered_id(DocumentView before, DocumentView after) {
  const auto id = before.find("_id");
  const auto now = after.find("_id");
  if (!id.exists() || bson::equal(id, now)) return;
  throw OperationError(
      ErrorCode::immutable_field,
      "After applying the update, the (immutable) field '_id' was found to have been altered to " + shell_field("_id", now));
}

// A replacement keeps the document's _id unless it has one itself.
bson::Document with_id_of(DocumentView before, bson::Document after) {
  const auto id = before.find("_id");
  if (!id.exists() || after.has("_id")) return after;
  bson::Builder out;
  out.append_element(id).append_all(after);
  return out.done();
}

using Equalities = std::vector<std::pair<std::string, bson::Value>>;

// Throws if the path `last` can't stand beside one before it.
void check_conflicts(const Equalities& equalities, size_t last) {
  const std::string& path = equalities[last].first;
  const auto is_below = [](std::string_view below, std::string_view above) {
    return below.size() > above.size() && below.starts_with(above) && below[above.size()] == '.';
  };
  for (size_t i = 0; i < last; ++i) {
    const std::string& other = equalities[i].first;
    if (path == other) {
      throw OperationError(not_single_value_field, "cannot infer query fields to set, path '" + path + "' is matched twice");
    }
    if (is_below(path, other) || is_below(other, path)) {
      throw OperationError(not_single_value_field,
                           "cannot infer query fields to set, both paths '" + other + "' and '" + path + "' are matched");
    }
  }
}

// Makes a document of an upsert's query, with the fields in the order of their paths.
bson::Document document_of(const Equalities& equalities, Allowance* allowance) {
  ObjectNode tree;
  Application application;
  application.inserting = true;
  application.allowance = allowance;
  for (size_t i = 0; i < equalities.size(); ++i) {
    const auto& [path, value] = equalities[i];
    application.work(1 + path.size() / 64);
    try {
      add_modifier(tree, parse_update_path(path), find_operator("$set")(bson::Element(path, value), {}));
    } catch (const OperationError&) {
      // The tree has no room for the path, and the other one of the two is worth looking for.
      check_conflicts(equalities, i);
      throw;
    }
  }
  const Change made = tree.apply(ValueView(bson::Type::object, DocumentView().bytes()), application);
  return made ? bson::Document(made.value.view().as_document()) : bson::Document();
}

}  // namespace

Update::Update(Kind kind) : kind_(kind) {}
Update::~Update() = default;

std::unique_ptr<Update> Update::parse(const ValueView& specification, const UpdateOptions& options,
                                      const PredicateCompiler& compile) {
  if (specification.is_array()) {
    refuse_filters(options, "pipeline-syle");
    std::unique_ptr<Update> update(new Update(Kind::pipeline));
    base::check(options.op != nullptr, "a pipeline runs in an operation");
    update->pipeline_ =
        compile_pipeline_update(specification.as_document(), {options.let, options.constants}, *options.op, options.collator);
    return update;
  }
  if (!specification.is_object()) {
    throw OperationError(ErrorCode::failed_to_parse, "Update argument must be either an object or an array");
  }
  if (options.has_constants) {
    throw OperationError(constants_without_pipeline, "Constant values may only be specified for pipeline updates");
  }
  const DocumentView document = specification.as_document();
  if (document.first().name.starts_with("$")) {
    std::unique_ptr<Update> update(new Update(Kind::modifiers));
    update->collator_ = options.collator;
    update->array_filters_ = parse_array_filters(options.array_filters, compile);
    update->parse_modifiers(document, compile);
    return update;
  }
  if (options.multi) {
    throw OperationError(ErrorCode::failed_to_parse, "multi update is not supported for replacement-style update");
  }
  refuse_filters(options, "replacement-style");
  for (const auto& field : document) check_top_level_field(document, field.name);
  if (const auto id = document.find("_id"); id.exists()) check_id(id);
  std::unique_ptr<Update> update(new Update(Kind::replacement));
  update->replacement_ = bson::Document(document);
  update->keep_empty_timestamps_ = options.keep_empty_timestamps;
  return update;
}

void Update::parse_modifiers(DocumentView specification, const PredicateCompiler& compile) {
  tree_ = std::make_unique<ObjectNode>();
  for (const auto& operation : specification) {
    if (operation.name != "$rename" && find_operator(operation.name) == nullptr) {
      throw OperationError(ErrorCode::failed_to_parse,
                           "Unknown modifier: " + std::string(operation.name) +
                               ". Expected a valid update modifier or pipeline-style update specified as an array");
    }
    if (!operation.is_object()) {
      throw OperationError(ErrorCode::failed_to_parse,
                           "Modifiers operate on fields but we found type " + std::string(bson::type_name(operation.type())) +
                               " instead. For example: {$mod: {<field>: ...}} not " + shell_braced(operation.name, operation));
    }
    add_paths(operation, compile);
  }
  check_filters_used(specification);
}

void Update::add_paths(const bson::Element& operation, const PredicateCompiler& compile) {
  const ModifierFactory make = find_operator(operation.name);
  for (const auto& argument : operation.as_document()) {
    if (make == nullptr) {
      add_rename(argument);
      continue;
    }
    // MongoDB reports an error of the argument before one of the path.
    auto modifier = make(argument, compile);
    const UpdatePath path = parse_update_path(argument.name);
    note_path(path);
    add_modifier(*tree_, path, std::move(modifier));
  }
}

void Update::add_rename(const bson::Element& argument) {
  const std::string text = shell_field(argument.name, argument);
  if (!argument.is_string()) throw OperationError(ErrorCode::bad_value, "The 'to' field for $rename must be a string: " + text);
  if (argument.as_string().find('\0') != std::string_view::npos)
    throw OperationError(ErrorCode::bad_value, "The 'to' field for $rename cannot contain an embedded null byte");
  const UpdatePath source = parse_update_path(argument.name);
  const UpdatePath destination = parse_update_path(argument.as_string());
  const auto refuse_dynamic = [](const UpdatePath& path, const char* which) {
    for (const auto& component : path.components) {
      if (!is_positional(component) && !is_filtered(component)) continue;
      throw OperationError(ErrorCode::bad_value,
                           std::string("The ") + which + " field for $rename may not be dynamic: " + path.dotted);
    }
  };
  refuse_dynamic(source, "source");
  refuse_dynamic(destination, "destination");
  if (source.dotted == destination.dotted) {
    throw OperationError(ErrorCode::bad_value, "The source and target field for $rename must differ: " + text);
  }
  if (source.dotted.starts_with(destination.dotted + ".") || destination.dotted.starts_with(source.dotted + ".")) {
    throw OperationError(ErrorCode::bad_value, "The source and target field for $rename must not be on the same path: " + text);
  }
  add_modifier(*tree_, source, make_rename_source());
  add_modifier(*tree_, destination, make_rename_destination(source.dotted));
}

void Update::note_path(const UpdatePath& path) {
  for (const auto& component : path.components) {
    needs_position_ = needs_position_ || is_positional(component);
    if (!is_filtered(component) || filter_identifier(component).empty()) continue;
    const std::string identifier(filter_identifier(component));
    if (!array_filters_.contains(identifier)) {
      throw OperationError(ErrorCode::bad_value,
                           "No array filter found for identifier '" + identifier + "' in path '" + path.dotted + "'");
    }
    filter_used_[identifier] = true;
  }
}

void Update::check_filters_used(DocumentView specification) const {
  for (const auto& filter : array_filters_) {
    if (filter_used_.contains(filter.first)) continue;
    throw OperationError(ErrorCode::failed_to_parse, "The array filter for identifier '" + filter.first +
                                                         "' was not used in the update " + shell_text(specification));
  }
}

bson::Document Update::replaced(DocumentView before, bson::Timestamp now) const {
  bson::Document after = with_id_of(before, replacement_);
  if (keep_empty_timestamps_) return after;
  if (auto filled = with_timestamps(after, now)) return std::move(*filled);
  return after;
}

bson::Document Update::run(Application& application) const {
  switch (kind_) {
    case Kind::replacement: return replaced(application.document, application.timestamp);
    case Kind::pipeline: return with_id_of(application.document, pipeline_->apply(application.document));
    case Kind::modifiers: break;
  }
  application.array_filters = &array_filters_;
  application.collator = collator_.get();
  const Change change = tree_->apply(ValueView(bson::Type::object, application.document.bytes()), application);
  return change ? bson::Document(change.value.view().as_document()) : bson::Document(application.document);
}

std::optional<bson::Document> Update::apply(Application& application) const {
  bson::Document after = run(application);
  if (after.bytes() == application.document.bytes()) return std::nullopt;
  check_unaltered_id(application.document, after);
  if (after.has("_id")) {
    if (auto ordered = with_id_first(after)) after = std::move(*ordered);
  }
  if (kind_ != Kind::modifiers) check_depth(ValueView(bson::Type::object, after.view().bytes()), 0);
  if (after.bytes() == application.document.bytes()) return std::nullopt;
  if (after.size() > bson::document_bytes_max) refuse_too_large(false);
  return after;
}

bson::Document Update::make_upsert(const std::vector<std::pair<std::string, bson::Value>>& equalities,
                                   Application& application) const {
  auto wanted = equalities;
  // A replacement replaces all fields but the _id, which it must have as a whole.
  if (kind_ == Kind::replacement) {
    std::erase_if(wanted, [](const auto& equality) { return equality.first != "_id" && !equality.first.starts_with("_id."); });
    for (const auto& [path, value] : wanted) {
      if (path.starts_with("_id."))
        throw OperationError(not_exact_value_field,
                             "field at '_id' must be exactly specified, field at sub-path '" + path + "'found");
    }
  }
  const bson::Document start = document_of(wanted, application.allowance);
  application.document = start;
  application.inserting = true;
  bson::Document made = run(application);
  check_unaltered_id(start, made);
  if (!made.has("_id")) {
    bson::Builder out;
    out.append("_id", bson::ObjectId::generate()).append_all(made);
    made = out.done();
  }
  check_id(made.find("_id"));
  if (auto ordered = with_id_first(made)) made = std::move(*ordered);
  check_depth(ValueView(bson::Type::object, made.view().bytes()), 0);
  if (made.size() > bson::document_bytes_max) refuse_too_large(true);
  return made;
}

}  // namespace server::write

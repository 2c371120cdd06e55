#include "server/query/branches/differences.h"

#include <algorithm>

#include "base/error.h"
#include "bson/builder.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "storage/engine/names.h"
#include "storage/store.h"

namespace server::query {

using bson::DocumentView;
using bson::Element;

namespace {

constexpr uint64_t held_max = 65'536;

// Filters and projections serve one operation after the other, so they know only the allowance.
ParseContext context_of(Allowance& allowance) {
  ParseContext context;
  context.allowance = &allowance;
  return context;
}

std::unique_ptr<Projection> projection_of(const std::vector<std::string>& paths, bool with_id, Allowance& allowance) {
  bson::Builder out;
  for (const std::string& path : paths) out.append(path, 1);
  if (!with_id && std::find(paths.begin(), paths.end(), "_id") == paths.end()) out.append("_id", 0);
  return Projection::parse(out.done(), nullptr, context_of(allowance));
}

bool names_one(const bson::ValueView& value) {
  return !value.is_array() && value.type() != bson::Type::regex &&
         !(value.is_object() && Matcher::is_operators(value.as_document()));
}

// A condition on _id names one value, or those of an array.
struct Named {
  Element values;
  bool many = false;
};

// Returns nullopt if the values that the condition allows can't be listed.
std::optional<Named> named_by(const Element& condition) {
  if (names_one(condition)) return Named{condition};
  if (!condition.is_object() || !Matcher::is_operators(condition.as_document())) return std::nullopt;
  for (const Element& operation : condition.as_document()) {
    if (operation.name == "$eq" && !operation.is_array() && operation.type() != bson::Type::regex) return Named{operation};
    if (operation.name != "$in" || !operation.is_array()) continue;
    for (const Element& value : operation.as_document()) {
      if (value.is_array() || value.type() == bson::Type::regex) return std::nullopt;
    }
    return Named{operation, true};
  }
  return std::nullopt;
}

// Reads a filter over _id alone: conditions side by side, or under $and.
std::optional<Named> named_in(DocumentView filter) {
  for (const Element& condition : filter) {
    if (condition.name == "_id") {
      if (auto named = named_by(condition)) return named;
    } else if (condition.name == "$and") {
      for (const Element& one : condition.as_document()) {
        if (auto named = named_in(one.as_document())) return named;
      }
    }
  }
  return std::nullopt;
}

// Returns each key once, in their order.
std::vector<base::Bytes> keys_of(const Named& named, Held& held, Allowance& allowance) {
  std::vector<base::Bytes> keys;
  const auto add = [&](const bson::ValueView& value) {
    base::Bytes key = key_of_id(value);
    allowance.work_on(key.size());
    held.add(2 * sizeof(key) + key.size());  // a vector that grows has room for as many again
    keys.push_back(std::move(key));
  };
  if (!named.many) {
    add(named.values);
    return keys;
  }
  for (const Element& value : named.values.as_document()) add(value);
  std::sort(keys.begin(), keys.end(), [&](const base::Bytes& a, const base::Bytes& b) {
    allowance.work();
    return a < b;
  });
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace

Differences::Fields::Fields(const std::vector<std::string>& paths, Allowance& allowance)
    : shown(projection_of(paths, true, allowance)) {
  for (const std::string& path : paths) each.push_back(projection_of({path}, false, allowance));
}

bool Differences::Fields::differ(DocumentView a, DocumentView b) const {
  return std::any_of(each.begin(), each.end(),
                     [&](const auto& path) { return path->apply(a).view().bytes() != path->apply(b).view().bytes(); });
}

void Differences::check_fields(const std::vector<std::string>& fields, Allowance& allowance) {
  projection_of(fields, true, allowance);
}

bool Differences::by_key(DocumentView ids) {
  return named_in(ids).has_value();
}

Differences::What Differences::between(const Arguments& arguments, std::string_view db) {
  const auto from = arguments.string("from"), to = arguments.string("to");
  What what;
  what.to = to ? versions::parse_ref(*to) : versions::ref_of_database(db);
  what.from_last_commit = !from;
  if (from) what.from = versions::parse_ref(*from);
  return what;
}

Differences::Differences(OperationContext& op, std::shared_ptr<versions::BranchedDatabase> database, const What& what,
                         Allowance& allowance)
    : op_(&op), states_(op, std::move(database)), keys_held_(allowance.memory()) {
  to_ = states_.place(what.to);
  from_ = what.from_last_commit ? to_ : states_.place(what.from);
  if (what.from_last_commit) from_.branch.reset();
  if (!what.fields.empty()) fields_.emplace(what.fields, allowance);
  if (!what.ids.empty()) {
    ids_ = Matcher::parse(what.ids, context_of(allowance));
    if (const auto named = named_in(what.ids)) keys_ = keys_of(*named, keys_held_, allowance);
  }
  const std::string& db = states_.database().name();
  for (auto& one : op.services().store->catalog().collections(db)) {
    if (!what.collection || one->ns() == db + "." + *what.collection) collections_.emplace_back(states_, std::move(one));
  }
}

bool Differences::next() {
  for (;;) {
    op_->check_interrupt();
    if (store_ && step()) return true;
    if (!store_ && !open()) return false;
  }
}

// Returns false if this record makes no difference, or (store_ is nullptr) if the collection is done.
bool Differences::step() {
  if (keys_) {
    if (key_at_ < keys_->size()) return show_key((*keys_)[key_at_++]);
  } else if (added_) {
    if (added_->next()) return show_added();
    added_.reset();
    return false;
  } else if (!held_.empty()) {
    const storage::RecordId record = held_.begin()->second;
    held_.erase(held_.begin());
    return show_removed(record);
  } else if (removed_ && removed_->next()) {
    return show_removed(removed_->record());
  }
  removed_.reset();
  store_ = nullptr;
  return false;
}

bool Differences::open() {
  while (at_ < collections_.size() && !collections_[at_]) ++at_;
  if (at_ == collections_.size()) return false;
  const Versioned& collection = collections_[at_++];
  name_ = storage::collection_of(collection.collection->ns());
  store_ = &collection.store();
  from_view_ = states_.view(*collection.shared, from_);
  to_view_ = states_.view(*collection.shared, to_);
  key_at_ = 0;
  if (keys_) return true;
  versions::Difference difference = store_->diff(states_.transaction(), from_view_, to_view_);
  const bool few = difference.only_a.count() <= held_max;
  removed_ = store_->scan_set(states_.transaction(), std::move(difference.only_a));
  added_ = store_->scan_set(states_.transaction(), std::move(difference.only_b));
  if (few) hold_removed();
  return true;
}

void Differences::hold_removed() {
  while (removed_->next()) {
    op_->check_interrupt();
    if (wanted(removed_->content())) held_.emplace(versions::key_of(removed_->content()), removed_->record());
  }
  removed_.reset();
}

bool Differences::show_key(const base::Bytes& key) {
  const storage::RecordId before = store_->find(states_.transaction(), from_view_, key),
                          after = store_->find(states_.transaction(), to_view_, key);
  if (before == after) return false;
  const auto content = [&](storage::RecordId record) {
    return record == 0 ? Content() : store_->content(states_.transaction(), record);
  };
  const Content old = content(before), now = content(after);
  if (!wanted(now ? *now : old.value_or(base::Bytes()))) return false;
  return show(!old ? "insert" : !now ? "delete" : "update", old, now);
}

bool Differences::show_added() {
  if (!wanted(added_->content())) return false;
  const Content after(added_->content());
  const base::Bytes key = versions::key_of(*after);
  storage::RecordId record = 0;
  if (removed_) {
    record = store_->find(states_.transaction(), from_view_, key);
  } else if (const auto before = held_.find(key); before != held_.end()) {
    record = before->second;
    held_.erase(before);
  }
  if (record == 0) return show("insert", std::nullopt, after);
  return show("update", store_->content(states_.transaction(), record), after);
}

bool Differences::show_removed(storage::RecordId record) {
  const Content before = store_->content(states_.transaction(), record);
  if (!before) return false;
  if (removed_ && (!wanted(*before) || store_->find(states_.transaction(), to_view_, versions::key_of(*before)) != 0))
    return false;
  return show("delete", before, std::nullopt);
}

// Returns false if the document is the same on both sides, or differs in no field that is asked for.
bool Differences::show(std::string_view change, const Content& before, const Content& after) {
  if (before == after) return false;
  const auto view = [](const Content& content) { return content ? DocumentView(*content) : DocumentView(); };
  if (fields_ && !fields_->differ(view(before), view(after))) return false;
  bson::Builder out;
  out.append("collection", name_).append("_id", static_cast<bson::ValueView>(view(after ? after : before).find("_id")));
  out.append("change", change);
  const auto append = [&](std::string_view name, const Content& content) {
    if (!content) return;
    if (fields_)
      out.append(name, fields_->shown->apply(view(content)));
    else
      out.append(name, view(content));
  };
  append("before", before);
  append("after", after);
  document_ = out.done();
  return true;
}

bson::Document too_large(DocumentView difference) {
  bson::Builder out;
  for (const std::string_view name : {"collection", "_id", "change"}) out.append_element(difference.find(name));
  out.append("tooLarge", true);
  return out.done();
}

}  // namespace server::query

// This file has $set, $setOnInsert, $unset, $min, $max, and the two ends of
// $rename.
#include "base/error.h"
#include "bson/compare.h"
#include "bson/path.h"
#include "server/write/update/operators/families.h"
#include "server/write/update/shell_text.h"
#include "server/write/update/update_path.h"

namespace server::write {
namespace {

using base::ErrorCode;
using base::OperationError;
using bson::ValueView;

class Set : public Modifier {
 public:
  Set(const ValueView& value, bool only_on_insert) : value_(value), only_on_insert_(only_on_insert) {}
  Change apply(const ValueView&, const Application&) const override { return Change::set(value_); }
  bool only_on_insert() const override { return only_on_insert_; }

 private:
  bson::Value value_;
  bool only_on_insert_;
};

class Unset : public Modifier {
 public:
  Change apply(const ValueView&, const Application&) const override { return Change::remove(); }
  bool creates(const Application&) const override { return false; }
  bool tolerates_blocked_path() const override { return true; }
};

class Extreme : public Modifier {
 public:
  Extreme(const ValueView& value, int sign) : value_(value), sign_(sign) {}
  Change apply(const ValueView& current, const Application& application) const override {
    if (current.exists() && bson::compare(value_, current, application.collator) * sign_ <= 0) return Change::keep();
    return Change::set(value_);
  }

 private:
  bson::Value value_;
  int sign_;  // 1: the larger value stays
};

[[noreturn]] void is_array_element(const char* which, const std::string& path, const std::string& array,
                                   const Application& application) {
  const auto id = application.document.find("_id");
  throw OperationError(ErrorCode::bad_value, std::string("The ") + which + " field cannot be an array element, '" + path +
                                                 "' in doc with " + shell_field("_id", id) + " has an array field called '" +
                                                 array + "'");
}

// Returns whether there is something to rename. Throws if the path leads through a value that has no fields, or through an array
// by something that is no position.
bool has_source(const std::string& path, const Application& application) {
  const auto parts = bson::split_path(path);
  bson::Element at = application.document.find(parts.front());
  for (size_t i = 1; i < parts.size() && at.exists(); ++i) {
    std::string position;
    std::string_view name = parts[i];
    const auto index = at.is_array() ? array_index(name) : std::nullopt;
    if (!at.is_object() && !index) {
      throw OperationError(ErrorCode::path_not_viable, "cannot use the part (" + std::string(parts[i - 1]) + " of " + path +
                                                           ") to traverse the element ({" + shell_field(at.name, at) + "})");
    }
    if (index) name = position = std::to_string(*index);
    at = at.as_document().find(name);
  }
  return at.exists();
}

// Returns the value at `path`; renames don't go through arrays.
ValueView value_outside_arrays(const std::string& path, const char* which, const Application& application) {
  bson::DocumentView level = application.document;
  ValueView value;
  std::string_view parent;
  for (std::string_view component : bson::split_path(path)) {
    if (!parent.empty()) {
      if (value.is_array()) is_array_element(which, path, std::string(parent), application);
      if (!value.is_object()) return {};
      level = value.as_document();
    }
    value = level.find(component);
    if (!value.exists()) return {};
    parent = component;
  }
  return value;
}

class RenameSource : public Modifier {
 public:
  Change apply(const ValueView&, const Application&) const override { return Change::remove(); }
  bool creates(const Application&) const override { return false; }
  bool tolerates_blocked_path() const override { return true; }
};

class RenameDestination : public Modifier {
 public:
  explicit RenameDestination(std::string source) : source_(std::move(source)) {}
  Change apply(const ValueView&, const Application& application) const override {
    if (!has_source(source_, application)) return Change::keep();
    const ValueView value = value_outside_arrays(source_, "source", application);
    value_outside_arrays(application.dotted(), "destination", application);
    return Change::set(bson::Value(value));
  }
  bool creates(const Application& application) const override {
    return has_source(source_, application) && value_outside_arrays(source_, "source", application).exists();
  }
  bool tolerates_blocked_path() const override { return true; }

 private:
  std::string source_;
};

}  // namespace

std::shared_ptr<const Modifier> make_set(const bson::Element& argument, const PredicateCompiler&) {
  return std::make_shared<Set>(argument, false);
}
std::shared_ptr<const Modifier> make_set_on_insert(const bson::Element& argument, const PredicateCompiler&) {
  return std::make_shared<Set>(argument, true);
}
std::shared_ptr<const Modifier> make_unset(const bson::Element&, const PredicateCompiler&) {
  return std::make_shared<Unset>();
}
std::shared_ptr<const Modifier> make_max(const bson::Element& argument, const PredicateCompiler&) {
  return std::make_shared<Extreme>(argument, 1);
}
std::shared_ptr<const Modifier> make_min(const bson::Element& argument, const PredicateCompiler&) {
  return std::make_shared<Extreme>(argument, -1);
}
std::shared_ptr<const Modifier> make_rename_source() {
  return std::make_shared<RenameSource>();
}
std::shared_ptr<const Modifier> make_rename_destination(std::string source) {
  return std::make_shared<RenameDestination>(std::move(source));
}

}  // namespace server::write

// These are the rules for arrays.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "bson/compare.h"
#include "server/query/match/schema_rules.h"

namespace server::query::match {

namespace {

using bson::Element;
using bson::ValueView;

// This is the rule of minItems and maxItems.
class ItemCountRule final : public SchemaRule {
 public:
  ItemCountRule(const Keyword& keyword, bool is_maximum, int64_t limit)
      : keyword_(keyword), is_maximum_(is_maximum), limit_(limit) {}

  bool holds(const ValueView& value) const override {
    if (!value.is_array()) return true;
    const auto count = static_cast<int64_t>(value.as_document().count());
    return is_maximum_ ? count <= limit_ : count >= limit_;
  }
  void explain(const ValueView& value, bson::Builder& out) const override {
    append_specified(keyword_, out);
    out.append("reason", "array did not match specified length").append("consideredValue", value);
  }

 private:
  const Keyword keyword_;
  const bool is_maximum_;
  const int64_t limit_;
};

class UniqueRule final : public SchemaRule {
 public:
  explicit UniqueRule(const Keyword& keyword) : keyword_(keyword) {}
  size_t units(const ValueView& value) const override { return 1 + value.bytes().size() / 8; }
  bool holds(const ValueView& value) const override { return !value.is_array() || !duplicate(value.as_document()).exists(); }
  void explain(const ValueView& value, bson::Builder& out) const override {
    append_specified(keyword_, out);
    out.append("reason", "found a duplicate item").append("consideredValue", value);
    out.append("duplicatedValue", static_cast<ValueView>(duplicate(value.as_document())));
  }

 private:
  // An item with its object's fields in the order of their names, at every level: equal items are equal then.
  static bson::Value sorted(const ValueView& value) {
    if (!value.is_object() && !value.is_array()) return bson::Value(value);
    std::vector<Element> fields;
    for (const Element& field : value.as_document()) fields.push_back(field);
    if (value.is_array()) {
      bson::ArrayBuilder out;
      for (const Element& field : fields) out.append(sorted(field));
      return out.done_value();
    }
    std::stable_sort(fields.begin(), fields.end(), [](const Element& a, const Element& b) { return a.name < b.name; });
    bson::Builder out;
    for (const Element& field : fields) out.append(field.name, sorted(field));
    return bson::Value(out.done());
  }
  static Element duplicate(bson::DocumentView items) {
    std::set<bson::Value, bson::ValueLess> seen;
    for (const Element& item : items) {
      if (!seen.insert(sorted(item)).second) return item;
    }
    return {};
  }
  const Keyword keyword_;
};

class ItemsRule final : public SchemaRule {
 public:
  explicit ItemsRule(Schema all) : all_(std::move(all)) {}
  bool holds(const ValueView& value) const override { return !value.is_array() || !wrong(value).exists(); }
  void explain(const ValueView& value, bson::Builder& out) const override {
    const Element item = wrong(value);
    out.append("operatorName", "items").append("reason", "At least one item did not match the sub-schema");
    out.append("itemIndex", std::atoi(std::string(item.name).c_str()));
    append_details(all_, item, out);
  }

 private:
  Element wrong(const ValueView& array) const {
    for (const Element& item : array.as_document()) {
      if (!all_.holds(item)) return item;
    }
    return {};
  }
  const Schema all_;
};

class ItemListRule final : public SchemaRule {
 public:
  explicit ItemListRule(Schemas each) : each_(std::move(each)) {}
  bool holds(const ValueView& value) const override {
    if (!value.is_array()) return true;
    size_t index = 0;
    for (const Element& item : value.as_document()) {
      if (index == each_.size()) break;
      if (!each_[index++].holds(item)) return false;
    }
    return true;
  }
  void explain(const ValueView& value, bson::Builder& out) const override {
    out.append("operatorName", "items");
    auto wrong = out.array("details");
    size_t index = 0;
    for (const Element& item : value.as_document()) {
      if (index == each_.size()) break;
      if (const Schema& schema = each_[index++]; !schema.holds(item)) {
        auto one = wrong.object();
        one.append("itemIndex", static_cast<int32_t>(index - 1));
        append_details(schema, item, one);
      }
    }
  }

 private:
  const Schemas each_;
};

class AdditionalItemsRule final : public SchemaRule {
 public:
  AdditionalItemsRule(size_t first, std::optional<Schema> rest) : first_(first), rest_(std::move(rest)) {}
  bool holds(const ValueView& value) const override { return !value.is_array() || !wrong(value).exists(); }
  void explain(const ValueView& value, bson::Builder& out) const override {
    out.append("operatorName", "additionalItems");
    if (!rest_) {
      {
        auto specified = out.object("specifiedAs");
        specified.append("additionalItems", false);
      }
      out.append("reason", "found additional items");
      auto items = out.array("additionalItems");
      size_t index = 0;
      for (const Element& item : value.as_document()) {
        if (index++ >= first_) items.append(static_cast<ValueView>(item));
      }
      return;
    }
    const Element item = wrong(value);
    out.append("reason", "At least one additional item did not match the sub-schema");
    out.append("itemIndex", std::atoi(std::string(item.name).c_str()));
    append_details(*rest_, item, out);
  }

 private:
  Element wrong(const ValueView& array) const {
    size_t index = 0;
    for (const Element& item : array.as_document()) {
      if (index++ >= first_ && !(rest_ && rest_->holds(item))) return item;
    }
    return {};
  }
  const size_t first_;
  const std::optional<Schema> rest_;
};

}  // namespace

SchemaRulePtr rule_of_item_count(const Keyword& keyword, bool is_maximum, int64_t count) {
  return std::make_unique<ItemCountRule>(keyword, is_maximum, count);
}
SchemaRulePtr rule_of_unique_items(const Keyword& keyword) {
  return std::make_unique<UniqueRule>(keyword);
}
SchemaRulePtr rule_of_items(Schema all) {
  return std::make_unique<ItemsRule>(std::move(all));
}
SchemaRulePtr rule_of_item_list(Schemas each) {
  return std::make_unique<ItemListRule>(std::move(each));
}
SchemaRulePtr rule_of_additional_items(size_t first, std::optional<Schema> rest) {
  return std::make_unique<AdditionalItemsRule>(first, std::move(rest));
}

}  // namespace server::query::match

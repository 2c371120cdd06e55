// These are the rules for single values: types, enum, numbers, strings, encrypted values.
#include <cmath>

#include "bson/arithmetic.h"
#include "bson/compare.h"
#include "bson/decimal.h"
#include "server/query/match/regex.h"
#include "server/query/match/schema_rules.h"

namespace server::query::match {

namespace {

using bson::Type;
using bson::ValueView;

enum class Of { numbers, strings };

bool is_of(Of kind, const ValueView& value) {
  return kind == Of::numbers ? value.is_number() : value.is_string();
}

// A rule whose operand is shown as it is.
class OperandRule : public SchemaRule {
 public:
  explicit OperandRule(const Keyword& keyword) : keyword_(keyword) {}

 protected:
  void append_head(bson::Builder& out) const {
    out.append("operatorName", keyword_.name);
    auto specified = out.object("specifiedAs");
    append_operand(specified);
  }
  virtual void append_operand(bson::Builder& specified) const { specified.append_element(keyword_); }
  const Keyword& keyword() const { return keyword_; }

 private:
  const Keyword keyword_;
};

class TypeRule final : public OperandRule {
 public:
  TypeRule(const Keyword& keyword, const TypeSet& types) : OperandRule(keyword), types_(types) {}
  bool holds(const ValueView& value) const override { return types_[static_cast<uint8_t>(value.type())]; }
  void explain(const ValueView& value, bson::Builder& out) const override {
    append_head(out);
    out.append("reason", "type did not match").append("consideredValue", value);
    out.append("consideredType", bson::type_name(value.type()));
  }

 private:
  const TypeSet types_;
};

class EnumRule final : public OperandRule {
 public:
  explicit EnumRule(const Keyword& keyword) : OperandRule(keyword), count_(keyword.as_document().count()) {}
  size_t units(const ValueView&) const override { return 1 + count_; }
  bool holds(const ValueView& value) const override {
    for (const bson::Element& allowed : keyword().as_document()) {
      if (equal_unordered(value, allowed)) return true;
    }
    return false;
  }
  void explain(const ValueView& value, bson::Builder& out) const override {
    append_head(out);
    out.append("reason", "value was not found in enum").append("consideredValue", value);
  }

 private:
  const size_t count_;
};

// A ScalarRule is a rule for numbers or for strings.
class ScalarRule : public OperandRule {
 public:
  ScalarRule(const Keyword& keyword, Of kind, bool stated) : OperandRule(keyword), kind_(kind), stated_(stated) {}
  bool holds(const ValueView& value) const final { return is_of(kind_, value) ? fits(value) : !stated_; }
  void explain(const ValueView& value, bson::Builder& out) const final {
    append_head(out);
    if (is_of(kind_, value)) {
      out.append("reason", reason());
    } else {
      out.append("reason", "type did not match").append("consideredType", bson::type_name(value.type()));
      append_expected(out);
    }
    out.append("consideredValue", value);
  }

 protected:
  virtual bool fits(const ValueView& value) const = 0;
  virtual std::string_view reason() const = 0;
  virtual void append_expected(bson::Builder& out) const {
    if (kind_ == Of::strings) {
      out.append("expectedType", "string");
      return;
    }
    auto types = out.array("expectedTypes");
    for (const char* type : {"decimal", "double", "int", "long"}) types.append(type);
  }

 private:
  const Of kind_;
  const bool stated_;
};

class LimitRule final : public ScalarRule {
 public:
  LimitRule(const Keyword& keyword, bool is_maximum, const Keyword& exclusive, bool stated)
      : ScalarRule(keyword, Of::numbers, stated), is_maximum_(is_maximum), exclusive_(exclusive) {}

 protected:
  bool fits(const ValueView& value) const override {
    if (is_nan(value) || is_nan(keyword())) return is_nan(value) && is_nan(keyword()) && !is_exclusive();
    const int order = is_maximum_ ? bson::compare(value, keyword()) : bson::compare(keyword(), value);
    return is_exclusive() ? order < 0 : order <= 0;
  }
  std::string_view reason() const override { return "comparison failed"; }
  void append_operand(bson::Builder& specified) const override {
    specified.append_element(keyword());
    if (exclusive_.exists()) specified.append_element(exclusive_);
  }

 private:
  static bool is_nan(const ValueView& value) { return std::isnan(value.to_double()); }
  bool is_exclusive() const { return exclusive_.truthy(); }
  const bool is_maximum_;
  const Keyword exclusive_;
};

class MultipleRule final : public ScalarRule {
 public:
  MultipleRule(const Keyword& keyword, bool stated)
      : ScalarRule(keyword, Of::numbers, stated), divisor_(bson::number::to_decimal(keyword)) {}

 protected:
  bool fits(const ValueView& value) const override {
    // A double means the decimal number that it is written as: 4.2 is a multiple of 2.1.
    const bson::Decimal128 rest = bson::decimal_mod(bson::number::to_decimal(value), divisor_);
    return !bson::decimal_is_nan(rest) && bson::decimal_is_zero(rest);
  }
  std::string_view reason() const override { return "considered value is not a multiple of the specified value"; }

 private:
  const bson::Decimal128 divisor_;
};

// Lengths count characters, not bytes.
int64_t characters(std::string_view text) {
  int64_t count = 0;
  for (const char byte : text) count += (static_cast<uint8_t>(byte) & 0xc0) != 0x80;
  return count;
}

class LengthRule final : public ScalarRule {
 public:
  LengthRule(const Keyword& keyword, bool is_maximum, int64_t length, bool stated)
      : ScalarRule(keyword, Of::strings, stated), is_maximum_(is_maximum), length_(length) {}

 protected:
  bool fits(const ValueView& value) const override {
    const int64_t length = characters(value.as_string());
    return is_maximum_ ? length <= length_ : length >= length_;
  }
  std::string_view reason() const override { return "specified string length was not satisfied"; }

 private:
  const bool is_maximum_;
  const int64_t length_;
};

class PatternRule final : public ScalarRule {
 public:
  PatternRule(const Keyword& keyword, bool stated, const SchemaAccount& account)
      : ScalarRule(keyword, Of::strings, stated), account_(account), pattern_(keyword.as_string(), "", account.allowance) {}

 protected:
  bool fits(const ValueView& value) const override { return pattern_.found_in(value.as_string(), account_.allowance); }
  std::string_view reason() const override { return "regular expression did not match"; }
  void append_expected(bson::Builder& out) const override {
    auto types = out.array("expectedTypes");
    for (const char* type : {"regex", "string", "symbol"}) types.append(type);
  }

 private:
  const SchemaAccount& account_;
  const Pattern pattern_;
};

// An encrypted value is binary data: how it was encrypted (1), the key's UUID (16), its type before (1), the bytes.
class EncryptRule final : public SchemaRule {
 public:
  explicit EncryptRule(const TypeSet& types) : types_(types) {}
  bool holds(const ValueView& value) const override { return is_encrypted(value) && (types_.none() || has_type(value)); }
  void explain(const ValueView& value, bson::Builder& out) const override {
    out.append("operatorName", "encrypt");
    out.append("reason", is_encrypted(value) ? "encrypted value has wrong type" : "value was not encrypted");
  }

 private:
  static bool is_encrypted(const ValueView& value) {
    constexpr uint8_t subtype = 6;
    return value.type() == Type::binary && value.as_binary().subtype == subtype;
  }
  bool has_type(const ValueView& value) const {
    constexpr size_t place_of_type = 17;
    const bson::BytesView bytes = value.as_binary().bytes;
    return bytes.size() > place_of_type && types_[static_cast<uint8_t>(bytes[place_of_type])];
  }
  const TypeSet types_;
};

bool equal_objects(bson::DocumentView a, bson::DocumentView b) {
  if (a.count() != b.count()) return false;
  for (const bson::Element& field : a) {
    if (const bson::Element other = b[field.name]; !other.exists() || !equal_unordered(field, other)) return false;
  }
  return true;
}

bool equal_lists(bson::DocumentView a, bson::DocumentView b) {
  auto one = a.begin(), other = b.begin();
  for (; one != a.end() && other != b.end(); ++one, ++other) {
    if (!equal_unordered(*one, *other)) return false;
  }
  return one == a.end() && other == b.end();
}

}  // namespace

bool equal_unordered(const ValueView& a, const ValueView& b) {
  if (a.is_object() && b.is_object()) return equal_objects(a.as_document(), b.as_document());
  if (a.is_array() && b.is_array()) return equal_lists(a.as_document(), b.as_document());
  return bson::equal(a, b);
}

SchemaRulePtr rule_of_types(const Keyword& keyword, const TypeSet& types) {
  return std::make_unique<TypeRule>(keyword, types);
}
SchemaRulePtr rule_of_enum(const Keyword& keyword) {
  return std::make_unique<EnumRule>(keyword);
}
SchemaRulePtr rule_of_limit(const Keyword& keyword, bool is_maximum, const Keyword& exclusive, bool stated) {
  return std::make_unique<LimitRule>(keyword, is_maximum, exclusive, stated);
}
SchemaRulePtr rule_of_multiple(const Keyword& keyword, bool stated) {
  return std::make_unique<MultipleRule>(keyword, stated);
}
SchemaRulePtr rule_of_length(const Keyword& keyword, bool is_maximum, int64_t length, bool stated) {
  return std::make_unique<LengthRule>(keyword, is_maximum, length, stated);
}
SchemaRulePtr rule_of_pattern(const Keyword& keyword, bool stated, const SchemaAccount& account) {
  return std::make_unique<PatternRule>(keyword, stated, account);
}
SchemaRulePtr rule_of_encrypt(const TypeSet& types) {
  return std::make_unique<EncryptRule>(types);
}

}  // namespace server::query::match

#include "bson/testing/grammar.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"

namespace bson::testing {

namespace {

constexpr int depth_max = 12;
constexpr int values_max = 300;  // of one document
constexpr size_t many_max = 3;
constexpr size_t misfit_one_in = 48;

// Values at which types, ranges and texts end.
const std::vector<Value>& leaves() {
  static const std::vector<Value> all = [] {
    const Document values = json(
        "{v: [1, 0, -1, 2147483647, -2147483648, NumberLong('4294967296'), NumberLong('9223372036854775807'),"
        " NumberLong('-9223372036854775808'), 0.5, -0.0, NaN, Infinity, -Infinity, 1e308, 5e-324, 9223372036854775808.0,"
        " NumberDecimal('1.5'), NumberDecimal('-0'), NumberDecimal('NaN'), NumberDecimal('-Infinity'),"
        " NumberDecimal('9.999999999999999999999999999999999E6144'), NumberDecimal('1E-6176'), '', 'abc', 'a.b', '$a', '$$a', "
        "'\\u0000',"
        " 'some words, and some more words', 'é☃𝄞', '12', '-1e3', '2024-02-29T12:00:00.5Z', true, false, null, undefined,"
        " ObjectId('507f1f77bcf86cd799439011'), ISODate('2024-02-29T12:00:00Z'), Date(-1), Date(0), {$date: {$numberLong: "
        "'9223372036854775807'}}, {$date: {$numberLong: '-9223372036854775808'}}, Timestamp(1700000000, 1), Timestamp(0, 0),"
        " Timestamp(4294967295, 4294967295), BinData(0, ''), BinData(0, 'AAECAwQ='), BinData(4, 'AAECAwQFBgcICQoLDA0ODw=='),"
        " BinData(2, ''), BinData(128, '/w=='), /a+b?/i, /(x|é)*$/, MinKey, MaxKey, {$code: 'f()'}, {$symbol: 's'},"
        " {$code: 'f()', $scope: {a: 1}}, {$dbPointer: {$ref: 'test.c', $id: {$oid: '507f1f77bcf86cd799439011'}}},"
        " {$ref: 'c', $id: 1}, [], {}, [[]], [1, [2, 'x'], null], {a: 1}, {a: {b: [{c: 1}, {c: 'x'}]}}, {'': 1}, {'a.b': 1},"
        " {'$a': 1}, {'0': 1, '1': 2}]}");
    std::vector<Value> made;
    for (const Element& one : values["v"].as_document()) made.emplace_back(one);
    return made;
  }();
  return all;
}

template <class Number>
Number number_from(Choices& choices) {
  const BytesView bytes = choices.take(sizeof(Number));
  Number number{};
  if (!bytes.empty()) std::memcpy(&number, bytes.data(), bytes.size());
  return number;
}

std::optional<std::string> rule_in(const ValueView& value) {
  if (!value.is_string() || !value.as_string().starts_with('@')) return std::nullopt;
  return std::string(value.as_string().substr(1));
}

}  // namespace

size_t Choices::below(size_t count) {
  if (count < 2 || left_.empty()) return 0;
  size_t chosen = static_cast<uint8_t>(left_.front());
  left_.remove_prefix(1);
  if (count > 256 && !left_.empty()) {
    chosen = chosen << 8 | static_cast<uint8_t>(left_.front());
    left_.remove_prefix(1);
  }
  return chosen % count;
}

BytesView Choices::take(size_t bytes) {
  const BytesView taken = left_.substr(0, bytes);
  left_.remove_prefix(taken.size());
  return taken;
}

// Making is one call of `make`.
class Grammar::Making {
 public:
  Making(const Grammar& grammar, Choices& choices, bool misfits, const Replace& replace)
      : grammar_(grammar), choices_(choices), misfits_(misfits), replace_(replace) {}

  Value rule(std::string_view name) {
    if (misfits_ && !simple() && choices_.one_in(misfit_one_in)) return any();
    Value made = name == "any" ? any() : chosen(name);
    if (replace_) {
      if (auto other = replace_(name, made)) return std::move(*other);
    }
    return made;
  }

 private:
  // Returns whether only simple values are made from here on.
  bool simple() const { return choices_.used_up() || depth_ >= depth_max || values_ >= values_max; }

  Value chosen(std::string_view name) {
    const auto found = grammar_.rules_.find(name);
    base::check(found != grammar_.rules_.end(), "a grammar has each rule that it names");
    const auto& alternatives = found->second;
    return from(alternatives[simple() ? 0 : choices_.below(alternatives.size())]);
  }

  Value from(const ValueView& shape) {
    ++values_;
    if (const auto name = rule_in(shape)) {
      ++depth_;
      Value made = rule(*name);
      --depth_;
      return made;
    }
    if (shape.is_array()) return array(shape.as_document());
    if (shape.is_object()) return Value(object(shape.as_document()));
    return Value(shape);
  }

  size_t how_many() { return simple() ? 0 : choices_.below(many_max + 1); }

  Value array(DocumentView shape) {
    ArrayBuilder out;
    for (const Element& element : shape) {
      const Element many = element.is_object() ? element.as_document().find("@many") : Element();
      if (!many.exists()) {
        out.append(from(element));
        continue;
      }
      for (size_t left = how_many(); left > 0; --left) out.append(from(many));
    }
    return out.done_value();
  }

  Document object(DocumentView shape) {
    Builder out;
    append_fields(shape, out);
    return out.done();
  }

  void append_fields(DocumentView shape, Builder& out) {
    for (const Element& field : shape) {
      if (field.name == "@many") {
        for (size_t left = how_many(); left > 0; --left) append_fields(field.as_document(), out);
        continue;
      }
      std::string_view name = field.name;
      if (name.ends_with('?')) {
        if (simple() || choices_.below(2) == 0) continue;
        name.remove_suffix(1);
      }
      out.append(name_from(name), from(field));
    }
  }

  std::string name_from(std::string_view name) {
    if (!name.starts_with('@')) return std::string(name);
    const Value made = rule(name.substr(1));
    if (!made.view().is_string()) return "a";
    std::string text(made.view().as_string());
    std::erase(text, '\0');
    return text;
  }

  Value any() {
    if (simple()) return Value(int32_t{1});
    switch (choices_.below(16)) {
      case 0: return Value(number_from<int32_t>(choices_));
      case 1: return Value(number_from<int64_t>(choices_));
      case 2: return Value(number_from<double>(choices_));
      case 3: return any_text();
      case 4: return Value(Date{number_from<int64_t>(choices_)});
      case 5: return any_array();
      case 6: return any_object();
      default: return leaves()[choices_.below(leaves().size())];
    }
  }

  Value any_text() {
    static constexpr std::string_view parts[] = {"a", "b", " ", "1", ".",  "$", "é", "☃",
                                                 "𝄞", "(", ")", "*", "%Y", "-", ":", "x1"};
    std::string text;
    for (size_t left = choices_.below(24); left > 0; --left) text += parts[choices_.below(std::size(parts))];
    return Value(text);
  }
  Value any_array() {
    ArrayBuilder out;
    ++depth_;
    for (size_t left = how_many(); left > 0; --left) out.append(any());
    --depth_;
    return out.done_value();
  }
  Value any_object() {
    static constexpr std::string_view names[] = {"a", "b", "c", "k", "v", "_id", "0", "a.b", "$x", ""};
    Builder out;
    ++depth_;
    for (size_t left = how_many(); left > 0; --left) out.append(names[choices_.below(std::size(names))], any());
    --depth_;
    return Value(out.done());
  }

  const Grammar& grammar_;
  Choices& choices_;
  const bool misfits_;
  const Replace& replace_;
  int depth_ = 0, values_ = 0;
};

Grammar& Grammar::add(const std::string& rule, const std::vector<std::string>& alternatives) {
  auto& all = rules_[rule];
  for (const std::string& one : alternatives) all.push_back(value_from_json(one).or_throw());
  return *this;
}

Value Grammar::make(const std::string& rule, Choices& choices, bool misfits, const Replace& replace) const {
  return Making(*this, choices, misfits, replace).rule(rule);
}

Document Grammar::document(const std::string& rule, Choices& choices, bool misfits) const {
  const Value made = make(rule, choices, misfits);
  return made.view().is_object() ? Document(made.view().as_document()) : Document();
}

}  // namespace bson::testing

// These generators make arbitrary values and documents for property tests. They are header-only, so that the library doesn't need
// RapidCheck.
//
// Numbers cluster where comparing goes wrong: around zero, the powers of two at
// which doubles stop being exact, the ends of the ranges, and equal values of different types.
#pragma once

#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <vector>

#include "bson/builder.h"
#include "bson/json.h"
#include "bson/numeric.h"

namespace bson {

// RapidCheck prints values that failed with this.
inline void showValue(const Value& value, std::ostream& out) {
  out << to_json(value.view(), JsonMode::canonical);
}
inline void showValue(const Document& document, std::ostream& out) {
  out << to_json(document.view(), JsonMode::canonical);
}

namespace generators {

using Random = rc::Random;

// A stream of small choices is cheaper than composed generators for recursive data, at the price of shrinking.
class Dice {
 public:
  explicit Dice(const Random& random) : random_(random) {}
  uint64_t next() { return random_.next(); }
  uint64_t below(uint64_t end) { return next() % end; }
  bool chance(int percent) { return below(100) < static_cast<uint64_t>(percent); }
  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }

 private:
  Random random_;
};

inline int64_t integer(Dice& dice) {
  const int64_t near = static_cast<int64_t>(dice.below(7)) - 3;
  switch (dice.below(6)) {
    case 0: return near;
    case 1: return static_cast<int64_t>(dice.below(2000)) - 1000;
    case 2: return static_cast<int64_t>(uint64_t{1} << dice.below(64)) + (near & 1);
    case 3: return static_cast<int64_t>((uint64_t{0} - (uint64_t{1} << dice.below(64))) + static_cast<uint64_t>(near & 1));
    case 4:
      return dice.pick({std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), int64_t{1} << 53,
                        (int64_t{1} << 53) + 1, -(int64_t{1} << 53) - 1, int64_t{std::numeric_limits<int32_t>::min()},
                        int64_t{std::numeric_limits<int32_t>::max()}});
    default: return static_cast<int64_t>(dice.next() >> dice.below(64)) * (dice.chance(50) ? -1 : 1);
  }
}

inline double real(Dice& dice) {
  using limits = std::numeric_limits<double>;
  switch (dice.below(6)) {
    case 0: return static_cast<double>(integer(dice));
    case 1: return (static_cast<double>(dice.below(2000)) - 1000) / dice.pick({2, 4, 8, 10, 100, 3});
    case 2:
      return dice.pick({0.0, -0.0, limits::infinity(), -limits::infinity(), limits::quiet_NaN(), limits::max(), limits::lowest(),
                        limits::min(), limits::denorm_min(), -limits::denorm_min(), 0.1, 1.0 / 3});
    case 3: return std::nextafter(static_cast<double>(integer(dice)), dice.chance(50) ? 1e300 : -1e300);
    case 4: return dice.pick({9223372036854775808.0, -9223372036854775808.0, 9223372036854774784.0, 18446744073709551616.0});
    default: return std::bit_cast<double>(dice.next());
  }
}

inline Decimal128 decimal(Dice& dice) {
  const auto text = [](const std::string& digits) { return *decimal_from_string(digits); };
  switch (dice.below(6)) {
    case 0: return decimal_from_int64(integer(dice));
    case 1: return decimal_from_double_34_digits(real(dice));
    case 2:
      return text(dice.pick({"0", "-0", "0E+100", "NaN", "Infinity", "-Infinity", "1E-6176", "-1E-6176", "0.1", "0.10",
                             "9.999999999999999999999999999999999E+6144", "9223372036854775808", "9007199254740993.5",
                             "9223372036854775807.5", "-9223372036854775808.5", "1E+400", "1E-400", "1E+6144"}));
    case 3: return text(std::to_string(integer(dice)) + "." + std::to_string(dice.below(1000)));
    case 4: {
      std::string digits = dice.chance(50) ? "-" : "";
      for (uint64_t left = 1 + dice.below(34); left > 0; --left) digits.push_back(static_cast<char>('0' + dice.below(10)));
      return text(digits + "E" + std::to_string(static_cast<int>(dice.below(80)) - 40));
    }
    default: return decimal_from_double(real(dice));
  }
}

inline Value number(Dice& dice) {
  switch (dice.below(4)) {
    case 0: return Value(static_cast<int32_t>(integer(dice)));
    case 1: return Value(integer(dice));
    case 2: return Value(real(dice));
    default: return Value(decimal(dice));
  }
}

// Makes valid UTF-8, often a prefix of another text, and sometimes with the bytes that key strings escape.
inline std::string text(Dice& dice, bool with_nul = true) {
  std::string result;
  for (uint64_t left = dice.below(5); left > 0; --left) {
    switch (dice.below(6)) {
      case 0:
        if (with_nul) result.push_back('\0');
        break;
      case 1: result.push_back('\1'); break;
      case 2: result += dice.pick({"é", "\x7f", "\"", "\\", "日", "😀", "\n"}); break;
      default: result.push_back(static_cast<char>('a' + dice.below(3)));
    }
  }
  return result;
}

inline Bytes bytes(Dice& dice) {
  Bytes result;
  uint64_t length = dice.chance(5) ? 250 + dice.below(12) : dice.below(6);
  for (; length > 0; --length)
    result.push_back(static_cast<char>(dice.chance(40) ? dice.pick({0, 1, 255}) : static_cast<int>(dice.next())));
  return result;
}

inline Bytes string_bytes(const std::string& text) {
  return Bytes(Value(text).view().bytes());
}

inline ObjectId object_id(Dice& dice) {
  ObjectId id;
  for (auto& byte : id.bytes) byte = static_cast<uint8_t>(dice.chance(80) ? 0 : dice.next());
  return id;
}

Document document(Dice& dice, int depth);

inline Value array(Dice& dice, int depth);

inline Value scalar(Dice& dice, int depth) {
  const auto of = [](Type type, const Bytes& bytes) { return Value(ValueView(type, bytes)); };
  const auto built = [](const auto& value) {
    Builder builder;
    builder.append("", value);
    return Value(builder.done().view().first());
  };
  switch (dice.below(17)) {
    case 0: return of(Type::min_key, {});
    case 1: return of(Type::max_key, {});
    case 2: return of(Type::null, {});
    case 3: return of(Type::undefined, {});
    case 4: return Value(dice.chance(50));
    case 5: return Value(Date{integer(dice)});
    case 6: return Value(Timestamp{static_cast<uint32_t>(integer(dice)), static_cast<uint32_t>(dice.below(3))});
    case 7: return Value(object_id(dice));
    case 8: return built(Binary{static_cast<uint8_t>(dice.pick({0, 4, 5, 128})), bytes(dice)});
    case 9: return built(Regex{text(dice, false), dice.pick({"", "i", "im"})});
    case 10: return of(Type::symbol, string_bytes(text(dice)));
    case 11: return of(Type::code, string_bytes(text(dice)));
    case 12: {
      const ObjectId id = object_id(dice);
      return of(Type::db_pointer, string_bytes(text(dice)).append(Value(id).view().bytes()));
    }
    case 13: {
      const Bytes code = string_bytes(text(dice));
      const Document scope = document(dice, depth - 1);
      Bytes whole;
      base::append_le(whole, static_cast<uint32_t>(4 + code.size() + scope.size()));
      return of(Type::code_with_scope, whole.append(code).append(scope.bytes()));
    }
    default: return Value(text(dice));
  }
}

inline Value value(Dice& dice, int depth) {
  const uint64_t choice = dice.below(10);
  if (choice < 4) return number(dice);
  if (choice == 4 && depth > 0) return Value(document(dice, depth - 1));
  if (choice == 5 && depth > 0) return array(dice, depth - 1);
  return scalar(dice, depth);
}

inline std::string field_name(Dice& dice) {
  return dice.chance(90) ? std::string(1, static_cast<char>('a' + dice.below(6))) : text(dice, false);
}

inline Document document(Dice& dice, int depth) {
  Builder builder;
  std::vector<std::string> used;
  for (uint64_t left = depth < 0 ? 0 : dice.below(5); left > 0; --left) {
    const std::string name = field_name(dice);
    if (std::find(used.begin(), used.end(), name) != used.end()) continue;
    used.push_back(name);
    builder.append(name, value(dice, depth));
  }
  return builder.done();
}

inline Value array(Dice& dice, int depth) {
  ArrayBuilder builder;
  for (uint64_t left = dice.below(5); left > 0; --left) builder.append(value(dice, depth));
  return builder.done_value();
}

Document changed(Dice& dice, DocumentView document);

inline Value changed(Dice& dice, const ValueView& value) {
  if (value.is_object() && dice.chance(80)) return Value(changed(dice, value.as_document()));
  if (!value.is_array() || dice.chance(20)) return generators::value(dice, 2);
  ArrayBuilder builder;
  for (const Element& element : value.as_document()) {
    if (dice.chance(15)) continue;
    dice.chance(20) ? builder.append(changed(dice, static_cast<ValueView>(element)))
                    : builder.append(static_cast<ValueView>(element));
  }
  while (dice.chance(30)) builder.append(generators::value(dice, 1));
  return builder.done_value();
}

inline Document changed(Dice& dice, DocumentView document) {
  Builder builder;
  std::vector<Element> late;
  for (const Element& field : document) {
    const uint64_t choice = dice.below(20);
    if (choice == 0) continue;
    if (choice == 1) {
      late.push_back(field);
    } else if (choice < 8) {
      builder.append(field.name, changed(dice, static_cast<ValueView>(field)));
    } else {
      builder.append_element(field);
    }
  }
  for (const Element& field : late) builder.append_element(field);
  if (dice.chance(30) && !document.has("new")) builder.append("new", value(dice, 2));
  return builder.done();
}

// Returns a generator of the values that `make` makes of a stream of choices.
template <class Make>
auto from_dice(Make make) {
  using T = decltype(make(std::declval<Dice&>()));
  return rc::Gen<T>([make](const Random& random, int) {
    Dice dice(random);
    return rc::shrinkable::just(make(dice));
  });
}

}  // namespace generators

// Generates any number of any of the four types.
inline rc::Gen<Value> arbitrary_number() {
  return generators::from_dice(generators::number);
}

// Generates any value, nested to at most `depth` levels.
inline rc::Gen<Value> arbitrary_value(int depth = 3) {
  return generators::from_dice([depth](generators::Dice& dice) { return generators::value(dice, depth); });
}

// Generates any document; the names within it are unique.
inline rc::Gen<Document> arbitrary_document(int depth = 3) {
  return generators::from_dice([depth](generators::Dice& dice) { return generators::document(dice, depth); });
}

// Returns the document with some changes: fields removed, added, moved to the end or altered, at any depth.
inline rc::Gen<Document> changed_document(const Document& document) {
  return generators::from_dice([document](generators::Dice& dice) { return generators::changed(dice, document.view()); });
}

}  // namespace bson

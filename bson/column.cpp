#include "bson/column.h"

#include <cmath>
#include <optional>
#include <vector>

#include "bson/builder.h"
#include "bson/simple8b.h"
#include "bson/validate.h"
#include "bson/validate_value.h"

namespace bson {
namespace {

constexpr size_t word_bytes = 8;
constexpr size_t wide_bytes = 16;
constexpr size_t binary_head_bytes = 5;  // length and subtype
constexpr size_t place_bytes = 8;        // what a value costs beside its own bytes, a missing one too

namespace control {
constexpr uint8_t end = 0;
constexpr uint8_t literal_max = 0x1f;
constexpr uint8_t max_key = 0x7f;
constexpr uint8_t min_key = 0xff;
constexpr uint8_t objects_without_arrays = 0xf0;
constexpr uint8_t arrays = 0xf2;
bool is_literal(uint8_t byte) {
  return byte <= literal_max || byte == max_key || byte == min_key;
}
}  // namespace control

[[noreturn]] void damaged(const std::string& why) {
  throw base::OperationError(base::ErrorCode::bad_value, "The binary data is no compressed column: " + why);
}

// Numbers says how deltas make values of a type.
enum class Numbers : uint8_t { none, of_64_bits, of_deltas, of_128_bits };

Numbers numbers_of(Type type) {
  switch (type) {
    case Type::int32:
    case Type::int64:
    case Type::boolean:
    case Type::number_double: return Numbers::of_64_bits;
    case Type::date:
    case Type::timestamp:
    case Type::object_id: return Numbers::of_deltas;
    case Type::string:
    case Type::code:
    case Type::binary:
    case Type::decimal128: return Numbers::of_128_bits;
    default: return Numbers::none;
  }
}

Wide signed_delta(Wide packed) {
  return (packed >> 1) ^ (~(packed & 1) + 1);
}
uint64_t signed_delta(uint64_t packed) {
  return (packed >> 1) ^ (~(packed & 1) + 1);
}

Wide little_endian(BytesView bytes) {
  Wide number = 0;
  for (size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

void append_little_endian(Bytes& out, Wide number, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(number >> 8 * i));
}

// --- doubles

// A double is multiplied with one of these to be a whole number; with 0, its bits are the number.
double factor_of(uint8_t control) {
  switch (control >> 4) {
    case 0x8: return 0;
    case 0x9: return 1;
    case 0xa: return 10;
    case 0xb: return 100;
    case 0xc: return 1e4;
    case 0xd: return 1e8;
    default: damaged("it has the control byte " + std::to_string(control));
  }
}

int64_t number_of(double value, double factor) {
  if (factor == 0) return std::bit_cast<int64_t>(value);
  constexpr double whole_max = 9007199254740992.0;  // up to 2^53 every whole number is a double
  const double product = value * factor;
  if (!(std::fabs(product) <= whole_max)) damaged("a double is not a whole number by its factor");
  const auto number = static_cast<int64_t>(std::llround(product));
  if (static_cast<double>(number) / factor != value) damaged("a double is not a whole number by its factor");
  return number;
}

double double_of(int64_t number, double factor) {
  return factor == 0 ? std::bit_cast<double>(number) : static_cast<double>(number) / factor;
}

// --- ObjectIds

// The number's bytes, from the lowest, are these of the ObjectId: those of its counter and of its time in turn.
constexpr size_t object_id_places[] = {3, 11, 2, 10, 1, 9, 0};

uint64_t number_of_object_id(BytesView id) {
  uint64_t number = 0;
  int shift = 0;
  for (const size_t place : object_id_places) {
    number |= uint64_t{static_cast<uint8_t>(id[place])} << shift;
    shift += 8;
  }
  return number;
}

Bytes object_id_of(uint64_t number, BytesView before) {
  Bytes id(before);
  for (const size_t place : object_id_places) {
    id[place] = static_cast<char>(number);
    number >>= 8;
  }
  return id;
}

// --- strings

Wide number_of_text(std::string_view text) {
  if (text.size() > wide_bytes || text.starts_with('\0')) return 0;
  Wide number = 0;
  for (const char byte : text) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

Bytes text_of(Wide number) {
  Bytes text;
  for (size_t i = wide_bytes; i-- > 0;) {
    const auto byte = static_cast<char>(number >> 8 * i);
    if (byte != '\0' || !text.empty()) text.push_back(byte);
  }
  Bytes bytes;
  base::append_le(bytes, static_cast<int32_t>(text.size() + 1));
  return bytes.append(text).append(1, '\0');
}

// A Series is the values of one field.
class Series {
 public:
  Series() = default;
  // Deltas may follow this value, which isn't one of the series.
  explicit Series(const ValueView& before) { take(before); }

  void take(const ValueView& literal);
  void take(uint8_t control, BytesView words);
  // Returns the next value that the words give; a missing one has no type. nullopt: there are no words left.
  std::optional<ValueView> next();

 private:
  ValueView add(Wide packed);
  Bytes value_of_64_bits() const;
  Bytes value_of_128_bits() const;

  Value last_;
  uint64_t number_ = 0;  // of the last value
  Wide wide_ = 0;        // likewise
  uint64_t step_ = 0;    // between the last two, where the deltas are of deltas
  double factor_ = 0;
  Simple8bReader words_;
};

void Series::take(const ValueView& literal) {
  last_ = Value(literal);
  words_.reset();
  step_ = 0;
  const BytesView bytes = last_.view().bytes();
  switch (literal.type()) {
    case Type::int32: number_ = static_cast<uint64_t>(int64_t{literal.as_int32()}); break;
    case Type::int64:
    case Type::date:
    case Type::timestamp: number_ = base::load_le<uint64_t>(bytes.data()); break;
    case Type::boolean: number_ = literal.as_bool() ? 1 : 0; break;
    case Type::object_id: number_ = number_of_object_id(bytes); break;
    case Type::string:
    case Type::code: wide_ = number_of_text(literal.as_string()); break;
    case Type::binary: {
      const BytesView data = bytes.substr(binary_head_bytes);
      wide_ = data.size() <= wide_bytes ? little_endian(data) : 0;
      break;
    }
    case Type::decimal128: wide_ = little_endian(bytes); break;
    default: break;
  }
}

void Series::take(uint8_t control, BytesView words) {
  factor_ = factor_of(control);
  if (last_.type() == Type::number_double) number_ = static_cast<uint64_t>(number_of(last_.view().as_double(), factor_));
  words_.go_on(words);
}

std::optional<ValueView> Series::next() {
  switch (words_.next()) {
    case Simple8bReader::Slot::end: return std::nullopt;
    case Simple8bReader::Slot::skipped: return ValueView();
    case Simple8bReader::Slot::integer: break;
  }
  return add(words_.integer());
}

ValueView Series::add(Wide packed) {
  const Numbers numbers = numbers_of(last_.type());
  if (packed == 0 && numbers != Numbers::of_deltas) return last_;
  if (numbers == Numbers::none) damaged("a delta follows a value that is no number");
  if (numbers == Numbers::of_128_bits) {
    wide_ += signed_delta(packed);
    last_ = Value(ValueView(last_.type(), value_of_128_bits()));
    return last_;
  }
  if (packed >> 64 != 0) damaged("a delta has more than 64 bits");
  const uint64_t delta = signed_delta(static_cast<uint64_t>(packed));
  if (numbers == Numbers::of_deltas) {
    step_ += delta;
    number_ += step_;
  } else {
    number_ += delta;
  }
  last_ = Value(ValueView(last_.type(), value_of_64_bits()));
  return last_;
}

Bytes Series::value_of_64_bits() const {
  Bytes bytes;
  const auto number = static_cast<int64_t>(number_);
  switch (last_.type()) {
    case Type::int32:
      if (number != static_cast<int32_t>(number)) damaged("an int32 has more than 32 bits");
      base::append_le(bytes, static_cast<int32_t>(number));
      break;
    case Type::boolean:
      if (number_ > 1) damaged("a boolean is neither true nor false");
      bytes.push_back(static_cast<char>(number));
      break;
    case Type::number_double: base::append_le(bytes, double_of(number, factor_)); break;
    case Type::object_id: return object_id_of(number_, last_.view().bytes());
    default: base::append_le(bytes, number_);
  }
  return bytes;
}

Bytes Series::value_of_128_bits() const {
  const BytesView before = last_.view().bytes();
  if (last_.type() == Type::string || last_.type() == Type::code) return text_of(wide_);
  const size_t head = last_.type() == Type::binary ? binary_head_bytes : 0;
  if (before.size() - head > wide_bytes) damaged("a delta follows binary data of more than 16 bytes");
  Bytes bytes(before.substr(0, head));
  append_little_endian(bytes, wide_, before.size() - head);
  return bytes;
}

class Column {
 public:
  Column(BytesView bytes, ColumnBudget& budget, const std::function<void(size_t, const ValueView&)>& each)
      : left_(bytes), budget_(budget), each_(each) {}

  size_t run() {
    Series series;
    for (;;) {
      const uint8_t control = peek();
      if (control == control::end) break;
      if (control >= control::objects_without_arrays && control <= control::arrays) {
        read_objects();
        // A delta of 0 behind them repeats the last one.
        series = Series(last_object_);
      } else if (read_part(series)) {
        continue;
      } else {
        while (const auto value = series.next()) give(*value);
      }
    }
    left_.remove_prefix(1);
    if (!left_.empty()) damaged("bytes follow its end");
    return places_;
  }

 private:
  uint8_t peek() const {
    if (left_.empty()) damaged("it has no end");
    return static_cast<uint8_t>(left_.front());
  }

  BytesView taken(size_t bytes) {
    if (bytes > left_.size()) damaged("it is cut short");
    const BytesView part = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return part;
  }

  // Reads a literal, which is given at once (true), or words.
  bool read_part(Series& series) {
    const uint8_t control = peek();
    if (!control::is_literal(control)) {
      taken(1);
      series.take(control, taken(((control & 15) + size_t{1}) * word_bytes));
      return false;
    }
    const ValueView value = read_literal();
    series.take(value);
    give(value);
    return true;
  }

  ValueView read_literal() {
    const auto type = static_cast<Type>(taken(1).front());
    if (taken(1).front() != '\0') damaged("a value has a name");
    const ValueView value = validate_value(type, left_).or_throw();
    taken(value.bytes().size());
    return value;
  }

  void charge(size_t bytes) {
    if (bytes > budget_.bytes_left) spent();
    budget_.bytes_left -= bytes;
  }
  [[noreturn]] static void spent() {
    throw base::OperationError(base::ErrorCode::bson_object_too_large, "A compressed column stands for too many values");
  }

  void give(const ValueView& value) {
    if (places_ == budget_.values_max) spent();
    charge(value.bytes().size() + place_bytes);
    if (value.exists()) each_(places_, value);
    ++places_;
  }

  // --- objects

  void read_objects() {
    const auto control = static_cast<uint8_t>(taken(1).front());
    const DocumentView example = validate(left_).or_throw();
    taken(example.size());
    arrays_too_ = control != control::objects_without_arrays;
    const Type type = control == control::arrays ? Type::array : Type::object;
    series_.clear();
    collect(example);
    if (series_.empty()) damaged("its objects have no fields");
    for (;;) {
      at_ = 0;
      // The objects end where the first series wants more, and there is the end.
      Builder out;
      if (!read_fields(example, out)) break;
      const Document object = out.done();
      const bool is_missing = object.view().empty();
      last_object_ = is_missing ? Value() : Value(ValueView(type, object.bytes()));
      give(last_object_);
    }
  }

  bool is_nested(const Element& field) const { return field.is_object() || (arrays_too_ && field.is_array()); }

  void collect(DocumentView example) {
    for (const Element& field : example) {
      if (is_nested(field))
        collect(field.as_document());
      else {
        charge(sizeof(Series));
        series_.emplace_back(field);
      }
    }
  }

  bool read_fields(DocumentView example, Builder& out) {
    for (const Element& field : example) {
      if (!is_nested(field)) {
        const auto value = next_of(series_[at_]);
        if (!value) return false;
        ++at_;
        charge(field.name.size() + value->bytes().size() + place_bytes);
        out.append(field.name, *value);
        continue;
      }
      Builder inner;
      charge(place_bytes);
      if (!read_fields(field.as_document(), inner)) return false;
      const Document nested = inner.done();
      // If nothing is in it, it isn't there, unless it is empty in the example.
      if (nested.view().empty() && !field.as_document().empty()) continue;
      charge(field.name.size() + nested.size() + place_bytes);
      out.append(field.name, ValueView(field.type(), nested.bytes()));
    }
    return true;
  }

  // nullopt: the objects end here.
  std::optional<ValueView> next_of(Series& series) {
    if (auto value = series.next()) return value;
    const uint8_t control = peek();
    if (control == control::end) {
      if (at_ != 0) damaged("its objects end within one");
      taken(1);
      return std::nullopt;
    }
    if (control::is_literal(control)) {
      const ValueView value = read_literal();
      series.take(value);
      return value;
    }
    taken(1);
    series.take(control, taken(((control & 15) + size_t{1}) * word_bytes));
    auto value = series.next();
    if (!value) damaged("words give no value");
    return value;
  }

  BytesView left_;
  ColumnBudget& budget_;
  const std::function<void(size_t, const ValueView&)>& each_;
  size_t places_ = 0;
  bool arrays_too_ = false;
  std::vector<Series> series_;  // of the objects' fields
  size_t at_ = 0;               // in series_
  Value last_object_;
};

}  // namespace

size_t read_column(BytesView column, ColumnBudget& budget, const std::function<void(size_t, const ValueView&)>& each) {
  return Column(column, budget, each).run();
}

}  // namespace bson

#include "bson/key_collation.h"

#include "bson/key_kinds.h"

namespace bson {
namespace {

constexpr int depth_max = 200;             // for damaged keys; documents are no deeper than that
constexpr size_t truncated_bytes = 8;      // of a truncated double
constexpr size_t decimal_tail_bytes = 17;  // behind one that isn't exact
constexpr uint8_t long_length = 0xff;      // four bytes follow with the length

// Copies a key, value by value.
class Copy {
 public:
  Copy(BytesView key, const Collator& collator) : key_(key), collator_(collator) {}

  std::optional<Bytes> run() {
    value(0, true);
    if (!ok_ || at_ != key_.size()) return std::nullopt;
    return std::move(out_);
  }

 private:
  uint8_t byte() {
    if (at_ == key_.size()) ok_ = false;
    if (!ok_) return 0;
    out_.push_back(key_[at_]);
    return static_cast<uint8_t>(key_[at_++]);
  }

  void bytes(size_t count) {
    if (count > key_.size() - at_) ok_ = false;
    if (!ok_) return;
    out_.append(key_.substr(at_, count));
    at_ += count;
  }

  void cstring() {
    while (ok_ && byte() != 0) {
    }
  }

  void string(bool collate) {
    if (!collate) return cstring();
    Bytes text;
    for (;;) {
      if (at_ == key_.size()) ok_ = false;
      if (!ok_) return;
      const char next = key_[at_++];
      if (next == '\0') break;
      if (next != '\1') {
        text.push_back(next);
        continue;
      }
      if (at_ == key_.size() || (key_[at_] != '\1' && key_[at_] != '\2')) ok_ = false;
      if (!ok_) return;
      text.push_back(static_cast<char>(key_[at_++] - 1));
    }
    Bytes sort_key;
    collator_.append_key(sort_key, text);
    for (const char one : sort_key) {
      if (one == '\1') out_.push_back('\1');
      out_.push_back(one == '\1' ? '\2' : one);
    }
    out_.push_back('\0');
  }

  size_t length() {
    const uint8_t first = byte();
    if (first != long_length) return first;
    size_t length = 0;
    for (int i = 0; i < 4; ++i) length = length << 8 | byte();
    return length;
  }

  // The last bit says whether a tail follows; the bytes of a negative number are inverted.
  void truncated(bool negative) {
    bytes(truncated_bytes);
    if (ok_ && last_bit(negative)) bytes(decimal_tail_bytes);
  }
  bool last_bit(bool negative) const { return (static_cast<uint8_t>(out_.back()) & 1) != (negative ? 1 : 0); }

  void number(uint8_t kind) {
    if (kind == number_kind::zero || kind == number_kind::nan || kind == number_kind::infinity ||
        kind == number_kind::negative_infinity)
      return;
    const bool negative = kind < number_kind::zero;
    const int distance = negative ? number_kind::zero - kind : kind - number_kind::zero;
    if (distance == number_kind::small - number_kind::zero || distance == number_kind::large - number_kind::zero)
      return truncated(negative);
    bytes(static_cast<size_t>(distance - (number_kind::whole - number_kind::zero)));
    if (ok_ && last_bit(negative)) truncated(negative);
  }

  void object(int depth, bool collate) {
    while (ok_ && byte() != 0) {
      cstring();
      value(depth, collate);
    }
  }

  void array(int depth, bool collate) {
    while (ok_ && at_ < key_.size() && key_[at_] != '\0') value(depth, collate);
    byte();
  }

  void value(int depth, bool collate) {
    if (depth == depth_max) ok_ = false;
    const uint8_t kind = byte();
    if (!ok_) return;
    if (kind >= number_kind::first && kind <= number_kind::last) return number(kind);
    switch (kind) {
      case kind::min_key:
      case kind::undefined:
      case kind::null:
      case kind::boolean:
      case kind::boolean + 1:
      case kind::max_key: return;
      case kind::string: return string(collate);
      case kind::code: return string(false);
      case kind::object: return object(depth + 1, collate);
      case kind::array: return array(depth + 1, collate);
      case kind::binary: return bytes(length() + 1);  // the subtype comes first
      case kind::object_id: return bytes(12);
      case kind::date:
      case kind::timestamp: return bytes(8);
      case kind::regex: cstring(); return cstring();
      case kind::db_pointer: {
        const size_t all = length();
        if (all < 4) ok_ = false;
        if (ok_) bytes(all - 4);
        return;
      }
      case kind::code_with_scope: string(false); return object(depth + 1, false);
      default: ok_ = false;
    }
  }

  const BytesView key_;
  const Collator& collator_;
  size_t at_ = 0;
  bool ok_ = true;
  Bytes out_;
};

}  // namespace

std::optional<Bytes> collated_key(BytesView key, const Collator& collator) {
  return Copy(key, collator).run();
}

}  // namespace bson

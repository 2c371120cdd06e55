#include "server/query/changes/resume_token.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/hex.h"
#include "server/core/text.h"

namespace server::query {

using bson::Bytes;
using bson::BytesView;

namespace {

constexpr char begin = '\x82', end = '\x04';
constexpr char number_zero = '\x29', number_one_byte = '\x2b';
constexpr int64_t number_max = INT64_MAX / 2;
constexpr int64_t version = 2;
constexpr char no = '\x6e', yes = '\x6f';
constexpr char null = '\x14';
constexpr BytesView uuid_begin("\x5a\x10\x04", 3);
constexpr size_t uuid_bytes = 16;

void append_number(Bytes& out, int64_t number) {
  if (number == 0) {
    out.push_back(number_zero);
    return;
  }
  Bytes doubled;
  base::append_be64(doubled, static_cast<uint64_t>(number) << 1);
  doubled.erase(0, doubled.find_first_not_of('\0'));
  out.push_back(static_cast<char>(number_one_byte + static_cast<char>(doubled.size()) - 1));
  out += doubled;
}

// Reads a token's bytes from the front.
class Reader {
 public:
  explicit Reader(BytesView bytes) : bytes_(bytes) {}
  bool done() const { return bytes_.empty(); }
  bool take(char byte) {
    if (bytes_.empty() || bytes_[0] != byte) return false;
    bytes_.remove_prefix(1);
    return true;
  }
  BytesView take(size_t count) {
    if (bytes_.size() < count) refuse();
    const BytesView taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  int64_t number() {
    if (take(number_zero)) return 0;
    const int bytes = take(size_t{1})[0] - number_one_byte + 1;
    if (bytes < 1 || bytes > 8) refuse();
    uint64_t doubled = 0;
    for (const char byte : take(static_cast<size_t>(bytes))) doubled = doubled << 8 | static_cast<uint8_t>(byte);
    if (doubled / 2 > static_cast<uint64_t>(number_max)) refuse();
    return static_cast<int64_t>(doubled / 2);
  }
  [[noreturn]] static void refuse() {
    throw base::OperationError(base::ErrorCode::invalid_resume_token, "The resume token is not one of this server's");
  }

 private:
  BytesView bytes_;
};

std::string hex_of(BytesView bytes) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    text += digits[static_cast<uint8_t>(byte) >> 4];
    text += digits[static_cast<uint8_t>(byte) & 15];
  }
  return text;
}

Bytes from_hex(std::string_view text) {
  auto bytes = base::from_hex(text);
  if (!bytes) throw base::OperationError(base::ErrorCode::failed_to_parse, "resume token string was not a valid hex string");
  return *std::move(bytes);
}

}  // namespace

bson::Document ResumeToken::document() const {
  Bytes data(1, begin);
  base::append_be64(data, time);
  append_number(data, version);
  append_number(data, static_cast<int64_t>(kind));
  append_number(data, index);
  data.push_back(from_invalidate ? yes : no);
  if (collection.empty()) {
    data.push_back(null);
  } else {
    data.append(uuid_begin);
    data.append(collection);
  }
  if (part) append_number(data, *part);
  data.push_back(end);
  bson::Builder out;
  out.append("_data", hex_of(data));
  return out.done();
}

ResumeToken ResumeToken::parse(bson::DocumentView token) {
  const auto data = token["_data"];
  if (!data.is_string()) throw base::OperationError(40647, "Bad resume token: _data of missing or of wrong type" + show(token));
  if (data.as_string().empty()) throw base::OperationError(40649, "invalid empty resume token");
  const Bytes bytes = from_hex(data.as_string());
  Reader reader(bytes);
  ResumeToken out;
  if (!reader.take(begin)) Reader::refuse();
  out.time = base::load_be64(reader.take(sizeof(uint64_t)).data());
  if (reader.number() != version) Reader::refuse();
  out.kind = static_cast<Kind>(reader.number());
  if (out.kind != Kind::high_water && out.kind != Kind::difference && out.kind != Kind::event) Reader::refuse();
  out.index = reader.number();
  out.from_invalidate = reader.take(yes);
  if (!out.from_invalidate && !reader.take(no)) Reader::refuse();
  if (!reader.take(null)) {
    if (reader.take(uuid_begin.size()) != uuid_begin) Reader::refuse();
    out.collection = Bytes(reader.take(uuid_bytes));
  }
  if (!reader.take(end)) {
    out.part = reader.number();
    if (!reader.take(end)) Reader::refuse();
  }
  if (!reader.done()) Reader::refuse();
  return out;
}

bool ResumeToken::same_event(const ResumeToken& other) const {
  return time == other.time && kind == other.kind && index == other.index && from_invalidate == other.from_invalidate &&
         collection == other.collection;
}

}  // namespace server::query

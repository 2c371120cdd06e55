#include "versions/pack/pack_reader.h"

#include <zstd.h>

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "base/varint.h"
#include "bson/validate.h"
#include "versions/pack/frame.h"

namespace versions::pack {

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw base::OperationError(base::ErrorCode::failed_to_parse, "the pack is damaged: " + what);
}

constexpr size_t parents_max = 16;
constexpr size_t bytes_a_source_gives = 16 << 20;

bson::DocumentView document(BytesView bytes) {
  const auto valid = bson::validate(bytes, {.bytes_max = frame_raw_bytes_max});
  if (!valid.ok()) refuse("a record isn't BSON");
  return valid.value();
}

bson::Element field(bson::DocumentView in, std::string_view name, bson::Type type) {
  const bson::Element found = in.find(name);
  if (!found.exists() || found.type() != type) refuse("field '" + std::string(name) + "' is missing, or of another type");
  return found;
}

BytesView bytes_of(const bson::ValueView& value, std::optional<size_t> length) {
  if (value.type() != bson::Type::binary) refuse("a value isn't binary data");
  const BytesView bytes = value.as_binary().bytes;
  if (length && bytes.size() != *length) refuse("an id has another length");
  return bytes;
}

Hash hash_of(const bson::ValueView& value) {
  return merkle::read_hash(bytes_of(value, sizeof(Hash)).data());
}

Bytes uuid_of(bson::DocumentView in) {
  return Bytes(bytes_of(field(in, "uuid", bson::Type::binary), 16));
}

bson::DocumentView object(const bson::ValueView& value) {
  if (!value.is_object()) refuse("an element of an array isn't an object");
  return value.as_document();
}

Ref ref_of(bson::DocumentView in) {
  Ref ref{.kind = in.find("branch").exists() ? Ref::Kind::branch : Ref::Kind::tag, .name = {}};
  const bson::Element name = field(in, ref.kind == Ref::Kind::branch ? "branch" : "tag", bson::Type::string);
  ref.name = name.as_string();
  ref.commit = hash_of(field(in, "commit", bson::Type::binary));
  return ref;
}

Collection collection_of(bson::DocumentView in) {
  Collection one{.uuid = uuid_of(in),
                 .name = std::string(field(in, "name", bson::Type::string).as_string()),
                 .options = bson::Document(object(field(in, "options", bson::Type::object)))};
  for (const bson::Element& index : field(in, "indexes", bson::Type::array).as_document())
    one.indexes.emplace_back(object(index));
  return one;
}

}  // namespace

// The pack's bytes as they are asked for.
class PackReader::Input {
 public:
  explicit Input(Source source) : source_(std::move(source)), context_(ZSTD_createDCtx(), ZSTD_freeDCtx) {
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, window_log);
  }

  // Valid until the next call.
  BytesView take(size_t bytes, bool hashed = true) {
    if (at_ > 0 && held_.size() - at_ < bytes) held_.erase(0, std::exchange(at_, 0));
    while (held_.size() - at_ < bytes) {
      const Bytes more = source_();
      if (more.empty()) refuse("it is cut short");
      if (more.size() > bytes_a_source_gives) refuse("a piece of it is too large");
      held_.append(more);
    }
    const BytesView taken(held_.data() + at_, bytes);
    at_ += bytes;
    if (hashed) hash_.add(taken);
    return taken;
  }
  bool at_end() { return at_ == held_.size() && source_().empty(); }
  Hash hash() { return hash_.done(); }

  void decompress(BytesView compressed, size_t raw, Bytes& out) {
    // The length that the frame itself says bounds what is made.
    if (ZSTD_getFrameContentSize(compressed.data(), compressed.size()) != raw) refuse("a frame says two lengths");
    out.resize(raw);
    const size_t made = ZSTD_decompressDCtx(context_.get(), out.data(), raw, compressed.data(), compressed.size());
    if (ZSTD_isError(made) || made != raw) refuse("a frame can't be decompressed");
  }

 private:
  Source source_;
  Bytes held_;
  size_t at_ = 0;
  Sha256 hash_;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_;
};

PackReader::PackReader(Source source) : input_(std::make_unique<Input>(std::move(source))) {
  const BytesView first = input_->take(magic.size());
  if (first.substr(0, magic.size() - 1) != magic.substr(0, magic.size() - 1)) refuse("it doesn't begin as a pack does");
  if (first.back() != magic.back())
    throw base::OperationError(base::ErrorCode::unsupported_format, "the pack has a version that this server doesn't know");
  read_header();
}

PackReader::~PackReader() = default;

void PackReader::read_frame() {
  const auto raw = base::load_le<uint32_t>(input_->take(4).data());
  if (raw == 0) refuse("it ends before its last record");
  const auto bytes = base::load_le<uint32_t>(input_->take(4).data());
  if (raw > frame_raw_bytes_max || bytes > frame_bytes_max) refuse("a frame is too long");
  const auto checksum = base::load_le<uint64_t>(input_->take(8).data());
  const BytesView compressed = input_->take(bytes);
  if (base::hash64(compressed) != checksum) refuse("a frame's checksum is another one");
  input_->decompress(compressed, raw, frame_);
  at_ = 0;
}

// The record is valid until the next call.
bool PackReader::next_record(char& type, BytesView& body) {
  if (ended_) return false;
  if (at_ == frame_.size()) read_frame();
  BytesView rest(frame_.data() + at_, frame_.size() - at_);
  type = rest.front();
  rest.remove_prefix(1);
  const auto length = base::take_varint(rest);
  if (!length || *length > rest.size()) refuse("a record is cut short");
  body = rest.substr(0, *length);
  at_ = frame_.size() - rest.size() + *length;
  return true;
}

void PackReader::read_header() {
  char type = 0;
  BytesView body;
  if (!next_record(type, body) || type != header_record) refuse("it has no header");
  const bson::DocumentView in = document(body);
  header_.database = field(in, "database", bson::Type::string).as_string();
  if (in.has("first")) header_.first = hash_of(in.find("first"));
  for (const bson::Element& one : field(in, "standsOn", bson::Type::array).as_document()) {
    header_.stands_on.push_back(hash_of(one));
    known_.emplace(merkle::view(header_.stands_on.back()));
  }
  if (in.has("excluded")) {
    for (const bson::Element& one : field(in, "excluded", bson::Type::array).as_document()) {
      header_.excluded.push_back(hash_of(one));
      excluded_.emplace(merkle::view(header_.excluded.back()));
      if (known_.contains(std::string(merkle::view(header_.excluded.back())))) refuse("it stands on a commit that it excludes");
    }
  }
  for (const bson::Element& one : field(in, "refs", bson::Type::array).as_document()) header_.refs.push_back(ref_of(object(one)));
  for (const bson::Element& one : field(in, "collections", bson::Type::array).as_document()) {
    header_.collections.push_back(collection_of(object(one)));
    if (!collections_.insert(header_.collections.back().uuid).second) refuse("a collection is there twice");
  }
}

PackReader::Item PackReader::next() {
  char type = 0;
  BytesView body;
  if (!next_record(type, body)) return {};
  if (type == header_record) refuse("it has two headers");
  if (type == commit_record) return commit_of(body);
  if (type == end_record) {
    end(body);
    return {};
  }
  return row_of(type, body);
}

Commit PackReader::commit_of(BytesView body) {
  const bson::DocumentView in = document(body);
  Commit commit{.id = hash_of(field(in, "commit", bson::Type::binary)),
                .time_ms = field(in, "time", bson::Type::date).as_date().ms,
                .metadata = Bytes(bytes_of(field(in, "metadata", bson::Type::binary), std::nullopt))};
  for (const bson::Element& one : field(in, "parents", bson::Type::array).as_document()) {
    commit.parents.push_back(hash_of(one));
    const std::string parent(merkle::view(commit.parents.back()));
    if (!known_.contains(parent) && !excluded_.contains(parent)) refuse("a commit comes before its parent");
  }
  if (in.has("against")) {
    commit.against = hash_of(field(in, "against", bson::Type::binary));
    if (commit.against != Hash{} && !known_.contains(std::string(merkle::view(*commit.against))))
      refuse("a commit's rows are against a commit that comes later, or not at all");
  }
  const bool has_base = !commit.parents.empty() && !excluded_.contains(std::string(merkle::view(commit.parents.front())));
  if (has_base && commit.against) refuse("a commit's rows are against another commit than its first parent, which is there");
  if (!has_base && !commit.parents.empty() && !commit.against) refuse("a commit's rows are against a parent that is excluded");
  commit.purged = field(in, "purged", bson::Type::boolean).as_bool();
  if (commit.parents.size() > parents_max) refuse("a commit has too many parents");
  std::unordered_set<Bytes> uuids;
  for (const bson::Element& one : field(in, "roots", bson::Type::array).as_document()) {
    const bson::DocumentView root = object(one);
    if (!uuids.insert(uuid_of(root)).second) refuse("a commit has a collection twice");
    const bson::Element tree = root.find("tree");
    commit.roots.push_back({.uuid = uuid_of(root),
                            .root = hash_of(field(root, "root", bson::Type::binary)),
                            .tree = tree.exists() ? bson::Document(object(tree)) : bson::Document()});
    if (!collections_.contains(commit.roots.back().uuid)) refuse("a commit has a collection that the header doesn't know");
  }
  if (id_of(commit) != commit.id) refuse("a commit isn't what its id says");
  if (!known_.emplace(merkle::view(commit.id)).second) refuse("a commit is there twice");
  if (excluded_.contains(std::string(merkle::view(commit.id)))) refuse("a commit comes that it excludes");
  ++commits_;
  purged_ = commit.purged;
  return commit;
}

Row PackReader::row_of(char type, BytesView body) const {
  const char* const found = std::find(std::begin(row_records), std::end(row_records), type);
  if (found == std::end(row_records)) refuse("a record has an unknown type");
  if (commits_ == 0) refuse("a row comes before the first commit");
  Row row{.kind = static_cast<Row::Kind>(found - std::begin(row_records))};
  const auto collection = base::take_varint(body);
  if (!collection || *collection >= header_.collections.size()) refuse("a row is of an unknown collection");
  row.collection = static_cast<uint32_t>(*collection);
  const auto key_bytes = base::take_varint(body);
  if (!key_bytes || *key_bytes == 0 || *key_bytes > body.size()) refuse("a row has no key");
  row.key = body.substr(0, *key_bytes);
  row.body = body.substr(*key_bytes);
  if (row.kind == Row::Kind::remove && !row.body.empty()) refuse("a row that removes a document has more than its key");
  if (row.kind == Row::Kind::named && (!purged_ || row.body.size() != sizeof(Hash))) refuse("a row of a purged document is none");
  return row;
}

void PackReader::end(BytesView body) {
  const auto count = base::take_varint(body);
  if (!count || !body.empty() || *count != commits_) refuse("its end says another number of commits");
  for (const Ref& ref : header_.refs) {
    if (!known_.contains(std::string(merkle::view(ref.commit)))) refuse("a ref names a commit that it doesn't have");
  }
  if (at_ != frame_.size()) refuse("records come after its end");
  if (base::load_le<uint32_t>(input_->take(4).data()) != 0) refuse("frames come after its end");
  const Hash hash = input_->hash();
  if (input_->take(sizeof(Hash), false) != merkle::view(hash)) refuse("its SHA-256 is another one");
  if (!input_->at_end()) refuse("bytes come after its end");
  ended_ = true;
}

}  // namespace versions::pack

#include "versions/pack/pack_writer.h"

#include <zstd.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/varint.h"
#include "bson/builder.h"
#include "versions/pack/frame.h"

namespace versions::pack {

namespace {

// Revisions of a document may be far apart in a frame, and a table of this size finds most of them again. zstd's long distance
// matching isn't used: it takes the long matches that it samples, in place of better ones.
constexpr int level = 6, hash_log = 20;
constexpr size_t record_head_bytes_max = 1 + 10;

bson::Binary binary(BytesView bytes, uint8_t subtype = 0) {
  return {subtype, bytes};
}
bson::Binary binary(const Hash& hash) {
  return binary(merkle::view(hash));
}

bson::Document document_of(const Header& header) {
  bson::Builder out;
  out.append("database", header.database);
  if (header.first) out.append("first", binary(*header.first));
  {
    auto all = out.array("standsOn");
    for (const Hash& one : header.stands_on) all.append(binary(one));
  }
  if (!header.excluded.empty()) {
    auto all = out.array("excluded");
    for (const Hash& one : header.excluded) all.append(binary(one));
  }
  {
    auto all = out.array("refs");
    for (const Ref& one : header.refs) {
      auto ref = all.object();
      ref.append(one.kind == Ref::Kind::branch ? "branch" : "tag", one.name).append("commit", binary(one.commit));
    }
  }
  {
    auto all = out.array("collections");
    for (const Collection& one : header.collections) {
      auto collection = all.object();
      collection.append("uuid", binary(one.uuid, 4)).append("name", one.name).append("options", one.options);
      auto indexes = collection.array("indexes");
      for (const bson::Document& index : one.indexes) indexes.append(index);
    }
  }
  return out.done();
}

bson::Document document_of(const Commit& commit) {
  bson::Builder out;
  out.append("commit", binary(commit.id)).append("time", bson::Date{commit.time_ms});
  out.append("metadata", binary(commit.metadata)).append("purged", commit.purged);
  if (commit.against) out.append("against", binary(*commit.against));
  {
    auto all = out.array("parents");
    for (const Hash& one : commit.parents) all.append(binary(one));
  }
  {
    auto all = out.array("roots");
    for (const Root& one : commit.roots) {
      auto root = all.object();
      root.append("uuid", binary(one.uuid, 4)).append("root", binary(one.root));
      if (!one.tree.view().empty()) root.append("tree", one.tree);
    }
  }
  return out.done();
}

}  // namespace

class PackWriter::Compressor {
 public:
  Compressor() : context_(ZSTD_createCCtx(), ZSTD_freeCCtx) {
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_windowLog, window_log);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_hashLog, hash_log);
  }
  Bytes compressed(BytesView raw) {
    Bytes out(ZSTD_compressBound(raw.size()), '\0');
    const size_t bytes = ZSTD_compress2(context_.get(), out.data(), out.size(), raw.data(), raw.size());
    base::check(!ZSTD_isError(bytes), "zstd compresses into a buffer that is large enough");
    out.resize(bytes);
    return out;
  }
  Sha256 hash;

 private:
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_;
};

PackWriter::PackWriter(const Header& header) : compressor_(std::make_unique<Compressor>()) {
  put(magic);
  record(header_record, document_of(header).bytes());
}

PackWriter::~PackWriter() = default;

void PackWriter::put(BytesView bytes) {
  compressor_->hash.add(bytes);
  out_.append(bytes);
}

void PackWriter::record(char type, BytesView a, BytesView b) {
  if (frame_.size() + record_head_bytes_max + a.size() + b.size() > frame_raw_bytes_max) end_frame();
  const size_t before = frame_.size();
  frame_.push_back(type);
  base::append_varint(frame_, a.size() + b.size());
  frame_.append(a).append(b);
  raw_bytes_ += frame_.size() - before;
  if (frame_.size() >= frame_raw_bytes) end_frame();
}

void PackWriter::end_frame() {
  if (frame_.empty()) return;
  const Bytes compressed = compressor_->compressed(frame_);
  Bytes head;
  base::append_le(head, static_cast<uint32_t>(frame_.size()));
  base::append_le(head, static_cast<uint32_t>(compressed.size()));
  base::append_le(head, base::hash64(compressed));
  put(head);
  put(compressed);
  frame_.clear();
}

void PackWriter::add(const Commit& commit) {
  ++commits_;
  record(commit_record, document_of(commit).bytes());
}

void PackWriter::add(const Row& row) {
  Bytes head;
  base::append_varint(head, row.collection);
  base::append_varint(head, row.key.size());
  head.append(row.key);
  record(row_records[static_cast<size_t>(row.kind)], head, row.body);
}

void PackWriter::finish() {
  Bytes count;
  base::append_varint(count, commits_);
  record(end_record, count);
  end_frame();
  Bytes zero;
  base::append_le(zero, uint32_t{0});
  put(zero);
  out_.append(merkle::view(compressor_->hash.done()));
}

Bytes PackWriter::take(size_t bytes_max) {
  if (out_.size() <= bytes_max) return std::exchange(out_, {});
  Bytes first = out_.substr(0, bytes_max);
  out_.erase(0, bytes_max);
  return first;
}

}  // namespace versions::pack

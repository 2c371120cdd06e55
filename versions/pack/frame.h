// These are the bytes around a pack's records.
//
//   frame   raw length 4, LE | length 4, LE | xxh3-64 of the rest, 8, LE | zstd frame
//   end     raw length 0 | SHA-256 of all before, 32
//   record  type | length varint | body
#pragma once

#include <openssl/evp.h>

#include <memory>

#include "versions/pack/pack.h"

namespace versions::pack {

constexpr size_t frame_raw_bytes = 48 << 20;  // a frame ends with the record that reaches this
constexpr size_t frame_raw_bytes_max = 64 << 20;
constexpr size_t frame_bytes_max = frame_raw_bytes_max + (1 << 20);
constexpr int window_log = 26;  // a frame is one window

// These are the types of records.
constexpr char header_record = 'h', commit_record = 'c', end_record = 'e';
constexpr char row_records[] = {'i', 'r', 'u', 'd', 'p'};  // by Row::Kind

// SHA-256 of what comes piece by piece.
class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }
  void add(BytesView bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  Hash done() {
    Hash hash{};
    EVP_DigestFinal_ex(context_.get(), hash.data(), nullptr);
    return hash;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace versions::pack

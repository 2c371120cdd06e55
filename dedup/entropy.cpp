#include "dedup/entropy.h"

#define ZSTD_STATIC_LINKING_ONLY  // the format without magic number
#include <zstd.h>

#include "base/error.h"
#include "base/varint.h"

namespace dedup {

namespace {

constexpr size_t delta_bytes_min = 16;  // shorter ones never get smaller
constexpr int window_log_max = 27;

void must(size_t result) {
  base::check(!ZSTD_isError(result), ZSTD_getErrorName(result));
}

// Contexts are large and keep nothing from one call to the next, so each thread has one.
ZSTD_CCtx* packing_context() {
  thread_local const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context = [] {
    ZSTD_CCtx* made = ZSTD_createCCtx();
    base::check(made != nullptr, "no memory for a zstd context");
    must(ZSTD_CCtx_setParameter(made, ZSTD_c_format, ZSTD_f_zstd1_magicless));
    must(ZSTD_CCtx_setParameter(made, ZSTD_c_dictIDFlag, 0));
    must(ZSTD_CCtx_setParameter(made, ZSTD_c_checksumFlag, 0));
    return std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)>(made, ZSTD_freeCCtx);
  }();
  // After a failure a context would refuse another dictionary, and keep the last.
  must(ZSTD_CCtx_reset(context.get(), ZSTD_reset_session_only));
  return context.get();
}

ZSTD_DCtx* unpacking_context() {
  thread_local const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context = [] {
    ZSTD_DCtx* made = ZSTD_createDCtx();
    base::check(made != nullptr, "no memory for a zstd context");
    must(ZSTD_DCtx_setParameter(made, ZSTD_d_format, ZSTD_f_zstd1_magicless));
    must(ZSTD_DCtx_setParameter(made, ZSTD_d_windowLogMax, window_log_max));
    return std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)>(made, ZSTD_freeDCtx);
  }();
  must(ZSTD_DCtx_reset(context.get(), ZSTD_reset_session_only));
  return context.get();
}

base::Failure damaged(const std::string& what) {
  return {base::ErrorCode::data_corruption_detected, "damaged packed delta: " + what};
}

}  // namespace

struct EntropyCoder::Dictionary {
  std::unique_ptr<ZSTD_CDict, size_t (*)(ZSTD_CDict*)> packing;
  std::unique_ptr<ZSTD_DDict, size_t (*)(ZSTD_DDict*)> unpacking;
};

EntropyCoder::EntropyCoder(int level) : level_(level) {}
EntropyCoder::~EntropyCoder() = default;
EntropyCoder::EntropyCoder(EntropyCoder&&) noexcept = default;
EntropyCoder& EntropyCoder::operator=(EntropyCoder&&) noexcept = default;

std::optional<base::Failure> EntropyCoder::add_dictionary(uint32_t version, BytesView dictionary) {
  const auto refused = [&](const char* what) {
    return base::Failure{base::ErrorCode::bad_value, "dictionary " + std::to_string(version) + ": " + what};
  };
  if (version == 0) return refused("version 0 means none");
  if (dictionaries_.contains(version)) return refused("the version is taken");
  if (ZSTD_getDictID_fromDict(dictionary.data(), dictionary.size()) == 0) return refused("not a zstd dictionary");
  auto made =
      std::make_unique<Dictionary>(Dictionary{{ZSTD_createCDict(dictionary.data(), dictionary.size(), level_), ZSTD_freeCDict},
                                              {ZSTD_createDDict(dictionary.data(), dictionary.size()), ZSTD_freeDDict}});
  if (!made->packing || !made->unpacking) return refused("damaged");
  dictionaries_.emplace(version, std::move(made));
  return std::nullopt;
}

void EntropyCoder::drop_dictionary(uint32_t version) {
  dictionaries_.erase(version);
}

uint32_t EntropyCoder::version() const {
  return dictionaries_.empty() ? 0 : dictionaries_.rbegin()->first;
}

size_t EntropyCoder::memory_bytes() const {
  size_t bytes = 0;
  for (const auto& [version, dictionary] : dictionaries_)
    bytes += ZSTD_sizeof_CDict(dictionary->packing.get()) + ZSTD_sizeof_DDict(dictionary->unpacking.get());
  return bytes;
}

std::optional<Bytes> EntropyCoder::pack(BytesView delta) const {
  if (delta.size() < delta_bytes_min) return std::nullopt;
  ZSTD_CCtx* context = packing_context();
  must(ZSTD_CCtx_refCDict(context, dictionaries_.empty() ? nullptr : dictionaries_.rbegin()->second->packing.get()));
  must(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level_));  // a dictionary has its own
  Bytes packed;
  packed.reserve(delta.size());
  base::append_varint(packed, version());
  const size_t header = packed.size();
  // There is room for one byte less than the delta, because a result that doesn't fit isn't wanted.
  packed.resize(delta.size() - 1);
  const size_t bytes = ZSTD_compress2(context, packed.data() + header, packed.size() - header, delta.data(), delta.size());
  if (ZSTD_isError(bytes)) return std::nullopt;
  packed.resize(header + bytes);
  return packed;
}

base::Result<Bytes> EntropyCoder::unpack(BytesView packed, size_t delta_bytes_max) const {
  const auto version = base::take_varint(packed);
  ZSTD_frameHeader header{};
  if (!version || ZSTD_getFrameHeader_advanced(&header, packed.data(), packed.size(), ZSTD_f_zstd1_magicless) != 0 ||
      header.frameContentSize == ZSTD_CONTENTSIZE_UNKNOWN)
    return damaged("header");
  if (header.frameContentSize > delta_bytes_max) return damaged("makes more than allowed");
  ZSTD_DCtx* context = unpacking_context();
  const ZSTD_DDict* dictionary = nullptr;
  if (*version != 0) {
    const auto found = *version <= UINT32_MAX ? dictionaries_.find(static_cast<uint32_t>(*version)) : dictionaries_.end();
    if (found == dictionaries_.end()) return damaged("no dictionary " + std::to_string(*version));
    dictionary = found->second->unpacking.get();
  }
  must(ZSTD_DCtx_refDDict(context, dictionary));
  Bytes delta(header.frameContentSize, '\0');
  const size_t made = ZSTD_decompressDCtx(context, delta.data(), delta.size(), packed.data(), packed.size());
  if (ZSTD_isError(made)) return damaged(ZSTD_getErrorName(made));
  if (made != delta.size()) return damaged("length");
  return delta;
}

std::optional<uint32_t> EntropyCoder::version_of(BytesView packed) {
  const auto version = base::take_varint(packed);
  if (!version || *version > UINT32_MAX) return std::nullopt;
  return static_cast<uint32_t>(*version);
}

}  // namespace dedup

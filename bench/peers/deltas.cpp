#include "bench/peers/deltas.h"

extern "C" {
#include <xdelta3.h>
}
#include <zstd.h>

#include <memory>

#include "base/error.h"

namespace bench {
namespace {

Bytes zstd_delta(BytesView source, BytesView target, int level) {
  thread_local const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_reset(context.get(), ZSTD_reset_session_and_parameters);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, 1);
  ZSTD_CCtx_refPrefix(context.get(), source.data(), source.size());
  Bytes delta(ZSTD_compressBound(target.size()), '\0');
  const size_t bytes = ZSTD_compress2(context.get(), delta.data(), delta.size(), target.data(), target.size());
  base::check(!ZSTD_isError(bytes), "zstd makes a delta");
  delta.resize(bytes);
  return delta;
}

}  // namespace

Bytes xdelta3_delta(BytesView source, BytesView target) {
  Bytes delta(target.size() * 2 + 1024, '\0');
  usize_t bytes = 0;
  const int error = xd3_encode_memory(base::as_u8(target), target.size(), base::as_u8(source), source.size(),
                                      reinterpret_cast<uint8_t*>(delta.data()), &bytes, delta.size(), 0);
  base::check(error == 0, "xdelta3 makes a delta");
  delta.resize(bytes);
  return delta;
}

Bytes zstd_delta_1(BytesView source, BytesView target) {
  return zstd_delta(source, target, 1);
}
Bytes zstd_delta_3(BytesView source, BytesView target) {
  return zstd_delta(source, target, 3);
}

}  // namespace bench

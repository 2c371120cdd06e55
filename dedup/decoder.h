// The decoder makes a content whole again: it walks from delta to base until it meets a content that is kept whole, then applies
// the deltas on the way back.
//
// It trusts nothing that the store returns: bases must rank above what they encode, the
// length and checksum of the content asked for must be right, and the walk is bounded in
// hops and in bytes. The deltas are applied together (delta_chain.h); contents on the
// way are made one by one only when the result is wrong, to name the first that is
// wrong. With a cache, a hop base that most of the way lies behind is made too, and
// kept.
#pragma once

#include "base/result.h"
#include "dedup/content.h"

namespace dedup {

class HopBaseCache;

// The form in which a content is kept.
struct StoredForm {
  bool raw = true;
  Bytes bytes;              // the content, or the delta that makes it out of `base`
  ContentId base;           // unused when raw
  uint32_t checksum = 0;    // base::checksum32 of the content
  uint32_t raw_bytes = 0;   // length of the content
  BytesView borrowed = {};  // or, where `bytes` is empty, where they lie: valid until the decode is over

  BytesView view() const { return bytes.empty() ? borrowed : BytesView(bytes); }
};

// The caller implements this to give stored forms by name.
class FormSource {
 public:
  virtual ~FormSource() = default;
  virtual base::Result<StoredForm> fetch_form(const ContentId& id) = 0;
};

struct DecodeLimits {
  uint32_t hops_max = 1024;
  size_t chain_bytes_max = 64 << 20;   // read, and made on the way
  size_t output_bytes_max = 32 << 20;  // for any one content
};

struct DecodeStats {  // hops behind a hop base that was cached are counted as well
  uint32_t hops = 0;  // deltas applied
  size_t chain_bytes = 0;
};

// Fails with DataCorruptionDetected, naming the content and the member of its chain that is wrong; failures of the plug pass
// through. Adds to `stats`. With a cache the walk ends at a hop base that is in it; a caller that fails then reads without one to
// learn what is wrong.
base::Result<Bytes> decode(const ContentId& id, FormSource& forms, const DecodeLimits& limits = {}, DecodeStats* stats = nullptr,
                           HopBaseCache* cache = nullptr);

}  // namespace dedup

// The input is any bytes. They are no varint, or one that is written back as it was, but for zeroes at its end, which say
// nothing.
#include "base/fuzz_target.h"
#include "base/varint.h"

namespace {

bool run(base::BytesView input) {
  base::BytesView in = input;
  const auto value = base::take_varint(in);
  if (!value) return false;
  base::Bytes back;
  base::append_varint(back, *value);
  base::check(back.size() == base::varint_bytes(*value) && back.size() <= input.size() - in.size());
  base::BytesView again = back;
  base::check(base::take_varint(again) == value && again.empty());
  base::check(base::zigzag(base::unzigzag(*value)) == *value);
  return true;
}

std::vector<base::Bytes> seeds() {
  std::vector<base::Bytes> out;
  for (const uint64_t value : {uint64_t{0}, uint64_t{127}, uint64_t{300}, uint64_t{1} << 63, UINT64_MAX})
    base::append_varint(out.emplace_back(), value);
  return out;
}

const base::FuzzTarget target("varint", run, seeds);

}  // namespace

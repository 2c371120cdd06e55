// The input is a source and a delta. The delta is refused, or gives the same content by each way to apply it, of the length that
// the delta says. The same bytes are two contents, too, which are encoded and decoded.
//
//   | bytes of the source, 1 | source … | delta … |
#include "base/fuzz_target.h"
#include "dedup/delta.h"
#include "dedup/delta_chain.h"

namespace {

using namespace dedup;

constexpr size_t output_bytes_max = 1 << 20;

bool check_apply(BytesView source, BytesView delta) {
  const auto made = dedup::apply(source, delta, {.output_bytes_max = output_bytes_max});
  Bytes onto(source), spare;
  const auto failure = apply_onto(onto, delta, spare, {.output_bytes_max = output_bytes_max});
  base::check(made.ok() == !failure.has_value());
  if (!made.ok()) {
    base::check(onto == source, "a content that a delta doesn't fit stays as it was");
    return false;
  }
  base::check(made.value().size() <= output_bytes_max && onto == made.value());
  base::check(target_bytes(delta) == made.value().size() && makes(source, delta, made.value()));
  return true;
}

// The first delta is applied to what the second makes of the source.
void check_chain(BytesView source, BytesView first, BytesView second) {
  const auto between_bytes = target_bytes(second), made_bytes = target_bytes(first);
  if (!between_bytes || !made_bytes || *between_bytes > output_bytes_max || *made_bytes > output_bytes_max) return;
  const DeltaLink links[] = {{first, *made_bytes}, {second, *between_bytes}};
  const auto chained = apply_chain(source, links);
  const auto between = dedup::apply(source, second);
  const auto made = between.ok() ? dedup::apply(between.value(), first) : between;
  base::check(!made.ok() || (chained.ok() && chained.value() == made.value()), "a chain makes what its deltas make in turn");
}

void check_encode(BytesView source, BytesView target, const DeltaOptions& options) {
  const auto both = encode_two_way(source, target, options);
  base::check(both.has_value());
  base::check(dedup::apply(source, both->forward).value() == target && dedup::apply(target, both->backward).value() == source);
}

bool run(BytesView input) {
  if (input.empty()) return false;
  const BytesView source = input.substr(1, static_cast<uint8_t>(input[0]));
  const BytesView rest = input.substr(1 + source.size());
  const bool applied = check_apply(source, rest);
  check_chain(source, rest, rest);
  check_chain(source, rest.substr(rest.size() / 2), rest.substr(0, rest.size() / 2));
  check_encode(source, rest, {});
  check_encode(source, rest, {.method = DeltaMethod::anchors, .anchor_interval = 16});
  return applied;
}

std::vector<Bytes> seeds() {
  const Bytes source = "some words that stay, a word that goes, and some words more that stay where they are until the end",
              moved = "some words more that stay where they are until the end, some words that stay, and a new one";
  const Bytes begin = Bytes(1, static_cast<char>(source.size())) + source;
  return {begin + encode(source, moved).value(), begin + encode(source, source).value(), Bytes(2, '\0')};
}

const base::FuzzTarget target("delta", run, seeds);

}  // namespace

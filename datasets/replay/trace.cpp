#include "datasets/replay/trace.h"

#include <algorithm>
#include <cmath>

namespace datasets::replay {
namespace {
constexpr std::pair<std::string_view, Trace> names[] = {{"insert", Trace::insert},
                                                        {"mail", Trace::mail},
                                                        {"threads", Trace::threads},
                                                        {"views", Trace::views},
                                                        {"wiki", Trace::wiki}};
}

std::optional<Trace> trace_of(std::string_view name) {
  for (const auto& [text, trace] : names) {
    if (text == name) return trace;
  }
  return std::nullopt;
}

std::string_view trace_name(Trace trace) {
  for (const auto& [text, value] : names) {
    if (value == trace) return text;
  }
  return "?";
}

void Popularity::written(std::string_view collection, uint64_t page, const bson::ValueView& id) {
  const auto named = std::find(collections_.begin(), collections_.end(), collection);
  const auto number = static_cast<uint32_t>(named - collections_.begin());
  if (named == collections_.end()) collections_.emplace_back(collection);
  const Known known{number, bson::Value(id)};
  const auto [at, fresh] = page_at_.try_emplace(page, static_cast<uint32_t>(latest_.size()));
  if (fresh)
    latest_.push_back(known);
  else
    latest_[at->second] = known;
  ++written_;
  if (sample_.size() < sample_max)
    sample_.push_back(known);
  else if (const uint64_t slot = random_.below(written_); slot < sample_max)
    sample_[slot] = known;
}

std::optional<Popularity::Wanted> Popularity::next_read() {
  if (latest_.empty()) return std::nullopt;
  const Known* known;
  if (random_.below(1000) < 997) {
    // The rank is r with a probability near 1/r.
    const auto rank = static_cast<size_t>(std::exp(random_.unit() * std::log(static_cast<double>(latest_.size() + 1)))) - 1;
    known = &latest_[std::min(rank, latest_.size() - 1)];
  } else {
    known = &sample_[random_.below(sample_.size())];
  }
  return Wanted{collections_[known->collection], known->id.view()};
}

}  // namespace datasets::replay

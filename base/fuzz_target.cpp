#include "base/fuzz_target.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace base {
namespace {

std::vector<const FuzzTarget*>& registered() {
  static std::vector<const FuzzTarget*> targets;
  return targets;
}

}  // namespace

FuzzTarget::FuzzTarget(std::string name, Run run, Seeds seeds) : name_(std::move(name)), run_(run), seeds_(seeds) {
  check(find(name_) == nullptr, "two fuzz targets have one name");
  registered().push_back(this);
}

bool FuzzTarget::run(BytesView input) const {
  const auto copy = std::make_unique<char[]>(input.size());
  if (!input.empty()) std::memcpy(copy.get(), input.data(), input.size());
  return run_({copy.get(), input.size()});
}

std::vector<const FuzzTarget*> FuzzTarget::all() {
  auto targets = registered();
  std::sort(targets.begin(), targets.end(), [](const auto* a, const auto* b) { return a->name() < b->name(); });
  return targets;
}

const FuzzTarget* FuzzTarget::find(std::string_view name) {
  for (const FuzzTarget* target : registered()) {
    if (target->name() == name) return target;
  }
  return nullptr;
}

uint64_t FuzzReader::number() {
  uint64_t value = 0;
  const size_t bytes = std::min(left_.size(), sizeof value);
  if (bytes > 0) std::memcpy(&value, left_.data(), bytes);
  left_.remove_prefix(bytes);
  return value;
}

BytesView FuzzReader::part() {
  if (left_.size() < 2) return {};
  const auto bytes = load_le<uint16_t>(left_.data());
  left_.remove_prefix(2);
  const BytesView part = left_.substr(0, bytes);
  left_.remove_prefix(part.size());
  return part;
}

FuzzWriter& FuzzWriter::number(uint64_t value) {
  append_le(out_, value);
  return *this;
}

FuzzWriter& FuzzWriter::part(BytesView bytes) {
  check(bytes.size() <= UINT16_MAX, "a part of a fuzz input is this short");
  append_le(out_, static_cast<uint16_t>(bytes.size()));
  out_.append(bytes);
  return *this;
}

}  // namespace base

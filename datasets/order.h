// Items in the order of their timestamps, as they were really written.
//
// Items go through a temporary file; memory holds 16 bytes an item. Items of
// the same moment keep their order.
#pragma once

#include <memory>
#include <vector>

#include "datasets/loader.h"
#include "datasets/spool.h"

namespace datasets {

class TimestampOrder : public Loader {
 public:
  explicit TimestampOrder(std::unique_ptr<Loader> from) : from_(std::move(from)) {}

  std::optional<Item> next() override;
  // Reading the input counts as the first half.
  double fraction() const override;

 private:
  struct Place {
    int64_t timestamp_ms;
    uint64_t at;
    auto operator<=>(const Place&) const = default;
  };
  void read_all();

  std::unique_ptr<Loader> from_;
  Spool spool_;
  std::vector<Place> places_;
  size_t given_ = 0;
  bool read_ = false;
};

}  // namespace datasets

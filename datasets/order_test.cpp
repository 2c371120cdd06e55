#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <algorithm>

#include "bson/builder.h"
#include "datasets/order.h"
#include "datasets/test_support.h"

namespace datasets {
namespace {

class FromVector : public Loader {
 public:
  explicit FromVector(std::vector<Item> items) : items_(std::move(items)) {}
  std::optional<Item> next() override { return at_ == items_.size() ? std::nullopt : std::optional(items_[at_++]); }

 private:
  std::vector<Item> items_;
  size_t at_ = 0;
};

TEST_CASE("timestamp order is a stable sort") {
  CHECK(rc::check("same items, same order as std::stable_sort", [](const std::vector<int8_t>& times) {
    std::vector<Item> items;
    for (size_t i = 0; i < times.size(); ++i) {
      bson::Builder document;
      document.append("_id", static_cast<int64_t>(i)).append("text", std::string(*rc::gen::inRange(0, 40'000), 'x'));
      Item item;
      item.document = document.done();
      item.timestamp_ms = times[i];
      item.collection = i % 2 ? "odd" : "even";
      item.group = i * 7;
      item.views = static_cast<uint32_t>(i);
      item.op = i % 3 ? Item::Op::insert : Item::Op::replace;
      items.push_back(item);
    }
    std::vector<Item> expected = items;
    std::stable_sort(expected.begin(), expected.end(),
                     [](const Item& a, const Item& b) { return a.timestamp_ms < b.timestamp_ms; });
    TimestampOrder order(std::make_unique<FromVector>(items));
    for (const Item& item : expected) {
      const auto got = order.next();
      RC_ASSERT(got);
      RC_ASSERT(got->document.bytes() == item.document.bytes());
      RC_ASSERT(got->timestamp_ms == item.timestamp_ms);
      RC_ASSERT(got->collection == item.collection);
      RC_ASSERT(got->group == item.group && got->views == item.views && got->op == item.op);
    }
    RC_ASSERT(!order.next());
  }));
}

TEST_CASE("pages interleave as their revisions were written") {
  Problems problems(Problems::Policy::stop);
  SourceOptions options;
  options.source = test::fixtures + "/garden.xml";
  options.timestamp_order = true;
  Source source(options, problems);
  std::vector<int64_t> ids;
  for (const Item& item : test::all(source)) ids.push_back(item.document.find("_id").to_int64());
  CHECK(ids == std::vector<int64_t>{100, 101, 103});
}

}  // namespace
}  // namespace datasets

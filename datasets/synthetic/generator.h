// The generator makes data with the thesis's characteristics from a seed, for machines without data.
//
// A record is either new or the next version of a recent one: some places of it are
// overwritten, grown or cut. Table 6.1 says how many, how large and how far apart
// they are. A fixed number of texts is alive at a time, so that memory does not grow;
// a popular one is edited more often. Documents have the shape of the real data
// set's.
#pragma once

#include <vector>

#include "datasets/loader.h"
#include "datasets/synthetic/profile.h"
#include "datasets/synthetic/text.h"

namespace datasets {

class SyntheticLoader : public Loader {
 public:
  SyntheticLoader(const Profile& profile, uint64_t records, uint64_t seed);

  std::optional<Item> next() override;
  double fraction() const override { return records_ == 0 ? 1.0 : static_cast<double>(made_) / static_cast<double>(records_); }

 private:
  struct Subject {
    uint64_t id = 0;
    uint64_t last_record = 0;
    std::string title;
    std::string text;
    size_t home_bytes = 0;  // the length that it stays near
  };

  Subject& choose();
  void begin(Subject& subject);
  void edit(Subject& subject);
  bson::Document document(const Subject& subject);

  static constexpr size_t subjects_max = 400;

  Profile profile_;
  uint64_t records_;
  uint64_t made_ = 0;
  uint64_t begun_ = 0;
  int64_t timestamp_ms_ = 1'000'000'000'000;  // 2001-09-09
  TextMaker maker_;
  std::vector<Subject> subjects_;
};

}  // namespace datasets

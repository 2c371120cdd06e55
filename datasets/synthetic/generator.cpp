#include "datasets/synthetic/generator.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "bson/builder.h"

namespace datasets {

SyntheticLoader::SyntheticLoader(const Profile& profile, uint64_t records, uint64_t seed)
    : profile_(profile), records_(records), maker_(base::hash64(profile.name, seed)) {}

std::optional<Item> SyntheticLoader::next() {
  if (made_ == records_) return std::nullopt;
  Subject& subject = choose();
  ++made_;
  timestamp_ms_ += static_cast<int64_t>(maker_.exponential(60'000)) + 1;
  Item item;
  item.document = document(subject);
  subject.last_record = made_;
  item.collection = profile_.name == "wikipedia" ? "revisions" : profile_.name == "enron" ? "messages" : "posts";
  item.timestamp_ms = timestamp_ms_;
  item.group = base::hash64("", subject.id);
  item.text_bytes = subject.text.size();
  return item;
}

SyntheticLoader::Subject& SyntheticLoader::choose() {
  base::Random& random = maker_.random();
  const bool fresh = subjects_.empty() || random.unit() * profile_.versions < 1.0;
  if (fresh && subjects_.size() < subjects_max) {
    begin(subjects_.emplace_back());
    return subjects_.back();
  }
  if (fresh) {
    Subject& retired = subjects_[random.below(subjects_.size())];
    begin(retired);
    return retired;
  }
  const auto rank = static_cast<size_t>(std::exp(random.unit() * std::log(static_cast<double>(subjects_.size() + 1)))) - 1;
  Subject& subject = subjects_[std::min(rank, subjects_.size() - 1)];
  edit(subject);
  return subject;
}

void SyntheticLoader::begin(Subject& subject) {
  const double bytes = profile_.record_bytes * 0.25 + maker_.exponential(profile_.record_bytes * 0.75);
  const auto home_bytes = static_cast<size_t>(std::min(bytes, 4e6)) + 1;
  subject = Subject{++begun_, 0, maker_.word() + " " + maker_.word(), maker_.text(home_bytes), home_bytes};
}

// Half of the changes overwrite. The others grow or cut, whichever leads back to the length that the text began
// with.
void SyntheticLoader::edit(Subject& subject) {
  base::Random& random = maker_.random();
  std::string& text = subject.text;
  const int changes = 1 + maker_.poisson(profile_.changes - 1);
  const auto span = static_cast<size_t>((changes - 1) * profile_.change_distance);
  size_t at = text.size() > span ? random.below(text.size() - span + 1) : 0;
  for (int i = 0; i < changes; ++i) {
    if (at > text.size()) at = random.below(text.size() + 1);
    const auto bytes = static_cast<size_t>(maker_.exponential(profile_.change_bytes - 1)) + 1;
    const bool overwrite = random.below(2) == 0, grow = text.size() <= subject.home_bytes;
    const size_t cut = overwrite || !grow ? std::min(bytes, text.size() - at) : 0;
    const size_t added = overwrite || grow ? bytes : 0;
    text.replace(at, cut, maker_.text(added));
    at += added + static_cast<size_t>(maker_.exponential(profile_.change_distance));
  }
}

bson::Document SyntheticLoader::document(const Subject& subject) {
  const auto id = static_cast<int64_t>(made_);
  const auto subject_id = static_cast<int64_t>(subject.id);
  const std::string user = maker_.word();
  bson::Builder out;
  out.append("_id", id);
  if (profile_.name == "wikipedia") {
    out.object("page").append("id", subject_id).append("title", subject.title);
    if (subject.last_record) out.append("parent", static_cast<int64_t>(subject.last_record));
    out.append("timestamp", bson::Date{timestamp_ms_});
    out.object("user").append("name", user);
    out.append("comment", maker_.word()).append("text", subject.text);
  } else if (profile_.name == "enron") {
    out.append("mailbox", user).append("date", bson::Date{timestamp_ms_}).append("from", user + "@example.com");
    out.array("to").append(maker_.word() + "@example.com");
    out.append("subject", subject.title).append("body", subject.text);
  } else if (profile_.name == "stackexchange") {
    out.append("type", subject.last_record ? 5 : 2).append("post", subject_id).append("created", bson::Date{timestamp_ms_});
    out.append("user", user).append("text", subject.text);
  } else {
    out.append("forum", "general");
    out.object("thread").append("id", subject_id).append("title", subject.title);
    out.append("user", user).append("timestamp", bson::Date{timestamp_ms_}).append("body", subject.text);
  }
  return out.done();
}

}  // namespace datasets

#include "datasets/boards.h"

#include <algorithm>

#include "base/hash.h"
#include "bson/builder.h"
#include "datasets/times.h"

namespace datasets {

std::optional<Item> BoardsLoader::next() {
  static constexpr std::string_view known[] = {"forum", "thread_id", "thread_title", "post_id", "user", "timestamp", "body"};
  while (auto line = lines_.next()) {
    const bson::Element body = line->find("body");
    const bson::Element id = line->find("post_id");
    const bson::Element stamp = line->find("timestamp");
    const auto time = parse_iso8601(stamp.is_string() ? stamp.as_string() : std::string_view());
    ++count_;
    if (!body.is_string()) {
      lines_.complain("a post without a body");
      continue;
    }
    if (stamp.exists() && !time) {
      lines_.complain("a post without a readable timestamp");
      continue;
    }
    Item item;
    bson::Builder document;
    if (id.is_integer())
      document.append("_id", id.to_int64());
    else if (id.exists())
      document.append("_id", static_cast<bson::ValueView>(id));
    else
      document.append("_id", count_);
    document.append("forum", static_cast<bson::ValueView>(line->find("forum")));
    {
      bson::Builder thread = document.object("thread");
      thread.append("id", static_cast<bson::ValueView>(line->find("thread_id")));
      thread.append("title", static_cast<bson::ValueView>(line->find("thread_title")));
    }
    document.append("user", static_cast<bson::ValueView>(line->find("user")));
    if (time) document.append("timestamp", bson::Date{*time});
    for (const bson::Element& field : *line) {
      if (std::find(std::begin(known), std::end(known), field.name) == std::end(known) && field.name != "_id")
        document.append_element(field);
    }
    document.append("body", body.as_string());

    item.collection = "posts";
    item.timestamp_ms = time.value_or(0);
    item.group = base::hash64(line->find("thread_id").bytes());
    item.text_bytes = body.as_string().size();
    item.views = static_cast<uint32_t>(std::clamp<int64_t>(line->find("views").to_int64(), 0, UINT32_MAX));
    item.document = document.done();
    return item;
  }
  return std::nullopt;
}

}  // namespace datasets

#include "datasets/wikipedia.h"

#include <charconv>

#include "base/hash.h"
#include "bson/builder.h"
#include "datasets/times.h"

namespace datasets {
namespace {

std::optional<int64_t> integer(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

void append_integer(bson::Builder& to, std::string_view name, std::string_view text) {
  if (const auto value = integer(text)) to.append(name, *value);
}

void append_text(bson::Builder& to, std::string_view name, std::string_view text) {
  if (!text.empty()) to.append(name, text);
}

}  // namespace

// After damage inside a page its remaining revisions still belong to it.
WikipediaLoader::WikipediaLoader(InputFile file, Problems& problems)
    : reader_(std::move(file), problems, *this, {{"<page>", ""}, {"<revision>", "<page>"}}) {}

std::optional<Item> WikipediaLoader::next() {
  while (ready_.empty()) {
    if (!reader_.step() && ready_.empty()) return std::nullopt;
  }
  Item item = std::move(ready_.front());
  ready_.pop_front();
  return item;
}

void WikipediaLoader::start(std::string_view name, const char** attributes) {
  target_ = nullptr;
  switch (inside_) {
    case Inside::elsewhere:
      if (name == "page") inside_ = Inside::page;
      return;
    case Inside::page:
      if (name == "revision") {
        inside_ = Inside::revision;
        clear();
        return;
      }
      break;
    case Inside::revision:
      if (name == "contributor") {
        inside_ = Inside::contributor;
        return;
      }
      if (name == "minor") revision_.minor = true;
      if (name == "text") revision_.text_deleted = !attribute(attributes, "deleted").empty();
      break;
    case Inside::contributor: break;
  }
  target_ = field(name);
  if (target_) target_->clear();
}

std::string* WikipediaLoader::field(std::string_view name) {
  if (inside_ == Inside::page) {
    return name == "title" ? &page_.title : name == "id" ? &page_.id : name == "ns" ? &page_.ns : nullptr;
  }
  if (inside_ == Inside::contributor) {
    return name == "username" ? &revision_.user : name == "id" ? &revision_.user_id : name == "ip" ? &revision_.user_ip : nullptr;
  }
  if (name == "text") return &revision_.text;
  if (name == "id") return &revision_.id;
  if (name == "parentid") return &revision_.parent;
  if (name == "timestamp") return &revision_.timestamp;
  if (name == "comment") return &revision_.comment;
  if (name == "model") return &revision_.model;
  if (name == "format") return &revision_.format;
  if (name == "sha1") return &revision_.sha1;
  return nullptr;
}

void WikipediaLoader::end(std::string_view name) {
  target_ = nullptr;
  if (inside_ == Inside::contributor && name == "contributor")
    inside_ = Inside::revision;
  else if (inside_ == Inside::revision && name == "revision") {
    inside_ = Inside::page;
    finish();
  } else if (inside_ == Inside::page && name == "page") {
    inside_ = Inside::elsewhere;
    page_ = Page();
  }
}

void WikipediaLoader::text(std::string_view piece) {
  if (!target_) return;
  if (target_->size() + piece.size() > bson::document_bytes_max)
    too_large_ = true;
  else
    target_->append(piece);
}

void WikipediaLoader::restart() {
  inside_ = Inside::elsewhere;
  target_ = nullptr;
  clear();
}

// These strings keep their memory from one revision to the next.
void WikipediaLoader::clear() {
  for (std::string* part :
       {&revision_.id, &revision_.parent, &revision_.timestamp, &revision_.user, &revision_.user_id, &revision_.user_ip,
        &revision_.comment, &revision_.model, &revision_.format, &revision_.sha1, &revision_.text}) {
    part->clear();
  }
  revision_.minor = revision_.text_deleted = too_large_ = false;
}

void WikipediaLoader::finish() {
  const auto id = integer(revision_.id);
  const auto time = parse_iso8601(revision_.timestamp);
  if (!id) return reader_.complain("a revision without an id");
  if (!time) return reader_.complain("revision " + revision_.id + " has no readable timestamp");
  if (too_large_) return reader_.complain("revision " + revision_.id + " is larger than a document may be");

  Item item;
  bson::Bytes memory;
  memory.reserve(revision_.text.size() + revision_.comment.size() + page_.title.size() + 512);
  bson::Builder document(std::move(memory));
  document.append("_id", *id);
  {
    bson::Builder page = document.object("page");
    append_integer(page, "id", page_.id);
    append_text(page, "title", page_.title);
    if (const auto ns = integer(page_.ns)) page.append("ns", static_cast<int32_t>(*ns));
  }
  append_integer(document, "parent", revision_.parent);
  document.append("timestamp", bson::Date{*time});
  {
    bson::Builder user = document.object("user");
    append_text(user, "name", revision_.user);
    append_integer(user, "id", revision_.user_id);
    append_text(user, "ip", revision_.user_ip);
  }
  if (revision_.minor) document.append("minor", true);
  append_text(document, "comment", revision_.comment);
  append_text(document, "model", revision_.model);
  append_text(document, "format", revision_.format);
  append_text(document, "sha1", revision_.sha1);
  if (!revision_.text_deleted) document.append("text", revision_.text);

  item.collection = "revisions";
  item.timestamp_ms = *time;
  item.group = base::hash64(page_.id.empty() ? page_.title : page_.id);
  item.text_bytes = revision_.text.size();
  item.document = document.done();
  ready_.push_back(std::move(item));
}

}  // namespace datasets

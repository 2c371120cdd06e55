#include "datasets/stackexchange.h"

#include <charconv>

#include "base/hash.h"
#include "bson/builder.h"
#include "datasets/times.h"

namespace datasets {
namespace {

enum class Kind { integer, date, text, tags };

// Returns "beer.stackexchange.com" for "dump.tar.zst/beer.stackexchange.com/Posts.xml".
std::string site_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return "site";
  const std::string_view folder = path.substr(0, slash);
  return std::string(folder.substr(folder.rfind('/') + 1));
}

// Splits "<beer><storage>" or "|beer|storage|".
void append_tags(bson::Builder& to, std::string_view name, std::string_view text) {
  bson::ArrayBuilder tags = to.array(name);
  while (!text.empty()) {
    const size_t end = text.find_first_of("<>|");
    if (end != 0) tags.append(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

}  // namespace

struct StackExchangeLoader::Column {
  std::string_view attribute;
  std::string_view field;
  Kind kind;
};

// The fields stand in the order of the document: those that tell revisions apart first, the text last.
const StackExchangeLoader::Column StackExchangeLoader::history_columns[] = {{"PostHistoryTypeId", "type", Kind::integer},
                                                                            {"PostId", "post", Kind::integer},
                                                                            {"RevisionGUID", "revision", Kind::text},
                                                                            {"CreationDate", "created", Kind::date},
                                                                            {"UserId", "user", Kind::integer},
                                                                            {"UserDisplayName", "userName", Kind::text},
                                                                            {"Comment", "comment", Kind::text},
                                                                            {"ContentLicense", "licence", Kind::text},
                                                                            {"Text", "text", Kind::text},
                                                                            {{}, {}, Kind::text}};

const StackExchangeLoader::Column StackExchangeLoader::post_columns[] = {{"PostTypeId", "type", Kind::integer},
                                                                         {"ParentId", "parent", Kind::integer},
                                                                         {"AcceptedAnswerId", "accepted", Kind::integer},
                                                                         {"CreationDate", "created", Kind::date},
                                                                         {"LastEditDate", "edited", Kind::date},
                                                                         {"LastActivityDate", "active", Kind::date},
                                                                         {"ClosedDate", "closed", Kind::date},
                                                                         {"CommunityOwnedDate", "communityOwned", Kind::date},
                                                                         {"OwnerUserId", "owner", Kind::integer},
                                                                         {"OwnerDisplayName", "ownerName", Kind::text},
                                                                         {"LastEditorUserId", "editor", Kind::integer},
                                                                         {"LastEditorDisplayName", "editorName", Kind::text},
                                                                         {"Score", "score", Kind::integer},
                                                                         {"ViewCount", "views", Kind::integer},
                                                                         {"AnswerCount", "answers", Kind::integer},
                                                                         {"CommentCount", "comments", Kind::integer},
                                                                         {"FavoriteCount", "favourites", Kind::integer},
                                                                         {"ContentLicense", "licence", Kind::text},
                                                                         {"Title", "title", Kind::text},
                                                                         {"Tags", "tags", Kind::tags},
                                                                         {"Body", "body", Kind::text},
                                                                         {{}, {}, Kind::text}};

StackExchangeLoader::StackExchangeLoader(InputFile file, Problems& problems)
    : site_(site_of(file.name)),
      history_(file.name.find("PostHistory") != std::string::npos ||
               file.content->peek(4096).find("<posthistory") != base::BytesView::npos),
      reader_(std::move(file), problems, *this, {{"<row ", ""}}) {}

std::optional<Item> StackExchangeLoader::next() {
  while (ready_.empty()) {
    if (!reader_.step() && ready_.empty()) return std::nullopt;
  }
  Item item = std::move(ready_.front());
  ready_.pop_front();
  return item;
}

void StackExchangeLoader::start(std::string_view name, const char** attributes) {
  if (name != "row") return;
  const std::string_view id = attribute(attributes, "Id");
  const std::string_view post = attribute(attributes, history_ ? "PostId" : "Id");
  const auto time = parse_iso8601(attribute(attributes, "CreationDate"));
  if (id.empty() || post.empty()) return reader_.complain("a row without an Id");
  if (!time) return reader_.complain("row " + std::string(id) + " has no readable CreationDate");

  Item item;
  bson::Builder document;
  document.append("_id", site_ + "/" + std::string(id)).append("site", site_);
  for (const Column* column = history_ ? history_columns : post_columns; !column->field.empty(); ++column) {
    const std::string_view value = attribute(attributes, column->attribute);
    if (value.empty()) continue;
    int64_t number = 0;
    switch (column->kind) {
      case Kind::integer:
        if (std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc())
          document.append(column->field, number);
        break;
      case Kind::date:
        if (const auto date = parse_iso8601(value)) document.append(column->field, bson::Date{*date});
        break;
      case Kind::tags: append_tags(document, column->field, value); break;
      case Kind::text: document.append(column->field, value);
    }
    if (column->attribute == "ViewCount") item.views = static_cast<uint32_t>(std::max<int64_t>(0, number));
  }
  item.collection = history_ ? "post_history" : "posts";
  item.timestamp_ms = *time;
  item.group = base::hash64(post, base::hash64(site_));
  item.text_bytes = attribute(attributes, history_ ? "Text" : "Body").size();
  item.document = document.done();
  ready_.push_back(std::move(item));
}

}  // namespace datasets

#include "datasets/mail.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "bson/builder.h"
#include "datasets/times.h"
#include "datasets/utf8.h"

namespace datasets {
namespace {

constexpr size_t message_bytes_max = 15 << 20;

struct Header {
  std::string name;
  std::string lower;
  std::string value;
};

std::string lowered(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

struct Message {
  std::string_view envelope;  // the rest of the "From " line
  std::vector<Header> headers;
  std::string_view body;

  std::string_view header(std::string_view lower) const {
    const auto found = std::find_if(headers.begin(), headers.end(), [&](const Header& header) { return header.lower == lower; });
    return found == headers.end() ? std::string_view() : found->value;
  }
  // When a header comes again (Received), its value becomes another line of the first.
  void add(std::string_view name, std::string_view value) {
    std::string lower = lowered(name);
    const auto found = std::find_if(headers.begin(), headers.end(), [&](const Header& header) { return header.lower == lower; });
    if (found == headers.end())
      headers.push_back({std::string(name), std::move(lower), std::string(value)});
    else
      found->value.append("\n").append(value);
  }
};

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

bool is_header_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c > 32 && c < 127; });
}

Message parse(std::string_view text) {
  Message message;
  if (text.substr(0, 5) == "From ") message.envelope = take_line(text).substr(5);
  while (!text.empty()) {
    const std::string_view before = text;
    const std::string_view line = take_line(text);
    if (line.empty()) break;
    const size_t colon = line.find(':');
    if ((line[0] == ' ' || line[0] == '\t') && !message.headers.empty()) {
      message.headers.back().value.append(" ").append(trimmed(line));
    } else if (colon != std::string_view::npos && is_header_name(line.substr(0, colon))) {
      message.add(line.substr(0, colon), trimmed(line.substr(colon + 1)));
    } else {
      text = before;  // the body begins without an empty line before it
      break;
    }
  }
  message.body = text;
  return message;
}

// Commas inside quotes and angle brackets do not separate.
void append_addresses(bson::Builder& to, std::string_view name, std::string_view list) {
  if (trimmed(list).empty()) return;
  bson::ArrayBuilder addresses = to.array(name);
  bool quoted = false;
  size_t start = 0;
  for (size_t at = 0; at <= list.size(); ++at) {
    if (at < list.size() && list[at] == '"') quoted = !quoted;
    if (at < list.size() && (quoted || list[at] != ',')) continue;
    const std::string_view address = trimmed(list.substr(start, at - start));
    if (!address.empty()) addresses.append(to_utf8(address));
    start = at + 1;
  }
}

// "Re: Fwd: Budget" and "Budget" belong to one conversation.
std::string_view conversation(std::string_view subject) {
  for (;;) {
    subject = trimmed(subject);
    const size_t colon = subject.find(':');
    if (colon == std::string_view::npos || colon > 4) return subject;
    const std::string prefix = lowered(subject.substr(0, colon));
    if (prefix != "re" && prefix != "fw" && prefix != "fwd" && prefix != "aw") return subject;
    subject.remove_prefix(colon + 1);
  }
}

// Makes "blair-l/sent_items/1." of "…/maildir/blair-l/sent_items/1."
std::string_view below_maildir(std::string_view path) {
  static constexpr std::string_view marker = "maildir/";
  const size_t at = path.rfind(marker);
  return at == std::string_view::npos ? path : path.substr(at + marker.size());
}

}  // namespace

Item mail_item(std::string_view id, std::string_view path, std::string_view text) {
  const Message message = parse(text);
  auto date = parse_mail_date(message.header("date"));
  if (!date) date = parse_mail_date(message.envelope);

  bson::Bytes memory;
  memory.reserve(text.size() + 512);
  bson::Builder document(std::move(memory));
  auto append = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) document.append(name, to_utf8(value));
  };
  append("_id", id);
  const size_t slash = path.find('/');
  if (slash != std::string_view::npos) {
    append("mailbox", path.substr(0, slash));
    const size_t last = path.rfind('/');
    if (last > slash) append("folder", path.substr(slash + 1, last - slash - 1));
  } else {
    append("mailbox", path);
  }
  if (date) document.append("date", bson::Date{*date});
  append("messageId", message.header("message-id"));
  append("inReplyTo", message.header("in-reply-to"));
  append("references", message.header("references"));
  append("from", message.header("from"));
  append_addresses(document, "to", message.header("to"));
  append_addresses(document, "cc", message.header("cc"));
  append_addresses(document, "bcc", message.header("bcc"));
  append("subject", message.header("subject"));
  {
    static constexpr std::string_view own[] = {"message-id", "in-reply-to", "references", "from", "to", "cc", "bcc", "subject"};
    bson::Builder others = document.object("headers");
    for (const Header& header : message.headers) {
      if (std::find(std::begin(own), std::end(own), header.lower) == std::end(own))
        others.append(header.name, to_utf8(header.value));
    }
  }
  document.append("body", to_utf8(message.body));

  Item item;
  item.collection = "messages";
  item.timestamp_ms = date.value_or(0);
  item.group = base::hash64(conversation(message.header("subject")));
  item.text_bytes = message.body.size();
  item.document = document.done();
  return item;
}

MboxLoader::MboxLoader(InputFile file, Problems& problems)
    : file_(std::move(file)), problems_(problems), lines_(*file_.content, message_bytes_max) {}

std::optional<Item> MboxLoader::next() {
  const std::string_view name = std::string_view(file_.name).substr(file_.name.rfind('/') + 1);
  while (!done_) {
    std::optional<std::string_view> line;
    try {
      line = lines_.next();
    } catch (const StreamError& cut) {
      done_ = true;  // the message that is being read isn't whole
      problems_.report({file_.name, file_.content->offset(), lines_.line(), cut.what()});
      return std::nullopt;
    }
    done_ = !line;
    const bool starts = line && line->substr(0, 5) == "From ";
    std::optional<Item> item;
    if ((starts || done_) && open_) {
      const std::string id = std::string(name) + "/" + std::to_string(count_);
      if (message_.size() > message_bytes_max)
        problems_.report({file_.name, started_at_, 0, "a message is larger than a document may be"});
      else
        item = mail_item(id, name, message_);
      message_.clear();
    }
    if (starts) {
      open_ = true;
      ++count_;
      started_at_ = lines_.offset();
    } else if (line && !open_ && !line->empty()) {
      problems_.report({file_.name, lines_.offset(), lines_.line(), "text before the first message"});
      continue;
    }
    if (open_ && line && message_.size() <= message_bytes_max) message_.append(*line).push_back('\n');
    if (item) {
      if (item->timestamp_ms == 0) item->timestamp_ms = timestamp_ms_;
      timestamp_ms_ = item->timestamp_ms;
      return item;
    }
  }
  return std::nullopt;
}

std::optional<Item> MessageLoader::next() {
  if (std::exchange(done_, true)) return std::nullopt;
  std::string message;
  try {
    for (;;) {
      const base::BytesView chunk = file_.content->chunk();
      if (chunk.empty()) break;
      message.append(chunk);
      file_.content->take(chunk.size());
      if (message.size() > message_bytes_max) {
        problems_.report({file_.name, 0, 0, "a message is larger than a document may be"});
        return std::nullopt;
      }
    }
  } catch (const StreamError& cut) {
    problems_.report({file_.name, file_.content->offset(), 0, cut.what()});
    return std::nullopt;
  }
  const std::string_view path = below_maildir(file_.name);
  return mail_item(path, path, message);
}

}  // namespace datasets

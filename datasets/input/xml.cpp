#include "datasets/input/xml.h"

#include <expat.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace datasets {

XmlReader::XmlReader(InputFile file, Problems& problems, Handler& handler, std::vector<Restart> restarts)
    : file_(std::move(file)), problems_(problems), handler_(handler), restarts_(std::move(restarts)) {
  open("");
}

XmlReader::~XmlReader() {
  XML_ParserFree(parser_);
}

void XmlReader::open(const std::string& prefix) {
  XML_ParserFree(parser_);
  parser_ = XML_ParserCreate("UTF-8");
  base::check(parser_ != nullptr, "no memory for an XML parser");
  XML_SetUserData(parser_, this);
  XML_SetElementHandler(
      parser_,
      [](void* self, const XML_Char* name, const XML_Char** attributes) {
        static_cast<XmlReader*>(self)->started(name, attributes);
      },
      [](void* self, const XML_Char* name) { static_cast<XmlReader*>(self)->handler_.end(name); });
  XML_SetCharacterDataHandler(parser_, [](void* self, const XML_Char* text, int bytes) {
    static_cast<XmlReader*>(self)->handler_.text({text, static_cast<size_t>(bytes)});
  });
  base_ = file_.content->offset();
  prefix_bytes_ = prefix.size();
  if (!prefix.empty()) XML_Parse(parser_, prefix.data(), static_cast<int>(prefix.size()), 0);
}

void XmlReader::started(std::string_view name, const char** attributes) {
  if (root_.empty()) root_ = name;
  handler_.start(name, attributes);
}

uint64_t XmlReader::offset() const {
  const auto index = static_cast<uint64_t>(std::max<XML_Index>(0, XML_GetCurrentByteIndex(parser_)));
  return base_ + std::max<uint64_t>(index, prefix_bytes_) - prefix_bytes_;
}

uint64_t XmlReader::line() const {
  return base_line_ + XML_GetCurrentLineNumber(parser_);
}

void XmlReader::complain(const std::string& message) {
  pending_.push_back({file_.name, offset(), line(), message});
}

bool XmlReader::step() {
  const std::vector<Problem> pending = std::exchange(pending_, {});
  for (const Problem& problem : pending) problems_.report(problem);
  try {
    if (!done_) seeking_ ? seek() : read_on();
  } catch (const StreamError& cut) {
    done_ = true;
    pending_.push_back({file_.name, file_.content->offset(), 0, cut.what()});
  }
  return !done_ || !pending_.empty();
}

void XmlReader::read_on() {
  const base::BytesView chunk = file_.content->chunk();
  if (XML_Parse(parser_, chunk.data(), static_cast<int>(chunk.size()), chunk.empty()) == XML_STATUS_OK) {
    file_.content->take(chunk.size());
    done_ = chunk.empty();
  } else {
    broken(chunk);
  }
}

// The parser has stopped: this reports the damage and puts the stream behind it.
void XmlReader::broken(base::BytesView chunk) {
  const uint64_t at = offset();
  const std::string message = XML_ErrorString(XML_GetErrorCode(parser_));
  const uint64_t at_line = line();
  const uint64_t chunk_at = file_.content->offset();
  const uint64_t skip = at >= chunk_at ? std::min<uint64_t>(at - chunk_at + 1, chunk.size()) : 0;
  // Lines are counted from the parser's start; the skipped ones are added when it restarts.
  base_line_ = at_line - 1;
  done_ = chunk.empty() || restarts_.empty();
  file_.content->take(skip);
  seeking_ = !done_;
  handler_.restart();
  pending_.push_back({file_.name, at, at_line, message});
}

// Skips to the next tag that a record begins with.
void XmlReader::seek() {
  const base::BytesView ahead = file_.content->peek(BufferedStream::peek_max);
  size_t best = base::BytesView::npos;
  size_t longest = 0;
  const Restart* restart = nullptr;
  for (const Restart& candidate : restarts_) {
    const size_t found = ahead.find(candidate.tag);
    if (found < best) best = found, restart = &candidate;
    longest = std::max(longest, candidate.tag.size());
  }
  // A tag may lie across the edge, so its first bytes stay for the next look.
  const size_t skip = restart ? best : ahead.size() < BufferedStream::peek_max ? ahead.size() : ahead.size() - longest;
  base_line_ += static_cast<uint64_t>(std::count(ahead.begin(), ahead.begin() + static_cast<std::ptrdiff_t>(skip), '\n'));
  file_.content->take(skip);
  done_ = ahead.empty();
  if (!restart) return;
  open("<" + (root_.empty() ? std::string("root") : root_) + ">" + restart->prefix);
  seeking_ = false;
}

std::string_view attribute(const char** attributes, std::string_view name) {
  for (; *attributes; attributes += 2) {
    if (name == *attributes) return attributes[1];
  }
  return {};
}

}  // namespace datasets

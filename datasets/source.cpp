#include "datasets/source.h"

#include <algorithm>

#include "datasets/boards.h"
#include "datasets/git_history.h"
#include "datasets/input/files.h"
#include "datasets/mail.h"
#include "datasets/order.h"
#include "datasets/stackexchange.h"
#include "datasets/synthetic/generator.h"
#include "datasets/versioned_records.h"
#include "datasets/wikipedia.h"

namespace datasets {
namespace {

constexpr std::pair<std::string_view, Kind> kinds[] = {{"detect", Kind::detect},
                                                       {"wikipedia", Kind::wikipedia},
                                                       {"maildir", Kind::maildir},
                                                       {"mbox", Kind::mbox},
                                                       {"stackexchange", Kind::stackexchange},
                                                       {"boards", Kind::boards},
                                                       {"versions", Kind::versions},
                                                       {"git", Kind::git},
                                                       {"synthetic", Kind::synthetic}};

constexpr std::string_view synthetic_prefix = "synthetic:";
constexpr size_t head_bytes = 4096;

// A mail begins with headers, and a Date or Message-ID is among them.
bool looks_like_mail(std::string_view head) {
  bool known = false;
  while (!head.empty()) {
    const size_t end = head.find('\n');
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
    if (line.empty() || line == "\r") return known;
    const size_t colon = line.find(':');
    if (line[0] != ' ' && line[0] != '\t' &&
        (colon == std::string_view::npos || line.substr(0, colon).find(' ') != std::string_view::npos))
      return known;
    known = known || line.substr(0, 5) == "Date:" || line.substr(0, 11) == "Message-ID:" || line.substr(0, 11) == "Message-Id:";
  }
  return known;  // the headers are longer than the bytes looked at
}

std::unique_ptr<Loader> open(Kind kind, InputFile file, Problems& problems) {
  switch (kind) {
    case Kind::wikipedia: return std::make_unique<WikipediaLoader>(std::move(file), problems);
    case Kind::maildir: return std::make_unique<MessageLoader>(std::move(file), problems);
    case Kind::mbox: return std::make_unique<MboxLoader>(std::move(file), problems);
    case Kind::stackexchange: return std::make_unique<StackExchangeLoader>(std::move(file), problems);
    case Kind::boards: return std::make_unique<BoardsLoader>(std::move(file), problems);
    case Kind::versions: return std::make_unique<VersionedRecordsLoader>(std::move(file), problems);
    case Kind::detect:
    case Kind::git:
    case Kind::synthetic: break;
  }
  return nullptr;
}

}  // namespace

std::optional<Kind> kind_of(std::string_view name) {
  for (const auto& [text, kind] : kinds) {
    if (text == name) return kind;
  }
  return std::nullopt;
}

std::string_view kind_name(Kind kind) {
  for (const auto& [text, value] : kinds) {
    if (value == kind) return text;
  }
  return "?";
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const auto& [text, kind] : kinds) names.emplace_back(text);
  return names;
}

Kind detect(std::string_view name, base::BytesView head) {
  head = head.substr(0, head_bytes);
  if (head.substr(0, 3) == "\xef\xbb\xbf") head.remove_prefix(3);
  auto has = [&](std::string_view text) { return head.find(text) != std::string_view::npos; };
  if (head.empty()) return Kind::detect;
  if (head.front() == '<') {
    if (has("<mediawiki")) return Kind::wikipedia;
    if (has("<posthistory") || has("<posts")) return Kind::stackexchange;
    const std::string_view file = name.substr(name.rfind('/') + 1);
    return file.substr(0, 12) == "PostHistory." || file.substr(0, 6) == "Posts." ? Kind::stackexchange : Kind::detect;
  }
  if (head.front() == '{') {
    if (has("\"changes\"") && has("\"commit\"")) return Kind::versions;
    if (has("\"commit\"") && has("\"parents\"")) return Kind::versions;
    return has("\"body\"") || has("\"thread_id\"") ? Kind::boards : Kind::detect;
  }
  if (head.substr(0, 5) == "From ") return Kind::mbox;
  return looks_like_mail(head) ? Kind::maildir : Kind::detect;
}

// Reads the files of a path one after the other, each by the loader of its kind.
class Source::FileSequence : public Loader {
 public:
  FileSequence(Source& source, const std::string& path, Kind kind)
      : source_(source), files_(path, source.problems_), kind_(kind) {}

  std::optional<Item> next() override {
    for (;;) {
      if (loader_) {
        if (auto item = loader_->next()) return item;
      }
      loader_.reset();
      if (!open_next()) return std::nullopt;
    }
  }

  double fraction() const override {
    const Meter& meter = files_.meter();
    return meter.bytes_total == 0 ? 1.0 : static_cast<double>(meter.bytes_read) / static_cast<double>(meter.bytes_total);
  }

 private:
  bool open_next() {
    auto file = files_.next();
    if (!file) return false;
    try {
      const Kind kind = kind_ == Kind::detect ? detect(file->name, file->content->peek(head_bytes)) : kind_;
      if (kind == Kind::detect) {
        ++source_.unknown_;
        return true;
      }
      source_.kind_ = kind;
      loader_ = open(kind, std::move(*file), source_.problems_);
    } catch (const StreamError& broken) {
      source_.problems_.report({file->name, 0, 0, broken.what()});
    }
    return true;
  }

  Source& source_;
  Files files_;
  Kind kind_;
  std::unique_ptr<Loader> loader_;
};

Source::Source(const SourceOptions& options, Problems& problems) : problems_(problems), kind_(options.kind) {
  const std::string_view source = options.source;
  if (options.kind == Kind::synthetic || source.substr(0, synthetic_prefix.size()) == synthetic_prefix) {
    const size_t colon = source.find(':');
    const auto profile = find_profile(colon == std::string_view::npos ? source : source.substr(colon + 1));
    if (!profile) throw InputError(options.source + ": no such profile; there are wikipedia, enron, stackexchange, boards");
    kind_ = Kind::synthetic;
    loader_ = std::make_unique<SyntheticLoader>(*profile, options.records, options.seed);
  } else if (options.kind == Kind::git || (options.kind == Kind::detect && GitHistoryLoader::recognizes(options.source))) {
    kind_ = Kind::git;
    loader_ = std::make_unique<GitHistoryLoader>(options.source, problems, options.revision);
  } else {
    loader_ = std::make_unique<FileSequence>(*this, options.source, options.kind);
  }
  if (options.timestamp_order) loader_ = std::make_unique<TimestampOrder>(std::move(loader_));
}

Source::~Source() = default;

std::optional<Item> Source::next() {
  while (auto item = loader_->next()) {
    if (item->document.size() <= bson::document_bytes_max) return item;
    problems_.report({item->collection, 0, 0,
                      "a record of " + std::to_string(item->document.size()) + " bytes is larger than a document may be"});
  }
  return std::nullopt;
}

double Source::fraction() const {
  return loader_->fraction();
}

}  // namespace datasets

// The input is taken as a file of a data set. Whatever the loader, it hands out items whose documents are valid and reports what
// it could not read.
//
//   number: the kind of the data set | rest: the file
#include "base/fuzz_target.h"
#include "bson/validate.h"
#include "datasets/boards.h"
#include "datasets/mail.h"
#include "datasets/replay/acknowledged_log.h"
#include "datasets/source.h"
#include "datasets/stackexchange.h"
#include "datasets/times.h"
#include "datasets/versioned_records.h"
#include "datasets/wikipedia.h"

namespace {

using namespace datasets;

constexpr uint64_t kinds = 7;

std::unique_ptr<Loader> loader_of(uint64_t kind, InputFile file, Problems& problems) {
  switch (kind) {
    case 0: return std::make_unique<WikipediaLoader>(std::move(file), problems);
    case 1:
    case 2:
      file.name = kind == 1 ? "site/PostHistory.xml" : "site/Posts.xml";
      return std::make_unique<StackExchangeLoader>(std::move(file), problems);
    case 3: return std::make_unique<BoardsLoader>(std::move(file), problems);
    case 4: return std::make_unique<MboxLoader>(std::move(file), problems);
    case 5: return std::make_unique<MessageLoader>(std::move(file), problems);
    default: return std::make_unique<VersionedRecordsLoader>(std::move(file), problems);
  }
}

void check_line(std::string_view line) {
  const auto write = replay::from_line(line);
  if (!write) return;
  std::string once = replay::to_line(*write);
  once.pop_back();
  const auto again = replay::from_line(once);
  base::check(again && replay::to_line(*again) == once + "\n");
}

bool run(base::BytesView input) {
  base::FuzzReader reader(input);
  const uint64_t kind = reader.number() % kinds;
  const base::BytesView content = reader.rest();
  check_line(content);
  parse_iso8601(content);
  parse_mail_date(content);
  detect("file", content.substr(0, 1024));
  Problems problems(Problems::Policy::skip);
  InputFile file{"file", std::make_unique<BufferedStream>(memory_stream(base::Bytes(content)))};
  const auto loader = loader_of(kind, std::move(file), problems);
  bool some = false;
  while (const auto item = loader->next()) {
    some = true;
    base::check(!item->collection.empty() && item->document.view().has("_id"));
    base::check(bson::validate(item->document.bytes(), {.bytes_max = size_t{1} << 30, .utf8 = true}).ok());
  }
  return some;
}

std::vector<base::Bytes> seeds() {
  const auto seed = [](uint64_t kind, const char* content) { return base::FuzzWriter().number(kind).rest(content); };
  return {
      seed(0,
           "<mediawiki><page><title>T</title><ns>0</ns><id>1</id><revision><id>2</id><parentid>1</parentid>"
           "<timestamp>2009-08-30T10:40:19Z</timestamp><contributor><username>U</username><id>3</id></contributor><minor/>"
           "<comment>c</comment><model>wikitext</model><format>text/x-wiki</format><text bytes=\"4\">text</text><sha1>x</sha1>"
           "</revision></page></mediawiki>"),
      seed(1,
           "<posthistory><row Id=\"1\" PostHistoryTypeId=\"2\" PostId=\"1\" RevisionGUID=\"g\" "
           "CreationDate=\"2014-01-21T20:26:05.383\" "
           "UserId=\"8\" Text=\"a &lt;b&gt;\" /></posthistory>"),
      seed(
          2,
          "<posts><row Id=\"1\" PostTypeId=\"1\" CreationDate=\"2014-01-21T20:26:05.383\" Score=\"5\" ViewCount=\"9\" Body=\"b\" "
          "Title=\"t\" Tags=\"&lt;x&gt;\" /></posts>"),
      seed(3,
           "{\"forum\": \"f\", \"thread_id\": 1, \"thread_title\": \"t\", \"post_id\": 2, \"user\": \"u\", \"timestamp\": "
           "\"2012-09-27T16:10:05-07:00\", \"body\": \"b\", \"views\": 3}\n"),
      seed(4,
           "From a@b Tue Aug 29 11:11:00 2000\nDate: Tue, 29 Aug 2000 11:11:00 -0700 (PDT)\nFrom: A <a@b>\nTo: c@d,\n "
           "e@f\nSubject: s\n\nbody\n>From here\n"),
      seed(5, "Message-ID: <1@b>\nDate: Fri Jan  2 14:25:20 2004\nX-Folder: \\x\n\nbody"),
      seed(6,
           "{\"commit\": \"1\", \"parents\": [], \"author\": \"a\", \"timestamp\": \"2024-01-01T00:00:00Z\", \"message\": \"m\", "
           "\"changes\": [{\"op\": \"insert\", \"coll\": \"c\", \"key\": \"k\", \"record\": {\"x\": 1}}]}\n")};
}

const base::FuzzTarget target("loaders", run, seeds);

}  // namespace

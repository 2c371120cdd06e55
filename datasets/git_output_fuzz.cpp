// The input is what git printed: a log, or the contents of the objects that it was asked for. The log's versions are of commits
// and of regular files, and contents are no longer than the input; what is cut or isn't git's ends with a StreamError.
//
//   number: 0 for a log, otherwise how many contents | rest: what was printed
#include "base/fuzz_target.h"
#include "datasets/git_output.h"

namespace {

using namespace datasets;

const std::string blob(40, 'b');

bool read_log(base::BytesView printed) {
  GitLog log(memory_stream(base::Bytes(printed)));
  bool some = false;
  try {
    while (const auto version = log.next()) {
      some = true;
      base::check(version->commit && log.commits() > 0);
      base::check(version->blob.find(' ') == std::string::npos);
    }
  } catch (const StreamError&) {
  }
  return some;
}

bool read_blobs(base::BytesView printed, uint64_t count) {
  GitBlobs blobs(memory_stream(base::Bytes(printed)));
  bool some = false;
  try {
    for (uint64_t i = 0; i < count; ++i) {
      const auto content = blobs.next(blob);
      if (!content.ok()) continue;
      some = true;
      base::check(content.value().size() < printed.size());
    }
  } catch (const StreamError&) {
  }
  return some;
}

bool run(base::BytesView input) {
  base::FuzzReader reader(input);
  const uint64_t count = reader.number();
  return count == 0 ? read_log(reader.rest()) : read_blobs(reader.rest(), count % 16);
}

std::vector<base::Bytes> seeds() {
  const std::string old(40, 'a'), end(1, '\0'), commit(40, 'c');
  const std::string header =
      "\1" + commit + end + "Ada" + end + "ada@example.com" + end + "2020-01-01T00:00:00+01:00" + end + "s" + end;
  const std::string changes = "\n:100644 100755 " + old + " " + blob + " M" + end + "a path" + end + "::100644 100644 120000 " +
                              old + " " + old + " " + blob + " MM" + end + "link" + end;
  const std::string contents = blob + " blob 5\nhello\n" + blob + " missing\n" + blob + " blob 0\n\n";
  return {base::FuzzWriter().number(0).rest(header + changes), base::FuzzWriter().number(3).rest(contents)};
}

const base::FuzzTarget target("git_output", run, seeds);

}  // namespace

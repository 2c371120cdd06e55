// Measures two servers that exchange commits: what an update of a few documents sends, what many revisions of one document send,
// and what it costs to find out that there is nothing new.
#include "bench/remotes/command.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <set>

#include "base/random.h"
#include "bench/measure/cpu_clock.h"
#include "bench/measure/interrupt.h"
#include "bench/measure/server.h"
#include "bench/options.h"
#include "bench/remotes/git_peer.h"
#include "bench/sets/command.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "datasets/replay/client.h"

namespace bench::remotes {
namespace {

using datasets::replay::Client;

constexpr const char* db = "shop";
constexpr size_t inserted_at_once = 1000;

struct Settings {
  sets::Common common;
  size_t documents = 100'000, bytes = 1000, changed = 100, revisions = 100, article_bytes = 20'000;
  int laps = 5;
  bool tiny = false, git = false;
};

// The documents, as they are now.
struct Pages {
  std::vector<std::string> texts;
  std::vector<int> numbers;

  bson::Document document(size_t at) const {
    bson::Builder out;
    out.append("_id", static_cast<int64_t>(at)).append("n", numbers[at]).append("text", texts[at]);
    return out.done();
  }
  // Returns the path of a document's file: each folder has two digits, so that none has many files.
  std::pair<std::string, std::string> file(size_t at) const {
    return {fmt::format("pages/{:02}/{:02}/{}", at / 100 % 100, at % 100, at), bson::to_json(document(at)) + "\n"};
  }
};

// Text of made-up words, which compresses as text does.
std::string text(base::Random& random, size_t bytes) {
  std::string out;
  while (out.size() < bytes) {
    for (uint64_t letters = 2 + random.below(8); letters > 0; --letters) out.push_back(static_cast<char>('a' + random.below(26)));
    out.push_back(' ');
  }
  out.resize(bytes);
  return out;
}

bson::Document command(std::string_view name, std::string_view value) {
  bson::Builder out;
  out.append(name, value);
  return out.done();
}

std::string commit(Client& client) {
  bson::Builder out;
  out.append("commit", 1).append("message", "measured");
  return std::string(client.command(db, out.done()).view()["commit"].as_string());
}

Pages insert(Client& client, base::Random& random, const Settings& settings) {
  Pages pages;
  pages.numbers.resize(settings.documents);
  for (size_t at = 0; at < settings.documents;) {
    std::vector<bson::Document> some;
    for (; some.size() < inserted_at_once && at < settings.documents; ++at) {
      pages.texts.push_back(text(random, settings.bytes));
      some.push_back(pages.document(at));
    }
    client.insert(db, "pages", {some.begin(), some.end()});
  }
  return pages;
}

// Returns which documents changed.
std::set<size_t> change(Client& client, base::Random& random, const Settings& settings, Pages& pages) {
  std::set<size_t> changed;
  bson::Builder update;
  update.append("update", "pages");
  {
    auto updates = update.array("updates");
    for (size_t i = 0; i < settings.changed; ++i) {
      auto one = updates.object();
      const size_t at = random.below(settings.documents);
      ++pages.numbers[at];
      changed.insert(at);
      {
        auto query = one.object("q");
        query.append("_id", static_cast<int64_t>(at));
      }
      auto what = one.object("u");
      auto inc = what.object("$inc");
      inc.append("n", 1);
    }
  }
  client.command(db, update.done());
  return changed;
}

struct Timed {
  bson::Document reply;
  double ms = 0;
};

Timed timed(Client& client, const bson::Document& command) {
  const auto begun = std::chrono::steady_clock::now();
  Timed done{.reply = client.command(db, command)};
  done.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
  return done;
}

void check_same(Client& a, Client& b) {
  std::string heads[2];
  for (int i = 0; i < 2; ++i) {
    bson::Builder out;
    out.append("log", 1).append("limit", 1);
    const bson::Document reply = (i == 0 ? a : b).command(db, out.done());
    heads[i] = reply.view()["cursor"].as_document()["firstBatch"].as_document()["0"].as_document()["commit"].as_string();
  }
  if (heads[0] != heads[1]) throw std::runtime_error("the two servers' branches end at different commits");
}

// Each revision of the article changes a few words of it.
double revisions(Client& here, base::Random& random, const Settings& settings, GitPeer* git) {
  std::string article = text(random, settings.article_bytes);
  for (size_t i = 0; i < settings.revisions; ++i) {
    article.replace(random.below(article.size() - 100), 40, text(random, 30 + random.below(30)));
    bson::Builder document;
    document.append("_id", "article").append("text", article);
    const bson::Document whole = document.done();
    bson::Builder update;
    update.append("update", "articles");
    {
      auto updates = update.array("updates");
      auto one = updates.object();
      one.append("q", command("_id", "article")).append("u", whole).append("upsert", true);
    }
    here.command(db, update.done());
    commit(here);
    if (git) git->commit({{"articles/article", article}});
  }
  return static_cast<double>(here.command(db, command("push", "hub")).view()["bytes"].to_int64());
}

// Measures git with the same changes.
struct BesideGit {
  GitPeer::Pushed all, of_revisions;
  std::vector<double> push_ms, push_bytes, fetch_ms;
};

void add_rows(Table& table, const Settings& settings, const BesideGit& git) {
  const auto row = [&](std::string what, double ms, double bytes, size_t of) {
    table.rows.push_back(
        {"git: " + std::move(what), number_text(ms), number_text(bytes), fmt::format("{:.3f}", bytes / static_cast<double>(of))});
  };
  row("first push, a file a document", git.all.ms, static_cast<double>(git.all.bytes), settings.documents * settings.bytes);
  row(fmt::format("push of {} changed files", settings.changed), median(git.push_ms), median(git.push_bytes),
      settings.changed * settings.bytes);
  table.rows.push_back({"git: fetch of nothing new", number_text(median(git.fetch_ms)), "", ""});
  row(fmt::format("push of {} revisions of the article", settings.revisions), git.of_revisions.ms,
      static_cast<double>(git.of_revisions.bytes), settings.revisions * settings.article_bytes);
}

int run(Settings& settings) {
  clean_up_when_interrupted();
  if (settings.tiny) {
    settings.documents = 2000;
    settings.revisions = 10;
    settings.laps = 1;
  }
  Report report;
  report.title = "Servers that exchange commits";
  report.command = fmt::format("palimpsest bench remotes --documents {} --bytes {} --changed {} --revisions {} --laps {}",
                               settings.documents, settings.bytes, settings.changed, settings.revisions, settings.laps);
  if (settings.git) report.command += " --git";
  begin(report);
  const std::string program = sets::server_of(settings.common);
  const std::vector<std::string> arguments{"--wiredTigerCacheSizeGB", "1", "--quiet"};
  const Server first(program, arguments, settings.common.scratch), second(program, arguments, settings.common.scratch);
  Client here(first.uri()), hub(second.uri());
  base::Random random(7);
  Pages pages = insert(here, random, settings);
  commit(here);
  const auto git = settings.git ? std::make_unique<GitPeer>(settings.common.scratch) : nullptr;
  BesideGit beside;
  bson::Builder add;
  add.append("addRemote", "hub").append("uri", second.uri() + db);
  here.command(db, add.done());
  const Timed all = timed(here, command("push", "hub"));
  check_same(here, hub);
  if (git) {
    GitPeer::Files files;
    for (size_t at = 0; at < settings.documents; ++at) files.push_back(pages.file(at));
    git->commit(files);
    beside.all = git->push();
  }

  std::vector<double> push_ms, push_bytes, fetch_ms;
  for (int lap = 0; lap < settings.laps; ++lap) {
    const std::set<size_t> changed = change(here, random, settings, pages);
    commit(here);
    const Timed pushed = timed(here, command("push", "hub"));
    push_ms.push_back(pushed.ms);
    push_bytes.push_back(static_cast<double>(pushed.reply.view()["bytes"].to_int64()));
    fetch_ms.push_back(timed(here, command("fetch", "hub")).ms);
    if (!git) continue;
    GitPeer::Files files;
    for (const size_t at : changed) files.push_back(pages.file(at));
    git->commit(files);
    const GitPeer::Pushed by_git = git->push();
    beside.push_ms.push_back(by_git.ms);
    beside.push_bytes.push_back(static_cast<double>(by_git.bytes));
    beside.fetch_ms.push_back(git->fetch_ms());
  }
  const double of_revisions = revisions(here, random, settings, git.get());
  check_same(here, hub);
  if (git) {
    beside.of_revisions = git->push();
    git->check_same();
  }

  Figure figure;
  figure.number = "R1";
  figure.title = fmt::format("{} documents of {} bytes; medians of {} laps", settings.documents, settings.bytes, settings.laps);
  figure.notes.push_back(
      "Time is the client's, of the whole command, with both servers on this machine. Bytes are those of packs.");
  Table table{"", {"what", "ms", "bytes", "of what it is about"}, {}};
  const auto bytes_of = [](const Timed& one) { return static_cast<double>(one.reply.view()["bytes"].to_int64()); };
  table.rows.push_back({"first push, all documents", number_text(all.ms), number_text(bytes_of(all)),
                        fmt::format("{:.3f}", bytes_of(all) / static_cast<double>(settings.documents * settings.bytes))});
  table.rows.push_back({fmt::format("push of {} changed documents", settings.changed), number_text(median(push_ms)),
                        number_text(median(push_bytes)),
                        fmt::format("{:.3f}", median(push_bytes) / static_cast<double>(settings.changed * settings.bytes))});
  table.rows.push_back({"fetch of nothing new", number_text(median(fetch_ms)), "", ""});
  table.rows.push_back({fmt::format("push of {} revisions of an article of {} bytes", settings.revisions, settings.article_bytes),
                        "", number_text(of_revisions),
                        fmt::format("{:.3f}", of_revisions / static_cast<double>(settings.revisions * settings.article_bytes))});
  if (git) {
    add_rows(table, settings, beside);
    figure.notes.push_back(
        "git's bytes are those of the pack that git push sends, which is made once more to count them; its time is that of git "
        "push "
        "to a repository on this machine, with all its processes. A file is a document as JSON.");
  }
  figure.tables.push_back(std::move(table));
  report.figures.push_back(std::move(figure));
  finish(report, settings.common.report_folder);
  return 0;
}

}  // namespace

Run add_options(CLI::App& parser) {
  auto settings = std::make_shared<Settings>();
  sets::add_common(parser, settings->common);
  CLI::Option* const tiny = parser.add_flag("--tiny", settings->tiny, "few documents, to see that it works");
  const auto number = [&](const char* name, size_t& value, const char* about) {
    return parser.add_option(name, value, about)->capture_default_str()->check(CLI::Range(size_t{1}, size_t{10'000'000}));
  };
  number("--documents", settings->documents, "how many there are")->excludes(tiny);
  number("--bytes", settings->bytes, "the size of a document's text");
  number("--changed", settings->changed, "how many of them a push has changed");
  number("--revisions", settings->revisions, "commits of one article, pushed at once")->excludes(tiny);
  parser.add_option("--laps", settings->laps, "how many pushes and fetches; figures are their medians")
      ->capture_default_str()
      ->check(CLI::Range(1, 100))
      ->excludes(tiny);
  parser.add_flag("--git", settings->git, "the same with git beside it: a file a document");
  return [settings] { return run(*settings); };
}

}  // namespace bench::remotes

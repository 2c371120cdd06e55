// This measures what snapshots cost a server whose clients update documents (Retro §8.3).
#include <fmt/core.h>

#include <algorithm>
#include <iostream>
#include <stdexcept>

#include "base/random.h"
#include "bench/measure/cpu_clock.h"
#include "bench/measure/server.h"
#include "bench/past/documents.h"
#include "bench/past/figures.h"
#include "bson/builder.h"
#include "datasets/replay/client.h"

namespace bench::past {
namespace {

constexpr const char* database = "bench";

// A Target is a server with a collection of documents of 1 KB.
class Target {
 public:
  Target(const Settings& settings, bool declares)
      : server_(settings.server, {"--wiredTigerCacheSizeGB", "1", "--quiet"}, settings.scratch),
        client_(server_.uri()),
        documents_(settings.documents),
        declares_(declares) {
    if (!client_.wait_until_up(30)) throw std::runtime_error("the server doesn't answer");
    base::Random random(7);
    std::string text(1'000, '\0');
    for (size_t begin = 0; begin < documents_; begin += Documents::batch) {
      std::vector<bson::Document> batch;
      for (size_t id = begin; id < std::min(documents_, begin + Documents::batch); ++id) {
        for (char& c : text) c = static_cast<char>('a' + random.below(26));
        bson::Builder out;
        out.append("_id", static_cast<int64_t>(id)).append("n", int64_t{0}).append("text", text);
        batch.push_back(out.done());
      }
      const std::vector<bson::DocumentView> views(batch.begin(), batch.end());
      if (!client_.insert(database, "documents", views).empty()) throw std::runtime_error("documents were refused");
    }
  }

  // Changes one field of the next `Documents::batch` documents in a circle, `each` with its own command, and behind a snapshot
  // where it declares any.
  void update(size_t each) {
    if (declares_) client_.command("admin", make([](bson::Builder& out) { out.append("createSnapshot", 1); }));
    for (size_t done = 0; done < Documents::batch; done += each) {
      const bson::Document reply =
          client_.command(database, make([&](bson::Builder& out) {
                            out.append("update", "documents");
                            auto updates = out.array("updates");
                            for (size_t i = 0; i < each; ++i) {
                              auto update = updates.object();
                              update.object("q").append("_id", static_cast<int64_t>(next_++ % documents_));
                              update.object("u").object("$inc").append("n", 1);
                            }
                          }));
      if (reply["nModified"].to_int64() != static_cast<int64_t>(each)) throw std::runtime_error("a document wasn't there");
    }
  }

  const Server& server() const { return server_; }

 private:
  template <class Fill>
  static bson::Document make(Fill&& fill) {
    bson::Builder out;
    fill(out);
    return out.done();
  }

  Server server_;
  datasets::replay::Client client_;
  const size_t documents_;
  const bool declares_;
  size_t next_ = 0;
};

struct Costs {
  double without_us = 0, with_us = 0;  // CPU time of all the server's threads, an update
  double added = 0;                    // a share
};

// The two take turns, so that the machine's other work meets both. A round goes over all documents, so the work that a server
// does after an answer falls into it.
Costs measure(const Settings& settings, Target& without, Target& with, size_t each) {
  const size_t turns = settings.documents / Documents::batch;
  std::vector<double> plain, saving, added;
  for (int round = 0; round < settings.rounds; ++round) {
    const double plain_before = without.server().cpu_seconds(), saving_before = with.server().cpu_seconds();
    for (size_t i = 0; i < turns; ++i) {
      (i % 2 == 0 ? without : with).update(each);
      (i % 2 == 0 ? with : without).update(each);
    }
    const double per_update = 1e6 / static_cast<double>(turns * Documents::batch);
    plain.push_back((without.server().cpu_seconds() - plain_before) * per_update);
    saving.push_back((with.server().cpu_seconds() - saving_before) * per_update);
    added.push_back(saving.back() / plain.back() - 1);
  }
  return {median(plain), median(saving), median(added)};
}

}  // namespace

void run_over_the_wire(const Settings& settings, Report& report) {
  std::cerr << "bench: over the wire\n";
  Target without(settings, false), with(settings, true);
  for (Target* const target : {&without, &with}) {
    for (size_t i = 0; i < settings.documents / Documents::batch; ++i) target->update(Documents::batch);
    target->server().wait_until_idle();
  }
  Figure figure{"R9", "Updates through a server", {}, {}, {}, {}};
  Table table{fmt::format("{} documents of 1 KB, one field changed, a snapshot before each {} updates, each the first since it; "
                          "CPU of the server, µs an update",
                          number_text(static_cast<double>(settings.documents)), Documents::batch),
              {"updates a command", "without snapshots", "with", "more"},
              {}};
  const auto row = [&](const std::string& name, size_t each) {
    const Costs costs = measure(settings, without, with, each);
    table.rows.push_back(
        {name, number_text(costs.without_us), number_text(costs.with_us), fmt::format("{:.1f} %", 100 * costs.added)});
    return 100 * costs.added;
  };
  const double alone = row("1", 1), together = row(std::to_string(Documents::batch), Documents::batch);
  // By then pre-states lie on all pages of their table, and there was no pause to write them in.
  const size_t in_a_row = static_cast<size_t>(settings.rounds) * 5 * settings.documents;
  for (size_t done = 0; done < in_a_row; done += Documents::batch) {
    without.update(Documents::batch);
    with.update(Documents::batch);
  }
  const double later =
      row(fmt::format("{}, {} updates later", Documents::batch, number_text(static_cast<double>(in_a_row))), Documents::batch);
  figure.tables.push_back(std::move(table));
  figure.notes.push_back(
      "Two servers in turns, one connection each, all of their threads; what they do in the background and to declare the "
      "snapshots is in it.");
  report.figures.push_back(std::move(figure));
  report.goals.push_back({"CPU an update through a server, a snapshot before each 1,000", "% more", alone, 4, true,
                          fmt::format("against a server without snapshots, in turns; one update a command. With 1,000 a command "
                                      "{:.1f} %, after a long time of them {:.1f} %",
                                      together, later)});
}

}  // namespace bench::past

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "bench/branches/figures.h"
#include "bench/measure/cpu_clock.h"
#include "bson/builder.h"

namespace bench::branches {

using namespace versions;

namespace {

template <class Work>
double median_ms(size_t calls, Work&& work) {
  return median_cpu_seconds(calls, work) * 1e3;
}

base::Bytes key_of_id(int64_t id) {
  bson::Builder builder;
  builder.append("_id", id);
  return key_of(builder.done().bytes());
}

// Makes a branched collection of so many documents, 1 to n, all committed on main.
class Things {
 public:
  Things(const std::string& folder, size_t documents) : repository(folder, Layout::hybrid), random_(9) {
    write(1, static_cast<int64_t>(documents), [&](storage::Transaction& transaction, const View& view, int64_t id) {
      const base::Bytes record = random_record(random_, id);
      written += record.size();
      repository.store().insert(transaction, view, record, transaction.next_stamp());
    });
    repository.commit("main");
  }

  template <class Each>
  void write(int64_t first, int64_t last, Each&& each, const std::string& branch = "main") {
    for (int64_t begin = first; begin <= last; begin += 100) {
      storage::in_transaction(repository.disk(), [&](storage::Transaction& transaction) {
        const View view = repository.view(transaction, branch);
        for (int64_t id = begin; id <= std::min(last, begin + 99); ++id) each(transaction, view, id);
      });
    }
  }
  // Changes the number in one column, or in all of them.
  void change(const std::string& branch, int64_t first, int64_t last, bool one_column = true) {
    write(
        first, last,
        [&](storage::Transaction& transaction, const View& view, int64_t id) {
          const RecordId old = repository.store().find(transaction, view, key_of_id(id));
          const base::Bytes record = one_column ? with_column(*repository.store().content(transaction, old),
                                                              random_.below(columns), static_cast<int64_t>(random_()))
                                                : random_record(random_, id);
          if (!one_column) written += record.size();
          repository.store().update(transaction, view, old, record, transaction.next_stamp());
        },
        branch);
  }
  CommitNumber head(const std::string& branch) {
    storage::Transaction transaction(repository.disk(), storage::Transaction::Mode::read);
    return repository.branches().head(transaction, branch).head;
  }
  void create(const std::string& name, const std::string& from) {
    storage::in_transaction(repository.disk(),
                            [&](storage::Transaction& transaction) { repository.branches().create(transaction, name, from); });
  }

  Repository repository;
  uint64_t written = 0;

 private:
  base::Random random_;
};

double commit_of_ten_ms(Things& things, size_t documents, size_t calls) {
  std::vector<double> all;
  for (size_t i = 0; i < calls; ++i) {
    const auto first = static_cast<int64_t>(1 + i * 10 % (documents - 10));
    things.change("main", first, first + 9);
    const CpuWatch watch;
    things.repository.commit("main");
    things.repository.disk().engine().wait_durable();
    all.push_back(watch.seconds() * 1e3);
  }
  return median(std::move(all));
}

void disk_goals(const Settings& settings, Report& report) {
  const size_t documents = std::max<size_t>(100, settings.documents / 5);
  const std::string folder = settings.scratch + "/disk";
  const auto last = static_cast<int64_t>(documents);
  {
    Things things(folder, documents);
    const double bytes = static_cast<double>(things.repository.settled_bytes());
    report.goals.push_back({"disk: inserts only, of what was written", "×", bytes / static_cast<double>(things.written), 1.05,
                            true, fmt::format("{} documents of 1 KB, random integers under 80 names that compress", documents)});
  }
  std::filesystem::remove_all(folder);
  {
    Things things(folder, documents);
    for (int64_t first = 1; first <= last; first += 1000) {
      things.change("main", first, std::min(last, first + 999), false);
      things.repository.commit("main");
    }
    const double bytes = static_cast<double>(things.repository.settled_bytes());
    report.goals.push_back({"disk: half of it updates of whole documents", "×", bytes / static_cast<double>(things.written), 1.10,
                            true, "a commit every 1,000 updates"});
  }
  std::filesystem::remove_all(folder);
  {
    Things things(folder, documents);
    const auto before = static_cast<double>(things.repository.settled_bytes());
    for (int64_t first = 1; first + 9 <= last; first += 10) {
      things.change("main", first, first + 9);
      things.repository.commit("main");
    }
    const double each = (static_cast<double>(things.repository.settled_bytes()) - before) / static_cast<double>(documents);
    report.goals.push_back(
        {"disk: an update of one integer of 1 KB", "B", each, 200, true, "a commit every 10 updates, all metadata included"});
  }
  std::filesystem::remove_all(folder);
}

}  // namespace

void run_goals(const Settings& settings, Report& report) {
  const size_t documents = settings.documents;
  const std::string folder = settings.scratch + "/goals";
  std::cerr << "goals: " << documents << " documents\n";
  {
    Things things(folder, documents);
    Repository& repository = things.repository;
    Figure figure{"B", "What grows with branches and history", {}, {}, {}, {}};
    Table table{"CPU, ms, medians", {"", "make a branch", "commit 10 changed documents"}, {}};

    // --- branches and commits, few and many
    const auto make = [&](size_t from, size_t count) {
      return median_ms(count, [&](size_t i) { things.create(fmt::format("x{}", from + i), "main"); });
    };
    const double branch_few = make(0, std::min<size_t>(100, settings.many_branches));
    const double commit_few = commit_of_ten_ms(things, documents, 100);
    table.rows.push_back({"a hundred branches", number_text(branch_few), number_text(commit_few)});
    if (settings.many_branches > 200) make(100, settings.many_branches - 200);
    const double branch_many = make(settings.many_branches, 100);
    const double commit_branches = commit_of_ten_ms(things, documents, 100);
    table.rows.push_back(
        {fmt::format("{} branches", settings.many_branches), number_text(branch_many), number_text(commit_branches)});
    for (size_t i = 200; i < settings.many_commits; ++i) {
      things.change("main", static_cast<int64_t>(1 + i % documents), static_cast<int64_t>(1 + i % documents));
      repository.commit("main");
    }
    const double commit_history = commit_of_ten_ms(things, documents, 100);
    table.rows.push_back({fmt::format("and {} commits", settings.many_commits), "", number_text(commit_history)});
    figure.tables.push_back(std::move(table));
    report.figures.push_back(std::move(figure));
    report.goals.push_back(
        {fmt::format("a branch of {} documents", documents), "ms", std::max(branch_few, branch_many), 0.5, true,
         fmt::format("engine level; {} ms with {} branches", number_text(branch_many), settings.many_branches)});
    report.goals.push_back({"commit of 10 changed documents with its root, durable", "ms",
                            std::max({commit_few, commit_branches, commit_history}), 0.6, true,
                            fmt::format("{} ms at first, {} with the branches, {} with the commits", number_text(commit_few),
                                        number_text(commit_branches), number_text(commit_history))});

    // --- reads of the past
    std::vector<CommitNumber> past;
    const double log_ms = median_ms(5, [&](size_t) {
      storage::Transaction transaction(repository.disk(), storage::Transaction::Mode::read);
      past.clear();
      Log log(repository.branches().graph(), transaction, repository.branches().head(transaction, "main").head);
      while (log.next()) past.push_back(log.commit().number);
    });
    base::Random random(21);
    const auto read_past = [&](size_t i) {
      storage::Transaction transaction(repository.disk(), storage::Transaction::Mode::read);
      const View view = repository.branches().view(transaction, past[i * 37 % past.size()], 0);
      repository.store().get(transaction, view, key_of_id(static_cast<int64_t>(1 + random.below(documents))));
    };
    const size_t reads = std::min<size_t>(200, past.size());
    const double read_cold = median_ms(reads, read_past);
    const double read_warm = median_ms(reads, read_past);
    report.goals.push_back({"open a past version and read one document, warm", "ms", read_warm, 0.10, true,
                            fmt::format("{} ms the first time", number_text(read_cold))});

    things.change("main", 1, 1);
    for (int i = 0; i < 50; ++i) {
      things.change("main", 1, 1);
      repository.commit("main");
    }
    size_t versions = 0;
    const double history_ms = median_ms(20, [&](size_t) {
      storage::Transaction transaction(repository.disk(), storage::Transaction::Mode::read);
      versions = 0;
      for (const Version& version : repository.store().history(transaction, key_of_id(1)))
        versions += repository.store().content(transaction, version.record).has_value();
    });

    // --- differences
    const auto diff = [&](CommitNumber a, CommitNumber b) {
      storage::Transaction transaction(repository.disk(), storage::Transaction::Mode::read);
      const Difference difference = repository.store().diff(transaction, repository.branches().view(transaction, a, 0),
                                                            repository.branches().view(transaction, b, 0));
      for (const RecordSet* side : {&difference.only_a, &difference.only_b}) {
        const auto scan = repository.store().scan_set(transaction, *side);
        while (scan->next()) scan->content();
      }
    };
    const double adjacent_ms = median_ms(reads, [&](size_t i) { diff(past[i + 1 < past.size() ? i + 1 : i], past[i]); });
    const auto tenth = static_cast<int64_t>(documents / 10);
    things.create("left", "main");
    things.create("right", "main");
    const CommitNumber base = things.head("main");
    things.change("left", 1, tenth);
    repository.commit("left");
    things.change("right", static_cast<int64_t>(documents) - tenth + 1, static_cast<int64_t>(documents));
    repository.commit("right");
    const double tenth_ms = median_ms(5, [&](size_t) { diff(base, things.head("left")); });
    report.goals.push_back({"difference of adjacent commits", "ms", adjacent_ms, 0.2, true, "with the documents of both sides"});
    report.goals.push_back({fmt::format("difference of {} of {} documents", tenth, documents), "ms", tenth_ms, 25, true,
                            "with the documents of both sides"});
    report.goals.push_back({fmt::format("log of {} commits", past.size()), "ms", log_ms, 10, true, ""});
    report.goals.push_back(
        {fmt::format("history of one document, {} versions", versions), "ms", history_ms, 1, true, "with the documents"});

    // --- merges, each taken back
    uint64_t merged_bytes = 0;
    std::vector<double> merge_times;
    for (int i = 0; i < settings.rounds; ++i) {
      storage::Transaction transaction(repository.disk(), storage::Transaction::Mode::write);
      const CommitNumber theirs = repository.branches().head(transaction, "right").head;
      const CpuWatch watch;
      merged_bytes = repository.branches().merge(transaction, "left", theirs, fields(Prefer::neither), {}).changed_bytes;
      merge_times.push_back(watch.seconds() * 1e3);
      transaction.rollback();
    }
    const double merge_ms = median(merge_times);
    report.goals.push_back(
        {fmt::format("merge {} + {} of {} documents", tenth, tenth, documents), "ms", merge_ms, 80, true,
         fmt::format("{} MB/s of what differs", number_text(static_cast<double>(merged_bytes) / 1e3 / merge_ms))});
  }
  std::filesystem::remove_all(folder);
  disk_goals(settings, report);
}

}  // namespace bench::branches

#include <fmt/core.h>

#include <filesystem>
#include <iostream>

#include "bench/branches/figures.h"
#include "bench/branches/git_peer.h"
#include "bench/measure/cpu_clock.h"

namespace bench::branches {

void run_beside_git(const Settings& settings, Report& report) {
  for (const double updates : {0.0, 0.5}) {
    Figure figure{
        updates == 0 ? "T6" : "T7", updates == 0 ? "git beside, inserts only" : "git beside, half of it updates", {}, {}, {}, {}};
    Table table{fmt::format("{} operations, {} commits", settings.git_records, settings.git_commits),
                {"", "data, MB", "kept in, MB", "repacked, MB", "commit, CPU ms", "checkout, CPU ms"},
                {}};
    for (const bool file_a_record : {false, true}) {
      std::cerr << "git, " << (file_a_record ? "a file a record" : "one file") << "\n";
      const GitFigures git =
          run_git(settings.scratch + "/git", settings.git_records, settings.git_commits, updates, file_a_record);
      table.rows.push_back({file_a_record ? "git, a file a record" : "git, one file", number_text(git.raw_mb),
                            number_text(git.loose_mb), number_text(git.packed_mb), number_text(git.commit_ms),
                            number_text(git.checkout_ms)});
    }
    const std::string folder = settings.scratch + "/data";
    {
      // This is the paper's deep strategy with ten branches.
      Dataset data(folder, {.operations = settings.git_records,
                            .branches = 10,
                            .commit_every = std::max<size_t>(1, settings.git_records / settings.git_commits),
                            .updates = updates});
      data.repository.forget();
      const CpuWatch watch;
      size_t checkouts = 0;
      for (size_t i = 0; i < data.commits.size(); i += 10, ++checkouts) {
        storage::Transaction transaction(data.repository.disk(), storage::Transaction::Mode::read);
        data.repository.store().scan(transaction, data.repository.branches().view(transaction, data.commits[i], 0))->next();
      }
      const double checkout = watch.seconds() * 1e3 / static_cast<double>(checkouts);
      table.rows.push_back({"hybrid", number_text(static_cast<double>(data.written_bytes) / 1e6),
                            number_text(static_cast<double>(data.repository.settled_bytes()) / 1e6), "-",
                            number_text(data.commit_seconds * 1e3 / static_cast<double>(data.commits.size())),
                            number_text(checkout)});
    }
    std::filesystem::remove_all(folder);
    figure.tables.push_back(std::move(table));
    report.figures.push_back(std::move(figure));
  }
}

}  // namespace bench::branches

#include "bench/sets/command.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace bench::sets {

void add_common(CLI::App& parser, Common& common) {
  parser.add_option("--server", common.server, "the palimpsestd to start (default: beside this program)");
  parser.add_option("--scratch", common.scratch, "where temporary folders go (default: TMPDIR)");
  parser.add_option("--report", common.report_folder, "write report.txt, report.json and report.html into this folder");
}

std::string server_of(const Common& common) {
  if (!common.server.empty()) return common.server;
  std::error_code ignored;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "palimpsestd";
  if (!std::filesystem::exists(beside, ignored))
    throw std::runtime_error("there is no palimpsestd beside this program, and --server names none");
  return beside.string();
}

void add_inserted(CLI::App& parser, Inserted& inserted) {
  parser.add_option("--workload", inserted.workload, "the data set to insert")
      ->capture_default_str()
      ->check(CLI::IsMember({"wiki", "mail", "stackexchange", "boards", "versions"}));
  parser.add_option("--data", inserted.data, "the folder with the data sets (default: shared/datasets above)");
  parser.add_flag("--synthetic", inserted.synthetic, "use made-up data, even where there is real data");
}

Workload load_inserted(const Inserted& inserted, size_t records) {
  WorkloadOptions from;
  constexpr uint64_t record_bytes = 20'000;  // about; the largest workload's
  from.synthetic_bytes = records * record_bytes;
  if (!inserted.synthetic) from.data = inserted.data.empty() ? find_data() : inserted.data;
  return load(inserted.workload, from);
}

Workload load_groups(const Inserted& inserted, size_t records) {
  // It skips the first records, which belong to a few pages.
  const Workload all = load_inserted(inserted, records);
  return all.sample(all.bytes() / std::max<size_t>(1, all.records.size()) * records).by_time();
}

size_t insert_batch(datasets::replay::Client& client, const std::string& database, const Workload& workload,
                    const std::vector<uint32_t>& order, size_t done, size_t end, size_t batch) {
  std::vector<bson::DocumentView> documents;
  const uint32_t collection = workload.records[order[done]].collection;
  for (; done < end && documents.size() < batch && workload.records[order[done]].collection == collection; ++done) {
    documents.emplace_back(workload.records[order[done]].document);
  }
  const auto failures = client.insert(database, workload.collections[collection], documents);
  if (!failures.empty()) throw std::runtime_error("an insert failed: " + failures.front().message);
  return done;
}

}  // namespace bench::sets

#include "server/query/exec/sort.h"

#include "server/query/fitting_int.h"

namespace server::query::exec {

Sort::Sort(StagePtr child, SortPattern pattern, bson::DocumentView specification, const Sorter::Options& options,
           Allowance& allowance)
    : Stage("SORT", std::move(child)),
      pattern_(std::move(pattern)),
      specification_(specification),
      limit_(options.limit),
      memory_bytes_max_(options.memory_bytes_max),
      allowance_(allowance),
      sorter_(options, allowance) {}

Step Sort::do_work(storage::Transaction& transaction) {
  if (loaded_) return sorter_.next(current_) ? Step::advanced : Step::end;
  switch (child().work(transaction)) {
    case Step::advanced: {
      const bson::DocumentView document = child().document();
      total_bytes_ += document.size();
      sorter_.take(pattern_.key(document, &allowance_), child().record(), document);
      break;
    }
    case Step::end:
      loaded_ = true;
      sorter_.finish();
      break;
    case Step::pending: break;
  }
  return Step::pending;
}

void Sort::append_details(bson::Builder& out) const {
  out.append("sortPattern", specification_).append("memLimit", fitting_int(static_cast<int64_t>(memory_bytes_max_)));
  if (limit_ != 0) out.append("limitAmount", fitting_int(limit_));
  out.append("type", "simple");
}

void Sort::append_figures(bson::Builder& out) const {
  out.append("totalDataSizeSorted", fitting_int(static_cast<int64_t>(total_bytes_))).append("usedDisk", sorter_.used_disk());
  out.append("spills", fitting_int(static_cast<int64_t>(sorter_.runs())));
  out.append("spilledDataStorageSize", fitting_int(sorter_.bytes_on_disk()));
}

}  // namespace server::query::exec

// A running query is a tree of stages; each unit of work pulls one from below.
//
//   LIMIT ── SORT ── FETCH ── IXSCAN
//
// A stage does a bounded amount of work per call, so the executor can pause between
// any two. Nothing touches the transaction before the first work().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bson/builder.h"
#include "bson/document.h"
#include "server/query/match/field_pass.h"
#include "server/query/query.h"
#include "storage/collections/collection.h"

namespace server::query::match {
class Node;
}

namespace server::query::exec {

enum class Step { advanced, pending, end };

// A filter has the predicates that a document must still fulfil, all of them. It borrows them from the matcher's tree.
class Filter {
 public:
  Filter() = default;
  explicit Filter(std::vector<const match::Node*> nodes) : nodes_(std::move(nodes)), pass_(nodes_) {}
  bool empty() const { return nodes_.empty(); }
  bool matches(bson::DocumentView document) const { return pass_.matches(document); }
  void append(bson::Builder& out) const;  // `filter: {…}`; nothing if it is empty

 private:
  std::vector<const match::Node*> nodes_;
  match::FieldPass pass_;
};

struct StageStats {
  int64_t works = 0;
  int64_t advanced = 0;
  int64_t pending = 0;
  int64_t saves = 0;
  int64_t restores = 0;
  bool ended = false;
};

class Stage {
 public:
  explicit Stage(std::string name) : name_(std::move(name)) {}
  Stage(std::string name, std::unique_ptr<Stage> child);
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // `transaction` is the one that is open since the beginning or the last restore.
  Step work(storage::Transaction& transaction);

  // These describe the current row, after `advanced`.
  virtual storage::RecordId record() const { return child().record(); }
  virtual bson::DocumentView document() { return child().document(); }
  virtual bson::BytesView key() const { return child().key(); }  // the key of an index entry; empty elsewhere

  // Called each time when the stage has found another row.
  void when_advanced(std::function<void(Stage& stage)> call) { advanced_ = std::move(call); }

  void save();
  void restore(storage::Transaction& transaction);
  // Returns whether a stage at its end may be asked again after a restore.
  virtual bool resumes() const { return children_.size() == 1 && child().resumes(); }
  // Returns true if it is known, without further work, that there is nothing more.
  virtual bool exhausted() const { return stats_.ended || (children_.size() == 1 && child().exhausted()); }

  const std::string& name() const { return name_; }
  // Returns whether this stage, or one below it, has that name.
  bool has(std::string_view name) const;
  const StageStats& stats() const { return stats_; }
  const std::vector<std::unique_ptr<Stage>>& children() const { return children_; }

  // Appends {stage, …, inputStage}, with figures above queryPlanner.
  void explain(bson::Builder& out, Verbosity verbosity) const;
  virtual void count(ExecutionStats& total) const;
  // Returns the leaves as "IXSCAN { a: 1 }".
  virtual std::string summary() const;

 protected:
  virtual Step do_work(storage::Transaction& transaction) = 0;
  virtual void do_save() {}
  virtual void do_restore(storage::Transaction&) {}
  // These are called in this order; all stages' common figures come between the first two.
  virtual void append_filter(bson::Builder&) const {}
  virtual void append_details(bson::Builder&) const {}
  virtual void append_figures(bson::Builder&) const {}

  Stage& child() { return *children_.front(); }
  const Stage& child() const { return *children_.front(); }

  std::vector<std::unique_ptr<Stage>> children_;

 private:
  const std::string name_;
  StageStats stats_;
  std::function<void(Stage&)> advanced_;
};

using StagePtr = std::unique_ptr<Stage>;

}  // namespace server::query::exec

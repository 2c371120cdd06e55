// Records in the order of their distance from a point.
//
// The stage looks at rings around the point, each wider than the one before. A ring's cells are ranges of the index; those that
// earlier rings had are left out. What lies within the ring's outer edge is returned in order, the rest waits for the next ring.
#pragma once

#include <queue>
#include <unordered_set>

#include "server/core/allowance.h"
#include "server/query/document_metadata.h"
#include "server/query/exec/scans.h"
#include "server/query/match/geo.h"
#include "server/query/plan/access.h"

namespace server::query::exec {

class GeoNear : public Stage {
 public:
  // `output` says what is put into the documents; nullptr: nothing. `metadata` gets distance and location if it wants them;
  // nullptr: nobody does.
  GeoNear(CollectionPtr collection, const plan::Access& access, std::shared_ptr<const NearOutput> output, MetadataPlace* metadata,
          Allowance& allowance);
  storage::RecordId record() const override { return current_.record; }
  bson::DocumentView document() override { return current_.document; }
  bson::BytesView key() const override { return {}; }
  void count(ExecutionStats& total) const override;
  std::string summary() const override;

 protected:
  Step do_work(storage::Transaction& transaction) override;
  void do_save() override;
  void do_restore(storage::Transaction& transaction) override;
  void append_filter(bson::Builder& out) const override { filter_.append(out); }
  void append_details(bson::Builder& out) const override;
  void append_figures(bson::Builder& out) const override;

 private:
  struct Found {
    double distance = 0;  // radians, or units of the plane
    storage::RecordId record = 0;
    bson::Document document;
    bson::Value location;  // the closest one, if it is wanted
    size_t bytes() const { return document.size() + location.view().bytes().size() + sizeof(Found); }
    bool operator<(const Found& other) const { return distance > other.distance; }  // the nearest is on top
  };
  bool widen();
  void put_output();
  void put_metadata();
  bool wants_location() const;
  void take(storage::Transaction& transaction);
  std::optional<Found> measure(const bson::Document& document) const;

  const CollectionPtr collection_;
  const IndexPtr index_;
  const std::vector<plan::Intervals> fields_;
  const size_t field_;
  const std::string path_;
  const match::Near near_;
  const double least_, most_;  // in the unit of `Found`
  const Filter filter_;
  const std::shared_ptr<const NearOutput> output_;
  MetadataPlace* const metadata_;

  std::unique_ptr<storage::IndexCursor> cursor_;
  plan::Intervals scanned_;                // cells of earlier rings
  std::vector<storage::KeyRange> ranges_;  // of this ring
  size_t range_ = 0;
  bool in_range_ = false;
  bool started_ = false;
  double outer_ = 0, width_ = 0;
  int64_t found_in_ring_ = 0;
  std::priority_queue<Found> found_;
  std::unordered_set<storage::RecordId> seen_;
  Allowance& allowance_;
  Held held_;  // both
  Found current_;
  int64_t examined_ = 0, fetched_ = 0, rings_ = 0;
};

}  // namespace server::query::exec

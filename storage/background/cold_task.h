// In quiet times this task looks at contents that are stored whole: it demotes heads that nobody reads, and encodes updates that
// were missed (missed_updates.h). It goes through a collection's records in passes, a slice in each step (cold_pass.h).
#pragma once

#include <unordered_map>

#include "storage/background/cold_pass.h"
#include "storage/background/cold_questions.h"
#include "storage/background/content_encoder.h"
#include "storage/background/demoter.h"
#include "storage/background/missed_updates.h"
#include "storage/background/save_task.h"
#include "storage/background/task.h"

namespace storage {

class ColdTask final : public Task, public DropListener {
 public:
  struct Needs {
    Engine& engine;
    const LiveOptions& options;
    Partitions& partitions;
    const TrackedCollections& tracked;
    MissedUpdates& missed;
    Sources& sources;
    ContentEncoder& encoder;
    Demoter& demoter;
    PublishedFigures& figures;
    ColdQuestions& questions;
    SaveTask& save;
  };
  explicit ColdTask(const Needs& needs) : needs_(needs) {}

  bool step(const Round& round) override;
  bool awaited() const override { return needs_.questions.any(); }
  void forget(CollectionId collection) override;

  void answer_some();  // If somebody waits for a pass, this function does a slice of it.

 private:
  struct Cold {
    ColdPass pass;
    bool on = false;
    uint64_t asked = 0;  // The pass answers this question; 0 means that nobody asked.
    bool cold = false;   // The pass demotes cold heads.
    int64_t begun_us = 0, ended_us = 0;
    // These were the contents that were too warm at the end of the last pass, and the changes counted by then.
    uint64_t warm = 0, changes = 0;
    uint64_t option_changes = 0;
  };
  bool some(bool asked_only);
  bool concerned(Collection& collection) const;
  bool demotes(const Collection& collection) const;
  bool has_missed(Collection& collection) const;
  bool begin(Collection& collection, uint64_t asked);
  bool due(const Cold& cold, Collection& collection, uint64_t asked, uint32_t after_secs) const;
  bool slice(Collection& collection);
  void end(Cold& cold, Collection& collection);
  uint64_t changes_of(Collection& collection) const;

  const Needs needs_;
  std::unordered_map<CollectionId, Cold> colds_;
};

}  // namespace storage

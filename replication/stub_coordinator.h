// A coordinator of a set that does nothing: tests say what they need of it otherwise.
#pragma once

#include <string>

#include "replication/coordinator.h"

namespace replication::test {

class StubCoordinator : public Coordinator {
 public:
  const std::string& set_name() const override { return name; }
  Standing standing() const override { return {}; }
  Progress progress() const override { return {}; }
  LogEnd log_end() const override { return {}; }
  bool knows(const std::string&) const override { return true; }
  MemberState state() const override { return MemberState::primary; }
  int64_t write_term() const override { return 1; }
  std::shared_lock<std::shared_mutex> hold_primary() override { return {}; }
  void initiate(const SetConfig&) override {}
  SetConfig default_config() const override { return {}; }
  void reconfigure(SetConfig, bool) override {}
  void step_down(const StepDown&) override {}
  void freeze(int64_t) override {}
  void maintain(bool) override {}
  std::optional<WriteConcernFailure> unsatisfiable(const WriteConcern&) const override { return std::nullopt; }
  void when_acknowledged(OpTime, const WriteConcern&, std::function<void(std::optional<WriteConcernFailure>)> done) override {
    done(std::nullopt);
  }
  void when_read_stands(OpTime, std::function<void(std::optional<WriteConcernFailure>)> done) override { done(std::nullopt); }
  void when_committed_past(storage::Stamp, std::function<void()>) override {}
  void learn_config(const SetConfig&, const std::string&) override {}
  storage::Stamp write_noop(storage::Stamp, bson::DocumentView) override { return 0; }

  std::string name = "rs";
};

}  // namespace replication::test

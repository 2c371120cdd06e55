// The configuration of a replica set: who its members are and how they behave.
//
// One document is given to replSetInitiate and replSetReconfig, answered by
// replSetGetConfig and kept in local.system.replset. It is checked here as mongod
// checks it.
#pragma once

#include <string>
#include <vector>

#include "bson/document.h"

namespace replication {

struct MemberConfig {
  int32_t id = 0;
  std::string host;  // "db1.example:27017"
  bool arbiter = false;
  bool build_indexes = true;
  bool hidden = false;
  double priority = 1;
  bson::Document tags;  // of strings
  int64_t delay_seconds = 0;
  int32_t votes = 1;

  bool electable() const { return !arbiter && priority > 0; }
};

// A ConfigPlace says which of two configurations is newer.
struct ConfigPlace {
  int64_t version = -2;  // -2: not initiated
  int64_t term = -1;     // -1: none
  // MongoDB orders configurations by term, where both have one, then by version.
  bool newer_than(const ConfigPlace& other) const;
};

struct SetConfig {
  std::string name;
  int64_t version = 1;
  int64_t term = -1;  // -1: none given
  std::vector<MemberConfig> members;
  bool majority_journaled = true;
  // settings
  bool chaining = true;
  int64_t heartbeat_interval_ms = 2000;
  int64_t heartbeat_timeout_s = 10;
  int64_t election_timeout_ms = 800;  // of silence, before another member stands; mongod's is 10'000
  int64_t catch_up_timeout_ms = -1;
  int64_t catch_up_takeover_ms = 30'000;
  bson::Document write_modes;    // getLastErrorModes: {mode: {tag: count}}
  bson::Document default_write;  // getLastErrorDefaults
  bson::ObjectId set_id;         // zeros: none yet

  ConfigPlace place() const { return {version, term}; }
  // The document has every default filled in.
  bson::Document document() const;
  // nullptr: no such member.
  const MemberConfig* member(std::string_view host) const;
};

// Throws InvalidReplicaSetConfig, TypeMismatch, 40414, 40415 … as mongod does.
SetConfig parse_set_config(bson::DocumentView document);

// May `next` follow `now`? Throws NewReplicaSetConfigurationIncompatible.
void check_reconfig(const SetConfig& now, const SetConfig& next, bool force);

}  // namespace replication

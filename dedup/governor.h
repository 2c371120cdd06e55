// The governor turns dedup off where it doesn't pay (dbDedup §4.3.1). Unlike the thesis's it tries again, because workloads
// change.
//
//   |------ window: 100,000 contents ------|------ window ------|
//   on: judged by all of them                off: 1 % are tried
//
// The 1 % are whole chains, chosen by a hash that versions of one thing have in common: a sample of single
// contents would separate them and find nothing. Half of the chains stay the same, so that versions far apart
// meet; the other half changes ten times a window, so that each of a few large chains is tried sooner or
// later.
#pragma once

#include <cstdint>

#include "dedup/options.h"

namespace dedup {

enum class GovernorReason : uint8_t {
  not_judged,     // on: the first window isn't over
  pays,           // on: the last window saved enough
  came_back,      // on: a probe saved enough
  never_judges,   // on: there is no window
  ratio_too_low,  // off: the last window saved too little
  probe_too_low,  // off: the last probe still saved too little
  none_probed,    // off: nothing came that belonged to the last probe
  switched_off,   // off: the options say so
};
const char* to_string(GovernorReason reason);

struct GovernorState {
  bool on = true;
  GovernorReason reason = GovernorReason::not_judged;
  double ratio = 0;      // when it was last judged: contents by what was left of them; 0: never, or nothing was tried
  double ratio_now = 0;  // saved in this window or probe so far; 0: nothing yet
  uint64_t contents_until_judged = 0;  // contents until the window ends; 0: never
};

// The governor isn't thread-safe.
class Governor {
 public:
  explicit Governor(const Options& options) { set_options(options); }

  enum class Verdict : uint8_t {
    go_on,
    turn_off,  // the caller should free the index
  };

  // Sets options; the counts so far stay.
  void set_options(const Options& options);

  bool on() const { return on_; }
  // Tells whether it is off for good: then nothing needs to be sketched.
  bool never_probes() const { return !on_ && probe_share_ == 0; }
  // Tells, while it is off, whether a chain with this hash belongs to the probe.
  bool probes(uint64_t chain_hash) const;

  // Counts every content, tried or not, with the bytes that encoding it saved.
  Verdict saw(bool tried, uint64_t content_bytes, uint64_t saved_bytes);

  GovernorState state() const;

 private:
  double ratio() const;

  double ratio_min_ = 0;
  uint64_t window_ = 0;
  uint64_t probe_share_ = 0;  // the share of all hashes
  bool enabled_ = true;
  bool on_ = true;
  GovernorReason reason_ = GovernorReason::not_judged;
  double judged_ = 0;
  uint64_t seen_ = 0;  // contents seen in this window
  uint64_t turn_ = 0;  // which chains are tried
  uint64_t content_bytes_ = 0;
  uint64_t saved_bytes_ = 0;
};

}  // namespace dedup

// This file does what `palimpsestd --replayLogOf` does, which `palimpsest restore --until` runs.
//
//   data directory    everything up to ── replay_from      (and perhaps some entries behind it)
//   log of the copy        … entries … ── replay_from ── entries ── replay_until ── entries …
//                                                       replayed                    left out
#pragma once

namespace server {

struct Options;

// Replays the entries of the log in `options.replay_log_of`, a later copy of the same server's directory, over the directory
// `options.dbpath`, as a member of a set replays its primary's log: up to and including `options.replay_until`, and a transaction
// wholly or not at all. Logs how far it is. Nobody else may have the directories open. If it fails, the directory is somewhere
// between. Throws OperationError: SnapshotTooOld if the log doesn't reach from the directory to the moment, IllegalOperation if
// the directory is beyond the moment, InvalidOptions if the log is another server's, and what opening a directory throws.
void replay_log(const Options& options);

}  // namespace server

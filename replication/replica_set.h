// A member of a replica set, of any number of members.
//
//   a client's write: data and oplog row, committed here at once
//        |  log pump: the new oplog rows, in order, one record a transaction
//        v
//   consensus (raft_node.h) ----> the other members' applier: the same change there
//        |
//        v  majority-committed: waiters are answered, the stable point of the engine moves on
//
//   STARTUP --initiate, or another member has a configuration--> STARTUP2 --copied--> SECONDARY <--elected, steps down--> PRIMARY
//
// Data that the set has decided against is never mended in place: the process starts anew, from a checkpoint that has
// only what is majority-committed, and replays the log from there. The same way leads out of a copy of another's data.
//
//   local.system.replset     the configuration (LocalDocument), written in the transaction of the log's entry that brings it
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/tls/contexts.h"
#include "replication/applier.h"
#include "replication/consensus/raft_node.h"
#include "replication/consensus/table_log_disk.h"
#include "replication/consensus/tcp_transport.h"
#include "replication/coordinator.h"
#include "replication/local_document.h"
#include "replication/log_places.h"
#include "replication/log_pump.h"
#include "replication/member_duties.h"
#include "replication/member_machine.h"
#include "replication/oplog.h"
#include "replication/succession.h"
#include "replication/write_acks.h"

namespace storage {
class Store;
}

namespace replication {

// The server does these things for its member.
struct ReplicaSetOptions {
  std::string set_name;
  std::string default_host;                              // "localhost:27017"
  const base::tls::Contexts* tls = nullptr;              // for connections to other members; nullptr: they are plain
  consensus::LogIn log_in = {};                          // to other members; empty: members don't log in
  std::function<bool(const std::string& host)> is_self;  // does this name lead here?
  // The state or the configuration is about to change: called before standing() shows it, and it mustn't ask back.
  std::function<void()> changed = [] {};
  std::function<void()> interrupt_writers = [] {};  // they hold up a step-down
  std::function<void()> became_primary = [] {};     // after clients may write
  // Are the others there, and free to join? Throws NodeNotFound and what else replSetInitiate and replSetReconfig answer.
  std::function<void(const SetConfig& config, bool initiating)> check_others = [](const SetConfig&, bool) {};
  // May this member, whose log ends at `own`, go on with those of `next` though there is no majority? Throws
  // NewReplicaSetConfigurationIncompatible where another one is in reach that leads, or has more of the log.
  std::function<void(const SetConfig& next, LogEnd own)> check_alone = [](const SetConfig&, LogEnd) {};
  // Copies another member's data to the place where the next start finds it. `source` returns the leader, if it is known. From
  // the call of `stop_voting` on this member takes no part in anything. The copy blocks, and throws after its last attempt.
  std::function<void(std::function<std::optional<std::string>()> source, std::function<consensus::HardState()> stop_voting)> copy;
  // Ends this process in order and starts it anew; returns at once.
  std::function<void(const std::string& why)> restart;
  std::string rollback_directory;  // where writes that were rolled back are kept
};

class ReplicaSet final : public Coordinator, private consensus::NodeOwner, private MemberDuties {
 public:
  // Reads the configuration that is there. Throws InvalidReplicaSetConfig for one of another name. The engine is in its
  // replicated mode.
  ReplicaSet(storage::Store& store, Oplog& oplog, Applier& applier, base::Clock& clock, ReplicaSetOptions options);
  ~ReplicaSet() override;
  void start();

  const std::string& set_name() const override { return options_.set_name; }
  Standing standing() const override;
  Progress progress() const override;
  LogEnd log_end() const override;
  bool knows(const std::string& host) const override;
  MemberState state() const override { return state_.load(std::memory_order_acquire); }
  int64_t write_term() const override;
  std::shared_lock<std::shared_mutex> hold_primary() override;
  void initiate(const SetConfig& config) override;
  SetConfig default_config() const override;
  void reconfigure(SetConfig config, bool force) override;
  void step_down(const StepDown& how) override;
  void freeze(int64_t ms) override;
  void maintain(bool on) override;
  std::optional<WriteConcernFailure> unsatisfiable(const WriteConcern& concern) const override;
  void when_acknowledged(OpTime optime, const WriteConcern& concern,
                         std::function<void(std::optional<WriteConcernFailure>)> done) override;
  void when_read_stands(OpTime read_at, std::function<void(std::optional<WriteConcernFailure>)> done) override;
  void when_committed_past(storage::Stamp stamp, std::function<void()> done) override;
  storage::Stamp write_noop(storage::Stamp at_least, bson::DocumentView message) override;
  void learn_config(const SetConfig& config, const std::string& from) override;

  // A connection that another member opened to this one's port. Takes the descriptor.
  void adopt_connection(int descriptor, std::unique_ptr<base::tls::Stream> tls, base::Bytes already_read);

 private:
  // A write that still waits so long after the end of leadership is given up. Its client has learned meanwhile that this member
  // isn't primary, and sends the write to the next one; and the next one's first entry acknowledges it in most cases.
  static constexpr int64_t ack_grace_us = 100'000;

  // No client's write runs, and none begins, while it lives. Whoever waits for the state learns from its begin on that a primary
  // isn't to be written to: a driver whose write was interrupted looks for another one.
  class WritesStopped {
   public:
    explicit WritesStopped(ReplicaSet& set);
    ~WritesStopped();
    WritesStopped(const WritesStopped&) = delete;

   private:
    ReplicaSet& set_;
    std::unique_lock<std::shared_mutex> alone_;
  };

  // replica_set.cpp
  void show_state() REQUIRES(mutex_);  // what machine_ has come to
  void adopt(SetConfig config) REQUIRES(mutex_);
  void tell_electable() REQUIRES(mutex_);
  void adopt_found(bson::DocumentView document) REQUIRES(mutex_);
  void adopt_from_log() REQUIRES(mutex_);
  size_t find_self(const SetConfig& config) const;
  void check_self(const SetConfig& config) const;
  int64_t now_us() const { return clock_.monotonic_us(); }
  storage::Stamp write_config(const SetConfig& config, std::string_view why);
  void await_config(OpTime written) EXCLUDES(mutex_);
  storage::Stamp append_message(storage::Transaction& transaction, bson::DocumentView message);
  void go_on_alone(const std::shared_ptr<const SetConfig>& now, const SetConfig& next);

  // replica_set_node.cpp: the node's life, what it decides, and what is made of it
  void begin_node() REQUIRES(mutex_);
  void connect_peers() REQUIRES(mutex_);
  void decided(const consensus::Output& out) override;
  void note_replaced();
  std::optional<Progress::Place> place_noted(consensus::Index index) const;
  using Records = std::vector<LogRecord>::iterator;
  Records due(Records from, Records end);
  void apply_loop();
  bool replays_nothing_more(const std::exception& error);  // after this error: it waits for a copy
  void apply(const std::vector<consensus::EntryPtr>& entries);
  void adopt_logged_configs(const std::vector<LogRecord>& records, bool in_use);
  void answer_reads(std::vector<consensus::ReadState> reads);
  void start_over(const std::string& why);

  // replica_set_room.cpp: what a full disk holds up
  bool replay(const std::vector<LogRecord>& records);  // false: this member ends first
  bool await_room(const std::string& refusal, bool first);
  void lack_room(const std::string& refusal) EXCLUDES(mutex_);
  void have_room() EXCLUDES(mutex_);
  void look_for_room();

  // replica_set_duties.cpp: what has its time
  void duty_loop();
  void ask(const Question& question) override;
  bool starts_anew() override { return starting_over_; }
  bool takes_part() override;
  void look_around() override;
  void pass_on_lead() override;
  bool apply_ahead();              // false: not now
  void take_over() override;       // elected: to PRIMARY once everything is applied
  void end_leadership() override;  // no longer: what hasn't reached the log is lost
  void align_members() override;
  consensus::EntryPtr logged(consensus::Index index);
  void shorten_log() override;
  void count_members() override;
  void begin_log_anew(const consensus::Behind& behind) override;
  void look_for_damage();
  void note_damage();
  // This member's directory was repaired while it wasn't a member: nobody reads from it before it has another member's data.
  void distrust_repair() REQUIRES(mutex_);
  bool copy_on_damage(int log_id, std::string_view why) REQUIRES(mutex_);
  void copy_anew() override;
  std::optional<std::string> copy_source();
  consensus::HardState stop_voting();
  void roll_back() override;
  void roll_back(const std::string& why);
  void forget_places() override;
  void renew_committed();
  void advance_time() override;
  void tend_readers() override;
  void ask_reads_again();
  void answer_all_reads(bool leads);
  void step_down_damaged() override { step_down({}); }
  void tell_electability() override;
  void renew_electable() REQUIRES(mutex_);
  void show_electability() REQUIRES(mutex_);
  void give_up_acks(int64_t grace_us);
  void expire_waits() override { acks_.expire(now_us()); }

  // replica_set_succession.cpp: the end of being primary, by a successor or without
  void hand_over_to_better() override;
  Succession::Outcome carry_out(Succession& succession, int64_t period_us);
  void answer_acks();
  Succession::Move next_move(Succession& succession, bool drained);

  storage::Store& store_;
  Oplog& oplog_;
  Applier& applier_;
  base::Clock& clock_;
  const ReplicaSetOptions options_;
  const LocalDocument own_config_;
  consensus::TableLogDisk disk_;
  WriteAcks acks_;

  mutable base::Mutex mutex_;
  base::Condition woken_;  // for the duties
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::shared_ptr<const SetConfig> config_ GUARDED_BY(mutex_);
  size_t self_ GUARDED_BY(mutex_) = 0;               // in config_->members; beyond: removed
  MemberMachine machine_ GUARDED_BY(mutex_);         // what this member is, and what is due
  consensus::MemberId heir_ GUARDED_BY(mutex_) = 0;  // whom this member passed the lead on to last, as a caretaker
  int64_t elected_ms_ GUARDED_BY(mutex_) = 0;
  int stepping_down_ GUARDED_BY(mutex_) = 0;                // WritesStopped that live
  storage::Stamp config_written_ GUARDED_BY(mutex_) = 0;    // by this member, as primary
  std::set<consensus::MemberId> peers_ GUARDED_BY(mutex_);  // as the transport knows them
  consensus::MemberId node_id_ GUARDED_BY(mutex_) = 0;      // under which node_ runs; 0: none runs
  bool forced_ GUARDED_BY(mutex_) = false;                  // node_ was stopped for go_on_alone
  storage::Stamp advance_seen_ = 0;                         // of the oplog, by advance_time
  int64_t advance_seen_us_ = 0;
  LogPlaces places_ GUARDED_BY(mutex_);                   // of this leader's records, for those who count members
  std::atomic<MemberState> state_{MemberState::startup};  // as show_state last saw it
  std::atomic<int64_t> term_{0};
  // Shared: a write runs; alone: the end of being primary. It is a standard one, since hold_primary() gives its lock away, which
  // an operation keeps to its end, and what it guards is no field, but who writes to the log.
  std::shared_mutex primary_mutex_;
  std::atomic<bool> writes_held_{false};  // whoever waits for it alone goes first

  std::unique_ptr<consensus::TcpTransport> transport_;
  std::unique_ptr<consensus::RaftNode> node_;  // set once, under mutex_
  std::unique_ptr<LogPump> pump_;

  mutable base::Mutex apply_mutex_;
  base::Condition to_apply_woken_;
  bool apply_stopping_ GUARDED_BY(apply_mutex_) = false;
  bool apply_held_ GUARDED_BY(apply_mutex_) = false;  // until it is known what of this member's own writes stays
  // The writes that this member made before they were majority-committed, as primary or about to be one, end here. While
  // committed_ lies before it, readers see what may be rolled back. Known from the end of leadership on; while it leads every
  // read asks.
  storage::Stamp uncommitted_upto_ GUARDED_BY(apply_mutex_) = 0;
  std::deque<consensus::EntryPtr> to_apply_ GUARDED_BY(apply_mutex_);
  std::vector<consensus::ReadState> to_answer_ GUARDED_BY(apply_mutex_);
  std::vector<consensus::ReadState> early_reads_ GUARDED_BY(apply_mutex_);  // of what isn't applied yet
  consensus::Index applied_ GUARDED_BY(apply_mutex_) = 0;
  consensus::Term caught_up_ GUARDED_BY(apply_mutex_) = 0;        // everything before this term's first entry is applied
  consensus::Index ahead_ GUARDED_BY(apply_mutex_) = 0;           // apply_ahead has made what is in the log up to here
  consensus::Index ahead_begun_ GUARDED_BY(apply_mutex_) = 0;     // and some of what is up to here
  std::set<consensus::Term> led_terms_ GUARDED_BY(apply_mutex_);  // by this process: these terms' entries are here already
  Progress::Place committed_ GUARDED_BY(apply_mutex_);
  using Asked = std::function<void(bool leads)>;
  std::map<std::string, Asked> asked_ GUARDED_BY(apply_mutex_);  // is this member still primary? By context
  uint64_t asked_last_ GUARDED_BY(apply_mutex_) = 0;

  base::Mutex applying_mutex_;  // one at a time makes what the log says; taken before the others
  std::atomic<bool> starting_over_{false}, damage_noted_{false}, repaired_{false};
  std::atomic<bool> apply_waits_{false};  // for room on the disk
  std::thread apply_thread_, duty_thread_;
};

}  // namespace replication

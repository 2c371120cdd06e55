// The world is a replica set in one thread: members, disks, a network, clients and faults, all on one clock and from one
// seed.
//
// The consensus core, with the library in it, is the real one; time, disk and
// network are events in a queue. After each event the invariants are checked:
//
//   one leader a term · committed entries never differ · logs that agree at one
//   place agree before it · a leader has all that was committed · what is
//   committed is on the disks of a majority of data · one primary a term, which
//   has applied all that was committed before its term
//
// In some worlds the members follow configurations, as those of a server do, and
// the rules of replication/ for it are the real ones, too: which change of the
// membership comes next, who succeeds a primary, how far a log is shortened.
//
//   a voter is added only when its disk has all but the last few entries · the
//   lead is handed over only to a member that has the whole log, and that wasn't
//   frozen two seconds ago · a step-down ends, in time, with another member or
//   none leading, or the lead kept and writes going on; it resigns by itself only
//   when a member that can be elected has the whole log · no entry goes from a
//   log that a restart or a member of the set needs, unless the log is over its
//   bound · of a member that stays in reach it is known what it has
//
// At the end everything is healed, and then the set must make progress, agree,
// hold all that was acknowledged, the clients' history must be linearizable, the
// members of consensus are those of the configuration, and of those that may lead
// one of the highest priority does.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <stdexcept>

#include "base/random.h"
#include "replication/consensus/raft_core.h"
#include "replication/set_config.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/history.h"
#include "tests/simulation/machine.h"

namespace simulation {

// A mutation is a rule that is broken on purpose, to see that the checks find it.
enum class Mutation {
  none,
  early_word,     // a follower's messages go out before its write is durable
  lost_sync,      // the disk says done before it is
  forgets_vote,   // the vote doesn't survive
  stale_reads,    // a leader answers reads without asking the others
  early_primary,  // a leader becomes primary before it has applied what came before its term
  hasty_voter,    // a member votes before it has caught up
  greedy_log,     // the log is shortened without regard to the other members
  blind_transfer  // the lead is handed over to members that haven't said that they would take it
};

struct Plan {
  uint64_t seed = 1;
  int members = 3;
  int arbiters = 0;                   // of the members
  bool configured = false;            // the members follow configurations; else the world changes the membership as it likes
  uint64_t log_bytes_kept = 100'000;  // of a log, where they do
  int64_t faults_until_ms = 20000;
  Mutation mutation = Mutation::none;
  bool trace = false;
};

struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Tally {
  int64_t events = 0, acknowledged = 0, unknown = 0, reads = 0, elections = 0, primaries = 0, crashes = 0, copies = 0,
          membership_changes = 0, reconfigurations = 0, successions = 0, step_downs = 0, shortenings = 0, caretakers = 0;
};

class World {
 public:
  explicit World(const Plan& plan);
  ~World();
  // It throws Violation.
  Tally run();

 private:
  struct Member;
  struct Operation;
  struct Running;  // a succession
  struct Duties;

  // The clock (world.cpp)
  void at(int64_t delay_us, std::function<void()> action);
  void heal_everything();
  void say(const std::string& line);
  [[noreturn]] void fail(const std::string& what);

  // Members (world_members.cpp)
  void start(Member& member);
  void crash(Member& member);
  bool may_not_lead(MemberId id) const { return plan_.seed % 5 == 2 && id == 2; }  // it is a caretaker at most, in this world
  bool may_lead(const Member& member) const;                                       // and be primary
  uint32_t rank_of(const Member& member) const;
  void tick(MemberId id, uint64_t life);
  void handle_output(Member& member);
  void send(Member& from, std::vector<Outgoing>& messages);
  void deliver(MemberId from, MemberId to, const Bytes& bytes);
  void enqueue_write(Member& member, Write write);
  void run_disk(Member& member);
  void committed(Member& member, const EntryPtr& entry);
  void copy_from_another(Member& member, const Behind& behind);

  // Members' roles (world_roles.cpp)
  Candidacy begin_role(Member& member);
  Candidacy candidacy_of(Member& member);
  void stood(Member& member, const replication::consensus::Standing& standing);
  void do_duties(Member& member);
  void take_over(Member& member);
  void start_over(Member& member);
  void check_primary(Member& member, bool ahead);
  void tell_electable(Member& member);
  void pass_on_lead(Member& member);

  // These functions follow configurations (world_sets.cpp)
  void configure_first();
  void adopt(Member& member, int64_t configuration);
  void write_configuration(Member& primary, replication::SetConfig next);
  void reconfigure();
  bool change(replication::SetConfig& next, const Member& primary);
  void align_members(Member& leader);
  void shorten(Member& member);
  void forget_places(Member& primary);
  void check_voter(Member& leader, MemberId joins);
  void check_shortening(Member& member, Index upto, bool too_long);
  void check_configured(Member& leader);

  // The end of being primary (world_succession.cpp)
  void hand_over_to_better(Member& primary);
  void step_down();
  void carry_out(MemberId id, const std::shared_ptr<Running>& running);
  bool stands(Member& asking, MemberId id);
  void answer(Member& member, MemberId from, const Bytes& bytes);
  void check_transfer(Member& primary, MemberId to);
  void check_resignation(Member& primary, bool forced);
  void check_over(Member& member, const Running& running);

  // Faults (world_faults.cpp)
  void disturb();
  void move_leadership(Member& leader);
  void freeze_one();
  void change_members();
  void partition();

  // Clients (world_clients.cpp)
  void client(int number);
  std::optional<Position> propose(Member& primary, const Command& command);
  void wait_for_answer(int64_t operation, int client, int64_t patience_us, int64_t pause_us);
  void begin_read(Member& leader, int64_t operation);
  void finish_reads(Member& member);
  void acknowledge(const LogEntry& entry, bool succeeded);

  // Invariants (world_checks.cpp)
  void check_leader(Member& member);
  void check_committed(Member& member, const EntryPtr& entry);
  void check_durable(Member& member, Position at);
  void check_logs();
  void check_end();

  Member* find(MemberId id);
  bool durable_among(const std::vector<MemberId>& voters, Position at);
  std::vector<MemberId> up();

  const Plan plan_;
  base::Random random_;
  Tally tally_;
  int64_t now_us_ = 0;
  uint64_t sequence_ = 0;
  struct Event {
    int64_t at;
    uint64_t sequence;
    std::function<void()> action;
    bool operator<(const Event& other) const { return at != other.at ? at > other.at : sequence > other.sequence; }
  };
  std::priority_queue<Event> events_;

  std::map<MemberId, std::unique_ptr<Member>> members_;
  std::map<std::pair<MemberId, MemberId>, bool> cut_;  // from, to
  double drop_ = 0, duplicate_ = 0;
  int64_t delay_max_us_ = 5000;
  bool healing_ = false;

  std::map<Term, MemberId> leaders_, primaries_;
  std::map<Index, EntryPtr> committed_;                                              // by anybody, ever
  std::map<int64_t, std::shared_ptr<const replication::SetConfig>> configurations_;  // that anybody proposed, ever
  std::map<int64_t, Operation> operations_;
  int64_t next_operation_ = 1;
};

}  // namespace simulation

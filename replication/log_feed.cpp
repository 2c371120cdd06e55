#include "replication/log_feed.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <unordered_set>
#include <utility>

#include "base/clock_time.h"
#include "base/log.h"
#include "storage/store.h"

namespace replication {

using storage::Stamp;

namespace {

constexpr size_t read_bytes_max = 4 << 20, read_rows_max = 20'000;      // of the feed, at a time
constexpr size_t shown_room_bytes = LogFeed::kept_bytes_max / 4;        // for what readers make of the next changes
constexpr size_t taken_max = 128, taken_bytes_max = 1 << 20;            // by a follower, at a time
constexpr size_t behind_bytes_max = 1 << 20, behind_rows_max = 20'000;  // the same from the log
constexpr auto judging_max = std::chrono::milliseconds(100);            // by filters, of what was read at a time
constexpr auto work_max = std::chrono::milliseconds(500);
constexpr auto retry_after = std::chrono::seconds(1);
// After a round that woke followers the feed rests for a while, so that the next events come to many followers together: each
// wake costs the server a command. A lone event comes at once all the same.
constexpr auto rest_each = std::chrono::microseconds(30), rest_max = std::chrono::microseconds(30'000);

using Wakes = std::vector<std::function<void()>>;

void call(Wakes& wakes) {
  for (auto& wake : wakes) wake();
}

}  // namespace

// The feed's mutex guards the members that a follower shares with the feed; an annotation can't name another object's mutex here.
struct LogFeed::Follower::State {
  State(std::shared_ptr<LogFeed::State> from, LogScope of, Stamp after, std::shared_ptr<const Filter> by)
      : feed(std::move(from)),
        scope(std::move(of)),
        filter(std::move(by)),
        verdict(filter ? scope.name() + ' ' + filter->name : std::string()),
        position(after) {}

  const std::shared_ptr<LogFeed::State> feed;
  const LogScope scope;
  const std::shared_ptr<const Filter> filter;
  const std::string verdict;   // the name of what the filter says about the scope's changes
  std::function<void()> wake;  // shared
  Stamp position;              // shared: everything up to here was taken
  std::deque<LoggedChangePtr> taken;
  LoggedTransaction in;  // where it reads the log itself
};

struct LogFeed::State : std::enable_shared_from_this<LogFeed::State> {
  State(storage::Store& the_store, Oplog& the_oplog, Coordinator& the_set)
      : store(the_store), oplog(the_oplog), set(the_set), clock(the_store.engine().clock()) {}

  // The changes of a scope that lie behind `since` are among the kept ones.
  struct Covered {
    LogScope scope;
    int followers = 0;
    Stamp since = 0;
  };
  struct Kept {
    Stamp row;
    LogSubject subject;
    LoggedChangePtr change;
  };

  // A verdict says whether a filter wants any of a scope's changes.
  struct Verdict {
    LogScope scope;
    std::shared_ptr<const Filter> filter;
    bool wanted = false;
  };
  using Verdicts = std::map<std::string, Verdict>;

  void run();
  bool read_on() EXCLUDES(mutex);  // false: there is nothing new
  void pass_over(Stamp upto) EXCLUDES(mutex);
  void rest(size_t woke) EXCLUDES(mutex);
  void check_stopping() const EXCLUDES(mutex);
  void await_commit() EXCLUDES(mutex);
  Verdicts filters() const EXCLUDES(mutex);
  static bool wants(const Filter& filter, const LoggedChange& change);
  void judge(const LoggedChanges& read, Verdicts& verdicts) const;
  void keep(const LoggedChanges& read, const Verdicts& verdicts, Wakes& wakes) REQUIRES(mutex);
  bool is_due(const Follower::State& follower, const LoggedChanges& read, const Verdicts& verdicts) const REQUIRES(mutex);
  void forget_oldest() REQUIRES(mutex);
  void forget_all() REQUIRES(mutex);
  bool covers(const Follower::State& follower) const REQUIRES(mutex);
  std::deque<Kept>::const_iterator behind(Stamp position) const REQUIRES(mutex);
  void take(Follower::State& follower) REQUIRES(mutex);

  storage::Store& store;
  Oplog& oplog;
  Coordinator& set;
  base::Clock& clock;

  mutable base::Mutex mutex;
  base::Condition woken;
  bool stopping GUARDED_BY(mutex) = false;
  bool awaiting GUARDED_BY(mutex) = false;   // the coordinator will call
  bool committed GUARDED_BY(mutex) = false;  // it has called
  std::map<std::string, Covered> scopes GUARDED_BY(mutex);
  std::unordered_set<Follower::State*> followers GUARDED_BY(mutex);
  std::deque<Kept> kept GUARDED_BY(mutex);
  Stamp kept_from GUARDED_BY(mutex) = 0;   // what lies behind this row, and is covered, is kept
  Stamp tail GUARDED_BY(mutex) = 0;        // read up to here
  Stamp reading_to GUARDED_BY(mutex) = 0;  // while it reads
  Figures counts GUARDED_BY(mutex);        // kept_bytes: of the changes alone
  const std::shared_ptr<ChangeMemory> memory = std::make_shared<ChangeMemory>(kept_bytes_max);
  std::thread thread GUARDED_BY(mutex);
  LoggedTransaction in;  // of the feed's thread
};

void LogFeed::State::run() {
  base::LogContext context("LogFeed");
  for (;;) {
    {
      base::MutexLock lock(mutex);
      if (stopping) return;
      if (followers.empty()) {
        forget_all();
        woken.wait(lock);
        continue;
      }
    }
    try {
      if (read_on()) continue;
      await_commit();
    } catch (const std::exception& error) {
      base::log(base::Severity::warning, base::LogComponent::repl, 7200601, "The log could not be read on; trying again",
                base::Attributes().add("error", error.what()));
    }
    base::MutexLock lock(mutex);
    if (!stopping && !committed) woken.wait_for(lock, retry_after);
    committed = false;
  }
}

void LogFeed::State::forget_oldest() {
  const size_t bytes = kept.front().change->bytes();
  kept_from = kept.front().row;
  kept.pop_front();
  counts.kept_bytes -= static_cast<int64_t>(bytes);
  memory->give_back(bytes);
}

void LogFeed::State::forget_all() {
  while (!kept.empty()) forget_oldest();
  tail = kept_from = 0;
}

// The coordinator may call at once, or when the feed is gone.
void LogFeed::State::await_commit() {
  Stamp after = 0;
  {
    const base::MutexLock lock(mutex);
    if (std::exchange(awaiting, true)) return;
    after = tail;
  }
  set.when_committed_past(after, [weak = weak_from_this()] {
    const auto state = weak.lock();
    if (!state) return;
    const base::MutexLock lock(state->mutex);
    state->awaiting = false;
    state->committed = true;
    state->woken.notify_one();
  });
}

bool LogFeed::State::read_on() {
  const Stamp upto = set.progress().committed.optime.ts;
  std::vector<LogScope> wanted;
  Stamp from = 0;
  {
    // A scope that comes from here on is covered behind `upto`.
    const base::MutexLock lock(mutex);
    if (stopping || tail == 0 || upto <= tail) return false;
    for (const auto& [name, covered] : scopes) wanted.push_back(covered.scope);
    from = tail;
    reading_to = upto;
  }
  LoggedChanges read;
  Verdicts verdicts;
  try {
    read = read_changes(
        store, oplog, from, upto,
        [&](const LogSubject& subject) {
          return std::any_of(wanted.begin(), wanted.end(), [&](const LogScope& scope) { return scope.has(subject); });
        },
        read_bytes_max, read_rows_max, [this] { check_stopping(); }, memory, &in);
    verdicts = filters();
    judge(read, verdicts);
  } catch (const std::exception& error) {
    {
      const base::MutexLock lock(mutex);
      reading_to = 0;
    }
    const auto* const failed = dynamic_cast<const base::OperationError*>(&error);
    if (!failed) throw;
    if (failed->code() == base::ErrorCode::interrupted_at_shutdown) return false;
    if (failed->code() != base::ErrorCode::change_stream_history_lost) {
      base::log(base::Severity::warning, base::LogComponent::repl, 7200603,
                "A part of the log could not be read; passing over it", base::Attributes().add("error", error.what()));
    }
    pass_over(upto);
    return true;
  }
  Wakes wakes;
  {
    const base::MutexLock lock(mutex);
    reading_to = 0;
    keep(read, verdicts, wakes);
  }
  call(wakes);
  rest(wakes.size());
  return read.read_to > from;
}

// The log was cut faster than it was read, or has a row that can't be read. The followers read it themselves, and whoever needs
// what is missing gets the error.
void LogFeed::State::pass_over(Stamp upto) {
  Wakes wakes;
  {
    const base::MutexLock lock(mutex);
    forget_all();
    tail = kept_from = upto;
    for (Follower::State* follower : followers) {
      if (follower->wake) wakes.push_back(std::exchange(follower->wake, nullptr));
    }
  }
  call(wakes);
}

void LogFeed::State::check_stopping() const {
  const base::MutexLock lock(mutex);
  if (stopping) throw base::OperationError(base::ErrorCode::interrupted_at_shutdown, "the feed ends");
}

void LogFeed::State::rest(size_t woke) {
  const auto pause = std::min(rest_max, rest_each * static_cast<int64_t>(woke));
  base::MutexLock lock(mutex);
  woken.wait_for(lock, pause, [this]() REQUIRES(mutex) { return stopping; });
}

LogFeed::State::Verdicts LogFeed::State::filters() const {
  const base::MutexLock lock(mutex);
  Verdicts verdicts;
  for (const Follower::State* follower : followers) {
    if (follower->filter && follower->wake) verdicts.try_emplace(follower->verdict, Verdict{follower->scope, follower->filter});
  }
  return verdicts;
}

// A filter that fails for a change must not stop the others: its followers see for themselves.
bool LogFeed::State::wants(const Filter& filter, const LoggedChange& change) {
  try {
    return filter.wants(change);
  } catch (const std::exception&) {
    return true;
  }
}

// All streams wait for this. When it takes too long, the followers of the filters that are left see for themselves.
void LogFeed::State::judge(const LoggedChanges& read, Verdicts& verdicts) const {
  const auto until = base::now(clock) + judging_max;
  for (auto& [name, verdict] : verdicts) {
    verdict.wanted = std::any_of(read.changes.begin(), read.changes.end(), [&](const LoggedChangePtr& change) {
      return verdict.scope.has(change->subject) && (base::now(clock) >= until || wants(*verdict.filter, *change));
    });
  }
}

bool LogFeed::State::is_due(const Follower::State& follower, const LoggedChanges& read, const Verdicts& verdicts) const {
  // The feed lacks changes of a follower that came while it read, or that is too far behind: that one reads the log itself.
  if (!covers(follower)) return follower.position < tail;
  if (follower.filter) {
    if (const auto verdict = verdicts.find(follower.verdict); verdict != verdicts.end()) return verdict->second.wanted;
  }
  return std::any_of(read.changes.begin(), read.changes.end(),
                     [&](const LoggedChangePtr& change) { return follower.scope.has(change->subject); });
}

void LogFeed::State::keep(const LoggedChanges& read, const Verdicts& verdicts, Wakes& wakes) {
  ++counts.rounds;
  const Stamp before = std::exchange(tail, read.read_to);
  for (const LoggedChangePtr& change : read.changes) {
    counts.kept_bytes += static_cast<int64_t>(change->bytes());
    memory->take(change->bytes());
    kept.push_back({change->row, change->subject, change});
  }
  // Streams may hold on to what they returned last. That must not push out all the others' changes.
  while (memory->bytes() > kept_bytes_max - shown_room_bytes && counts.kept_bytes > static_cast<int64_t>(kept_bytes_max / 2))
    forget_oldest();
  for (Follower::State* follower : followers) {
    if (!follower->wake) continue;
    if (is_due(*follower, read, verdicts))
      wakes.push_back(std::exchange(follower->wake, nullptr));
    else if (follower->position == before)
      follower->position = tail;
  }
}

bool LogFeed::State::covers(const Follower::State& follower) const {
  const auto found = scopes.find(follower.scope.name());
  return found != scopes.end() && follower.position >= std::max(kept_from, found->second.since);
}

std::deque<LogFeed::State::Kept>::const_iterator LogFeed::State::behind(Stamp position) const {
  return std::upper_bound(kept.begin(), kept.end(), position, [](Stamp stamp, const Kept& one) { return stamp < one.row; });
}

void LogFeed::State::take(Follower::State& follower) {
  size_t bytes = 0;
  for (auto one = behind(follower.position); one != kept.end(); ++one) {
    if (follower.taken.size() >= taken_max || bytes >= taken_bytes_max) return;
    follower.position = one->row;
    if (!follower.scope.has(one->subject)) continue;
    follower.taken.push_back(one->change);
    bytes += one->change->bytes();
  }
  follower.position = std::max(follower.position, tail);
}

LogFeed::LogFeed(storage::Store& store, Oplog& oplog, Coordinator& set) : state_(std::make_shared<State>(store, oplog, set)) {}

LogFeed::~LogFeed() {
  Wakes wakes;
  std::thread thread;
  {
    const base::MutexLock lock(state_->mutex);
    state_->stopping = true;
    for (Follower::State* follower : state_->followers) {
      if (follower->wake) wakes.push_back(std::exchange(follower->wake, nullptr));
    }
    thread = std::move(state_->thread);
    state_->woken.notify_all();
  }
  call(wakes);
  if (thread.joinable()) thread.join();
}

std::shared_ptr<LogFeed::Follower> LogFeed::follow(const LogScope& scope, Stamp after, std::shared_ptr<const Filter> filter) {
  auto follower = std::make_shared<Follower::State>(state_, scope, after, std::move(filter));
  const Stamp now = state_->set.progress().committed.optime.ts;
  const base::MutexLock lock(state_->mutex);
  if (state_->tail == 0) state_->tail = state_->kept_from = now;
  auto [found, fresh] = state_->scopes.try_emplace(scope.name(), State::Covered{scope});
  if (fresh) found->second.since = std::max(state_->tail, state_->reading_to);
  ++found->second.followers;
  state_->followers.insert(follower.get());
  ++state_->counts.followers;
  if (!state_->thread.joinable() && !state_->stopping) state_->thread = std::thread([state = state_.get()] { state->run(); });
  state_->woken.notify_all();
  return std::shared_ptr<Follower>(new Follower(std::move(follower)));
}

LogFeed::Figures LogFeed::figures() const {
  const base::MutexLock lock(state_->mutex);
  Figures figures = state_->counts;
  figures.kept_changes = static_cast<int64_t>(state_->kept.size());
  figures.kept_bytes = static_cast<int64_t>(state_->memory->bytes());
  return figures;
}

LogFeed::Follower::Follower(std::shared_ptr<State> state) : state_(std::move(state)) {}

LogFeed::Follower::~Follower() {
  LogFeed::State& feed = *state_->feed;
  std::function<void()> wake;
  {
    const base::MutexLock lock(feed.mutex);
    wake = std::exchange(state_->wake, nullptr);
    feed.followers.erase(state_.get());
    --feed.counts.followers;
    const auto found = feed.scopes.find(state_->scope.name());
    if (--found->second.followers == 0) feed.scopes.erase(found);
    if (feed.followers.empty()) feed.woken.notify_all();
  }
  if (wake) wake();
}

LoggedChangePtr LogFeed::Follower::next(const base::Interrupted& interrupted) {
  State& own = *state_;
  LogFeed::State& feed = *own.feed;
  const auto began = base::now(feed.clock);
  while (own.taken.empty()) {
    Stamp from = 0, upto = 0;
    {
      const base::MutexLock lock(feed.mutex);
      if (feed.stopping || own.position >= feed.tail) return nullptr;
      if (feed.covers(own)) {
        feed.take(own);
        if (own.taken.empty()) return nullptr;
        break;
      }
      from = own.position;
      upto = feed.tail;
    }
    LoggedChanges read = read_changes(
        feed.store, feed.oplog, from, upto, [&](const LogSubject& subject) { return own.scope.has(subject); }, behind_bytes_max,
        behind_rows_max, interrupted, nullptr, &own.in);
    const base::MutexLock lock(feed.mutex);
    own.position = read.read_to;
    feed.counts.read_behind += static_cast<int64_t>(read.changes.size());
    own.taken.assign(std::make_move_iterator(read.changes.begin()), std::make_move_iterator(read.changes.end()));
    if (own.taken.empty() && base::now(feed.clock) - began > work_max) return nullptr;
  }
  LoggedChangePtr change = std::move(own.taken.front());
  own.taken.pop_front();
  return change;
}

Stamp LogFeed::Follower::passed() const {
  if (!state_->taken.empty()) return state_->taken.front()->row - 1;
  const base::MutexLock lock(state_->feed->mutex);
  return state_->position;
}

void LogFeed::Follower::when_more(std::function<void()> wake) {
  State& own = *state_;
  LogFeed::State& feed = *own.feed;
  {
    const base::MutexLock lock(feed.mutex);
    bool more = feed.stopping || (own.position < feed.tail && !feed.covers(own));
    for (auto one = feed.behind(own.position); !more && one != feed.kept.end(); ++one) more = own.scope.has(one->subject);
    if (!more) {
      own.wake = std::move(wake);
      return;
    }
  }
  wake();
}

}  // namespace replication

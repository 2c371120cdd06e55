#include "replication/consensus/raft_node.h"

#include <cstdlib>
#include <exception>

#include "base/error.h"
#include "base/log.h"

namespace replication::consensus {
namespace {

constexpr int exit_abrupt = 14;
constexpr std::chrono::milliseconds room_pause(500);

[[noreturn]] void stop_process(int32_t id, std::string_view message, std::string_view why) {
  base::log(base::Severity::fatal, base::LogComponent::repl, id, message, base::Attributes().add("error", why));
  std::_Exit(exit_abrupt);
}

}  // namespace

RaftNode::RaftNode(const NodeOptions& options, base::Clock& clock, LogDisk& disk, Transport& transport, NodeOwner& owner)
    : options_(options),
      clock_(clock),
      disk_(disk),
      transport_(transport),
      owner_(owner),
      store_(disk),
      core_(options.core, store_) {
  route_library_log();
}

RaftNode::~RaftNode() {
  stop();
}

void RaftNode::start() {
  disk_thread_ = std::thread([this] { disk_loop(); });
  loop_ = std::thread([this] { loop(); });
}

void RaftNode::stop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_one();
  if (loop_.joinable()) loop_.join();
  {
    const base::MutexLock lock(disk_mutex_);
    disk_stopping_ = true;
  }
  disk_woken_.notify_one();
  if (disk_thread_.joinable()) disk_thread_.join();
}

template <class Call>
auto RaftNode::with_core(Call call) {
  base::MutexLock lock(mutex_);
  auto result = call(core_);
  const bool wake = core_.has_output();
  lock.unlock();
  if (wake) woken_.notify_one();
  return result;
}

std::optional<Position> RaftNode::propose(BytesView data, BytesView context) {
  return with_core([&](RaftCore& core) { return core.propose(data, context); });
}
std::optional<Position> RaftNode::propose_members(const std::vector<MemberChange>& changes, BytesView context) {
  return with_core([&](RaftCore& core) { return core.propose_members(changes, context); });
}
bool RaftNode::read_index(BytesView context) {
  return with_core([&](RaftCore& core) { return core.read_index(context); });
}
bool RaftNode::transfer(MemberId to) {
  return with_core([&](RaftCore& core) { return core.transfer(to); });
}
void RaftNode::campaign() {
  with_core([&](RaftCore& core) { return core.campaign(), true; });
}
void RaftNode::resign() {
  with_core([&](RaftCore& core) { return core.resign(), true; });
}
void RaftNode::set_candidacy(Candidacy candidacy) {
  with_core([&](RaftCore& core) { return core.set_candidacy(candidacy), true; });
}
void RaftNode::applied(Index index) {
  with_core([&](RaftCore& core) { return core.applied(index), true; });
}
void RaftNode::compact(Index index) {
  with_core([&](RaftCore& core) { return core.compact(index), true; });
}
void RaftNode::unreachable(MemberId to) {
  with_core([&](RaftCore& core) { return core.report_unreachable(to), true; });
}

Index RaftNode::applied_by(MemberId member) const {
  const base::MutexLock lock(mutex_);
  return answers_.applied_by(member);
}

void RaftNode::ask(MemberId member) {
  transport_.send({{member, false, inquiry_question()}});
}

bool RaftNode::stands(MemberId member) {
  const int64_t now_us = clock_.monotonic_us();
  Answers::Stands stands;
  {
    const base::MutexLock lock(mutex_);
    stands = answers_.stands(member, now_us);
  }
  if (stands.ask) ask(member);
  return stands.yes;
}

void RaftNode::received_inquiry(MemberId from, BytesView message) {
  const auto inquiry = decode_inquiry(message);
  if (!inquiry) {
    base::log(base::Severity::warning, base::LogComponent::repl, 7100022, "Refused a message that no sound member sends",
              base::Attributes().add("from", from));
    return;
  }
  base::MutexLock lock(mutex_);
  if (!inquiry->question) {
    answers_.note(from, inquiry->answer, clock_.monotonic_us());
    return;
  }
  const InquiryAnswer answer{core_.status().applied, core_.electable()};
  lock.unlock();
  transport_.send({{from, false, inquiry_answer(answer)}});
}

void RaftNode::received(MemberId from, BytesView message) {
  if (is_inquiry(message)) return received_inquiry(from, message);
  const StepResult result =
      with_core([&](RaftCore& core) { return core.step(from, message, [&] { return transport_.under_way(from); }); });
  if (result == StepResult::lost_log) {
    stop_process(7100021, "This member's log has lost entries that it once acknowledged; it must be emptied and copied anew",
                 "the leader knows of entries that are not here");
  }
  if (result == StepResult::bad_message) {
    base::log(base::Severity::warning, base::LogComponent::repl, 7100022, "Refused a message that no sound member sends",
              base::Attributes().add("from", from));
  }
}

CoreStatus RaftNode::status() const {
  const base::MutexLock lock(mutex_);
  return core_.status();
}
std::vector<PeerProgress> RaftNode::progress() const {
  const base::MutexLock lock(mutex_);
  return core_.progress();
}
Membership RaftNode::members() const {
  const base::MutexLock lock(mutex_);
  return store_.meta().members;
}
LogMeta RaftNode::log_meta() const {
  const base::MutexLock lock(mutex_);
  return store_.meta();
}
Lookup RaftNode::entries(Index low, Index high, uint64_t bytes_max, std::vector<EntryPtr>& out) {
  const base::MutexLock lock(mutex_);
  return store_.entries(low, high, bytes_max, out);
}

void RaftNode::loop() {
  base::LogContext context("replica-loop");
  const int64_t step_us = int64_t{options_.tick_ms} * 1000;
  int64_t next_tick_us = clock_.monotonic_us() + step_us;
  base::MutexLock lock(mutex_);
  while (!stopping_) {
    const int64_t now_us = clock_.monotonic_us();
    if (now_us >= next_tick_us) {
      core_.tick();
      // Ticks that were missed are not made up for: a process that stood still has not heard nothing, it hasn't listened.
      next_tick_us = std::max(next_tick_us + step_us, now_us);
    }
    if (core_.has_output()) {
      Output out = core_.take_output();
      lock.unlock();
      handle(std::move(out));
      lock.lock();
      continue;
    }
    woken_.wait_for(lock, std::chrono::microseconds(std::max<int64_t>(0, next_tick_us - now_us)));
  }
}

void RaftNode::handle(Output out) {
  if (!out.send.empty()) transport_.send(std::move(out.send));
  if (out.write) {
    {
      const base::MutexLock lock(disk_mutex_);
      writes_.push_back(std::move(*out.write));
    }
    disk_woken_.notify_one();
    out.write.reset();
  }
  out.send.clear();
  owner_.decided(out);
}

// If the disk is full, the other batches are written later. Returns false if the node stops before there is room: then nobody was
// told that it is written.
bool RaftNode::write_when_there_is_room(const std::vector<LogBatch>& batches) {
  for (size_t done = 0;;) {
    try {
      disk_.write_on(batches, done);
      if (waits_for_room_.exchange(false))
        base::log(base::Severity::info, base::LogComponent::repl, 7100052, "The log is written again", base::Attributes());
      return true;
    } catch (const base::OperationError& error) {
      if (error.code() != base::ErrorCode::out_of_disk_space) throw;
      if (!waits_for_room_.exchange(true)) {
        base::log(base::Severity::warning, base::LogComponent::repl, 7100051,
                  "The disk has no room for this member's log, which waits for room",
                  base::Attributes().add("error", error.what()));
      }
    }
    base::MutexLock lock(disk_mutex_);
    if (disk_woken_.wait_for(lock, room_pause, [this]() REQUIRES(disk_mutex_) { return disk_stopping_; })) return false;
  }
}

void RaftNode::disk_loop() {
  base::LogContext context("replica-log");
  std::vector<Write> taken;
  while (true) {
    {
      base::MutexLock lock(disk_mutex_);
      disk_woken_.wait(lock, [this]() REQUIRES(disk_mutex_) { return disk_stopping_ || !writes_.empty(); });
      if (writes_.empty()) return;
      taken.swap(writes_);
    }
    std::vector<LogBatch> batches;
    std::vector<Outgoing> after;
    for (Write& write : taken) {
      if (write.needed) batches.push_back(std::move(write.batch));
      for (Outgoing& message : write.after) after.push_back(std::move(message));
    }
    try {
      if (!batches.empty() && !write_when_there_is_room(batches)) return;
    } catch (const std::exception& error) {
      stop_process(7100020, "The log cannot be written; stopping", error.what());
    }
    // The writes are durable now, so the messages that depend on them may be sent. The core is told before a vote that they ask
    // for can come.
    with_core([&](RaftCore& core) { return core.written(taken.back().number), true; });
    if (!after.empty()) transport_.send(std::move(after));
    taken.clear();
  }
}

}  // namespace replication::consensus

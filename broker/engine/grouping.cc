#include "broker/engine/grouping.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "broker/base/log.h"
#include "broker/engine/store.h"

namespace gearstalk {
namespace {

// Of a job whose body is in memory, or not asked for its name.
std::string_view NameIn(const Groups& groups, const Job& job, GroupNameSpace& space) {
  return GroupName(groups.source(), job.has_body() ? job.body() : std::string_view(),
                   job.unique_is_body ? std::string_view() : job.unique(), space);
}

// The job is in a group whose name is still to be read. One that follows a changed policy is not.
bool IsUnread(const GroupHead* head) {
  if (head == nullptr) return false;
  const bool follows = static_cast<const Groups&>(head->groups).retired();
  return static_cast<const Group&>(*head).unread() && !follows;
}

const GroupHead* HomeOf(const Job& job) {
  return job.texts() == nullptr ? nullptr : job.texts()->home;
}

// Whether it may keep its group, here or at home, from giving a job with a lower id.
bool MayCloseGroup(const Job& job) {
  const bool closes = job.state() == JobState::kReserved || job.state() == JobState::kBuried;
  return closes || !job.origin().empty();
}

}  // namespace

Grouping::Grouping(JobStore& store) : store_(store), name_query_(store.bodies) {}

Code Grouping::Admits(const Tube& tube, const Job& job) {
  const Policy& policy = *tube.policy();
  if (policy.group_max_jobs == 0 && !policy.group_refuses_missing) return Code::kOk;
  GroupNameSpace space;
  const std::string_view name = NameIn(*tube.groups(), job, space);
  if (name.empty()) return policy.group_refuses_missing ? Code::kGroupMissing : Code::kOk;
  const Group* const group = tube.groups()->Find(name);
  const bool full =
      policy.group_max_jobs > 0 && group != nullptr && group->unfinished() >= policy.group_max_jobs;
  return full ? Code::kGroupFull : Code::kOk;
}

void Grouping::NoteMissing(Tube& tube, const Job& job) {
  if (!tube.groups()->NoteMissing(GroupOf(job)->nameless())) return;
  LogOfClient(LogLevel::kWarning, "many jobs in a row have no group",
              {{"tube", tube.name()}, {"group", tube.groups()->source_text()}});
}

void Grouping::Join(Job& job, Group& group) {
  job.tube().groups()->Join(group);
  job.place = &group;
}

// The group of its name among these. A name that lies in a body that has left memory is read later.
Group& Grouping::GroupIn(Groups& groups, const Job& job) {
  const bool read_in_vain = name_query_.job() == &job && !name_query_.coming();
  if (groups.source().ReadsBody() && !job.has_body() && !read_in_vain) {
    unread_.push_back(job.id());
    return groups.Named(std::nullopt);
  }
  GroupNameSpace space;
  return groups.Named(NameIn(groups, job, space));
}

void Grouping::Rejoin(Job& job) {
  Groups* const groups = job.tube().groups();
  if (groups == nullptr) return Part(job);
  Group* const old = GroupOf(job);
  auto* const others = old == nullptr ? nullptr : &static_cast<Groups&>(old->groups);
  const bool same =
      others != nullptr && !old->unread() && others->source_text() == groups->source_text();
  Join(job, same ? groups->Named(old->name()) : GroupIn(*groups, job));
  if (others != nullptr) others->Part(*old);
}

void Grouping::Part(Job& job) {
  Group* const group = GroupOf(job);
  if (group == nullptr) return;
  job.place = &job.tube();
  static_cast<Groups&>(group->groups).Part(*group);
}

void Grouping::EnterState(Time now, Job& job) {
  if (HasOldPlace(job)) Rejoin(job);
  Tube& tube = job.tube();
  if (tube.groups() != nullptr) {
    tube.groups()->Enter(now, job);
    NoteGroups(tube);
  } else if (job.state() == JobState::kReady) {
    store_.Queue(job);
    store_.ready.NoteFront(tube);
  }
}

void Grouping::LeaveState(Job& job) {
  auto& groups = static_cast<Groups&>(job.place.group()->groups);
  groups.Leave(store_.ticked, job);
  if (!groups.retired()) NoteGroups(groups.tube);
}

void Grouping::NoteGroups(Tube& tube) {
  store_.ready.NoteFront(tube);
  if (store_.totals.waiting > 0 || tube.groups()->paced()) store_.pace.NoteFreed(tube);
}

// --- Dead jobs, and the groups that they hold at home

void Grouping::SetHome(Job& job, Group& home) {
  ForgetHome(job);
  auto& groups = static_cast<Groups&>(home.groups);
  groups.Join(home);
  job.MakeTexts().home = &home;
  groups.NoteFailed(store_.ticked, home, 1);
}

void Grouping::LeaveHome(Job& job) {
  auto& home = static_cast<Group&>(*std::exchange(job.MakeTexts().home, nullptr));
  auto& groups = static_cast<Groups&>(home.groups);
  groups.NoteFailed(store_.ticked, home, -1);
  if (groups.retired()) return DropRetired();
  NoteGroups(groups.tube);
  store_.pace.NoteFreed(groups.tube);
  store_.ReleaseTube(groups.tube);
}

void Grouping::FindHome(Job& job, const Record::Group& known) {
  Tube& tube = store_.TubeNamed(std::string(job.origin()));
  if (tube.groups() != nullptr) {
    Groups& groups = *tube.groups();
    const bool same = known.source == groups.source_text();
    SetHome(job, same ? groups.Named(known.name) : GroupIn(groups, job));
  }
  store_.ReleaseTube(tube);
}

bool Grouping::MayLeaveLine(const Job& job) {
  const Groups* const groups = job.tube().groups();
  if (groups == nullptr || !groups->lines()) return true;
  return !HasOldPlace(job) && groups->MayReserve(job);
}

std::optional<std::string> Grouping::LineOf(const Job& job) {
  const Groups* const groups = job.tube().groups();
  if (groups == nullptr || !groups->lines()) return std::nullopt;
  const Group* const group = HasOldPlace(job) ? nullptr : GroupOf(job);
  if (group == nullptr || group->unread()) return std::string();
  return group->nameless() ? std::nullopt : std::optional<std::string>(group->name());
}

void Grouping::HoldLine(Tube& tube, const std::optional<std::string>& line, Lsn lsn) {
  ended_ = std::max(ended_, lsn);
  if (line.has_value() && tube.groups() != nullptr) tube.groups()->NoteEnd(*line, lsn);
}

// --- A changed policy

void Grouping::Follow(Tube& tube) {
  const Policy& policy = PolicyOf(tube);
  const bool wanted = policy.group.kind != GroupSource::Kind::kNone;
  Groups* const known = tube.groups();
  if (known == nullptr && !wanted) return;
  const auto changed =
      known == nullptr || !wanted ? Groups::Changed::kGroups : known->Adopt(policy);
  if (changed == Groups::Changed::kNothing) return;
  const bool anew = changed == Groups::Changed::kGroups;
  if (!anew) {
    if (known->empty()) return;
  } else {
    if (known != nullptr) {
      known->Retire();
      walk_.retired.push_back(tube.SetGroups(nullptr));
      store_.ready.NoteFront(tube);  // what is in no group counts again
      DropRetired();
    }
    if (wanted) tube.SetGroups(GroupsPtr(new Groups(tube, policy, store_.idle_groups)));
    if (tube.unfinished() + tube.buried() == 0 && store_.failures.size() == 0) return;
  }
  if (tube.groups() != nullptr) {
    tube.groups()->NoteEnd(nullptr, ended_);
    tube.groups()->BeginRead(anew);
  }
  BeginWalk(tube);
}

void Grouping::BeginWalk(Tube& tube) {
  walk_.tubes.push_back(tube.id());
  walk_.at = 0;
  walk_.active = walk_.closing = true;
}

void Grouping::AwaitNames() {
  std::set<const Tube*> seen;
  for (const JobId id : unread_) {
    const Job* const job = store_.jobs.Find(id);
    if (job == nullptr) continue;
    for (Tube* const tube : {&job->tube(), store_.tubes.Find(job->origin())}) {
      if (tube == nullptr || tube->groups() == nullptr || !seen.insert(tube).second) continue;
      if (!tube->groups()->lines() && !PolicyOf(*tube).group_holds) continue;
      tube->groups()->BeginRead(/*anew=*/true);
      store_.ready.NoteFront(*tube);
      BeginWalk(*tube);
    }
  }
}

void Grouping::DropRetired() {
  std::erase_if(walk_.retired, [](const auto& groups) { return groups->empty(); });
}

void Grouping::ReadJob(Time now, Job& job) {
  Tube& tube = job.tube();
  if (HasOldPlace(job)) {
    if (job.place.group() != nullptr) {
      LeaveState(job);
    } else if (job.state() == JobState::kReady) {
      JobStore::Unqueue(job);
    }
    EnterState(now, job);
  }
  const bool may_give = !walk_.closing && tube.groups() != nullptr;
  if (may_give && tube.groups()->Read(now, job)) NoteGroups(tube);
  if (job.origin().empty()) return;
  const Tube* const home = store_.tubes.Find(job.origin());
  const GroupHead* const group = job.texts()->home;
  const GroupsHead* const groups = group == nullptr ? nullptr : &group->groups;
  if (home == nullptr || home->groups() == groups) return;
  ForgetHome(job);
  FindHome(job, {});
}

// Whether the name of another group, here or at home, lies in the body.
bool Grouping::FollowsByBody(const Job& job) const {
  const auto reads = [](const Groups* to, const GroupHead* from) {
    const auto* const others = from == nullptr ? nullptr : &static_cast<Groups&>(from->groups);
    if (to == nullptr || to == others || !to->source().ReadsBody()) return false;
    return others == nullptr || others->source_text() != to->source_text();
  };
  if (reads(job.tube().groups(), job.place.group())) return true;
  const Tube* const home = job.origin().empty() ? nullptr : store_.tubes.Find(job.origin());
  return home != nullptr && reads(home->groups(), HomeOf(job));
}

// The bodies of jobs without a known name, in turn. False: it waits for one.
bool Grouping::ReadNames(Time now, std::size_t& jobs) {
  for (; !unread_.empty() && jobs > 0; --jobs, unread_.pop_front()) {
    Job* const job = store_.jobs.Find(unread_.front());
    if (job == nullptr || !(IsUnread(job->place.group()) || IsUnread(HomeOf(*job)))) continue;
    if (!name_query_.Knows(now, *job)) return false;
    if (IsUnread(job->place.group())) {
      LeaveState(*job);
      Rejoin(*job);
      EnterState(now, *job);
    }
    if (IsUnread(HomeOf(*job))) {
      ForgetHome(*job);
      FindHome(*job, {});
    }
    store_.bodies.LetGo(name_query_);
  }
  return true;
}

Time Grouping::Read(Time now, std::size_t jobs) {
  if (!ReadNames(now, jobs)) return kNever;
  for (; walk_.active && jobs > 0; --jobs) {
    Job* const job = store_.jobs.Next(walk_.at);
    if (job == nullptr) {
      walk_.at = 0;
      if (!std::exchange(walk_.closing, false)) EndWalk();
      continue;
    }
    if (walk_.closing && !MayCloseGroup(*job)) {
      walk_.at = job->id();
      continue;
    }
    if (!job->has_body() && FollowsByBody(*job) && !name_query_.Knows(now, *job)) return kNever;
    walk_.at = job->id();
    ReadJob(now, *job);
    store_.bodies.LetGo(name_query_);
  }
  return walk_.active || !unread_.empty() ? now : kNever;
}

void Grouping::EndWalk() {
  walk_.active = false;
  for (const std::uint64_t id : std::exchange(walk_.tubes, {})) {
    Tube* const tube = store_.tubes.FindById(id);
    if (tube != nullptr && tube->groups() != nullptr) tube->groups()->EndRead();
  }
  DropRetired();
}

void Grouping::ForgetIdle(Time now, int& steps) {
  for (; steps > 0; --steps) {
    Group* const group = store_.idle_groups.Due(now);
    if (group == nullptr) return;
    auto& groups = static_cast<Groups&>(group->groups);
    groups.Forget(*group);
    if (groups.retired()) {
      DropRetired();
    } else {
      store_.ReleaseTube(groups.tube);
    }
  }
}

}  // namespace gearstalk

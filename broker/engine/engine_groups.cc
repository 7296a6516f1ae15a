// Jobs come into groups and leave them; a changed policy is followed job by job.

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "broker/base/log.h"
#include "broker/engine/engine.h"

namespace gearstalk {
namespace {

// Of a job whose body is in memory, or not asked for its name.
std::string_view NameIn(const Groups& groups, const Job& job, GroupNameSpace& space) {
  return GroupName(groups.source(), job.has_body() ? job.body() : std::string_view(),
                   job.unique_is_body() ? std::string_view() : job.unique(), space);
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

// Whether a new job may come into its group.
Code Engine::AdmitsToGroup(const Tube& tube, const Job& job) const {
  const Policy& policy = *tube.policy_;
  if (policy.group_max_jobs == 0 && !policy.group_refuses_missing) return Code::kOk;
  GroupNameSpace space;
  const std::string_view name = NameIn(*tube.groups_, job, space);
  if (name.empty()) return policy.group_refuses_missing ? Code::kGroupMissing : Code::kOk;
  const Group* const group = tube.groups_->Find(name);
  const bool full =
      policy.group_max_jobs > 0 && group != nullptr && group->unfinished() >= policy.group_max_jobs;
  return full ? Code::kGroupFull : Code::kOk;
}

void Engine::NoteMissing(Tube& tube, const Job& job) {
  if (!tube.groups_->NoteMissing(GroupOf(job)->nameless())) return;
  LogOfClient(LogLevel::kWarning, "many jobs in a row have no group",
              {{"tube", tube.name()}, {"group", tube.groups_->source_text()}});
}

// A job in no state comes into a group of its tube, which has groups.
void Engine::JoinGroup(Job& job, Group& group) {
  job.tube_->groups_->Join(group);
  job.tube_ = &group;
}

// The group of its name among these. A name that lies in a body that has left memory is read later.
Group& Engine::GroupIn(Groups& groups, const Job& job) {
  const bool read_in_vain = name_query_.job() == &job && !name_query_.coming();
  if (groups.source().ReadsBody() && !job.has_body() && !read_in_vain) {
    unread_.push_back(job.id());
    return groups.Named(std::nullopt);
  }
  GroupNameSpace space;
  return groups.Named(NameIn(groups, job, space));
}

// A job in no state, or one that its old group counts no more, leaves that group and comes into the
// one that its tube has for it now.
void Engine::Rejoin(Job& job) {
  Groups* const groups = job.tube_->groups_.get();
  if (groups == nullptr) return LeaveGroup(job);
  Group* const old = GroupOf(job);
  auto* const others = old == nullptr ? nullptr : &static_cast<Groups&>(old->groups);
  const bool same =
      others != nullptr && !old->unread() && others->source_text() == groups->source_text();
  JoinGroup(job, same ? groups->Named(old->name()) : GroupIn(*groups, job));
  if (others != nullptr) others->Part(*old);
}

void Engine::LeaveGroup(Job& job) {
  Group* const group = GroupOf(job);
  if (group == nullptr) return;
  Tube* const tube = job.tube_;
  job.tube_ = tube;
  static_cast<Groups&>(group->groups).Part(*group);
}

// A job has entered a state: it counts in its group there.
void Engine::EnterGroup(Time now, Job& job) {
  if (HasOldPlace(job)) Rejoin(job);
  Tube& tube = *job.tube_;
  if (tube.groups_ != nullptr) {
    tube.groups_->Enter(now, job);
    NoteGroups(tube);
  } else if (job.state_ == JobState::kReady) {
    tube.ready_.Push(&job);
    dispatch_.ready().NoteFront(tube);
  }
}

void Engine::LeaveGroupState(Job& job) {
  auto& groups = static_cast<Groups&>(job.tube_.group()->groups);
  groups.Leave(ticked_, job);
  if (!groups.retired()) NoteGroups(groups.tube);
}

// The tube may have another front, other groups may give, and time may let go others.
void Engine::NoteGroups(Tube& tube) {
  dispatch_.ready().NoteFront(tube);
  if (totals_.waiting > 0 || tube.groups_->paced()) pace_.NoteFreed(tube);
}

// --- Dead jobs, and the groups that they hold at home

void Engine::SetHome(Job& job, Group& home) {
  ForgetHome(job);
  auto& groups = static_cast<Groups&>(home.groups);
  groups.Join(home);
  job.MakeTexts().home = &home;
  groups.NoteFailed(ticked_, home, 1);
}

void Engine::LeaveHome(Job& job) {
  auto& home = static_cast<Group&>(*std::exchange(job.MakeTexts().home, nullptr));
  auto& groups = static_cast<Groups&>(home.groups);
  groups.NoteFailed(ticked_, home, -1);
  if (groups.retired()) return DropRetiredGroups();
  NoteGroups(groups.tube);
  pace_.NoteFreed(groups.tube);
  ReleaseTube(groups.tube);
}

// For a dead job without a home. `known` is what a record says of it.
void Engine::FindHome(Job& job, const Record::Group& known) {
  Tube& tube = TubeNamed(std::string(job.origin()));
  if (tube.groups_ != nullptr) {
    Groups& groups = *tube.groups_;
    const bool same = known.source == groups.source_text();
    SetHome(job, same ? groups.Named(known.name) : GroupIn(groups, job));
  }
  ReleaseTube(tube);
}

bool Engine::MayLeaveLine(const Job& job) {
  const Groups* const groups = job.tube_->groups();
  if (groups == nullptr || !groups->lines()) return true;
  return !HasOldPlace(job) && groups->MayReserve(job);
}

// The name of the line that the job leaves for another tube, empty if it is not read yet; nothing:
// it is in none.
std::optional<std::string> Engine::LineOf(const Job& job) {
  const Groups* const groups = job.tube_->groups();
  if (groups == nullptr || !groups->lines()) return std::nullopt;
  const Group* const group = HasOldPlace(job) ? nullptr : GroupOf(job);
  if (group == nullptr || group->unread()) return std::string();
  return group->nameless() ? std::nullopt : std::optional<std::string>(group->name());
}

void Engine::HoldLine(Tube& tube, const std::optional<std::string>& line, Lsn lsn) {
  ended_ = std::max(ended_, lsn);
  if (line.has_value() && tube.groups_ != nullptr) tube.groups_->NoteEnd(*line, lsn);
}

// --- A changed policy

// The policy of a tube is another. Where its groups are others, its jobs follow in slices, by id.
// Until it was looked at, a job is not given.
void Engine::FollowGroups(Tube& tube) {
  const Policy& policy = PolicyOf(tube);
  const bool wanted = policy.group.kind != GroupSource::Kind::kNone;
  Groups* const known = tube.groups_.get();
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
      group_walk_.retired.push_back(std::move(tube.groups_));
      DropRetiredGroups();
    }
    if (wanted) tube.groups_.reset(new Groups(tube, policy, idle_groups_));
    if (tube.unfinished() + tube.buried() == 0 && failures_.size() == 0) return;
  }
  if (tube.groups_ != nullptr) {
    tube.groups_->NoteEnd(nullptr, ended_);
    tube.groups_->BeginRead(anew);
  }
  BeginGroupWalk(tube);
}

void Engine::BeginGroupWalk(Tube& tube) {
  group_walk_.tubes.push_back(tube.id());
  group_walk_.at = 0;
  group_walk_.active = group_walk_.closing = true;
}

// Names still come from the disk after a start: lines, and groups that a failure may hold, give
// nothing until theirs are known.
void Engine::AwaitNames() {
  std::set<const Tube*> seen;
  for (const JobId id : unread_) {
    const Job* const job = jobs_.Find(id);
    if (job == nullptr) continue;
    for (Tube* const tube : {&*job->tube_, tubes_.Find(job->origin())}) {
      if (tube == nullptr || tube->groups_ == nullptr || !seen.insert(tube).second) continue;
      if (!tube->groups_->lines() && !PolicyOf(*tube).group_holds) continue;
      tube->groups_->BeginRead(/*anew=*/true);
      dispatch_.ready().NoteFront(*tube);
      BeginGroupWalk(*tube);
    }
  }
}

void Engine::DropRetiredGroups() {
  std::erase_if(group_walk_.retired, [](const auto& groups) { return groups->empty(); });
}

void Engine::ReadGroup(Time now, Job& job) {
  Tube& tube = *job.tube_;
  if (HasOldPlace(job)) {
    if (job.tube_.group() != nullptr) {
      LeaveGroupState(job);
    } else if (job.state_ == JobState::kReady) {
      tube.ready_.Remove(&job);
    }
    EnterGroup(now, job);
  }
  const bool may_give = !group_walk_.closing && tube.groups_ != nullptr;
  if (may_give && tube.groups_->Read(now, job)) NoteGroups(tube);
  if (job.origin().empty()) return;
  const Tube* const home = tubes_.Find(job.origin());
  const GroupHead* const group = job.texts()->home;
  const GroupsHead* const groups = group == nullptr ? nullptr : &group->groups;
  if (home == nullptr || home->groups_.get() == groups) return;
  ForgetHome(job);
  FindHome(job, {});
}

// Whether the name of another group, here or at home, lies in the body.
bool Engine::FollowsByBody(const Job& job) const {
  const auto reads = [](const Groups* to, const GroupHead* from) {
    const auto* const others = from == nullptr ? nullptr : &static_cast<Groups&>(from->groups);
    if (to == nullptr || to == others || !to->source().ReadsBody()) return false;
    return others == nullptr || others->source_text() != to->source_text();
  };
  if (reads(job.tube_->groups_.get(), job.group_head())) return true;
  const Tube* const home = job.origin().empty() ? nullptr : tubes_.Find(job.origin());
  return home != nullptr && reads(home->groups_.get(), HomeOf(job));
}

// The bodies of jobs without a known name, in turn. False: it waits for one.
bool Engine::ReadNames(Time now, std::size_t& jobs) {
  for (; !unread_.empty() && jobs > 0; --jobs, unread_.pop_front()) {
    Job* const job = jobs_.Find(unread_.front());
    if (job == nullptr || !(IsUnread(job->group_head()) || IsUnread(HomeOf(*job)))) continue;
    if (!name_query_.Knows(now, *job)) return false;
    if (IsUnread(job->group_head())) {
      LeaveGroupState(*job);
      Rejoin(*job);
      EnterGroup(now, *job);
    }
    if (IsUnread(HomeOf(*job))) {
      ForgetHome(*job);
      FindHome(*job, {});
    }
    bodies_.LetGo(name_query_);
  }
  return true;
}

// Looks at up to so many jobs. Returns when to call it again; kNever: there is nothing to do, or it
// waits for a body.
Time Engine::ReadGroups(Time now, std::size_t jobs) {
  if (!ReadNames(now, jobs)) return kNever;
  for (; group_walk_.active && jobs > 0; --jobs) {
    Job* const job = jobs_.Next(group_walk_.at);
    if (job == nullptr) {
      group_walk_.at = 0;
      if (!std::exchange(group_walk_.closing, false)) EndGroupWalk();
      continue;
    }
    if (group_walk_.closing && !MayCloseGroup(*job)) {
      group_walk_.at = job->id_;
      continue;
    }
    if (!job->has_body() && FollowsByBody(*job) && !name_query_.Knows(now, *job)) return kNever;
    group_walk_.at = job->id_;
    ReadGroup(now, *job);
    bodies_.LetGo(name_query_);
  }
  return group_walk_.active || !unread_.empty() ? now : kNever;
}

void Engine::EndGroupWalk() {
  group_walk_.active = false;
  for (const std::uint64_t id : std::exchange(group_walk_.tubes, {})) {
    Tube* const tube = tubes_.FindById(id);
    if (tube != nullptr && tube->groups_ != nullptr) tube->groups_->EndRead();
  }
  DropRetiredGroups();
}

// Groups without jobs whose bucket is full are forgotten.
void Engine::ForgetIdleGroups(Time now, int& steps) {
  for (; steps > 0; --steps) {
    Group* const group = idle_groups_.Due(now);
    if (group == nullptr) return;
    auto& groups = static_cast<Groups&>(group->groups);
    groups.Forget(*group);
    if (groups.retired()) {
      DropRetiredGroups();
    } else {
      ReleaseTube(groups.tube);
    }
  }
}

}  // namespace gearstalk

#include "broker/engine/job.h"

#include <array>
#include <new>

#include "broker/base/threads.h"
#include "broker/engine/slab.h"

namespace gearstalk {
namespace {

void* Allocate(std::size_t size) {
  void* const block = BlockAllocate(size);
  CountJobMemory(static_cast<std::ptrdiff_t>(size));
  return block;
}

// nullptr: there is no memory.
void* TryAllocate(std::size_t size) {
  void* const block = TryBlockAllocate(size);
  if (block != nullptr) CountJobMemory(static_cast<std::ptrdiff_t>(size));
  return block;
}

void Free(void* block, std::size_t size) {
  CountJobMemory(-static_cast<std::ptrdiff_t>(size));
  BlockFree(block, size);
}

const JobExtra kNoExtra{};
const JobRest kNoRest{};

}  // namespace

JobPtr Job::New(std::uint32_t body_size, std::string_view unique, JobId id) {
  Job* const job = At(Allocate(OwnSize(body_size, unique.size())), body_size, unique);
  if (job->HasBlock()) job->SetBlock(static_cast<char*>(Allocate(body_size + std::size_t{2})));
  job->EndBody();
  job->id_ = id;
  return JobPtr(job);
}

JobPtr Job::NewWithoutBody(std::uint32_t body_size, std::string_view unique) {
  GS_CHECK(body_size >= kBlockFrom);
  return JobPtr(At(Allocate(OwnSize(body_size, unique.size())), body_size, unique));
}

JobPtr Job::TryNew(std::uint32_t body_size, std::string_view unique) {
  void* const place = TryAllocate(OwnSize(body_size, unique.size()));
  if (place == nullptr) return nullptr;
  JobPtr job(At(place, body_size, unique));
  if (job->HasBlock() && !job->TryMakeBlock()) return nullptr;
  job->EndBody();
  return job;
}

Job* Job::At(void* place, std::uint32_t body_size, std::string_view unique) {
  GS_CHECK(unique.size() <= kMaxUnique);
  Job* job = new (place) Job;
  job->body_size_ = body_size;
  job->unique_size_ = static_cast<std::uint8_t>(unique.size());
  if (job->HasBlock()) job->SetBlock(nullptr);
  if (!unique.empty())
    std::memcpy(const_cast<char*>(job->KeyBytes()), unique.data(), unique.size());
  return job;
}

bool Job::TryMakeBlock() {
  SetBlock(static_cast<char*>(TryAllocate(body_size_ + std::size_t{2})));
  return Block() != nullptr;
}

bool Job::TryFillBlock(std::string_view body) {
  if (!TryMakeBlock()) return false;
  body.copy(BodyBytes(), body.size());
  EndBody();
  return true;
}

void Job::DropBlock() {
  Free(Block(), body_size_ + std::size_t{2});
  SetBlock(nullptr);
}

JobPtr Job::TryGrow(JobPtr old, std::uint32_t body_size) {
  GS_DCHECK(old->state_ == JobState::kGone && old->refs_ == 1 && body_size > old->body_size_);
  if (!old->HasBlock()) {
    JobPtr grown = TryNew(body_size, {old->KeyBytes(), old->unique_size_});
    if (grown == nullptr) return nullptr;
    std::memcpy(grown->BodyBytes(), old->BodyBytes(), old->body_size_);
    grown->priority = old->priority;
    grown->ttr_s = old->ttr_s;
    grown->delay_s = old->delay_s;
    return grown;
  }
  const std::size_t size = old->body_size_ + std::size_t{2};
  const std::size_t larger = body_size + std::size_t{2};
  void* const grown = TryBlockGrow(old->Block(), size, larger);
  if (grown == nullptr) return nullptr;
  CountJobMemory(static_cast<std::ptrdiff_t>(larger - size));
  old->SetBlock(static_cast<char*>(grown));
  old->body_size_ = body_size;
  old->EndBody();
  return old;
}

bool Job::TryKeyByBody(JobPtr& job) {
  GS_DCHECK(job->state_ == JobState::kGone && job->refs_ == 1);
  if (job->unique_is_body) return true;
  if (job->HasBlock()) {
    const BodyHash hash = HashOfBody(job->body());
    void* const place = TryAllocate(OwnSize(job->body_size_, hash.size()));
    if (place == nullptr) return false;
    Job* const keyed = At(place, job->body_size_, View(hash));
    const std::uint8_t key_size = keyed->unique_size_;
    std::memcpy(place, job.get(), sizeof(Job) + sizeof(char*));
    keyed->unique_size_ = key_size;
    if (JobRest* const rest = keyed->OwnRest()) rest->expiry.job = keyed;
    Job* const bare = job.release();
    const std::size_t size = bare->OwnSize();
    bare->~Job();
    Free(bare, size);
    job.reset(keyed);
  }
  job->unique_is_body = true;
  return true;
}

JobPtr Job::Ref(Job& job) {
  GS_DCHECK(OnLoop());
  if (job.refs_ == UINT16_MAX) {
    ++job.MakeRest().more_refs;
  } else {
    ++job.refs_;
  }
  return JobPtr(&job);
}

void JobUnref::Drop(Job* job) {
  if (job->refs_ == UINT16_MAX && job->rest().more_refs > 0) {
    --job->extra_->rest->more_refs;
    return;
  }
  if (--job->refs_ > 0) return;
  GS_DCHECK(job->state_ == JobState::kGone);
  delete job->extra_;
  if (job->HasBlock() && job->Block() != nullptr) job->DropBlock();
  const std::size_t size = job->OwnSize();
  job->~Job();
  Free(job, size);
}

const JobExtra& Job::extra() const { return extra_ == nullptr ? kNoExtra : *extra_; }

const JobRest& Job::rest() const { return OwnRest() == nullptr ? kNoRest : *OwnRest(); }

JobExtra& Job::MakeExtra() {
  if (extra_ == nullptr) extra_ = new JobExtra;
  return *extra_;
}

JobRest& Job::MakeRest() {
  JobExtra& extra = MakeExtra();
  if (extra.rest == nullptr) {
    extra.rest = std::make_unique<JobRest>();
    extra.rest->expiry.job = this;
  }
  return *extra.rest;
}

JobTexts& Job::MakeTexts() {
  JobRest& rest = MakeRest();
  if (rest.texts == nullptr) rest.texts = std::make_unique<JobTexts>();
  return *rest.texts;
}

void Job::ForgetCauseText() {
  if (texts() != nullptr) MakeTexts().cause_text.clear();
}

std::string_view NameOf(Cause cause) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "", "failed", "exception", "timeout", "lost", "released", "buried", "expired"};
  return kNames[static_cast<std::size_t>(cause)];
}

void JobList::PushBack(Job* job) {
  job->SetLinks(tail_, nullptr);
  (tail_ == nullptr ? head_ : tail_->Next()) = job;
  tail_ = job;
}

void JobList::PushFront(Job* job) {
  job->SetLinks(nullptr, head_);
  (head_ == nullptr ? tail_ : head_->Prev()) = job;
  head_ = job;
}

void JobList::Insert(Job* job, Job* next) {
  if (next == nullptr) return PushBack(job);
  Job* const prev = next->Prev();
  if (prev == nullptr) return PushFront(job);
  job->SetLinks(prev, next);
  prev->Next() = next->Prev() = job;
}

void JobList::Remove(Job* job) {
  Job* const prev = job->Prev();
  Job* const next = job->Next();
  (prev == nullptr ? head_ : prev->Next()) = next;
  (next == nullptr ? tail_ : next->Prev()) = prev;
  // Jobs leave from the front one after the other: prefetches the next one.
  if (prev == nullptr && next != nullptr) {
    __builtin_prefetch(next + 1);
    __builtin_prefetch(next->Next(), 1);
  }
}

}  // namespace gearstalk

#include "tests/journal/script.h"

#include <iterator>
#include <string>

namespace gearstalk {

void Script::Begin() {
  states_ = {rig_.model->state()};
  lsns_ = {rig_.journal->Durable()};
  acknowledged_ = 0;
}

void Script::Run(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const int changes = 1 + static_cast<int>(Draw(4));
    for (int i = 0; i < changes; ++i) Change();
    rig_.Flush();
    for (std::size_t i = acknowledged_ + 1; i < states_.size(); ++i) {
      if (lsns_[i] <= rig_.journal->Durable()) acknowledged_ = i;
    }
  }
}

std::uint64_t Script::SomeJob() {
  const auto& jobs = rig_.model->state().jobs;
  if (jobs.empty()) return 0;
  return std::next(jobs.begin(), static_cast<std::ptrdiff_t>(lot_() % jobs.size()))->first;
}

void Script::Note(Lsn lsn) {
  states_.push_back(rig_.model->state());
  lsns_.push_back(lsn);
}

void Script::Change() {
  WalJournal& journal = *rig_.journal;
  Model& model = *rig_.model;
  const std::uint32_t what = Draw(16);
  const std::uint64_t job = SomeJob();
  if (what < 7 || job == 0) {
    if (!journal.Accepts(Record::Kind::kPut)) return;
    const std::uint32_t size = Draw(300);
    std::string body(size, static_cast<char>('a' + size % 26));
    Note(model.Put(journal, "tube" + std::to_string(size % 3), std::move(body)));
  } else if (what < 11) {
    if (journal.Accepts(Record::Kind::kDelete)) Note(model.Delete(journal, job));
  } else if (what < 13) {
    if (!journal.Accepts(Record::Kind::kChange)) return;
    const std::uint32_t delay = Draw(100);
    Note(model.Release(journal, job, delay, delay * kSecond));
  } else if (what < 14) {
    if (journal.Accepts(Record::Kind::kChange)) Note(model.Bury(journal, job, ++burial_));
  } else if (what < 15) {
    if (!journal.Accepts(Record::Kind::kTube)) return;
    Model::Tube settings;
    const std::uint32_t which = Draw(9);
    if (which > 3) settings = {true, {1, 2, static_cast<std::int64_t>(which)}, 7, 8};
    Note(model.Set(journal, "tube" + std::to_string(which % 3), settings));
  } else {
    if (journal.Accepts(Record::Kind::kPut)) Note(model.TakeId(journal));
  }
}

bool Script::Explains(const Model::State& found, bool acknowledged_are_kept) const {
  for (std::size_t i = acknowledged_are_kept ? acknowledged_ : 0; i < states_.size(); ++i) {
    if (SameJobs(found, states_[i]) && found.next_id >= states_[i].next_id) return true;
  }
  return false;
}

}  // namespace gearstalk

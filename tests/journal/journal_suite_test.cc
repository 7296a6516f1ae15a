// What every journal does. One that keeps nothing says so with Persistent(), and is exempt from
// giving back what was put.

#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>
#include <memory>

#include "broker/journal/journal.h"
#include "broker/journal/memory_journal.h"
#include "broker/journal/wal/wal_journal.h"
#include "tests/journal/model.h"

namespace gearstalk {
namespace {

using Kind = Record::Kind;

class MemoryKind {
 public:
  std::unique_ptr<Journal> Open() { return std::make_unique<MemoryJournal>(); }
  void WaitFor(Journal& /*journal*/, Lsn /*lsn*/) {}
};

// With its thread, on a real disk.
template <Sync mode>
class WalKind {
 public:
  WalKind() {
    char name[] = "/tmp/gearstalk-journal-XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  ~WalKind() { std::filesystem::remove_all(directory_); }
  WalKind(const WalKind&) = delete;
  WalKind& operator=(const WalKind&) = delete;

  std::unique_ptr<Journal> Open() {
    WalOptions options;
    options.directory = directory_;
    options.sync = mode;
    options.interval = kMillisecond;
    options.segment_size = 256 * 1024;
    auto opened = WalJournal::Open(options);
    return opened.ok() ? std::move(opened.value()) : nullptr;
  }

  void WaitFor(Journal& journal, Lsn lsn) {
    while (journal.Durable() < lsn) {
      pollfd readable{journal.NotifyFd(), POLLIN, 0};
      ASSERT_EQ(::poll(&readable, 1, 60'000), 1);
      journal.OnNotify();
      ASSERT_TRUE(journal.Health().ok()) << journal.Health().message();
    }
  }

 private:
  std::string directory_;
};

template <typename T>
class JournalSuite : public testing::Test {
 protected:
  void Start() {
    journal_.reset();
    journal_ = kind_.Open();
    ASSERT_NE(journal_, nullptr);
    model_ = std::make_unique<Model>();
    ASSERT_TRUE(journal_->Start(*model_, events_).ok());
  }
  void WaitFor(Lsn lsn) { kind_.WaitFor(*journal_, lsn); }

  T kind_;
  NoEvents events_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Journal> journal_;
};

using Kinds = testing::Types<MemoryKind, WalKind<Sync::kAlways>, WalKind<Sync::kInterval>,
                             WalKind<Sync::kSystem>>;
TYPED_TEST_SUITE(JournalSuite, Kinds);

TYPED_TEST(JournalSuite, AcceptsEverythingWhileHealthy) {
  this->Start();
  EXPECT_TRUE(this->journal_->Health().ok());
  for (const Kind kind : {Kind::kPut, Kind::kChange, Kind::kDelete, Kind::kTube, Kind::kNextId}) {
    EXPECT_TRUE(this->journal_->Accepts(kind));
  }
}

TYPED_TEST(JournalSuite, PositionsRiseAndBecomeDurable) {
  this->Start();
  Lsn last = 0;
  Lsn heard = 0;
  this->journal_->SetOnDurable([&heard](Lsn lsn) {
    EXPECT_GT(lsn, heard);
    heard = lsn;
  });
  for (int i = 0; i < 100; ++i) {
    const Lsn lsn = this->model_->Put(*this->journal_, "t", "body");
    EXPECT_TRUE(lsn > last || !this->journal_->Persistent());
    last = lsn;
    if (i % 10 == 9) this->journal_->Flush(0);
  }
  this->WaitFor(last);
  EXPECT_GE(this->journal_->Durable(), last);
  EXPECT_GE(heard, this->journal_->Persistent() ? last : 0);
}

TYPED_TEST(JournalSuite, GivesBackWhatItKeeps) {
  this->Start();
  for (int restart = 0; restart < 2; ++restart) {
    Lsn last = 0;
    for (int i = 0; i < 1000; ++i) {
      this->model_->Put(*this->journal_, "t", std::string(static_cast<std::size_t>(2 * i), 'x'));
      const std::uint64_t first = this->model_->state().jobs.begin()->first;
      if (i % 3 == 0) this->model_->Release(*this->journal_, first, 3, 5 * kSecond);
      if (i % 20 != 0) last = this->model_->Delete(*this->journal_, first);
      if (i % 16 == 0) this->journal_->Flush(0);
    }
    this->model_->Set(*this->journal_, "t", {true, {1, 2, 3}, 4, 5});
    last = this->model_->TakeId(*this->journal_);
    this->journal_->Flush(0);
    this->WaitFor(last);
    const Model::State before = this->model_->state();
    this->Start();
    if (this->journal_->Persistent()) {
      EXPECT_TRUE(this->model_->state() == before);
    } else {
      EXPECT_TRUE(this->model_->state() == Model::State());
    }
  }
}

}  // namespace
}  // namespace gearstalk

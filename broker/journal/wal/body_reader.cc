#include "broker/journal/wal/body_reader.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>

#include "broker/base/check.h"
#include "broker/journal/wal/set_aside.h"

namespace gearstalk {
namespace {

constexpr std::size_t kSector = 512;  // bytes
constexpr char kNoMemory[] = "there is no memory for it";

// Of the system, not of the disk.
bool Passes(std::int64_t error) {
  return error == -EINTR || error == -EAGAIN || error == -EMFILE || error == -ENFILE ||
         error == -ENOMEM;
}

}  // namespace

BodyReader::BodyReader(FileSystem& file_system, std::string directory, int threads,
                       std::function<void()> notify)
    : file_system_(file_system),
      directory_(std::move(directory)),
      most_threads_(threads),
      notify_(std::move(notify)),
      workers_(
          mutex_, [this] { return MayRead(); }, [this](Workers::Lock& lock) { ReadNext(lock); }) {}

void BodyReader::Ask(const Request& request) {
  GS_DCHECK(OnLoop());
  ++asked_[request.place.segment];
  {
    const std::lock_guard lock(mutex_);
    queues_[static_cast<std::size_t>(request.use)].emplace(
        Place{request.place.segment, request.place.offset}, request);
    workers_.Wake();
  }
  if (workers_.started() || most_threads_ == 0) return;
  workers_.Start(most_threads_);
  if (!workers_.started()) workers_.Work();
}

std::vector<BodyReader::Answer> BodyReader::Take(std::size_t bytes) {
  GS_DCHECK(OnLoop());
  std::vector<Answer> taken;
  bool more = false;
  {
    const std::lock_guard lock(mutex_);
    std::size_t sum = 0, count = 0;
    while (count < answers_.size() && sum < bytes) sum += answers_[count++].request.place.bytes;
    const auto end = answers_.begin() + static_cast<std::ptrdiff_t>(count);
    taken.assign(std::make_move_iterator(answers_.begin()), std::make_move_iterator(end));
    answers_.erase(answers_.begin(), end);
    under_way_ -= sum;
    more = !answers_.empty();
    if (MayRead()) workers_.Wake();
  }
  if (more) notify_();
  for (const Answer& answer : taken) {
    const auto asked = asked_.find(answer.request.place.segment);
    if (--asked->second == 0) asked_.erase(asked);
  }
  return taken;
}

void BodyReader::Forget(std::uint64_t oldest) {
  GS_DCHECK(OnLoop());
  const std::lock_guard lock(mutex_);
  open_.remove_if([oldest](const SourcePtr& source) { return source->number < oldest; });
}

bool BodyReader::MayRead() const {
  return under_way_ < kMostUnderWay &&
         std::ranges::any_of(queues_, [](const Queue& queue) { return !queue.empty(); });
}

void BodyReader::ReadNext(Workers::Lock& lock) {
  std::vector<Request> run = TakeRun();
  if (MayRead()) workers_.Wake();
  lock.unlock();
  Read(std::move(run));
  lock.lock();
}

// The next requests of the most urgent use that one read can serve.
std::vector<BodyReader::Request> BodyReader::TakeRun() {
  std::size_t use = 0;
  while (queues_[use].empty()) ++use;
  Queue& queue = queues_[use];
  auto at = queue.lower_bound(next_[use]);
  if (at == queue.end()) at = queue.begin();
  std::vector<Request> run;
  const std::uint64_t begin = at->second.place.offset;
  while (at != queue.end()) {
    const Request& request = at->second;
    if (!run.empty()) {
      const std::uint64_t end = run.back().place.end();
      const bool near = request.place.segment == run.front().place.segment &&
                        request.place.offset <= end + kMostGap &&
                        request.place.end() - begin <= kMostRead;
      if (!near) break;
    }
    under_way_ += request.place.bytes;
    run.push_back(request);
    at = queue.erase(at);
  }
  next_[use] = {run.back().place.segment, run.back().place.end()};
  return run;
}

void BodyReader::Read(std::vector<Request> run) {
  std::vector<Answer> answers = ReadRun(run);
  // A failure may be that of a neighbour, and wrong bytes may have been those of a moment.
  const auto whole = [](const Answer& answer) { return answer.result == BodyRead::Result::kWhole; };
  for (Answer& answer : answers) {
    if (whole(answer)) continue;
    answer = ReadAlone(answer.request);
    if (answer.to_set_aside.empty()) continue;
    const int error =
        WriteSetAside(file_system_, directory_, answer.request.id, answer.to_set_aside);
    answer.set_aside = error == 0;
    if (answer.set_aside) answer.written = answer.to_set_aside.size();
    answer.to_set_aside.clear();
  }
  {
    const std::lock_guard lock(mutex_);
    answers_.insert(answers_.end(), std::make_move_iterator(answers.begin()),
                    std::make_move_iterator(answers.end()));
  }
  notify_();
}

std::vector<BodyReader::Answer> BodyReader::ReadRun(std::span<const Request> run) {
  std::vector<Answer> answers;
  for (const Request& request : run) answers.emplace_back().request = request;
  const auto fail = [&answers](const std::string& problem) {
    for (Answer& answer : answers) answer.problem = problem;
    return std::move(answers);
  };
  if (!MayTry()) return fail("the disk answers nothing but errors");
  std::string problem;
  const SourcePtr source = Open(run.front().place.segment, problem);
  if (source == nullptr) return fail(problem);
  const std::uint64_t begin = run.front().place.offset;
  const std::size_t size = run.back().place.end() - begin;
  const std::shared_ptr<char[]> bytes(new (std::nothrow) char[size]);
  if (bytes == nullptr) return fail(kNoMemory);
  const std::int64_t got = ReadFully(*source->file, begin, bytes.get(), size);
  NoteRead(got < 0 && !Passes(got));
  if (got < 0) {
    for (Answer& answer : answers) answer.unreadable = !Passes(got);
    return fail(Fault{static_cast<int>(got), "read", source->path}.ToStatus().message());
  }
  RecordCodec codec;
  const std::string_view all(bytes.get(), static_cast<std::size_t>(got));
  for (Answer& answer : answers) {
    const LiveJobs::Place& place = answer.request.place;
    const std::uint64_t at = place.offset - begin;
    if (at + place.bytes > all.size()) {
      answer.unreadable = true;
      answer.problem = source->path + " ends at offset " + std::to_string(begin + all.size());
      continue;
    }
    answer.bytes = bytes;
    Check(*source, all.substr(at, place.bytes), codec, answer);
  }
  return answers;
}

BodyReader::Answer BodyReader::ReadAlone(const Request& request) {
  Answer answer = std::move(ReadRun({&request, 1}).front());
  if (!answer.unreadable || !NeighbourCanBeRead(request)) return answer;
  // The disk may have recovered in between.
  answer = std::move(ReadRun({&request, 1}).front());
  if (!answer.unreadable) return answer;
  if (request.use == BodyUse::kCarry) {
    answer.to_set_aside = ReadSectors(request);
    if (!NeighbourCanBeRead(request)) {
      answer.to_set_aside.clear();
      return answer;
    }
  }
  answer.result = BodyRead::Result::kDamaged;
  return answer;
}

// What is set aside of a frame that cannot be read as a whole: zeros where it fails.
std::string BodyReader::ReadSectors(const Request& request) {
  std::string problem;
  const SourcePtr source = Open(request.place.segment, problem);
  if (source == nullptr) return {};
  const std::uint64_t offset = request.place.offset;
  std::string frame(request.place.bytes, '\0');
  for (std::size_t at = 0, size = 0; at < frame.size(); at += size) {
    size = std::min<std::size_t>(frame.size() - at, kSector - (offset + at) % kSector);
    const std::int64_t got = ReadFully(*source->file, offset + at, frame.data() + at, size);
    if (got < 0) std::fill_n(frame.data() + at, size, '\0');
  }
  return EncodeSetAside(source->header, offset, request.body, frame);
}

bool BodyReader::NeighbourCanBeRead(const Request& request) {
  const std::uint64_t segment = request.place.segment;
  if (CanRead(segment, request.place.end()) || CanRead(segment - 1, kSegmentHeaderSize) ||
      CanRead(segment + 1, kSegmentHeaderSize)) {
    return true;
  }
  const std::lock_guard lock(mutex_);
  if (failures_ < kMostFailures) return false;
  dead_ = true;
  try_at_ = file_system_.Now() + kReadAgain;
  return false;
}

// Whether the disk, not the page cache, has something there: blocks that were never written are
// read without it.
bool BodyReader::CanRead(std::uint64_t segment, std::uint64_t offset) {
  std::string problem;
  const SourcePtr source = Open(segment, problem);
  if (source == nullptr) return false;
  source->file->DropCache();
  std::array<char, kMarkSize> bytes{};
  const std::int64_t got = ReadFully(*source->file, offset, bytes.data(), bytes.size());
  NoteRead(got < 0 && !Passes(got));
  return got > 0 && std::any_of(bytes.begin(), bytes.end(), [](char byte) { return byte != 0; });
}

bool BodyReader::DiskIsDead() const {
  const std::lock_guard lock(mutex_);
  return dead_ && file_system_.Now() < try_at_ + kReadAgain;
}

bool BodyReader::MayTry() {
  const std::lock_guard lock(mutex_);
  if (!dead_) return true;
  const Time now = file_system_.Now();
  if (now < try_at_) return false;
  try_at_ = now + kReadAgain;
  return true;
}

void BodyReader::NoteRead(bool failed) {
  const std::lock_guard lock(mutex_);
  failures_ = failed ? failures_ + 1 : 0;
  if (!failed) dead_ = false;
}

namespace {

// The body of this job's put in a frame; nothing: it is damaged.
std::optional<std::string_view> BodyIn(std::string_view bytes, std::uint64_t salt,
                                       std::uint64_t offset, std::uint64_t id, RecordCodec& codec) {
  const auto frame = DecodeFrame(bytes, salt, offset);
  Record record;
  const bool whole = frame && frame->size == bytes.size() &&
                     codec.Decode(frame->record, frame->body, record).ok() &&
                     record.kind == Record::Kind::kPut && record.id == id;
  return whole ? std::optional(frame->body) : std::nullopt;
}

}  // namespace

void BodyReader::Check(const Source& source, std::string_view bytes, RecordCodec& codec,
                       Answer& answer) {
  const Request& request = answer.request;
  const std::uint64_t offset = request.place.offset;
  const auto body = BodyIn(bytes, source.header.salt, offset, request.id, codec);
  // Nobody asks for a body that is empty.
  if (body && body->empty()) return ReadSetAside(codec, answer);
  if (body) {
    answer.result = BodyRead::Result::kWhole;
    answer.body = *body;
    return;
  }
  answer.result = BodyRead::Result::kDamaged;
  answer.problem = source.path + " at offset " + std::to_string(offset) + ": the record of job " +
                   std::to_string(request.id) + " is damaged";
  if (request.use != BodyUse::kCarry) return;
  answer.to_set_aside = EncodeSetAside(source.header, offset, request.body, bytes);
}

void BodyReader::ReadSetAside(RecordCodec& codec, Answer& answer) {
  const std::string path = directory_ + "/" + SetAsideName(answer.request.id);
  const auto opened = file_system_.Open(path, FileSystem::Mode::kRead);
  const std::int64_t size = opened.error == 0 ? opened.file->Size() : opened.error;
  std::int64_t got = size;
  if (size > 0) {
    const std::shared_ptr<char[]> bytes(new (std::nothrow) char[static_cast<std::size_t>(size)]);
    if (bytes == nullptr) {
      answer.problem = kNoMemory;
      return;
    }
    got = ReadFully(*opened.file, 0, bytes.get(), static_cast<std::size_t>(size));
    answer.bytes = bytes;
  }
  if (got < 0 && got != -ENOENT) {
    answer.problem = Fault{static_cast<int>(got), "read", path}.ToStatus().message();
    return;
  }
  answer.set_aside = true;
  const auto aside = DecodeSetAside(
      {answer.bytes.get(), static_cast<std::size_t>(std::max<std::int64_t>(got, 0))});
  const auto body =
      aside ? BodyIn(aside->frame, aside->header.salt, aside->offset, answer.request.id, codec)
            : std::nullopt;
  answer.result = body ? BodyRead::Result::kWhole : BodyRead::Result::kDamaged;
  if (body) answer.body = *body;
  if (!body) answer.problem = path + " is damaged";
}

BodyReader::SourcePtr BodyReader::Open(std::uint64_t number, std::string& problem) {
  {
    const std::lock_guard lock(mutex_);
    const auto known =
        std::ranges::find(open_, number, [](const SourcePtr& source) { return source->number; });
    if (known != open_.end()) {
      open_.splice(open_.begin(), open_, known);
      return open_.front();
    }
  }
  auto source = std::make_shared<Source>();
  source->number = number;
  source->path = directory_ + "/" + SegmentName(number);
  auto opened = file_system_.Open(source->path, FileSystem::Mode::kRead);
  if (opened.error != 0) {
    problem = Fault{opened.error, "open", source->path}.ToStatus().message();
    return nullptr;
  }
  source->file = std::move(opened.file);
  std::array<char, kSegmentHeaderSize> header{};
  const std::int64_t got = ReadFully(*source->file, 0, header.data(), header.size());
  const std::string_view bytes(header.data(),
                               static_cast<std::size_t>(std::max<std::int64_t>(got, 0)));
  const Status status = DecodeSegmentHeader(bytes, source->header);
  if (!status.ok() || source->header.number != number) {
    problem = source->path + ": " + (got < 0 ? "it cannot be read" : "the header is damaged");
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  open_.push_front(source);
  if (open_.size() > kMostOpen) open_.pop_back();
  return source;
}

}  // namespace gearstalk

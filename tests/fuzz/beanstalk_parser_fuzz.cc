// Lines, verbs and arguments of beanstalk: views stay inside their bytes, and a decision about a
// part of a line stays true when the rest of it comes.

#include <array>

#include "proto_beanstalk/commands.h"
#include "proto_beanstalk/parser.h"
#include "tests/fuzz/fuzz.h"

namespace gearstalk::beanstalk {
namespace {

constexpr std::array kShapes = {
    Shape::kNone, Shape::kAnything,  Shape::kId,  Shape::kIdPriority, Shape::kIdPriorityDelay,
    Shape::kTube, Shape::kTubeDelay, Shape::kPut, Shape::kBound,      Shape::kTimeout};

void CheckLine(std::string_view bytes) {
  const Line line = NextLine(bytes);
  GS_CHECK(Inside(line.text, bytes));
  switch (line.kind) {
    case Line::Kind::kWhole:
      GS_CHECK(line.text.size() + 2 <= kMaxLine);
      GS_CHECK(bytes.substr(line.text.size(), 2) == "\r\n");
      GS_CHECK(NextLine(bytes.substr(0, line.text.size() + 1)).kind == Line::Kind::kPartial);
      break;
    case Line::Kind::kPartial:
      GS_CHECK(bytes.size() < kMaxLine && bytes.find("\r\n") == std::string_view::npos);
      break;
    case Line::Kind::kTooLong:
      GS_CHECK(NextLine(bytes.substr(0, kMaxLine)).kind == Line::Kind::kTooLong);
      break;
  }
}

// However the line is cut in two, the same bytes are skipped.
void CheckExcess(std::string_view bytes) {
  const Excess whole = SkipLine(bytes);
  GS_CHECK(whole.size <= bytes.size());
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    const Excess first = SkipLine(bytes.substr(0, cut));
    if (first.ended) {
      GS_CHECK(whole.ended && first.size == whole.size);
      return;
    }
    const Excess second = SkipLine(bytes.substr(first.size));
    GS_CHECK(second.ended == whole.ended && first.size + second.size == whole.size);
  }
}

void CheckVerb(std::string_view bytes) {
  if (bytes.empty()) return;
  const Command* const command = FindCommand(bytes);
  const bool known = command != nullptr || MayBecomeCommand(bytes);
  for (std::size_t size = 1; known && size < bytes.size(); ++size) {
    const std::string_view part = bytes.substr(0, size);
    GS_CHECK(FindCommand(part) != nullptr || MayBecomeCommand(part));
  }
  if (command != nullptr) GS_CHECK(&CommandOf(command->verb) == command);
}

void CheckArguments(std::string_view text) {
  for (const Shape shape : kShapes) {
    Arguments arguments;
    const bool fits = ParseArguments(shape, text, arguments);
    GS_CHECK(Inside(arguments.tube, text));
    if (!fits) continue;
    GS_CHECK(shape != Shape::kNone || text.empty());
    GS_CHECK(shape != Shape::kTube || IsTubeName(arguments.tube));
    GS_CHECK(shape != Shape::kTimeout || arguments.timeout_s <= INT32_MAX);
  }
}

}  // namespace
}  // namespace gearstalk::beanstalk

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gearstalk::beanstalk;
  const std::string_view bytes = gearstalk::AsBytes(data, size);
  CheckLine(bytes);
  CheckExcess(bytes);
  CheckVerb(bytes);
  CheckArguments(bytes);
  const Line line = NextLine(bytes);
  if (line.kind != Line::Kind::kWhole || line.text.empty()) return 0;
  if (const Command* const command = FindCommand(line.text)) {
    CheckArguments(line.text.substr(command->word.size()));
  }
  return 0;
}

// A table of tubes that is drawn anew every interval, on the whole terminal. Keys: s sorts, /
// matches, p pauses the tube under the mark for a minute or ends its pause, q quits.

#include <curses.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <clocale>
#include <iterator>

#include "admin/ctl/api/api.h"
#include "admin/ctl/api/fields.h"
#include "admin/ctl/api/screen.h"
#include "admin/ctl/api/settings.h"
#include "admin/ctl/api/text.h"
#include "broker/base/split.h"

namespace gearstalk::ctl::api {
namespace {

struct TopOptions {
  double interval_s = 2;
  std::string sort = "busy";
  bool once = false;

  Parameters AsParameters() {
    return {{"--interval", &interval_s, "Seconds between frames", Between(0.1, 3600)},
            {"--sort", &sort, "As `tubes --sort`", OneOf(TubeOrders())},
            {"--once", &once, "Print one frame as text"}};
  }
};

constexpr const char* kSorts[] = {"busy",   "ready",   "reserved", "delayed",
                                  "buried", "workers", "oldest",   "name"};
constexpr std::size_t kTubes = 200;

bool Descending(const std::string& sort) { return sort != "name" && sort != "id"; }

std::optional<Json> FetchTubes(Api& api, const std::string& sort, const std::string& match) {
  const Query query = {
      {"sort", sort}, {"order", Descending(sort) ? "desc" : "asc"}, {"match", match}};
  return api.List("/tubes", query, kTubes);
}

// As many columns of numbers as there is room for; names are cut to what these leave. Lines may
// still be too long.
std::string LinesOf(Json tubes, std::size_t columns) {
  constexpr std::size_t kNumbers = 60, kFewNumbers = 26, kLeastName = 8;
  const bool all = columns >= kNumbers + 2 * kLeastName;
  const std::size_t numbers = all ? kNumbers : kFewNumbers;
  const std::size_t name = std::max(kLeastName, columns - std::min(columns, numbers));
  for (Json& tube : tubes) tube["name"] = Cut(Word(tube, "name"), name);
  std::string shown =
      "TUBE=name >READY=jobs/ready >RESERVED=jobs/reserved "
      ">BURIED=jobs/buried";
  if (all) {
    shown +=
        " >DELAYED=jobs/delayed >WORKERS=workers "
        ">OLDEST=oldest_ready_age_seconds PAUSED=pause_left_seconds";
  }
  return TableOf(tubes, shown);
}

// What $COLUMNS says, else the terminal; 0: neither does.
std::size_t ColumnsToFill() {
  const std::string given = Variable("COLUMNS");
  std::size_t columns = 0;
  std::from_chars(given.data(), given.data() + given.size(), columns);
  winsize size{};
  if (columns == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return columns;
}

void ShowOnce(const Json& tubes) {
  const std::size_t columns = ColumnsToFill();
  if (columns == 0) return ShowIn(kTubeColumns)(tubes);
  const std::string text = LinesOf(tubes, columns);
  for (const std::string_view line : SplitWords(text, "\n")) Say(Cut(line, columns));
}

// Owns the terminal while it lives.
class Screen {
 public:
  Screen() {
    std::setlocale(LC_ALL, "");
    initscr();
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
  }
  ~Screen() { endwin(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
};

std::string AskLine(const char* prompt) {
  char text[256] = {};
  echo();
  timeout(-1);
  mvaddstr(LINES - 1, 0, prompt);
  clrtoeol();
  getnstr(text, sizeof text - 1);
  noecho();
  return text;
}

class LiveTable {
 public:
  LiveTable(Api& api, const TopOptions& options)
      : api_(api), sort_(options.sort), interval_s_(options.interval_s) {}

  int Run() {
    while (true) {
      std::optional<Json> tubes = FetchTubes(api_, sort_, match_);
      if (!tubes) return api_.exit_code();
      tubes_ = std::move(*tubes);
      Draw();
      timeout(static_cast<int>(interval_s_ * 1000));
      const int key = getch();
      if (key == 'q') return kDone;
      OnKey(key);
    }
  }

 private:
  void Draw() {
    erase();
    const auto columns = static_cast<std::size_t>(COLS);
    const std::string head =
        fmt::format("{} tubes by {}{}   s sort  / match  p pause  q quit", tubes_.size(), sort_,
                    match_.empty() ? "" : " like " + Visible(match_));
    mvaddstr(0, 0, Cut(head, columns).c_str());
    marked_ = std::min(marked_, tubes_.empty() ? 0 : tubes_.size() - 1);
    const std::string text = LinesOf(tubes_, columns);
    int line = 0;
    for (const std::string_view each : SplitWords(text, "\n")) {
      if (++line >= LINES) break;
      const bool mark = line == static_cast<int>(marked_) + 2;
      if (mark) attron(A_REVERSE);
      mvaddstr(line, 0, Cut(each, columns).c_str());
      if (mark) attroff(A_REVERSE);
    }
    refresh();
  }

  void OnKey(int key) {
    switch (key) {
      case 's': {
        const auto at = std::find(std::begin(kSorts), std::end(kSorts), sort_);
        sort_ = at == std::end(kSorts) || at + 1 == std::end(kSorts) ? kSorts[0] : at[1];
        break;
      }
      case '/':
        match_ = AskLine("match: ");
        break;
      case 'p':
        PauseMarked();
        break;
      case KEY_DOWN:
      case 'j':
        ++marked_;
        break;
      case KEY_UP:
      case 'k':
        if (marked_ > 0) --marked_;
        break;
      default:
        break;
    }
  }

  void PauseMarked() {
    if (tubes_.empty()) return;
    const Json& tube = tubes_[marked_];
    const std::string path = "/tubes/" + tube.value("ref", "");
    if (tube.value("paused", false)) {
      api_.Post(path + "/resume");
    } else {
      api_.Post(path + "/pause", {{"seconds", 60}});
    }
  }

  Api& api_;
  std::string sort_, match_;
  const double interval_s_;
  Json tubes_;
  std::size_t marked_ = 0;
};

int Top(Api& api, const TopOptions& options) {
  if (options.once || !HasScreen()) {
    return PrintItems(api, FetchTubes(api, options.sort, ""), ShowOnce);
  }
  const Screen screen;
  return LiveTable(api, options).Run();
}

}  // namespace

std::vector<Command> TopCommands() {
  return {
      {"top", "Follow the busiest tubes", "gearstalkctl top --once --sort ready", BindApi(Top)},
  };
}

}  // namespace gearstalk::ctl::api

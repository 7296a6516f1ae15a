#include "admin/ctl/api/top.h"

#include <curses.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <iterator>

#include "admin/ctl/api/fields.h"
#include "admin/ctl/api/text.h"

namespace gearstalk::ctl::api {
namespace {

constexpr const char* kSorts[] = {"busy",   "ready",   "reserved", "delayed",
                                  "buried", "workers", "oldest",   "name"};
constexpr std::size_t kTubes = 200;

bool Descending(const std::string& sort) { return sort != "name" && sort != "id"; }

bool FetchTubes(Api& api, const std::string& sort, const std::string& match, Json& tubes) {
  const Query query = {
      {"sort", sort}, {"order", Descending(sort) ? "desc" : "asc"}, {"match", match}};
  return api.List("/tubes", query, kTubes, tubes);
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
      if (!FetchTubes(api_, sort_, match_, tubes_)) return api_.exit_code();
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
    mvaddstr(0, 0,
             fmt::format("{} tubes by {}{}   s sort  / match  p pause  q quit", tubes_.size(),
                         sort_, match_.empty() ? "" : " like " + Visible(match_))
                 .c_str());
    Table table(
        {"TUBE", ">READY", ">RESERVED", ">DELAYED", ">BURIED", ">WORKERS", ">OLDEST", "PAUSED"});
    for (const Json& tube : tubes_) {
      const Json jobs = tube.value("jobs", Json::object());
      table.Add({Word(tube, "name"), Count(jobs, "ready"), Count(jobs, "reserved"),
                 Count(jobs, "delayed"), Count(jobs, "buried"), Count(tube, "workers"),
                 Age(tube, "oldest_ready_age_seconds"),
                 tube.value("paused", false) ? Age(tube, "pause_left_seconds") : "-"});
    }
    marked_ = std::min(marked_, tubes_.empty() ? 0 : tubes_.size() - 1);
    const std::string text = table.Text();
    int line = 1;
    for (std::size_t begin = 0; begin < text.size() && line < LINES; ++line) {
      const std::size_t end = text.find('\n', begin);
      const bool mark = line == static_cast<int>(marked_) + 2;
      if (mark) attron(A_REVERSE);
      mvaddnstr(line, 0, text.c_str() + begin, static_cast<int>(end - begin));
      if (mark) attroff(A_REVERSE);
      begin = end + 1;
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
    Json answer;
    if (tube.value("paused", false)) {
      api_.Post(path + "/resume", Json::object(), answer);
    } else {
      api_.Post(path + "/pause", {{"seconds", 60}}, answer);
    }
  }

  Api& api_;
  std::string sort_, match_;
  const double interval_s_;
  Json tubes_;
  std::size_t marked_ = 0;
};

}  // namespace

int Top(Api& api, const TopOptions& options) {
  if (options.once || isatty(STDOUT_FILENO) != 1) {
    Json tubes;
    if (!FetchTubes(api, options.sort, "", tubes)) return api.exit_code();
    return PrintItems(api, tubes, ShowTubes);
  }
  const Screen screen;
  return LiveTable(api, options).Run();
}

}  // namespace gearstalk::ctl::api

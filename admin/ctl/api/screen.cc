#include "admin/ctl/api/screen.h"

#include <curses.h>
// Its macros have common names: it is included here alone.
#include <term.h>
#include <unistd.h>

namespace gearstalk::ctl::api {

bool HasScreen() {
  int error = 0;
  if (isatty(STDOUT_FILENO) != 1 || setupterm(nullptr, STDOUT_FILENO, &error) != OK) return false;
  const bool moves_cursor = cursor_address != nullptr;
  del_curterm(cur_term);
  return moves_cursor;
}

}  // namespace gearstalk::ctl::api

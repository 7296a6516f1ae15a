# Writes HEADER with the commit of SOURCE: that of its repository, or the one that a source archive names.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  file(STRINGS ${SOURCE}/.commit commit REGEX "^[0-9a-f]+ ")
  string(SUBSTRING "${commit}" 0 12 commit)
  if(NOT commit)
    set(commit unknown)
  endif()
endif()
set(text "#pragma once

namespace gearstalk {

inline constexpr char kCommit[] = \"${commit}\";

}  // namespace gearstalk
")
set(before "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${HEADER} "${text}")
endif()

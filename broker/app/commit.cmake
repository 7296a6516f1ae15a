# Writes HEADER with the commit of SOURCE: the one that a source archive names, or that of its repository.
file(STRINGS ${SOURCE}/.commit commit REGEX "^[0-9a-f]+ ")
string(SUBSTRING "${commit}" 0 12 commit)
if(NOT commit)
  execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
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

#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

namespace gearstalk {

// Opens the descriptors 0, 1 and 2 on /dev/null if they are closed. Otherwise the first files that
// the process opens get these numbers, and what is written to standard error lands in the journal.
// Call it before anything is opened.
inline void OpenStandardStreams() {
  // open() takes the lowest free descriptor: once it is above 2, all three are open.
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDWR);
  if (fd > STDERR_FILENO) close(fd);
}

// As fmt::print, which throws when nobody reads or the disk is full: then the text is lost.
template <typename... T>
void Print(std::FILE* stream, fmt::format_string<T...> format, T&&... values) {
  const std::string text = fmt::format(format, std::forward<T>(values)...);
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

}  // namespace gearstalk

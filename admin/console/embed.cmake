# Writes the files of dist as C++: cmake -D DIST=FOLDER -D OUT=FILE.cc -P embed.cmake
# The names of all but the page get the first digits of a SHA-256, so that browsers may keep them for ever.
cmake_minimum_required(VERSION 3.25)

set(type_html "text/html; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_svg "image/svg+xml")

# Sets `result` to the bytes of a file as a string literal.
function(literal_of file result)
  file(READ ${file} digits HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" escaped "${digits}")
  set(${result} "\"${escaped}\"" PARENT_SCOPE)
endfunction()

# Appends an asset to `rows` and its bytes to `literals`.
macro(embed file name)
  get_filename_component(extension ${file} LAST_EXT)
  string(SUBSTRING ${extension} 1 -1 extension)
  execute_process(COMMAND gzip -9nc ${file} OUTPUT_FILE ${OUT}.gz COMMAND_ERROR_IS_FATAL ANY)
  literal_of(${file} plain)
  literal_of(${OUT}.gz compressed)
  file(REMOVE ${OUT}.gz)
  string(APPEND literals "constexpr char k_${extension}[] = ${plain};\nconstexpr char k_${extension}_gzip[] = ${compressed};\n")
  string(APPEND rows "    {\"${name}\", \"${type_${extension}}\", BytesOf(k_${extension}), BytesOf(k_${extension}_gzip)},\n")
endmacro()

file(READ ${DIST}/index.html page)
foreach(file app.js app.css icon.svg)
  file(SHA256 ${DIST}/${file} hash)
  string(SUBSTRING ${hash} 0 12 hash)
  string(REPLACE "." ".${hash}." name ${file})
  string(REPLACE "\"${file}\"" "\"${name}\"" page "${page}")
  embed(${DIST}/${file} ${name})
endforeach()
file(WRITE ${OUT}.html "${page}")
embed(${OUT}.html "")
file(REMOVE ${OUT}.html)

file(WRITE ${OUT} "// Made by admin/console/embed.cmake from admin/console/dist.
#include \"admin/console/assets.h\"

#include <cstddef>

namespace gearstalk {
namespace {

${literals}
// A literal without the NUL at its end.
template <std::size_t N>
constexpr std::string_view BytesOf(const char (&literal)[N]) {
  return {literal, N - 1};
}

constexpr HttpAsset kAssets[] = {
${rows}};

}  // namespace

std::span<const HttpAsset> ConsoleAssets() { return kAssets; }

}  // namespace gearstalk
")

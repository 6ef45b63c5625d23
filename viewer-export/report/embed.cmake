# Makes one C++ file out of the page of the report, so that `stepscope report` needs no other file.
#
#   cmake -DPAGE=<folder> -DCHARTS=<chart.min.js or empty> -DOUTPUT=<report_page.cc> -P embed.cmake
#
# The modules in page/ are plain ES modules. A page that opens from disk cannot import from other
# files, so they are put one after the other, in the order of MODULES, without their import lines and
# the word export: one scope, in which each name must be defined only once (a test loads the page).
# page.html is also the frame of fleet's page (fleet/stepscope_fleet/page.py).
# The page's Content-Security-Policy names the SHA-256 of each script and style: no other can run.

cmake_minimum_required(VERSION 3.25)

set(MODULES dom text address data categories charts table timeline stepgraph run overview input ops tensors memory stacks flame source code modules steps ranks compare live sweep main)

# The base64 of 64 hexadecimal digits, into `result`.
function(base64_of_hash hex result)
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(text "")
  foreach(at RANGE 0 60 6)  # three bytes are four characters
    string(SUBSTRING "${hex}0000" ${at} 6 digits)
    math(EXPR bits "0x${digits}")
    foreach(shift 18 12 6 0)
      math(EXPR index "(${bits} >> ${shift}) & 63")
      string(SUBSTRING "${alphabet}" ${index} 1 character)
      string(APPEND text "${character}")
    endforeach()
  endforeach()
  string(SUBSTRING "${text}" 0 43 text)  # 32 bytes; the rest is padding
  set(${result} "${text}=" PARENT_SCOPE)
endfunction()

function(source_of_hash text result)
  string(SHA256 hex "${text}")
  base64_of_hash(${hex} hash)
  set(${result} "'sha256-${hash}'" PARENT_SCOPE)
endfunction()

file(GLOB present RELATIVE "${PAGE}" "${PAGE}/*.js")
foreach(file IN LISTS present)
  get_filename_component(module "${file}" NAME_WE)
  if(NOT module IN_LIST MODULES)
    message(FATAL_ERROR "${PAGE}/${file}: not in MODULES (${CMAKE_CURRENT_LIST_FILE}), so the page would lack it")
  endif()
endforeach()

set(script "\n")
foreach(module IN LISTS MODULES)
  file(READ "${PAGE}/${module}.js" text)
  string(REGEX REPLACE "(^|\n)import [^;]*;" "\\1" text "${text}")
  string(REGEX REPLACE "(^|\n)export " "\\1" text "${text}")
  string(APPEND script "// ${module}.js\n${text}\n")
endforeach()
file(READ "${PAGE}/style.css" style)
file(READ "${PAGE}/page.html" page)
set(charts "")
if(CHARTS)
  file(READ "${CHARTS}" charts)
endif()
foreach(text IN ITEMS script style charts)
  if("${${text}}" MATCHES "</script|</style|<!--")
    message(FATAL_ERROR "${text}: contains a tag that would end its element")
  endif()
endforeach()

source_of_hash("${script}" script_hash)
source_of_hash("${style}" style_hash)
set(script_sources "${script_hash}")
set(charts_element "")
set(has_charts false)
if(CHARTS)
  source_of_hash("${charts}" charts_hash)
  string(APPEND script_sources " ${charts_hash}")
  set(charts_element "<script>${charts}</script>\n")
  set(has_charts true)
endif()

string(REPLACE "{{SCRIPT_SOURCES}}" "${script_sources}" page "${page}")
string(REPLACE "{{STYLE_SOURCES}}" "${style_hash}" page "${page}")
string(REPLACE "{{STYLE}}" "${style}" page "${page}")
string(REPLACE "{{NAVIGATION}}" "\n  <nav id=\"pages\" aria-label=\"Pages\"></nav>" page "${page}")
string(REPLACE "{{VERB}}" "analyze" page "${page}")
string(FIND "${page}" "{{CONNECT}}" split)
string(SUBSTRING "${page}" 0 ${split} head)
math(EXPR split "${split} + 11")
string(SUBSTRING "${page}" ${split} -1 page)
string(FIND "${page}" "{{DATA}}" split)
string(SUBSTRING "${page}" 0 ${split} before)
math(EXPR split "${split} + 8")
string(SUBSTRING "${page}" ${split} -1 after)
string(PREPEND after "${charts_element}<script type=\"module\">${script}</script>")

file(WRITE "${OUTPUT}" "// Made by viewer-export/report/embed.cmake.
#include \"viewer-export/report/report_page.h\"

namespace stepscope {

const std::string_view kReportHead = R\"stepscope(")
file(APPEND "${OUTPUT}" "${head}")
file(APPEND "${OUTPUT}" ")stepscope\";

const std::string_view kReportBeforeData = R\"stepscope(")
file(APPEND "${OUTPUT}" "${before}")
file(APPEND "${OUTPUT}" ")stepscope\";

const std::string_view kReportAfterData = R\"stepscope(")
file(APPEND "${OUTPUT}" "${after}")
file(APPEND "${OUTPUT}" ")stepscope\";

const bool kReportHasCharts = ${has_charts};

}  // namespace stepscope
")

# The settings that all our targets share. Warnings and sanitizers are PRIVATE: they never reach the
# build of a program that links Stepscope.
#
#   stepscope_target(<target>)   include root, warnings, sanitizers

set(STEPSCOPE_WARNINGS
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Wold-style-cast -Woverloaded-virtual -Wcast-align -Wimplicit-fallthrough)
option(STEPSCOPE_WERROR "Treat warnings of our own targets as errors" OFF)

function(stepscope_target target)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${STEPSCOPE_WARNINGS}>)
  if(STEPSCOPE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(STEPSCOPE_SANITIZE STREQUAL "address")
    set(flags -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      # Functions found by name are called through our own types, since we do not include the
      # headers.
      list(APPEND flags -fno-sanitize=function)
    endif()
  elseif(STEPSCOPE_SANITIZE STREQUAL "thread")
    set(flags -fsanitize=thread -fno-omit-frame-pointer)
  elseif(STEPSCOPE_SANITIZE)
    message(FATAL_ERROR "STEPSCOPE_SANITIZE is '${STEPSCOPE_SANITIZE}'; use address, thread or nothing")
  endif()
  if(flags)
    target_compile_options(${target} PRIVATE ${flags})
    target_link_options(${target} PRIVATE ${flags})
  endif()
endfunction()

# How libraries and programs of ours are linked so that they run where they were not built.
#
#   stepscope_hide_cxx_runtime(<target>)   a C++ runtime of the library's own; always
#   stepscope_portable(<target>)           with STEPSCOPE_PORTABLE: no glibc newer than 2.28 is needed
#
# STEPSCOPE_PORTABLE is for what packaging/wheel.sh and CPack give to other machines.

option(STEPSCOPE_PORTABLE "Link programs and libraries that run with glibc 2.28 and newer" OFF)
set(STEPSCOPE_GLIBC 2.28)
set(stubs "${PROJECT_BINARY_DIR}/glibc-${STEPSCOPE_GLIBC}")

if(STEPSCOPE_PORTABLE)
  set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # packages hold no samples
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} "${PROJECT_SOURCE_DIR}/packaging/glibc_stubs.py" "${stubs}" ${STEPSCOPE_GLIBC}
      "${CMAKE_C_COMPILER}"
    COMMAND_ERROR_IS_FATAL ANY)
  add_library(stepscope_glibc OBJECT "${PROJECT_SOURCE_DIR}/packaging/glibc_2_28.cc")
  stepscope_target(stepscope_glibc)
endif()

# A C++ runtime of the library's own, hidden. Preloaded into a program, it must not decide which one
# that gets; loaded into one, it must not need a newer one than that has. What is thrown in such a
# library is caught in it, by one unwinder.
function(stepscope_hide_cxx_runtime target)
  if(NOT STEPSCOPE_SANITIZE)
    target_link_options(${target} PRIVATE
      -static-libstdc++ -static-libgcc -Wl,--exclude-libs,libstdc++.a:libgcc.a:libgcc_eh.a)
  endif()
endfunction()

# The path of the build tree, and what is debug information before it is stripped, leave no trace.
function(stepscope_reproducible target)
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
  target_link_options(${target} PRIVATE -Wl,--build-id=none)
endfunction()

# Stubs of the old glibc come before the one of this machine. Before 2.34 the functions of libpthread and libdl were not
# in libc, so both are loaded. Libraries of others were linked with this machine's glibc; who packs them looks at what
# they need (packaging/make_wheel.py).
function(stepscope_portable target)
  if(STEPSCOPE_PORTABLE)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:stepscope_glibc>)
    stepscope_reproducible(${target})
    target_link_options(${target} PRIVATE "-L${stubs}"
      "SHELL:-Wl,--push-state,--no-as-needed -lpthread -ldl -Wl,--pop-state"
      -Wl,--no-undefined -Wl,--allow-shlib-undefined -Wl,--exclude-libs,libsqlite3.a:libz.a)
  endif()
endfunction()

# Links our libraries and programs so that they run on other machines than the build machine.
#
#   stepscope_hide_cxx_runtime(<target>)   gives a library its own C++ runtime; always
#   stepscope_portable(<target>)           with STEPSCOPE_PORTABLE: no glibc newer than 2.28 is needed
#
# STEPSCOPE_PORTABLE is for the packages that packaging/wheel.sh and CPack make.

option(STEPSCOPE_PORTABLE "Link programs and libraries that run with glibc 2.28 and newer" OFF)
set(STEPSCOPE_GLIBC 2.28)
set(stubs "${PROJECT_BINARY_DIR}/glibc-${STEPSCOPE_GLIBC}")

if(STEPSCOPE_PORTABLE)
  set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # packages contain no samples
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} "${PROJECT_SOURCE_DIR}/packaging/glibc_stubs.py" "${stubs}" ${STEPSCOPE_GLIBC}
      "${CMAKE_C_COMPILER}"
    COMMAND_ERROR_IS_FATAL ANY)
  add_library(stepscope_glibc OBJECT "${PROJECT_SOURCE_DIR}/packaging/glibc_2_28.cc")
  stepscope_target(stepscope_glibc)
endif()

# Links a hidden C++ runtime into the library. A preloaded library must not decide which runtime the
# program gets, and a loaded one must not need a newer runtime than the program has. Exceptions are
# caught in the library that throws them, by one unwinder.
function(stepscope_hide_cxx_runtime target)
  if(NOT STEPSCOPE_SANITIZE)
    target_link_options(${target} PRIVATE
      -static-libstdc++ -static-libgcc -Wl,--exclude-libs,libstdc++.a:libgcc.a:libgcc_eh.a)
  endif()
endfunction()

# Makes the output independent of the path of the build tree and of stripped debug information.
function(stepscope_reproducible target)
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
  target_link_options(${target} PRIVATE -Wl,--build-id=none)
endfunction()

# Links with stubs of the old glibc instead of this machine's. Before 2.34, the functions of
# libpthread and libdl were not in libc, so both are loaded. Third-party libraries were linked with
# this machine's glibc; packaging/make_wheel.py checks what they need.
function(stepscope_portable target)
  if(STEPSCOPE_PORTABLE)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:stepscope_glibc>)
    stepscope_reproducible(${target})
    target_link_options(${target} PRIVATE "-L${stubs}"
      "SHELL:-Wl,--push-state,--no-as-needed -lpthread -ldl -Wl,--pop-state"
      -Wl,--no-undefined -Wl,--allow-shlib-undefined -Wl,--exclude-libs,libsqlite3.a:libz.a)
  endif()
endfunction()

# Finds CUPTI's headers and a libcupti, for the test that compares our record layouts with them
# (tests/profiler/cupti/real_cupti_test.cc). Nothing else needs them: libcupti is loaded at run
# time.
#
# Looks, in this order, at CUDA_HOME, /usr/local/cuda, and the PyPI packages nvidia-cuda-cupti,
# nvidia-cuda-runtime and nvidia-cuda-crt (one folder with CUDA 13) of `python3` and the project's .venv.
#
# Sets   STEPSCOPE_CUPTI_INCLUDE_DIRS   empty: not found
#        STEPSCOPE_CUPTI_LIBRARY        a file; empty: not found

set(STEPSCOPE_CUPTI_INCLUDE_DIRS "")
set(STEPSCOPE_CUPTI_LIBRARY "")

function(_stepscope_cupti_try includes libraries)
  find_path(cupti cupti.h PATHS ${includes} NO_DEFAULT_PATH NO_CACHE)
  find_path(cuda cuda.h PATHS ${includes} NO_DEFAULT_PATH NO_CACHE)
  find_path(crt crt/host_defines.h PATHS ${includes} NO_DEFAULT_PATH NO_CACHE)
  if(NOT cupti OR NOT cuda OR NOT crt)
    return()
  endif()
  set(folders ${cupti} ${cuda} ${crt})
  list(REMOVE_DUPLICATES folders)
  set(STEPSCOPE_CUPTI_INCLUDE_DIRS "${folders}" PARENT_SCOPE)
  foreach(folder IN LISTS libraries)
    file(GLOB found "${folder}/libcupti.so*")
    if(found)
      list(GET found 0 library)
      set(STEPSCOPE_CUPTI_LIBRARY "${library}" PARENT_SCOPE)
      break()
    endif()
  endforeach()
  message(STATUS "CUPTI headers, for tests: ${cupti}")
endfunction()

foreach(root IN ITEMS $ENV{CUDA_HOME} /usr/local/cuda)
  if(NOT STEPSCOPE_CUPTI_INCLUDE_DIRS)
    _stepscope_cupti_try("${root}/include;${root}/extras/CUPTI/include"
      "${root}/extras/CUPTI/lib64;${root}/targets/x86_64-linux/lib")
  endif()
endforeach()
find_program(STEPSCOPE_PYTHON NAMES python3)
foreach(python IN ITEMS ${STEPSCOPE_PYTHON} "${PROJECT_SOURCE_DIR}/.venv/bin/python")
  if(NOT STEPSCOPE_CUPTI_INCLUDE_DIRS)
    execute_process(
      COMMAND ${python} -c
        "import importlib.util as u; s = u.find_spec('nvidia'); print(*(s.submodule_search_locations if s else ()), sep=';')"
      OUTPUT_VARIABLE packages OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    foreach(folder IN LISTS packages)
      file(GLOB includes "${folder}/*/include")
      file(GLOB libraries "${folder}/*/lib")
      if(NOT STEPSCOPE_CUPTI_INCLUDE_DIRS)
        _stepscope_cupti_try("${includes}" "${libraries}")
      endif()
    endforeach()
  endif()
endforeach()

# Finds the libtorch whose RecordFunction the hooks are compiled against.
#
# Looks, in this order, at STEPSCOPE_TORCH_DIR, CMAKE_PREFIX_PATH, the `torch` that `python3` imports,
# that of the project's own .venv, and the system (Debian's libtorch-dev). PyTorch's own
# TorchConfig.cmake is not used: it requires the CUDA toolkit whenever libtorch was built with CUDA,
# and it changes global flags.
#
# Sets   STEPSCOPE_TORCH_FOUND, STEPSCOPE_TORCH_VERSION ("2.13.0"), STEPSCOPE_TORCH_ROOT,
#        STEPSCOPE_TORCH_LIB_DIR
# Makes  stepscope_libtorch_cpu  imported: headers, ABI flag, libtorch_cpu + libc10. Every program
#                                with libtorch has loaded these, so the hooks may need them
#        stepscope_libtorch      the same plus libtorch, for our own programs

set(STEPSCOPE_TORCH_DIR "" CACHE PATH "Root of a libtorch: has include/ATen and lib/libtorch_cpu.so")
set(STEPSCOPE_TORCH_FOUND FALSE)

function(_stepscope_torch_candidates out)
  set(candidates ${STEPSCOPE_TORCH_DIR} $ENV{STEPSCOPE_TORCH_DIR})
  if(NOT candidates)
    set(candidates ${CMAKE_PREFIX_PATH})
    string(REPLACE ":" ";" from_env "$ENV{CMAKE_PREFIX_PATH}")
    list(APPEND candidates ${from_env})
    find_program(STEPSCOPE_PYTHON NAMES python3)
    # find_spec does not import torch, which would take seconds.
    foreach(python IN ITEMS ${STEPSCOPE_PYTHON} "${PROJECT_SOURCE_DIR}/.venv/bin/python")
      execute_process(
        COMMAND ${python} -c
          "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
        OUTPUT_VARIABLE from_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      list(APPEND candidates ${from_python})
    endforeach()
    list(APPEND candidates /usr)
  endif()
  set(${out} ${candidates} PARENT_SCOPE)
endfunction()

function(_stepscope_torch_try root)
  foreach(file include/torch/headeronly/version.h include/torch/csrc/api/include/torch/version.h)
    if(EXISTS "${root}/${file}")
      file(STRINGS "${root}/${file}" defines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
      if(defines)
        break()
      endif()
    endif()
  endforeach()
  find_library(torch_cpu torch_cpu PATHS "${root}/lib" "${root}/lib/${CMAKE_LIBRARY_ARCHITECTURE}" NO_DEFAULT_PATH NO_CACHE)
  if(NOT defines OR NOT torch_cpu)
    return()
  endif()
  string(REGEX REPLACE "[^0-9;]" "" version "${defines}")
  string(REPLACE ";" "." version "${version}")
  get_filename_component(lib_dir "${torch_cpu}" DIRECTORY)

  add_library(stepscope_libtorch_cpu INTERFACE IMPORTED GLOBAL)
  target_include_directories(stepscope_libtorch_cpu SYSTEM INTERFACE
    "${root}/include" "${root}/include/torch/csrc/api/include")
  target_link_libraries(stepscope_libtorch_cpu INTERFACE "${torch_cpu}" "${lib_dir}/libc10.so")
  add_library(stepscope_libtorch INTERFACE IMPORTED GLOBAL)
  target_link_libraries(stepscope_libtorch INTERFACE
    "-Wl,--push-state,--no-as-needed" "${lib_dir}/libtorch.so" "-Wl,--pop-state" stepscope_libtorch_cpu)
  # Wheels up to 2.6 were built with the old std::string; their own config file says so.
  set(config "${root}/share/cmake/Torch/TorchConfig.cmake")
  if(EXISTS "${config}")
    file(STRINGS "${config}" old_abi REGEX "_GLIBCXX_USE_CXX11_ABI=0")
    if(old_abi)
      target_compile_definitions(stepscope_libtorch_cpu INTERFACE _GLIBCXX_USE_CXX11_ABI=0)
    endif()
  endif()
  set(STEPSCOPE_TORCH_FOUND TRUE PARENT_SCOPE)
  set(STEPSCOPE_TORCH_VERSION "${version}" PARENT_SCOPE)
  set(STEPSCOPE_TORCH_ROOT "${root}" PARENT_SCOPE)
  set(STEPSCOPE_TORCH_LIB_DIR "${lib_dir}" PARENT_SCOPE)
  message(STATUS "libtorch ${version}: ${lib_dir}")
endfunction()

if(NOT STEPSCOPE_TORCH STREQUAL "OFF")
  _stepscope_torch_candidates(candidates)
  foreach(root IN LISTS candidates)
    if(NOT STEPSCOPE_TORCH_FOUND)
      _stepscope_torch_try("${root}")
    endif()
  endforeach()
  if(NOT STEPSCOPE_TORCH_FOUND)
    set(hint "no libtorch found (searched: ${candidates}). Set -DSTEPSCOPE_TORCH_DIR=… or `pip install torch`")
    if(STEPSCOPE_TORCH STREQUAL "ON")
      message(FATAL_ERROR "Stepscope: ${hint}")
    endif()
    message(STATUS "Stepscope: ${hint}; the op hooks and the C++ samples are left out")
  endif()
endif()

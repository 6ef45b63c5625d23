# Installs what `stepscope doctor --build-hooks` needs to build the op hooks on the user's machine:
# their sources and the headers they include, in the same layout as here. The build tree has a link
# to them at the same place.
#
# Sets   STEPSCOPE_HOOKS_ID   "0.1.0+5d41402a": the version and a hash of those files. Hooks share
#                             memory layouts with libstepscope, so they work only with the same
#                             sources; in a working tree, these change while the version does not.
set(source_folder "${CMAKE_INSTALL_DATADIR}/stepscope/source")

file(GLOB hook_sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
  "${PROJECT_SOURCE_DIR}/profiler/hooks/*" "${PROJECT_SOURCE_DIR}/profiler/ring/*.h"
  "${PROJECT_SOURCE_DIR}/profiler/session/*.h")
list(APPEND hook_sources cmake/StepscopeTorch.cmake profiler/hook_api.h profiler/visibility.h store/events.h
  store/python_range.h store/time.h)

set(hashes "")
foreach(source IN LISTS hook_sources)
  get_filename_component(folder "${source}" DIRECTORY)
  install(FILES "${PROJECT_SOURCE_DIR}/${source}" DESTINATION "${source_folder}/${folder}")
  file(SHA256 "${PROJECT_SOURCE_DIR}/${source}" hash)
  string(APPEND hashes "${hash}")
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY
    CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${source}")
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING "${hash}" 0 8 hash)
set(STEPSCOPE_HOOKS_ID "${PROJECT_VERSION}+${hash}")

file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_DATADIR}/stepscope")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/${source_folder}" SYMBOLIC)

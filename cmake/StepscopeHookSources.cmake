# What `stepscope doctor --build-hooks` builds the op hooks from on the user's machine: their sources and
# the headers these include, laid out as here. The build tree has the same at the same place.
set(source_folder "${CMAKE_INSTALL_DATADIR}/stepscope/source")

install(FILES "${PROJECT_SOURCE_DIR}/cmake/StepscopeTorch.cmake" DESTINATION "${source_folder}/cmake")
install(FILES "${PROJECT_SOURCE_DIR}/profiler/visibility.h" DESTINATION "${source_folder}/profiler")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/profiler/hooks" DESTINATION "${source_folder}/profiler")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/profiler/ring" "${PROJECT_SOURCE_DIR}/profiler/session"
  DESTINATION "${source_folder}/profiler" FILES_MATCHING PATTERN "*.h")
install(FILES "${PROJECT_SOURCE_DIR}/store/events.h" "${PROJECT_SOURCE_DIR}/store/time.h"
  DESTINATION "${source_folder}/store")

file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_DATADIR}/stepscope")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/${source_folder}" SYMBOLIC)

# What `cmake --install` adds for find_package(Stepscope): the exported targets, which the folders that
# define them put into the set StepscopeTargets, and the files that lead to them.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Stepscope")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/StepscopeConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/StepscopeConfig.cmake"
  INSTALL_DESTINATION "${package_dir}"
  PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR)
# Before 1.0 a minor version may break what a program was built against.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/StepscopeConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/StepscopeConfig.cmake" "${PROJECT_BINARY_DIR}/StepscopeConfigVersion.cmake"
  DESTINATION "${package_dir}")
install(EXPORT StepscopeTargets NAMESPACE stepscope:: DESTINATION "${package_dir}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")

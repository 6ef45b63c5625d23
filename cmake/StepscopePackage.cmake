# What `cmake --install` adds for find_package(Stepscope): the exported targets (each folder adds
# its own to the set StepscopeTargets) and the files that find them.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Stepscope")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/StepscopeConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/StepscopeConfig.cmake"
  INSTALL_DESTINATION "${package_dir}"
  PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR)
# Before 1.0, a minor version may be incompatible.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/StepscopeConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/StepscopeConfig.cmake" "${PROJECT_BINARY_DIR}/StepscopeConfigVersion.cmake"
  DESTINATION "${package_dir}")
install(EXPORT StepscopeTargets NAMESPACE stepscope:: DESTINATION "${package_dir}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# --- a deb and a tarball, for packaging/packages.sh -----------------------------------------------

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME stepscope)
set(CPACK_PACKAGE_CONTACT "the developers of Stepscope")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_FILE_NAME "stepscope-${PROJECT_VERSION}-linux-x86_64")
set(CPACK_STRIP_FILES ON)
# The tarball has everything; the hooks for Debian's libtorch have a separate deb.
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL Unspecified)
if(STEPSCOPE_TORCH_FOUND)
  list(APPEND CPACK_COMPONENTS_ALL torch)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME stepscope)
set(CPACK_DEBIAN_UNSPECIFIED_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_TORCH_FILE_NAME DEB-DEFAULT)
# A bundled library needs libstdc++.
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_DEPENDS "libc6 (>= ${STEPSCOPE_GLIBC}), libstdc++6")
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_SUGGESTS "stepscope-torch, libcurl4")
set(CPACK_DEBIAN_TORCH_PACKAGE_NAME stepscope-torch)
string(REGEX MATCH "^[0-9]+\\.[0-9]+" torch_series "${STEPSCOPE_TORCH_VERSION}")
set(CPACK_DEBIAN_TORCH_PACKAGE_DEPENDS "stepscope (= ${PROJECT_VERSION}), libtorch${torch_series}")
set(CPACK_COMPONENT_TORCH_DESCRIPTION "Op hooks of Stepscope for libtorch ${STEPSCOPE_TORCH_VERSION}")
include(CPack)

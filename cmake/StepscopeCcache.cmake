# Uses ccache if it is installed and the user has chosen no launcher.
find_program(STEPSCOPE_CCACHE ccache)
mark_as_advanced(STEPSCOPE_CCACHE)
if(STEPSCOPE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${STEPSCOPE_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${STEPSCOPE_CCACHE}")
endif()

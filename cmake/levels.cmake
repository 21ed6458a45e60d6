# CPU levels: one build for all x86-64 CPUs. The program itself is compiled for the lowest level of CORTADO_CPU_LEVELS.
# Each further level is a separate build in levels/<level>/, whose programs are in bin/<level>/, where the first one
# finds them (engine/core/cpu/restart.h).

set(CORTADO_ALL_LEVELS v2 v3 v4 amx)
set(cortado_march_v2 -march=x86-64-v2)
set(cortado_march_v3 -march=x86-64-v3)
set(cortado_march_v4 -march=x86-64-v4)
set(cortado_march_amx -march=x86-64-v4 -mavx512vnni -mavx512bf16 -mamx-tile -mamx-bf16 -mamx-int8)

# cortado_march(RESULT MARCH): the compiler flags for the name of a level or a value of -march.
function(cortado_march result march)
  if(march IN_LIST CORTADO_ALL_LEVELS)
    set(${result} ${cortado_march_${march}} PARENT_SCOPE)
  elseif(march)
    set(${result} -march=${march} PARENT_SCOPE)
  else()
    set(${result} "" PARENT_SCOPE)
  endif()
endfunction()

# This build is for the lowest level.
if(CORTADO_CPU_LEVELS STREQUAL "all")
  set(cortado_levels ${CORTADO_ALL_LEVELS})
else()
  set(cortado_levels)
  foreach(level ${CORTADO_ALL_LEVELS})
    if(level IN_LIST CORTADO_CPU_LEVELS)
      list(APPEND cortado_levels ${level})
    endif()
  endforeach()
  list(LENGTH cortado_levels known)
  list(LENGTH CORTADO_CPU_LEVELS given)
  if(NOT known EQUAL given)
    message(FATAL_ERROR "CORTADO_CPU_LEVELS=${CORTADO_CPU_LEVELS}: must be all, or some of ${CORTADO_ALL_LEVELS}")
  endif()
endif()
list(POP_FRONT cortado_levels cortado_lowest_level)
if(cortado_lowest_level)
  set(CORTADO_MARCH ${cortado_lowest_level})
endif()

# cortado_build_levels(): adds a target for each further level to the default build.
function(cortado_build_levels)
  if(cortado_lowest_level)
    file(MAKE_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    file(CREATE_LINK . ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${cortado_lowest_level} SYMBOLIC)
  endif()
  include(ExternalProject)
  foreach(level ${cortado_levels})
    # Sequential, because each uses all CPUs.
    ExternalProject_Add(level_${level}
      SOURCE_DIR ${CMAKE_SOURCE_DIR}
      BINARY_DIR ${CMAKE_BINARY_DIR}/levels/${level}
      PREFIX ${CMAKE_BINARY_DIR}/levels/${level}-steps
      CMAKE_ARGS -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
                 -DCORTADO_MARCH=${level} -DCORTADO_CUDA=${CORTADO_WITH_CUDA} -DCORTADO_TESTS=${CORTADO_TESTS}
                 -DCORTADO_LIBRARY=${CORTADO_LIBRARY} -DCORTADO_PYTHON_MODULE=${CORTADO_PYTHON_MODULE}
                 -DCORTADO_PYTHON_HEADERS=${CORTADO_PYTHON_HEADERS}
                 -DCORTADO_SERVER=${CORTADO_SERVER} -DCORTADO_STUDIO=${CORTADO_STUDIO}
                 -DCORTADO_OUTPUT=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${level}
      BUILD_ALWAYS ON INSTALL_COMMAND "" USES_TERMINAL_BUILD ON DEPENDS cortado ${previous})
    set(previous level_${level})
  endforeach()
endfunction()

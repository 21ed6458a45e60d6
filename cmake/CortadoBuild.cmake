# What every folder's target has in common: the language, the warnings, how .cu files are compiled.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CORTADO_OUTPUT ${CMAKE_BINARY_DIR}/bin CACHE PATH "where programs go")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CORTADO_OUTPUT})
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CORTADO_OUTPUT})
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O3")  # assertions of the standard library's own stay as the distribution has them

# Paths below the source tree count as relative, so that a clone elsewhere finds what another one compiled; the rest
# lets ccache serve precompiled headers and what includes them.
find_program(CCACHE ccache)
if(CCACHE)
  set(launcher env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
endif()

find_package(OpenMP REQUIRED COMPONENTS CXX)

# Compiling the CUDA code takes longer than all the rest: unless told otherwise, it is for machines with a GPU.
execute_process(COMMAND nvidia-smi -L RESULT_VARIABLE failed OUTPUT_VARIABLE gpus ERROR_QUIET)
set(CORTADO_SEES_GPU OFF)
if(NOT failed AND gpus MATCHES "GPU 0")
  set(CORTADO_SEES_GPU ON)
endif()

# The toolkit, its compiler and cuDNN, or none of them: what one half of them could run is not worth a third kind of
# build.
set(CORTADO_WITH_CUDA OFF)
if(CORTADO_CUDA STREQUAL AUTO)
  set(wants_cuda ${CORTADO_SEES_GPU})
else()
  set(wants_cuda ${CORTADO_CUDA})
endif()
if(wants_cuda)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    find_package(CUDAToolkit REQUIRED)
    find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    find_library(CUDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_DIR}/../lib)
    set(cudnn_version 0)
    if(CUDNN_INCLUDE_DIR AND CUDNN_LIBRARY)
      file(READ ${CUDNN_INCLUDE_DIR}/cudnn_version.h words)
      string(REGEX REPLACE ".*#define CUDNN_MAJOR ([0-9]+).*#define CUDNN_MINOR ([0-9]+).*" "\\1.\\2" cudnn_version
             "${words}")
    endif()
    if(cudnn_version VERSION_GREATER_EQUAL 9.8)
      set(CORTADO_WITH_CUDA ON)
    else()
      message(WARNING "nvcc is here but no cuDNN that is new enough: building for the CPU alone. Install cuDNN 9.8 or "
                      "newer (cudnn.h, libcudnn.so) beside the toolkit, or say -DCORTADO_CUDA=OFF.")
    endif()
  endif()
endif()

# The GPU that is here, or those of compute capability 8.0 and 9.0. CMake's "native" fails where there is none.
function(cortado_choose_architectures)
  if(DEFINED CMAKE_CUDA_ARCHITECTURES OR DEFINED ENV{CUDAARCHS})
    return()
  endif()
  set(architectures 80 90)
  if(CORTADO_SEES_GPU)
    set(architectures native)
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${architectures} CACHE STRING "compute capabilities that CUDA code is compiled for")
endfunction()

if(CORTADO_WITH_CUDA)
  cortado_choose_architectures()
  enable_language(CUDA)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")  # CMake 3.25 does not know that nvcc has it
endif()
if(CORTADO_CUDA STREQUAL AUTO AND NOT CORTADO_SEES_GPU)
  message(STATUS "CUDA code: OFF, as no GPU is seen here; -DCORTADO_CUDA=ON builds it all the same")
else()
  message(STATUS "CUDA code: ${CORTADO_WITH_CUDA}")
endif()

# -fPIC in programs, too, so that they can share the libraries' precompiled header.
include(levels)
cortado_march(cortado_march_flags "${CORTADO_MARCH}")
set(CORTADO_HOST_FLAGS -fPIC -fno-math-errno -fno-trapping-math -ffp-contract=off ${cortado_march_flags})
include(constants)
separate_arguments(cortado_given_flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
cortado_flags_for_constants(cortado_added_flags ${CMAKE_BINARY_DIR} ${CMAKE_CXX_COMPILER} ${cortado_given_flags}
                            ${CORTADO_HOST_FLAGS})
if(cortado_added_flags)
  list(JOIN cortado_added_flags " " words)
  message(STATUS "This compiler writes wrong constants with AVX-512: adding ${words} (cmake/constants.cmake)")
  list(APPEND CORTADO_HOST_FLAGS ${cortado_added_flags})
endif()
if(CORTADO_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -DNDEBUG")  # compiling takes longer than running
  set(sanitizers address,undefined)
  if(CORTADO_SANITIZE STREQUAL thread)
    set(sanitizers thread)
  elseif(NOT CORTADO_SANITIZE STREQUAL address)
    message(FATAL_ERROR "CORTADO_SANITIZE=${CORTADO_SANITIZE}: address, thread or OFF")
  endif()
  list(APPEND CORTADO_HOST_FLAGS -fsanitize=${sanitizers} -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${sanitizers})
endif()
if(CORTADO_FUZZ)
  list(APPEND CORTADO_HOST_FLAGS -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
       -Wno-unknown-warning-option -g1)
  add_link_options(-fsanitize=address,undefined)
endif()
include(hardening)
if(CORTADO_COVERAGE)
  add_link_options(--coverage)
endif()
# -Wrestrict, -Wstringop-overflow, -Warray-bounds: false alarms of GCC 12 in std::string. -Wpsabi: vectors wider than
# the CPU's stay within a file.
set(CORTADO_WARNINGS -Wall -Wextra -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds -Wno-psabi)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  list(APPEND CORTADO_WARNINGS -Wno-unknown-warning-option -Wno-unknown-pragmas)  # those of GCC
endif()
if(CORTADO_WERROR)
  list(APPEND CORTADO_WARNINGS -Werror)
endif()

# A functor that calls what only the host has compiles as a warning, and fails on a device, if it is run there: 20011
# and 20014 are those calls, 20013 and 20015 those of constexpr functions. 20012 is about defaulted functions.
set(CORTADO_CUDA_FLAGS --extended-lambda --expt-relaxed-constexpr --fmad=false -diag-suppress=20012
    -diag-error=20011,20013,20014,20015)

# Where "core/tensor.h", "server/token.h" and the like are found; generated headers lie in the build folder, likewise.
set(CORTADO_INCLUDES "")
foreach(root ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  list(APPEND CORTADO_INCLUDES ${root} ${root}/engine ${root}/formats ${root}/serving)
endforeach()

# cortado_alone(FILE... OPTIONS OPTION...): files that are compiled each by itself, with options of their own. Call it
# before the target is made.
function(cortado_alone)
  cmake_parse_arguments(PARSE_ARGV 0 given "" "" "OPTIONS")
  foreach(file ${given_UNPARSED_ARGUMENTS})
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS ${given_OPTIONS})
    set_source_files_properties(${file} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()

# cortado_module(NAME SOURCE...): libNAME.so, which the program loads when something wants it, beside itself; so that
# the program does not link the large libraries that it brings along. Link those afterwards.
function(cortado_module name)
  add_library(${name} SHARED ${ARGN})
  target_compile_options(${name} PRIVATE ${CORTADO_WARNINGS} ${CORTADO_HARDENING})
  target_include_directories(${name} PRIVATE ${CORTADO_INCLUDES})
endfunction()

# cortado_target(NAME): include paths, flags, unity sources and, for .cu files, the compiler that this build uses for
# them. They do arithmetic: they are optimised fully, whatever the rest of the target is.
function(cortado_target name)
  target_include_directories(${name} PUBLIC ${CORTADO_INCLUDES})
  target_link_libraries(${name} PUBLIC OpenMP::OpenMP_CXX)
  target_compile_options(${name} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${CORTADO_WARNINGS};${CORTADO_HOST_FLAGS};${CORTADO_HARDENING}>"
    "$<$<COMPILE_LANGUAGE:CUDA>:${CORTADO_CUDA_FLAGS}>")
  foreach(flag ${CORTADO_HOST_FLAGS} -fopenmp)
    target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler ${flag}>")
  endforeach()
  get_target_property(sources ${name} SOURCES)
  set(device_sources ${sources})
  list(FILTER device_sources INCLUDE REGEX "\\.cu$")
  if(CORTADO_WITH_CUDA)
    target_compile_definitions(${name} PUBLIC CORTADO_WITH_CUDA)
    target_link_libraries(${name} PUBLIC CUDA::cudart_static)
  elseif(device_sources)
    set_source_files_properties(${device_sources} PROPERTIES LANGUAGE CXX)
    if(NOT cortado_device_optimisation)
      set(cortado_device_optimisation -O3)
    endif()
    set_property(SOURCE ${device_sources} APPEND PROPERTY COMPILE_OPTIONS -xc++
                 $<$<CONFIG:Release>:${cortado_device_optimisation}>)
  endif()
  if(CORTADO_UNITY GREATER 1)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${CORTADO_UNITY})
  endif()
endfunction()

# cortado_light(NAME): what the target does is done once, or waits for disks and users: it compiles faster than it
# would run.
function(cortado_light name)
  target_compile_options(${name} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)
endfunction()

# cortado_precompiled(NAME [FROM]): the target's C++ starts from cmake/precompiled.h, compiled once, in
# cortado_precompiled_headers (proto/); with FROM, from what that target compiled.
function(cortado_precompiled name)
  if(ARGN)
    target_precompile_headers(${name} REUSE_FROM ${ARGN})
  else()
    target_precompile_headers(${name} REUSE_FROM cortado_precompiled_headers)
  endif()
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endfunction()

# cortado_together(RESULT FILE...): the files, but sources that include CORTADO_UNITY .cu files each instead of those.
# CMake's own unity sources know neither nvcc nor a .cu file's options. What only CUDA builds have, in cuda/, is left
# alone.
function(cortado_together result)
  set(units ${ARGN})
  set(left ${ARGN})
  list(FILTER left INCLUDE REGEX "[.]cu$")
  list(FILTER left EXCLUDE REGEX "/cuda/")
  foreach(file ${left})
    get_source_file_property(alone ${file} SKIP_UNITY_BUILD_INCLUSION)
    if(alone)
      list(REMOVE_ITEM left ${file})
    endif()
  endforeach()
  list(REMOVE_ITEM units ${left})
  set(number 0)
  while(left)
    list(SUBLIST left 0 ${CORTADO_UNITY} some)
    list(REMOVE_ITEM left ${some})
    math(EXPR number "${number} + 1")
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/together_${number}.cu)
    list(TRANSFORM some PREPEND "#include \"")
    list(TRANSFORM some APPEND "\"\n")
    list(JOIN some "" text)
    file(CONFIGURE OUTPUT ${unit} CONTENT "${text}" @ONLY)
    list(APPEND units ${unit})
  endwhile()
  set(${result} ${units} PARENT_SCOPE)
endfunction()

# cortado_folder(KIND [EXCLUDE REGEX] [FILE...]): the target cortado_<folder> of every .cc and .cu file in the current
# folder, those in its cuda/ where CUDA is on, and of the generated FILEs.
function(cortado_folder kind)
  cmake_parse_arguments(PARSE_ARGV 1 given "" "EXCLUDE" "")
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc *.cu)
  if(given_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${given_EXCLUDE}")
  endif()
  set(cuda_sources ${sources})
  list(FILTER cuda_sources INCLUDE REGEX "/cuda/")
  if(CORTADO_WITH_CUDA)
    cortado_alone(${cuda_sources})  # names of NVIDIA's and of ours meet in them
  elseif(cuda_sources)
    list(REMOVE_ITEM sources ${cuda_sources})
  endif()
  if(CORTADO_UNITY GREATER 1)
    cortado_together(sources ${sources})
  endif()
  add_library(cortado_${folder} ${kind} ${sources} ${given_UNPARSED_ARGUMENTS})
  cortado_target(cortado_${folder})
  if(CORTADO_COVERAGE AND folder MATCHES "^(proto|data|graph|solvers)$")
    set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS --coverage -O1 -fno-inline)
  endif()
endfunction()

# cortado_embed(VARIABLE FILE NAME): a source with the bytes of FILE as `extern const char NAME[]` and
# `extern const unsigned long NAME_size`, made when FILE changes.
function(cortado_embed variable file name)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${file} -DOUTPUT=${output} -DNAME=${name} -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${file} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake)
  set(${variable} ${output} PARENT_SCOPE)
endfunction()

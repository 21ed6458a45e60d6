# Shared by the targets of all folders: language, warnings, compilation of .cu files.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CORTADO_OUTPUT ${CMAKE_BINARY_DIR}/bin CACHE PATH "output folder of programs")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CORTADO_OUTPUT})
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CORTADO_OUTPUT})
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O3")  # without NDEBUG, so that assert() stays enabled

# Paths below the source tree are relative, so that a clone in another folder gets ccache hits. The rest lets ccache
# cache precompiled headers and their users.
find_program(CCACHE ccache)
if(CCACHE)
  set(launcher env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
endif()

# Compiling the CUDA code takes longer than everything else, so by default it is built only on machines with a GPU.
execute_process(COMMAND nvidia-smi -L RESULT_VARIABLE failed OUTPUT_VARIABLE gpus ERROR_QUIET)
set(CORTADO_SEES_GPU OFF)
if(NOT failed AND gpus MATCHES "GPU 0")
  set(CORTADO_SEES_GPU ON)
endif()

# Requires toolkit, compiler and cuDNN together: a build with only one of them is not worth supporting.
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
      message(WARNING "nvcc is installed, but cuDNN is missing or too old: building for the CPU only. Install cuDNN "
                      "9.8 or newer (cudnn.h, libcudnn.so) next to the toolkit, or set -DCORTADO_CUDA=OFF.")
    endif()
  endif()
endif()

# The installed GPU, or compute capabilities 8.0 and 9.0. CMake's "native" fails without a GPU.
function(cortado_choose_architectures)
  if(DEFINED CMAKE_CUDA_ARCHITECTURES OR DEFINED ENV{CUDAARCHS})
    return()
  endif()
  set(architectures 80 90)
  if(CORTADO_SEES_GPU)
    set(architectures native)
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${architectures} CACHE STRING "compute capabilities to compile CUDA code for")
endfunction()

if(CORTADO_WITH_CUDA)
  cortado_choose_architectures()
  enable_language(CUDA)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")  # CMake 3.25 does not know nvcc's option
endif()
if(CORTADO_CUDA STREQUAL AUTO AND NOT CORTADO_SEES_GPU)
  message(STATUS "CUDA code: OFF, because no GPU was detected; build it with -DCORTADO_CUDA=ON")
else()
  message(STATUS "CUDA code: ${CORTADO_WITH_CUDA}")
endif()

# -fPIC also in programs, so that they can share the libraries' precompiled header.
include(levels)
cortado_march(cortado_march_flags "${CORTADO_MARCH}")
set(CORTADO_HOST_FLAGS -fPIC -fno-math-errno -fno-trapping-math -ffp-contract=off ${cortado_march_flags})
include(constants)
separate_arguments(cortado_given_flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
cortado_flags_for_constants(cortado_added_flags ${CMAKE_BINARY_DIR} ${CMAKE_CXX_COMPILER} ${cortado_given_flags}
                            ${CORTADO_HOST_FLAGS})
if(cortado_added_flags)
  list(JOIN cortado_added_flags " " words)
  message(STATUS "This compiler miscompiles constants with AVX-512: adding ${words} (cmake/constants.cmake)")
  list(APPEND CORTADO_HOST_FLAGS ${cortado_added_flags})
endif()
# GCC 13 and later set these from -O2 on, and use no precompiled header of -O3 in sources of -O1 if they differ.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13
   AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  list(APPEND CORTADO_HOST_FLAGS -munroll-only-small-loops -mvzeroupper)
endif()
if(CORTADO_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -DNDEBUG")  # compiling takes longer than running the tests
  set(sanitizers address,undefined)
  if(CORTADO_SANITIZE STREQUAL thread)
    set(sanitizers thread)
  elseif(NOT CORTADO_SANITIZE STREQUAL address)
    message(FATAL_ERROR "CORTADO_SANITIZE=${CORTADO_SANITIZE}: must be address, thread or OFF")
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
  set(CORTADO_COVERED "proto|data|engine/graph|solvers|formats|serving")
  add_link_options(--coverage)
endif()
# -Wrestrict, -Wstringop-overflow, -Warray-bounds: false positives of GCC 12 in std::string. -Wpsabi: vectors wider than
# the CPU's do not cross file boundaries.
set(CORTADO_WARNINGS -Wall -Wextra -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds -Wno-psabi)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  list(APPEND CORTADO_WARNINGS -Wno-unknown-warning-option -Wno-unknown-pragmas)  # GCC's warnings
endif()
if(CORTADO_WERROR)
  list(APPEND CORTADO_WARNINGS -Werror)
endif()

# Calling a host-only function from a device functor is only a warning and fails at run time. 20011 and 20014 are those
# calls, 20013 and 20015 those of constexpr functions. 20012 is about defaulted functions.
set(CORTADO_CUDA_FLAGS --extended-lambda --expt-relaxed-constexpr --fmad=false -diag-suppress=20012
    -diag-error=20011,20013,20014,20015)

# Include paths for "core/tensor.h", "server/token.h" and so on; generated headers are in the build folder, likewise.
set(CORTADO_INCLUDES "")
foreach(root ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  list(APPEND CORTADO_INCLUDES ${root} ${root}/engine ${root}/formats ${root}/serving)
endforeach()

# Contracts every a * b + c to FMA. GCC's tuning for some CPUs leaves out some chains of sums: slower here, and results
# would depend on the size of a tile.
set(CORTADO_FMA -ffp-contract=fast $<$<CXX_COMPILER_ID:GNU>:--param=avoid-fma-max-bits=0>)

# cortado_alone(FILE... OPTIONS OPTION...): compiles files separately, with their own options. Call it before the target
# is defined.
function(cortado_alone)
  cmake_parse_arguments(PARSE_ARGV 0 given "" "" "OPTIONS")
  foreach(file ${given_UNPARSED_ARGUMENTS})
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS ${given_OPTIONS})
    set_source_files_properties(${file} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()

# cortado_module(NAME SOURCE...): libNAME.so, which the program loads on demand from its own folder, so that the program
# does not link the module's large libraries. Link those afterwards.
function(cortado_module name)
  add_library(${name} SHARED ${ARGN})
  target_compile_options(${name} PRIVATE ${CORTADO_WARNINGS} ${CORTADO_HARDENING})
  target_include_directories(${name} PRIVATE ${CORTADO_INCLUDES})
endfunction()

# cortado_target(NAME): include paths, flags, unity sources and, for .cu files, this build's compiler. .cu files do
# arithmetic, so they are fully optimised even in other targets.
function(cortado_target name)
  target_include_directories(${name} PUBLIC ${CORTADO_INCLUDES})
  target_compile_options(${name} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:-fopenmp-simd;${CORTADO_WARNINGS};${CORTADO_HOST_FLAGS};${CORTADO_HARDENING}>"
    "$<$<COMPILE_LANGUAGE:CUDA>:${CORTADO_CUDA_FLAGS}>")
  foreach(flag ${CORTADO_HOST_FLAGS} -fopenmp-simd)
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
  if(CORTADO_COVERAGE AND CMAKE_CURRENT_SOURCE_DIR MATCHES "^${CMAKE_SOURCE_DIR}/(${CORTADO_COVERED})(/|$)")
    target_compile_options(${name} PRIVATE --coverage -O1 -fno-inline)
  endif()
  if(CORTADO_UNITY GREATER 1)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${CORTADO_UNITY})
  endif()
endfunction()

# cortado_light(NAME): for code that runs once, or waits for disks and users: compiles with less optimisation, for
# faster builds.
function(cortado_light name)
  target_compile_options(${name} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)
endfunction()

# cortado_precompiled(NAME [FROM]): uses cmake/precompiled.h as a precompiled header for C++, compiled once in
# cortado_precompiled_headers (proto/), or by the target FROM.
function(cortado_precompiled name)
  if(ARGN)
    target_precompile_headers(${name} REUSE_FROM ${ARGN})
  else()
    target_precompile_headers(${name} REUSE_FROM cortado_precompiled_headers)
  endif()
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endfunction()

# cortado_together(RESULT FILE...): the files, with .cu files replaced by sources that include CORTADO_UNITY of them
# each. CMake's own unity builds support neither nvcc nor options of single .cu files. Files in cuda/, which only CUDA
# builds have, are left alone.
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
# folder, those in its cuda/ in CUDA builds, and the generated FILEs.
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
    cortado_alone(${cuda_sources})  # their names would clash with NVIDIA's
  elseif(cuda_sources)
    list(REMOVE_ITEM sources ${cuda_sources})
  endif()
  if(CORTADO_UNITY GREATER 1)
    cortado_together(sources ${sources})
  endif()
  add_library(cortado_${folder} ${kind} ${sources} ${given_UNPARSED_ARGUMENTS})
  cortado_target(cortado_${folder})
endfunction()

# cortado_embed(VARIABLE FILE NAME): generates a source with the bytes of FILE as `extern const char NAME[]` and
# `extern const unsigned long NAME_size`.
function(cortado_embed variable file name)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${file} -DOUTPUT=${output} -DNAME=${name} -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${file} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake)
  set(${variable} ${output} PARENT_SCOPE)
endfunction()

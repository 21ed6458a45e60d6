# cmake -DCOMPILER=... -DFOLDER=... -P: tests cmake/constants.cmake on this compiler, on one that the flags fix, and on
# one that they do not fix. The latter two are scripts that write fake assembly.
cmake_minimum_required(VERSION 3.24)
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/constants.cmake)
file(MAKE_DIRECTORY ${FOLDER})

function(expect_equal what found expected)
  if(NOT found STREQUAL expected)
    message(FATAL_ERROR "${what}: found '${found}' instead of '${expected}'")
  endif()
endfunction()

function(write_compiler name script)
  file(WRITE ${FOLDER}/${name} "#!/bin/sh\nfor last; do :; done\n"
                               "while [ \"$1\" != -o ]; do all=\"$all $1\"; shift; done\n${script}")
  file(CHMOD ${FOLDER}/${name} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

# Compilers with a known defect.
write_compiler(sound "echo $all >$2\n")
write_compiler(fixable "case $all in *-mmove-max=128*) echo $all >$2;; *) echo >$2;; esac\n")
write_compiler(blind "case $all in *CONSTANT=3*) echo >$2;; *) echo $all >$2;; esac\n")
cortado_flags_for_constants(flags ${FOLDER} ${FOLDER}/sound -march=any)
expect_equal("flags for a sound compiler" "${flags}" "")
cortado_flags_for_constants(flags ${FOLDER} ${FOLDER}/fixable -march=any)
expect_equal("flags for a compiler that they fix" "${flags}" "${CORTADO_CONSTANTS_FLAGS}")
cortado_find_wrong_constants(wrong ${FOLDER} ${FOLDER}/blind -march=any)
expect_equal("constants that are wrong" "${wrong}" "3")
if(HOPELESS)
  cortado_flags_for_constants(flags ${FOLDER} ${FOLDER}/blind -march=any)
  return()
endif()

# The compiler in use: GCC 12.2 is known to fail without the flags.
execute_process(COMMAND ${COMPILER} -dumpfullversion OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET)
execute_process(COMMAND ${COMPILER} -dumpmachine OUTPUT_VARIABLE machine OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT machine MATCHES "^x86_64")
  message("compiles for '${machine}', which has no AVX-512")
  return()
endif()
cortado_find_wrong_constants(wrong ${FOLDER} ${COMPILER} -march=x86-64-v4)
if(wrong STREQUAL "")
  if(version MATCHES "^12\\.[12]\\.")
    message(FATAL_ERROR "${COMPILER} ${version} writes wrong constants with -march=x86-64-v4, but none was found")
  endif()
  message("${COMPILER} ${version} has no such defect")
  return()
endif()
message("${COMPILER} ${version} with -march=x86-64-v4: wrong constants ${wrong}, as expected")
cortado_find_wrong_constants(wrong ${FOLDER} ${COMPILER} -march=x86-64-v4 ${CORTADO_CONSTANTS_FLAGS})
expect_equal("wrong constants with -march=x86-64-v4 ${CORTADO_CONSTANTS_FLAGS}" "${wrong}" "")
cortado_find_wrong_constants(wrong ${FOLDER} ${COMPILER} -march=x86-64-v3)
expect_equal("wrong constants with -march=x86-64-v3" "${wrong}" "")

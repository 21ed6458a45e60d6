# Detects whether a compiler miscompiles constants of 32 and 64 bytes, and finds flags that prevent it.
#
# GCC 12 with AVX-512: a constant that repeats a 64-bit value and ends with zeros is stored without its zeros, so that
# std::vector<double>{2, 2, 2, 2, 0, 0, 0, 0} has eight twos. It happens if such constants are moved in blocks of 32 or
# 64 bytes: in 64 with AMD's tuning and -march=x86-64-v4, in 32 with Intel's tunings, and with -mprefer-vector-width=256
# or -mmove-max=256. Moves of 16 bytes are correct. The flags only limit moves; vectors in arithmetic keep their width.

set(CORTADO_CONSTANTS_SOURCE ${CMAKE_CURRENT_LIST_DIR}/constants.cc)
set(CORTADO_CONSTANTS_FLAGS -mmove-max=128 -mstore-max=128)

# cortado_find_wrong_constants(RESULT FOLDER COMPILER FLAG...): the constants of constants.cc that are compiled without
# their zeros; empty for a correct compiler. Inspects assembly, written to FOLDER, so the target CPU is not needed.
function(cortado_find_wrong_constants result folder compiler)
  set(wrong "")
  foreach(constant 1 2 3 4)
    foreach(form whole half)
      set(define "")
      if(form STREQUAL "half")
        set(define -DHALF)
      endif()
      set(assembly ${folder}/constants-${form}.s)
      execute_process(COMMAND ${compiler} ${ARGN} -O3 -std=c++20 -DCONSTANT=${constant} ${define} -S -o ${assembly}
                              ${CORTADO_CONSTANTS_SOURCE} RESULT_VARIABLE failed ERROR_VARIABLE words OUTPUT_QUIET)
      if(failed)
        message(FATAL_ERROR "${compiler} does not compile cmake/constants.cc with ${ARGN}:\n${words}")
      endif()
      file(READ ${assembly} ${form})
      file(REMOVE ${assembly})
    endforeach()
    if(whole STREQUAL half)
      list(APPEND wrong ${constant})
    endif()
  endforeach()
  set(${result} "${wrong}" PARENT_SCOPE)
endfunction()

# cortado_flags_for_constants(RESULT FOLDER COMPILER FLAG...): additional flags, mostly none; a fatal error if none
# help.
function(cortado_flags_for_constants result folder compiler)
  set(${result} "" PARENT_SCOPE)
  cortado_find_wrong_constants(wrong ${folder} ${compiler} ${ARGN})
  if(wrong STREQUAL "")
    return()
  endif()
  cortado_find_wrong_constants(wrong ${folder} ${compiler} ${ARGN} ${CORTADO_CONSTANTS_FLAGS})
  if(NOT wrong STREQUAL "")
    list(JOIN ARGN " " flags)
    list(JOIN CORTADO_CONSTANTS_FLAGS " " added)
    message(FATAL_ERROR "${compiler} miscompiles with ${flags}, also with ${added}: constants whose first "
                        "half repeats lose their zeros (cmake/constants.cmake).\n"
                        "Use another compiler (-DCMAKE_CXX_COMPILER=...), or "
                        "a CPU level without AVX-512 (-DCORTADO_MARCH=x86-64-v3).")
  endif()
  set(${result} ${CORTADO_CONSTANTS_FLAGS} PARENT_SCOPE)
endfunction()

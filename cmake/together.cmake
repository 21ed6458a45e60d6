# cmake -DSOURCES=A.cu,B.cu -DROOT=FOLDER -DOUTPUT=UNIT.cu -P together.cmake: one source of several, each of which keeps
# its nameless namespace to itself: it gets the file's name, below ROOT. Compilers tell of the files that were written.
string(REPLACE "," ";" sources "${SOURCES}")
set(unit "")
foreach(source ${sources})
  file(READ ${source} text)
  file(RELATIVE_PATH name ${ROOT} ${source})
  string(MAKE_C_IDENTIFIER "in_${name}" name)
  string(REGEX REPLACE "(^|\n)namespace {" "\\1namespace ${name} {" text "${text}")
  string(APPEND unit "#line 1 \"${source}\"\n" "${text}")
endforeach()
file(WRITE ${OUTPUT} "${unit}")

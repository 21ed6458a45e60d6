# cmake -DSOURCES=A_test.cc,B_test.cc -DROOT=FOLDER -DOUTPUT=UNIT.cc -P together.cmake: one source of several tests.
# Helpers of different files often have one name: each file's anonymous namespace gets the file's name, below ROOT.
# Messages of compilers name the files that were written.
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

# cmake -DSOURCES=A_test.cc,B_test.cc -DROOT=FOLDER -DOUTPUT=UNIT.cc -P together.cmake: combines tests into one source.
# Helpers of different files may have the same name, so each anonymous namespace is named after its file, relative to
# ROOT. #line directives keep the original names in compiler messages.
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

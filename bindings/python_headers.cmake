# A wheel for a further version of CPython, of which only headers are there: CORTADO_PYTHON_HEADERS is the folder
# usr/include of Debian's libpython3.N-dev. Sets `python_tag`, for example cpython-313, and `python_includes`.
set(python_tag "")
if(CORTADO_PYTHON_HEADERS)
  file(GLOB folder ${CORTADO_PYTHON_HEADERS}/python3.*)
  if(NOT folder)
    message(FATAL_ERROR "CORTADO_PYTHON_HEADERS=${CORTADO_PYTHON_HEADERS}: it has no folder python3.N")
  endif()
  string(REGEX REPLACE ".*/python3\\." "cpython-3" python_tag ${folder})
  set(python_includes ${folder} ${CORTADO_PYTHON_HEADERS})
endif()

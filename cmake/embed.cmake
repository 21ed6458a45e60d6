# cmake -DINPUT=FILE -DOUTPUT=FILE.cc -DNAME=NAME -P embed.cmake: writes the bytes of INPUT as C++,
# `extern const char NAME[]` and `extern const unsigned long NAME_size`.
file(READ ${INPUT} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR bytes "${digits} / 2")
string(REGEX REPLACE "(..)" "\\\\x\\1" text "${hex}")
# One line for every 24 bytes; the compiler concatenates the strings.
string(REPEAT "." 96 line)
string(REGEX REPLACE "(${line})" "\\1\"\n\"" text "${text}")
file(WRITE ${OUTPUT} "extern const unsigned long ${NAME}_size;\nconst unsigned long ${NAME}_size = ${bytes};\n"
                     "extern const char ${NAME}[];\nconst char ${NAME}[] =\n\"${text}\";\n")

// A constant of 32 or 64 bytes, as CONSTANT defines it, whose second half equals the first or, with HALF defined, is 0
// (cmake/constants.cmake).
#include <cstring>

#ifdef HALF
#define REST 0
#else
#define REST 2
#endif
#define EIGHT(value) value, value, value, value, value, value, value, value
#define TWO_WORDS(value) EIGHT(value), EIGHT(value)

#if CONSTANT == 1
void write(double* to) {
  const double values[4] = {2, 2, REST, REST};
  std::memcpy(to, values, sizeof values);
}
#elif CONSTANT == 2
void write(double* to) {
  const double values[8] = {2, 2, 2, 2, REST, REST, REST, REST};
  std::memcpy(to, values, sizeof values);
}
#elif CONSTANT == 3
void take(const char* text);
void pass() {
  const char text[32] = {TWO_WORDS(2), TWO_WORDS(REST)};
  take(text);
}
#else
void take(const char* text);
void pass() {
  const char text[64] = {TWO_WORDS(2), TWO_WORDS(2), TWO_WORDS(REST), TWO_WORDS(REST)};
  take(text);
}
#endif

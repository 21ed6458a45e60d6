// Values of --shape, one on each line. A shape that is read must be printed as a text that is read as the same shape.
#include <cstdlib>

#include "core/shape.h"
#include "tests/fuzz/fuzzed.h"

void cortado::fuzz::fuzz(std::string_view input) {
  std::vector<std::string> texts;
  for (size_t begin = 0; begin < input.size();) {
    const size_t end = std::min(input.find('\n', begin), input.size());
    texts.emplace_back(input.substr(begin, end - begin));
    begin = end + 1;
  }
  expect_answer([&] {
    for (const auto& [name, shape] : shapes_from_text(texts)) {
      const auto again = shapes_from_text({name + "=" + shape.str()});
      if (again.size() != 1 || again.begin()->second != shape) std::abort();
    }
  });
}

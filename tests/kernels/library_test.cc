#include "kernels/library.h"

#include <gtest/gtest.h>

namespace cortado::kernels {
namespace {

TEST(LibraryFunction, IsLoadedWhenCalled) {
  LibraryFunction<double(double)> cosine{"libm.so.6", "cos"};
  EXPECT_EQ(cosine(0), 1);
  EXPECT_EQ(cosine(0), 1);
}

TEST(LibraryFunction, ReportsTheMissingLibraryOrFunction) {
  LibraryFunction<int()> of_no_library{"libcortado_nowhere.so.1", "f"}, no_function{"libm.so.6", "cortado_nothing"};
  for (auto* function : {&of_no_library, &no_function}) try {
      (*function)();
      ADD_FAILURE() << "found";
    } catch (const MissingLibrary& error) {
      EXPECT_EQ(error.code(), ExitCode::kDevice);
      const std::string message = error.mistakes().front().message;
      const char* named = function == &no_function ? "cortado_nothing" : "libcortado_nowhere.so.1";
      EXPECT_NE(message.find(named), std::string::npos) << message;
    }
}

}  // namespace
}  // namespace cortado::kernels

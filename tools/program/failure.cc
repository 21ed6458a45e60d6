#include "tools/program/failure.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "core/error.h"
#include "core/exit_code.h"
#include "core/field_text.h"
#include "data/sample.h"

namespace cortado::tools {

Failure current_failure() {
  try {
    throw;
  } catch (const Error& error) {
    return {int(error.code()), error.what()};
  } catch (const FieldError& error) {
    return {int(ExitCode::kNet), Error(ExitCode::kNet, with_field(error), error.hint()).what()};
  } catch (const data::SampleError& error) {  // of an image that no dataset or list contains
    return {int(ExitCode::kData), Error(ExitCode::kData, error.what(), error.hint()).what()};
  } catch (const std::bad_alloc&) {
    return {int(ExitCode::kDevice),
            "error: not enough memory\nhint: use a smaller batch_size; 'cortado summary NET' shows the memory that a "
            "net needs"};
  } catch (const std::exception& error) {
    return {int(ExitCode::kInternal), std::string("error: internal error: ") + error.what()};
  }
}

namespace {

std::terminate_handler handler_before = nullptr;

/// More than an exception and its message need.
constexpr size_t kSmallBlock = 64 << 10;

[[noreturn]] void end() {
  constexpr std::string_view kWords =
      "error: not enough memory: the program ends at once\n"
      "hint: use a smaller batch_size, or raise the limit of `ulimit -v` or of the container\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kWords.data(), kWords.size());
  ::_exit(int(ExitCode::kDevice));
}

void on_failed_allocation() {
  void* volatile block = std::malloc(kSmallBlock);  // volatile keeps the compiler from removing the allocation
  std::free(block);
  if (block != nullptr) throw std::bad_alloc();
  end();
}

/// Destructors may allocate (nlohmann-json's do) and are noexcept, so an allocation that fails there ends up here.
void on_terminate() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    end();
  } catch (...) {
  }
  handler_before();
}

}  // namespace

void end_without_memory() {
  std::set_new_handler(on_failed_allocation);
  handler_before = std::set_terminate(on_terminate);
}

}  // namespace cortado::tools

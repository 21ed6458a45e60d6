#include "tools/program/failure.h"

#include <exception>
#include <new>

#include "core/error.h"

namespace cortado::tools {

Failure current_failure() {
  try {
    throw;
  } catch (const Error& error) {
    return {int(error.code()), error.what()};
  } catch (const FieldError& error) {
    const std::string where = error.field().empty() ? "" : error.field() + ": ";
    return {int(ExitCode::kNet), Error(ExitCode::kNet, where + error.message(), error.hint()).what()};
  } catch (const std::bad_alloc&) {
    return {int(ExitCode::kDevice),
            "error: not enough memory\nhint: a smaller batch_size needs less; 'cortado summary NET' tells how much"};
  } catch (const std::exception& error) {
    return {int(ExitCode::kInternal), std::string("error: internal error: ") + error.what()};
  }
}

}  // namespace cortado::tools

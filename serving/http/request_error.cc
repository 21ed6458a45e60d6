#include "http/request_error.h"

#include <new>

#include "core/error.h"
#include "core/log.h"

namespace cortado::http {

namespace {

std::string text_of(const Error& error) {
  std::string text;
  for (const Diagnostic& mistake : error.mistakes()) {
    text += (text.empty() ? "" : "; ") + mistake.message;
    for (const Note& note : mistake.notes) text += "; " + note.message;
  }
  return text;
}

}  // namespace

RequestError current_request_error() {
  try {
    throw;
  } catch (const RequestError& error) {
    return error;
  } catch (const Error& error) {
    if (error.code() == ExitCode::kData || error.code() == ExitCode::kUsage) return {Refusal::kInvalid, text_of(error)};
    log_error() << error.what();
  } catch (const std::bad_alloc&) {
    return {Refusal::kUnavailable, "out of memory"};
  } catch (const std::exception& error) {
    log_error() << error.what();
  }
  return {Refusal::kInternal, "internal error; see the server's log"};
}

}  // namespace cortado::http

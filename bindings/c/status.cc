#include "bindings/c/status.h"

#include <mutex>
#include <new>

#include "core/cpu/isa_level.h"
#include "core/device.h"
#include "core/error.h"
#include "core/field_text.h"
#include "core/log.h"

namespace cortado::library {

namespace {

thread_local std::string last_error;

/// In other programs only warnings are logged by default.
void be_quiet() {
  static std::once_flag once;
  std::call_once(once, [] { set_log_level(Severity::kWarning); });
}

/// Our own programs check this before main().
void require_cpu() {
  static const bool suits = kCompiledIsa <= machine_isa();
  if (!suits)
    throw Error(ExitCode::kDevice, "libcortado was compiled for a CPU with more instructions than this one has",
                "build the library on this machine");
}

cortado_status fail(cortado_status status, const char* text) {
  last_error = text;
  return status;
}

}  // namespace

cortado_status guarded(const std::function<void()>& work) try {
  be_quiet();
  require_cpu();
  work();
  return CORTADO_OK;
} catch (const Error& error) {
  return fail(cortado_status(error.code()), error.what());
} catch (const FieldError& error) {
  return fail(CORTADO_USAGE, Error(ExitCode::kUsage, with_field(error), error.hint()).what());
} catch (const std::bad_alloc&) {
  return fail(CORTADO_INTERNAL, "out of memory");
} catch (const std::exception& error) {
  return fail(CORTADO_INTERNAL, error.what());
}

void note_error(const std::string& text) { last_error = text; }

const char* required(const char* text, const char* what) {
  if (!text) throw Error(ExitCode::kUsage, std::string(what) + " is NULL");
  return text;
}

void require_size(const void* options, size_t size, size_t known) {
  const std::string wanted = "set it to the size of the struct, which is " + std::to_string(known) +
                             " in this version, by CORTADO_..._OPTIONS";
  constexpr size_t kMost = 4096;  // far more than any version has
  if (size < 2 * sizeof(size_t) || size > kMost)
    throw Error(ExitCode::kUsage, "the size of the options is " + std::to_string(size), wanted);
  const auto* bytes = static_cast<const unsigned char*>(options);
  if (std::any_of(bytes + std::min(size, known), bytes + size, [](unsigned char byte) { return byte != 0; }))
    throw Error(ExitCode::kUsage, "the options of " + std::to_string(size) + " bytes set fields of a later version",
                "use the header of this version, or a later library");
}

Device device_of(const char* name) { return device_named(name ? name : "cpu"); }

std::vector<std::string> listed(const char* text) {
  std::vector<std::string> parts;
  const std::string all = text ? text : "";
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end + 1) {
    end = std::min(all.find(',', begin), all.size());
    parts.push_back(all.substr(begin, end - begin));
  }
  return parts;
}

}  // namespace cortado::library

extern "C" {

const char* cortado_version(void) { return CORTADO_VERSION; }

const char* cortado_last_error(void) { return cortado::library::last_error.c_str(); }

void cortado_set_log_level(int level) {
  cortado::library::guarded([] {});
  cortado::set_log_level(level <= 0   ? cortado::Severity::kInfo
                         : level == 1 ? cortado::Severity::kWarning
                                      : cortado::Severity::kError);
}

}  // extern "C"

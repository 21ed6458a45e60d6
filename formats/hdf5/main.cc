// cortado-hdf5: converts one HDF5 file to or from a stream of tensors. A separate process, so that a damaged file
// cannot crash cortado.

#include <hdf5.h>
#include <signal.h>

#include <cstdlib>
#include <iostream>
#include <new>

#include "core/error.h"
#include "core/process/process_limits.h"
#include "hdf5/file.h"
#include "hdf5/handle.h"

namespace cortado::hdf5 {

namespace {

constexpr const char* kUsage =
    "cortado-hdf5 reads and writes HDF5 files for cortado, which starts it for .h5 files.\n"
    "\n"
    "  cortado-hdf5 list FILE MOST [NAME...]   print names, types and shapes of datasets as a safetensors header\n"
    "  cortado-hdf5 read FILE MOST [NAME...]   the same with values; fails above MOST bytes. NAME/ selects a whole "
    "group\n"
    "  cortado-hdf5 write FILE                 write FILE from such a stream on standard input\n"
    "  cortado-hdf5 append FILE                the same from many streams; a repeated name appends rows\n";

/// The innermost reason of the library's latest failure.
herr_t note_reason(unsigned, const H5E_error2_t* error, void* user) {
  auto& reason = *static_cast<std::string*>(user);
  if (error->desc != nullptr) reason = error->desc;
  return 1;
}

void prepare() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);                       // files may name filters, which are loaded as plugins
  ::setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);  // locking fails on many network disks
  ::signal(SIGXFSZ, SIG_IGN);                     // write() then fails with EFBIG instead
  limit_core_files();
  limit_memory(int64_t(512) << 20);
  limit_seconds(15);
}

int run(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "--help" || command == "-h") {
    std::cout << kUsage;
    return 0;
  }
  const bool reads = command == "read" || command == "list";
  if (!(reads && argc >= 4) && !((command == "write" || command == "append") && argc == 3)) {
    std::cerr << kUsage;
    return 2;
  }
  prepare();
  if (reads) {
    read_file(argv[2], std::strtoll(argv[3], nullptr, 10), {argv + 4, argv + argc}, command == "read");
  } else if (command == "write") {
    write_file(argv[2]);
  } else {
    append_file(argv[2]);
  }
  return 0;
}

}  // namespace

void fail(const std::string& what) {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, note_reason, &reason);
  throw Failure(reason.empty() ? what : what + " (" + reason + ")");
}

}  // namespace cortado::hdf5

int main(int argc, char** argv) {
  try {
    return cortado::hdf5::run(argc, argv);
  } catch (const cortado::FieldError& error) {
    std::cerr << error.message() << '\n';
  } catch (const std::bad_alloc&) {
    std::cerr << "out of memory: reading it needs more memory than allowed for its size\n";
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
  }
  return 1;
}

#include "formats/hdf5_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <stdexcept>

#include "core/error.h"
#include "core/files/descriptor.h"
#include "core/files/file.h"
#include "core/files/made_folders.h"
#include "core/process/program_path.h"

namespace cortado {

namespace {

constexpr const char* kHdf5FileProgram = "cortado-hdf5";
constexpr size_t kHdf5FilePartBytes = size_t(1) << 20;

std::unique_ptr<HelperProcess> start_hdf5(ExitCode code, const std::string& path,
                                          const std::vector<std::string>& arguments) {
  if (companion_path(kHdf5FileProgram).empty())
    throw file_error(code, path, "an HDF5 file, but this program was built without HDF5: cortado-hdf5 is missing",
                     "apt install libhdf5-dev, then cmake --preset release && cmake --build build");
  try {
    return std::make_unique<HelperProcess>(kHdf5FileProgram, arguments);
  } catch (const std::runtime_error& error) {
    throw file_error(code, path, error.what());
  }
}

/// Two writers in one process need different temporary files.
std::string own_temporary_beside(const std::string& path) {
  static std::atomic<int> made{0};
  remove_leftovers(path);
  return temporary_beside(path) + "." + std::to_string(made++);
}

/// Throws the reason why the writer closed its pipe.
[[noreturn]] void throw_writing(HelperProcess& process, const std::string& path) {
  const std::string reason = process.finish("writing");
  throw file_error(ExitCode::kIo, path,
                   "cannot write: " + (reason.empty() ? "cortado-hdf5 exited before the end of the file" : reason));
}

void send(HelperProcess& process, const std::string& path, std::string_view bytes) {
  bool sent = false;
  try {
    sent = process.send(bytes);
  } catch (const std::runtime_error& error) {
    throw file_error(ExitCode::kIo, path, std::string("cannot write: ") + error.what());
  }
  if (!sent) throw_writing(process, path);
}

/// Waits for the '+' that confirms the write.
void await_plus(HelperProcess& process, const std::string& path) {
  char answer = 0;
  try {
    if (process.receive_all(&answer, 1) && answer == '+') return;
  } catch (const std::runtime_error& error) {
    throw file_error(ExitCode::kIo, path, std::string("cannot write: ") + error.what());
  }
  throw_writing(process, path);
}

/// The memory limit for the values of a file of `size` bytes; below the machine's memory, so that the OOM killer stays
/// away.
int64_t most_bytes(int64_t size, double growth) {
  const double machine = 0.6 * double(::sysconf(_SC_PHYS_PAGES)) * double(::sysconf(_SC_PAGESIZE));
  return int64_t(std::min(machine, double(int64_t(64) << 20) + growth * double(size)));
}

std::string head_of(const std::vector<TensorEntry>& entries, const std::string& path) {
  try {
    return tensor_header(entries);
  } catch (const std::invalid_argument& error) {
    throw file_error(ExitCode::kSnapshot, path, std::string("cannot be written as HDF5: ") + error.what());
  }
}

/// The files that appenders of this process have open.
struct Claims {
  std::mutex mutex;
  std::set<std::string> paths;
};

Claims& claims() {
  static Claims all;
  return all;
}

}  // namespace

Hdf5Appender::Claim::Claim(const std::string& path) : path(path) {
  const std::lock_guard lock(claims().mutex);
  if (!claims().paths.insert(path).second)
    throw file_error(ExitCode::kIo, path, "another layer writes the same file",
                     "set another file_name, or exclude one layer with include { phase: TEST }");
}

Hdf5Appender::Claim::~Claim() {
  const std::lock_guard lock(claims().mutex);
  claims().paths.erase(path);
}

Hdf5Reader::Hdf5Reader(Hdf5Request request) : request_(std::move(request)) {
  struct stat info;
  const bool there = ::stat(request_.path.c_str(), &info) == 0;
  if (!there || ::access(request_.path.c_str(), R_OK) != 0)
    throw file_error(ExitCode::kIo, request_.path, std::string("cannot read: ") + std::strerror(errno));
  if (!S_ISREG(info.st_mode)) throw file_error(ExitCode::kIo, request_.path, "cannot read: not a regular file");
  const int64_t most = most_bytes(info.st_size, request_.most_growth);
  std::vector<std::string> arguments = {request_.values ? "read" : "list", request_.path, std::to_string(most)};
  arguments.insert(arguments.end(), request_.names.begin(), request_.names.end());
  process_ = start_hdf5(request_.code, request_.path, arguments);
  read_head();
  int64_t left = request_.values ? most : INT64_MAX;
  for (const TensorEntry& entry : entries_) {
    const int64_t bytes = std::max(entry.bytes(), checked_mul(entry.shape.count(), int64_t(sizeof(float))));
    if (bytes > left)
      fail("its values take more than " + std::to_string(most >> 20) +
           " MiB as floats, the limit for its size and this machine's memory");
    left -= bytes;
  }
}

void Hdf5Reader::read_head() {
  std::string eight(8, '\0');
  take(eight.data(), 8);
  const uint64_t length = tensor_header_length(eight);
  if (length > uint64_t(kMaxTensorHeader)) fail("its list of datasets is too long");
  std::string json(length, '\0');
  take(json.data(), json.size());
  try {
    entries_ = parse_tensor_header(json);
  } catch (const std::invalid_argument& error) {
    fail(error.what());
  }
}

void Hdf5Reader::take(char* bytes, size_t n) {
  bool whole = false;
  try {
    whole = process_->receive_all(bytes, n);
  } catch (const std::runtime_error& error) {
    fail(std::string("cannot be read: ") + error.what());
  }
  if (!whole) fail_early();
}

void Hdf5Reader::fail_early() {
  const std::string reason = process_->finish("reading");
  fail(reason.empty() ? "cortado-hdf5 exited before the end of the file" : reason);
}

void Hdf5Reader::read(float* out) {
  const TensorEntry& entry = entries_.at(next_++);
  const size_t width = size_t(tensor_value_bytes(entry.type));
  part_.resize(kHdf5FilePartBytes);
  for (size_t left = size_t(entry.shape.count()); left > 0;) {
    const size_t n = std::min(left, kHdf5FilePartBytes / width);
    take(part_.data(), n * width);
    tensor_to_floats(entry.type, part_.data(), int64_t(n), out);
    out += n;
    left -= n;
  }
}

std::string Hdf5Reader::read_bytes() {
  std::string bytes(size_t(entries_.at(next_++).bytes()), '\0');
  take(bytes.data(), bytes.size());
  return bytes;
}

void Hdf5Reader::skip() {
  part_.resize(kHdf5FilePartBytes);
  for (size_t left = size_t(entries_.at(next_++).bytes()); left > 0;) {
    const size_t n = std::min(left, part_.size());
    take(part_.data(), n);
    left -= n;
  }
}

void Hdf5Reader::finish() {
  char more;
  try {
    if (process_->receive(&more, 1) != 0) fail("cortado-hdf5 sent unexpected data");
  } catch (const std::runtime_error& error) {
    fail(error.what());
  }
  if (const std::string reason = process_->finish("reading"); !reason.empty()) fail(reason);
}

void Hdf5Reader::fail(const std::string& message, const std::string& hint) const {
  throw file_error(request_.code, request_.path, message, hint);
}

Hdf5Writer::Hdf5Writer(const std::string& path, const std::vector<TensorEntry>& entries)
    : path_(path), temporary_(own_temporary_beside(path)) {
  const std::string head = head_of(entries, path);
  process_ = start_hdf5(ExitCode::kIo, path, {"write", temporary_});
  try {
    send(*process_, path_, head);
  } catch (...) {
    process_.reset();
    ::unlink(temporary_.c_str());
    throw;
  }
}

Hdf5Writer::~Hdf5Writer() {
  if (!process_ || !made_here_) return;
  process_.reset();  // ends the process, so that it cannot write the file after this
  ::unlink(temporary_.c_str());
}

void Hdf5Writer::add(const void* bytes, size_t n) { send(*process_, path_, {static_cast<const char*>(bytes), n}); }

std::string Hdf5Writer::commit() {
  await_plus(*process_, path_);
  if (const std::string reason = process_->finish("writing"); !reason.empty())
    throw file_error(ExitCode::kIo, path_, "cannot write: " + reason);
  const std::string digest = digest_of_file(temporary_);
  process_.reset();
  replace_file(temporary_, path_);
  return digest;
}

Hdf5Appender::Hdf5Appender(const std::string& path)
    : path_(path), temporary_(own_temporary_beside(path)), claim_(path) {
  process_ = start_hdf5(ExitCode::kIo, path, {"append", temporary_});
}

Hdf5Appender::~Hdf5Appender() {
  if (!process_ || !made_here_) return;
  process_.reset();
  ::unlink(temporary_.c_str());
}

void Hdf5Appender::add(const std::vector<TensorEntry>& entries, const std::vector<const float*>& values) {
  if (!made_here_)
    throw file_error(ExitCode::kIo, path_, "it is written by the process from which this one was forked",
                     "make the net in this process, with another file_name");
  send(*process_, path_, head_of(entries, path_));
  for (size_t i = 0; i < entries.size(); ++i)
    send(*process_, path_, {reinterpret_cast<const char*>(values[i]), size_t(entries[i].bytes())});
  await_plus(*process_, path_);
}

void Hdf5Appender::commit() {
  send(*process_, path_, std::string(8, '\0'));
  await_plus(*process_, path_);
  if (const std::string reason = process_->finish("writing"); !reason.empty())
    throw file_error(ExitCode::kIo, path_, "cannot write: " + reason);
  process_.reset();
  replace_file(temporary_, path_);
}

}  // namespace cortado

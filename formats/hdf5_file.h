#pragma once

// Reads and writes HDF5 files through the helper program `cortado-hdf5`, because libhdf5 can crash on a damaged file.
// Its output is checked here; every failure is an Error about the file.

#include <memory>
#include <string>
#include <vector>

#include "core/exit_code.h"
#include "core/forks.h"
#include "formats/helper_process.h"
#include "formats/tensor_header.h"

namespace cortado {

/// What to read of a file, and the exit code of errors about it.
struct Hdf5Request {
  std::string path;
  /// Datasets, which must exist, or groups ("data/"), of which all numeric and text datasets are taken. Empty means
  /// everything.
  std::vector<std::string> names;
  bool values = true;                   ///< false: entries() alone
  double most_growth = 8;               ///< limit of the values as floats: this times the file size, plus 64 MiB
  ExitCode code = ExitCode::kSnapshot;  ///< for errors in its content
};

/// Reads one file sequentially. All functions throw Error: kIo if the file cannot be opened, else the
/// request's code.
class Hdf5Reader {
 public:
  explicit Hdf5Reader(Hdf5Request request);

  const std::vector<TensorEntry>& entries() const { return entries_; }

  /// Reads the values of the next entry as floats; `out` has room for its shape's count.
  void read(float* out);
  /// Reads the bytes of the next entry, unconverted.
  std::string read_bytes();
  /// Skips the next entry.
  void skip();
  /// Throws unless the helper succeeded. Call it after the last entry.
  void finish();

  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const;

 private:
  void read_head();
  void take(char* bytes, size_t n);
  [[noreturn]] void fail_early();

  Hdf5Request request_;
  std::unique_ptr<HelperProcess> process_;
  std::vector<TensorEntry> entries_;
  size_t next_ = 0;
  std::vector<char> part_;
};

/// Writes a file atomically: without commit() the path keeps its old content. All tensors are declared before the first
/// value.
class Hdf5Writer {
 public:
  /// Throws Error(kIo) if it cannot be written or this build has no HDF5.
  Hdf5Writer(const std::string& path, const std::vector<TensorEntry>& entries);
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  void add(const void* bytes, size_t n);  ///< values, in the entries' order
  std::string commit();                   ///< call it once, last; returns the digest of the file

 private:
  std::string path_, temporary_;
  std::unique_ptr<HelperProcess> process_;
  MadeHere made_here_;
};

/// Writes a file whose datasets grow: each add() appends rows to all of them. When it returns the rows are passed to
/// the operating system.
class Hdf5Appender {
 public:
  explicit Hdf5Appender(const std::string& path);  ///< throws Error(kIo), also if another appender has the file
  ~Hdf5Appender();
  Hdf5Appender(const Hdf5Appender&) = delete;
  Hdf5Appender& operator=(const Hdf5Appender&) = delete;

  /// `values[i]` are the floats of entries[i].
  void add(const std::vector<TensorEntry>& entries, const std::vector<const float*>& values);
  void commit();  ///< call it once, last

 private:
  /// Keeps a second writer of this process from replacing the file.
  struct Claim {
    explicit Claim(const std::string& path);
    ~Claim();
    const std::string path;
  };

  std::string path_, temporary_;
  Claim claim_;
  std::unique_ptr<HelperProcess> process_;
  MadeHere made_here_;
};

}  // namespace cortado

#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "core/exit_code.h"

namespace cortado {

/// A place in a text file. `line` and `column` count from 1; 0 means the whole file. `text` holds the line, so that it
/// can be shown after the file is gone.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
  std::string text;

  bool known() const { return !file.empty(); }
  std::string str() const;  ///< "file:line:column", without the parts that are 0
};

/// A second place that explains the diagnostic ("'pool1' has shape 64x20x5x5, made here").
struct Note {
  Place place;
  std::string message;
};

/// An error or a warning with its place.
struct Diagnostic {
  Place place;
  std::string message;
  std::string hint;  ///< the remedy; may be empty
  std::vector<Note> notes;
  bool lacks_blob = false;  ///< a layer reads a blob that no layer of this phase makes
};

/// The exception type for all errors that a user can correct. Holds every diagnostic found and the exit code.
class Error : public std::exception {
 public:
  Error(ExitCode code, std::string message, std::string hint = {});
  Error(ExitCode code, Diagnostic mistake);
  Error(ExitCode code, std::vector<Diagnostic> mistakes);  ///< the list must not be empty

  ExitCode code() const { return code_; }
  const std::vector<Diagnostic>& mistakes() const { return mistakes_; }
  /// All diagnostics as the program prints them: place, message, source line, caret, hint, notes.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ExitCode code_;
  std::vector<Diagnostic> mistakes_;
  std::string text_;
};

/// Thrown by code that knows which field of its options is invalid but not its place in a file (layers, fillers, update
/// rules). `field` is the path relative to the layer or solver message, for example "convolution_param.kernel_size" or
/// "bottom[1]". The caller that knows the file converts it to an Error with the place.
class FieldError : public std::exception {
 public:
  FieldError(std::string field, std::string message, std::string hint = {});

  const std::string& field() const { return field_; }
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string field_, message_, hint_;
};

/// Collects independent diagnostics so that one run reports them all.
class Mistakes {
 public:
  void add(Diagnostic mistake) { list_.push_back(std::move(mistake)); }
  void add(const Error& error);
  bool empty() const { return list_.empty(); }
  const std::vector<Diagnostic>& list() const { return list_; }
  void throw_if_any(ExitCode code) const;

 private:
  std::vector<Diagnostic> list_;
};

/// Formats a diagnostic. `severity` is "error", "warning" or "note".
std::string render(const Diagnostic& mistake, std::string_view severity = "error");
/// Its place and message.
std::string one_line(const Diagnostic& mistake);

/// The known name with the smallest edit distance to `name`; "" if none is close.
std::string nearest(std::string_view name, const std::vector<std::string>& known);

/// "did you mean 'x'?" or "".
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

/// The same, or if no name is close the first of them: "known: 'a', 'b'".
std::string meant_or_known(std::string_view name, const std::vector<std::string>& known);

/// Reports a violated invariant of the program itself. The process exits with 1.
[[noreturn]] void throw_internal(std::string_view what);

/// A diagnostic about a whole file or one of its lines, without the line's text.
Diagnostic file_mistake(const std::string& path, std::string message, std::string hint = {}, int line = 0);

/// An Error with a single file_mistake().
Error file_error(ExitCode code, const std::string& path, std::string message, std::string hint = {});

}  // namespace cortado

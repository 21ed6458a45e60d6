#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "core/exit_code.h"

namespace cortado {

/// A place in a text file. `line` and `column` count from 1; 0 means "the file as a whole".
/// `text` is the line itself, so that it can be shown after the file is gone.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
  std::string text;

  bool known() const { return !file.empty(); }
  std::string str() const;  ///< "file:line:column", as much of it as is known
};

/// A second place that explains the first ("'pool1' has shape 64x20x5x5, made here").
struct Note {
  Place place;
  std::string message;
};

/// One thing that a user can mend.
struct Diagnostic {
  Place place;
  std::string message;
  std::string hint;  ///< what to do about it; may be empty
  std::vector<Note> notes;
};

/// The one exception type for mistakes that a user can mend: all those found at once, and the exit code.
class Error : public std::exception {
 public:
  Error(ExitCode code, std::string message, std::string hint = {});
  Error(ExitCode code, Diagnostic mistake);
  Error(ExitCode code, std::vector<Diagnostic> mistakes);  ///< `mistakes` is not empty

  ExitCode code() const { return code_; }
  const std::vector<Diagnostic>& mistakes() const { return mistakes_; }
  /// Every mistake as the program shows it: place, message, source line, caret, hint, notes.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ExitCode code_;
  std::vector<Diagnostic> mistakes_;
  std::string text_;
};

/// Thrown by code that knows which field of its options is wrong but not where the file says so (layers, fillers,
/// update rules). `field` is the path below the layer or solver message, e.g. "convolution_param.kernel_size" or
/// "bottom[1]". Code that knows the file turns it into an Error with the field's place.
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

/// Collects independent mistakes so that one run reports them all.
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

/// One mistake as text. `severity` is "error", "warning" or "note".
std::string render(const Diagnostic& mistake, std::string_view severity = "error");

/// The known name nearest to `name` by edit distance, or "" when none is near enough to be meant.
std::string nearest(std::string_view name, const std::vector<std::string>& known);

/// "did you mean 'x'?" or "".
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

/// The stop signals' outcome or another reason to end early is not an Error; a broken promise of our own code is one of
/// these, and exits with 1.
[[noreturn]] void throw_internal(std::string_view what);

/// What is wrong with a file as a whole, or with one of its lines, whose text need not be shown.
Diagnostic file_mistake(const std::string& path, std::string message, std::string hint = {}, int line = 0);

/// The error of that mistake alone.
Error file_error(ExitCode code, const std::string& path, std::string message, std::string hint = {});

}  // namespace cortado

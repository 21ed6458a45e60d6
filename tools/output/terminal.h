#pragma once

// Output that differs between terminals and pipes: colour, width, and the progress line.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace cortado::tools {

bool is_terminal(int descriptor);  ///< 1 is stdout, 2 is stderr
int terminal_columns();            ///< of the window, else COLUMNS, else 80
size_t widest_line();              ///< the most columns that do not wrap on stderr's terminal

/// Whether to colour the stream: it is a terminal, and --no-color, NO_COLOR and TERM=dumb are absent.
bool colour_on(int descriptor);
void forbid_colour();

/// `text` broken at spaces into lines of at most `columns`. Lines after the first are indented by `indent` spaces; the
/// first line is to be written at that column.
std::string wrapped(const std::string& text, size_t indent, size_t columns = 80);

/// The line with the word of its severity coloured: "error: " and the like at its start or after a place.
std::string coloured(const std::string& line);

/// Writes an error's text to stderr, with coloured severities on a terminal.
void show_error(std::string_view text);

/// A part of the progress line. If the line is too long, the parts of the highest rank are dropped first, from the last
/// to the first. Parts of rank 0 are kept.
struct ProgressField {
  ProgressField(std::string text, int rank = 1, const char* glue = " | ")
      : text(std::move(text)), rank(rank), glue(glue) {}

  std::string text;
  int rank;
  const char* glue;  ///< between this part and the one before
};

/// Columns that UTF-8 text takes, if no character is wide.
size_t columns_of(std::string_view text);

/// The fields as one line of at most `columns`.
std::string fitted(std::vector<ProgressField> fields, size_t columns);

/// Whether the terminal shows a progress line, and the text that erases it. Both are async-signal-safe.
bool progress_on_screen();
inline constexpr std::string_view kEraseProgress = "\r\033[J";

/// A line on stderr that is rewritten in place; does nothing if stderr is not a terminal. Log lines erase it first. At
/// most one object exists at a time. The cursor stays at the start of the line: if the window gets narrower, the
/// wrapped rest is below the cursor.
class ProgressLine {
 public:
  explicit ProgressLine(bool wanted = true);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool shown() const { return active_; }
  bool due() const;                                     ///< no line is shown, or it is a tenth of a second old
  void show(const std::vector<ProgressField>& fields);  ///< drops fields that do not fit
  void erase();

 private:
  bool active_;
  std::chrono::steady_clock::time_point last_{};
};

/// "[####......]" of ten cells.
std::string progress_bar(double share);
/// `head` and as many of the items as fit on a line of `columns`, then the number of the others.
std::string fitted_list(const std::string& head, const std::vector<std::string>& items, size_t columns);
std::string number_text(const char* format, double value);  ///< like printf, at most 63 characters
std::string duration_text(double seconds);                  ///< "2m41s"
std::string bytes_text(int64_t bytes);                      ///< "1.2 GiB"
std::string count_text(int64_t count);                      ///< "431 080"

std::string cut_to(const std::string& text, size_t columns);     ///< ends in an ellipsis if it is cut; 0: no limit
std::string cut_lines(const std::string& text, size_t columns);  ///< cuts each line
size_t table_columns();  ///< width of tables on stdout: the terminal's, in a pipe COLUMNS; 0: no limit

/// Columns of text, each as wide as its widest cell.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Right-aligns the columns in `right` (indices). With `columns` above 0, lines have at most that many columns: drops
  /// the columns of `spare` in order, then cuts texts, and adds a line that reports this.
  std::string str(const std::vector<size_t>& right = {}, size_t columns = 0,
                  const std::vector<size_t>& spare = {}) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace cortado::tools

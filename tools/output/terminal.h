#pragma once

// What differs between a terminal and a pipe: colour, width, and the one progress line.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace cortado::tools {

bool is_terminal(int descriptor);  ///< 1 is stdout, 2 is stderr
int terminal_columns();            ///< the window's, else COLUMNS, else 80
size_t widest_line();              ///< that stays on one line of stderr's terminal

/// Whether the stream may show colours: a terminal, and neither --no-color, NO_COLOR nor TERM=dumb.
bool colour_on(int descriptor);
void forbid_colour();

/// `text` broken at spaces into lines of at most `columns`; lines after the first start with `indent` spaces, and the
/// first is to be written at that column.
std::string wrapped(const std::string& text, size_t indent, size_t columns = 80);

/// Writes an error's text to stderr, with its severities coloured on a terminal.
void show_error(std::string_view text);

/// A part of the progress line. Where the line is too long, parts of the highest rank go first, of these the last;
/// those of rank 0 stay.
struct ProgressField {
  ProgressField(std::string text, int rank = 1, const char* glue = " | ")
      : text(std::move(text)), rank(rank), glue(glue) {}

  std::string text;
  int rank;
  const char* glue;  ///< between it and what stands before it
};

/// Columns that UTF-8 text of narrow letters takes.
size_t columns_of(std::string_view text);

/// The fields as one line of at most `columns`.
std::string fitted(std::vector<ProgressField> fields, size_t columns);

/// Whether a progress line stands on the terminal, and what wipes it off; both are allowed in a signal handler.
bool progress_on_screen();
inline constexpr std::string_view kEraseProgress = "\r\033[J";

/// One line on stderr that is rewritten in place; nothing at all when stderr is no terminal. Log lines push it away by
/// themselves. At most one lives at a time. The cursor waits at the line's begin: a window that gets narrower may break
/// the line, and what it is broken into lies below the cursor then.
class ProgressLine {
 public:
  explicit ProgressLine(bool wanted = true);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool shown() const { return active_; }
  bool due() const;                                     ///< none stands there, or one for a tenth of a second
  void show(const std::vector<ProgressField>& fields);  ///< as many of them as fit
  void erase();

 private:
  bool active_;
  std::chrono::steady_clock::time_point last_{};
};

/// "[####......]" of ten cells.
std::string progress_bar(double share);
/// As many of the items as fit on a line of `columns` behind `head`, and how many more there are.
std::string fitted_list(const std::string& head, const std::vector<std::string>& items, size_t columns);
std::string number_text(const char* format, double value);  ///< by printf's rules, at most 63 characters
std::string duration_text(double seconds);                  ///< "2m41s"
std::string bytes_text(int64_t bytes);                      ///< "1.2 GiB"
std::string count_text(int64_t count);                      ///< "431 080"

std::string cut_to(const std::string& text, size_t columns);     ///< with an ellipsis where it is longer; 0: no limit
std::string cut_lines(const std::string& text, size_t columns);  ///< each line of it
size_t table_columns();  ///< width of tables on stdout: the terminal's, in a pipe COLUMNS; 0: no limit

/// Columns of text, each as wide as its widest cell.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Columns whose index is in `right` are flush right. With `columns` above 0, lines are at most that long: columns of
  /// `spare` are dropped in its order, then texts are cut, and a last line says so.
  std::string str(const std::vector<size_t>& right = {}, size_t columns = 0,
                  const std::vector<size_t>& spare = {}) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace cortado::tools

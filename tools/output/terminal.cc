#include "tools/output/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "core/log.h"
#include "tools/output/sparkline.h"

namespace cortado::tools {

namespace {

bool colour_forbidden = false;
ProgressLine* active_line = nullptr;
volatile std::sig_atomic_t line_on_screen = 0;

void push_away_progress() {
  if (active_line) active_line->erase();
}

void write_to_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

bool is_terminal(int descriptor) { return isatty(descriptor) == 1; }

int terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const int wide = columns ? std::atoi(columns) : 0;
  return wide > 0 ? wide : 80;
}

bool colour_on(int descriptor) {
  const char* none = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return !colour_forbidden && !(none && *none) && !(term && std::string_view(term) == "dumb") &&
         is_terminal(descriptor);
}

void forbid_colour() { colour_forbidden = true; }

std::string wrapped(const std::string& text, size_t indent, size_t columns) {
  std::string out, word;
  size_t column = indent;
  const auto put_word = [&] {
    if (word.empty()) return;
    if (column > indent && column + 1 + columns_of(word) > columns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns_of(word);
    word.clear();
  };
  for (const char c : text) {
    if (c == ' ')
      put_word();
    else
      word += c;
  }
  put_word();
  return out;
}

std::string coloured(const std::string& line) {
  struct Severity {
    const char *word, *code;
  };
  for (const auto& [word, code] :
       {Severity{"error: ", "31"}, {"warning: ", "35"}, {"note: ", "36"}, {"hint: ", "32"}}) {
    const size_t at = line.find(word);
    if (at == std::string::npos || (at > 0 && !std::string_view(line).substr(0, at).ends_with(": "))) continue;
    const std::string shown(word);
    return line.substr(0, at) + "\033[1;" + code + "m" + shown.substr(0, shown.size() - 1) + "\033[0m" +
           line.substr(at + shown.size() - 1);
  }
  return line;
}

void show_error(std::string_view text) {
  if (!colour_on(STDERR_FILENO)) return write_to_stderr(std::string(text) + "\n");
  std::string out;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    out += coloured(std::string(text.substr(start, end - start))) + "\n";
    start = end + 1;
  }
  write_to_stderr(out);
}

size_t widest_line() { return size_t(std::max(20, terminal_columns() - 1)); }

size_t columns_of(std::string_view text) {
  return size_t(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string fitted(std::vector<ProgressField> fields, size_t columns) {
  for (;;) {
    std::string line;
    size_t last = 0;  // index of the last field of the highest rank
    for (size_t i = 0; i < fields.size(); ++i) {
      line += (line.empty() ? "" : fields[i].glue) + fields[i].text;
      if (fields[i].rank >= fields[last].rank) last = i;
    }
    if (columns_of(line) <= columns) return line;
    if (fields[last].rank == 0) return line.substr(0, columns);
    fields.erase(fields.begin() + int64_t(last));
  }
}

std::string fitted_list(const std::string& head, const std::vector<std::string>& items, size_t columns) {
  size_t all = head.size();
  for (size_t i = 0; i < items.size(); ++i) all += (i > 0 ? 2 : 0) + items[i].size();
  std::string line = head;
  for (size_t i = 0; i < items.size(); ++i) {
    const size_t left = items.size() - i - 1;
    const std::string next = line + (i > 0 ? ", " : "") + items[i];
    const std::string more = left > 0 && all > columns ? ", " + std::to_string(left) + " more" : "";
    if (next.size() + more.size() > columns)
      return (line + (i > 0 ? ", " : "") + std::to_string(left + 1) + (i > 0 ? " more" : " values")).substr(0, columns);
    line = next;
  }
  return line;
}

ProgressLine::ProgressLine(bool wanted) : active_(wanted && is_terminal(STDERR_FILENO)) {
  if (!active_) return;
  active_line = this;
  set_before_log(push_away_progress);
}

ProgressLine::~ProgressLine() {
  if (!active_) return;
  erase();
  set_before_log(nullptr);
  active_line = nullptr;
}

bool ProgressLine::due() const {
  return active_ && std::chrono::steady_clock::now() - last_ >= std::chrono::milliseconds(100);
}

void ProgressLine::show(const std::vector<ProgressField>& fields) {
  if (!active_) return;
  line_on_screen = 1;  // first, so that a signal handler that runs in between erases the line
  write_to_stderr(std::string(kEraseProgress) + fitted(fields, widest_line()) + "\r");
  last_ = std::chrono::steady_clock::now();
}

void ProgressLine::erase() {
  if (!line_on_screen) return;
  write_to_stderr(kEraseProgress);
  line_on_screen = 0;
  last_ = {};  // forces the next show() to redraw the line
}

bool progress_on_screen() { return line_on_screen != 0; }

std::string progress_bar(double share) {
  const int full = int(std::clamp(share, 0.0, 1.0) * 10);
  return "[" + std::string(size_t(full), '#') + std::string(size_t(10 - full), '.') + "]";
}

std::string number_text(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  const int64_t s = int64_t(seconds + 0.5);
  const auto two = [](int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  if (s < 60) return std::to_string(s) + "s";
  if (s < 3600) return std::to_string(s / 60) + "m" + two(s % 60) + "s";
  return std::to_string(s / 3600) + "h" + two(s / 60 % 60) + "m";
}

std::string bytes_text(int64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  return number_text(unit == 0 || value >= 99.95 ? "%.0f " : "%.1f ", value) + units[unit];
}

std::string count_text(int64_t count) {
  std::string digits = std::to_string(count);
  for (int64_t at = int64_t(digits.size()) - 3; at > (count < 0 ? 1 : 0); at -= 3) digits.insert(size_t(at), " ");
  return digits;
}

/// A longer cell does not widen its column. Otherwise a layer with thousands of bottoms would widen all lines.
constexpr size_t kMaxColumnWidth = 200, kLeastColumnWidth = 6, kGap = 2;

namespace {

std::string ellipsis() { return utf8_locale() ? "\u2026" : "..."; }

/// The longest prefix of UTF-8 `text` that has at most `columns`.
std::string prefix_of(const std::string& text, size_t columns) {
  size_t end = 0, count = 0;
  while (end < text.size() && count < columns) {
    ++end;
    while (end < text.size() && (uint8_t(text[end]) & 0xC0) == 0x80) ++end;
    ++count;
  }
  return text.substr(0, end);
}

/// Widths of the columns of a table that are shown; the others are dropped.
struct ColumnWidths {
  std::vector<size_t> widths;
  std::vector<bool> shown;

  size_t total() const {
    size_t sum = 0;
    for (size_t i = 0; i < widths.size(); ++i)
      if (shown[i]) sum += widths[i] + (sum > 0 ? kGap : 0);
    return sum;
  }
};

}  // namespace

std::string cut_to(const std::string& text, size_t columns) {
  if (columns == 0 || columns_of(text) <= columns) return text;
  const std::string end = ellipsis();
  return prefix_of(text, columns - std::min(columns, columns_of(end))) + end;
}

std::string cut_lines(const std::string& text, size_t columns) {
  std::string out;
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    out += cut_to(text.substr(from, end - from), columns) + (end < text.size() ? "\n" : "");
    from = end + 1;
  }
  return out;
}

size_t table_columns() {
  if (is_terminal(STDOUT_FILENO)) return size_t(terminal_columns());
  const char* columns = std::getenv("COLUMNS");
  return columns ? size_t(std::max(std::atoi(columns), 0)) : 0;
}

std::string Table::str(const std::vector<size_t>& right, size_t columns, const std::vector<size_t>& spare) const {
  const auto is_right = [&](size_t i) { return std::find(right.begin(), right.end(), i) != right.end(); };
  ColumnWidths layout;
  for (const auto& row : rows_) {
    layout.widths.resize(std::max(layout.widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i)
      layout.widths[i] = std::max(layout.widths[i], std::min(columns_of(row[i]), kMaxColumnWidth));
  }
  layout.shown.assign(layout.widths.size(), true);
  const size_t full = layout.total();
  for (size_t i = 0; columns > 0 && full > columns && i < layout.shown.size(); ++i)  // drop empty columns first
    layout.shown[i] =
        std::any_of(rows_.begin() + 1, rows_.end(), [&](const auto& row) { return i < row.size() && !row[i].empty(); });
  for (size_t next = 0; columns > 0 && layout.total() > columns && next < spare.size(); ++next)
    layout.shown[spare[next]] = false;
  while (columns > 0 && layout.total() > columns) {
    size_t widest = layout.widths.size();
    for (size_t i = 0; i < layout.widths.size(); ++i)
      if (layout.shown[i] && !is_right(i) && layout.widths[i] > kLeastColumnWidth &&
          (widest == layout.widths.size() || layout.widths[i] > layout.widths[widest]))
        widest = i;
    if (widest == layout.widths.size()) break;
    --layout.widths[widest];
  }
  const bool is_cut = layout.total() < full;
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      if (!layout.shown[i]) continue;
      const std::string cell = is_cut ? cut_to(row[i], layout.widths[i]) : row[i];
      const std::string space(layout.widths[i] - std::min(columns_of(cell), layout.widths[i]), ' ');
      line += (line.empty() ? "" : std::string(kGap, ' ')) + (is_right(i) ? space + cell : cell + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return is_cut ? out + "(cut to " + std::to_string(columns) + " columns; --wide shows all)\n" : out;
}

}  // namespace cortado::tools

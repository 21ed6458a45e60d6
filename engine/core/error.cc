#include "core/error.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/text/text.h"

namespace cortado {

namespace {

/// Damerau-Levenshtein distance, ignoring case, and limited to `most`.
size_t edit_distance(std::string_view a, std::string_view b, size_t most) {
  const auto same = [&](size_t i, size_t j) { return lower_case(a[i]) == lower_case(b[j]); };
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i + 1;
    size_t least = row[0];
    for (size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({last[j + 1] + 1, row[j] + 1, last[j] + !same(i, j)});
      if (i > 0 && j > 0 && same(i, j - 1) && same(i - 1, j)) row[j + 1] = std::min(row[j + 1], before_last[j - 1] + 1);
      least = std::min(least, row[j + 1]);
    }
    if (least >= most) return most;  // later rows cannot be smaller: a swap, which skips a row, adds 1
  }
  return std::min(row.back(), most);
}

std::string line_with_caret(const Place& place) {
  if (place.line <= 0 || place.text.empty()) return {};
  constexpr size_t kWidest = 160;  // a minified file has lines of megabytes
  const std::string number = std::to_string(place.line);
  const size_t column = place.column > 0 ? size_t(place.column - 1) : 0;
  const size_t start = column > kWidest / 2 ? column - kWidest / 2 : 0;
  std::string shown = place.text.substr(std::min(start, place.text.size()), kWidest);
  std::string blank;
  for (size_t i = 0; i < column - start; ++i) blank += i < shown.size() && shown[i] == '\t' ? '\t' : ' ';
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 32 && c != '\t') c = '?';
  const std::string margin(number.size() < 5 ? 5 - number.size() : 0, ' ');
  std::string out = margin + number + " | " + shown + "\n";
  if (place.column > 0) out += std::string(std::max<size_t>(number.size(), 5), ' ') + " | " + blank + "^\n";
  return out;
}

std::string render_all(const std::vector<Diagnostic>& mistakes) {
  std::string text;
  for (const Diagnostic& mistake : mistakes) text += render(mistake);
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

std::string Place::str() const {
  if (line <= 0) return file;
  return file + ":" + std::to_string(line) + (column > 0 ? ":" + std::to_string(column) : "");
}

Error::Error(ExitCode code, std::string message, std::string hint) : code_(code) {
  Diagnostic& mistake = mistakes_.emplace_back();
  mistake.message = std::move(message);
  mistake.hint = std::move(hint);
  text_ = render_all(mistakes_);
}

Error::Error(ExitCode code, Diagnostic mistake) : Error(code, std::vector<Diagnostic>{std::move(mistake)}) {}

Error::Error(ExitCode code, std::vector<Diagnostic> mistakes)
    : code_(code), mistakes_(std::move(mistakes)), text_(render_all(mistakes_)) {}

FieldError::FieldError(std::string field, std::string message, std::string hint)
    : field_(std::move(field)), message_(std::move(message)), hint_(std::move(hint)) {}

void Mistakes::add(const Error& error) { list_.insert(list_.end(), error.mistakes().begin(), error.mistakes().end()); }

void Mistakes::throw_if_any(ExitCode code) const {
  if (!list_.empty()) throw Error(code, list_);
}

std::string render(const Diagnostic& mistake, std::string_view severity) {
  std::string out;
  if (mistake.place.known()) out += mistake.place.str() + ": ";
  out += std::string(severity) + ": " + mistake.message + "\n" + line_with_caret(mistake.place);
  for (const Note& note : mistake.notes) {
    if (note.place.known()) out += note.place.str() + ": ";
    out += "note: " + note.message + "\n" + line_with_caret(note.place);
  }
  if (!mistake.hint.empty()) out += "hint: " + mistake.hint + "\n";
  return out;
}

std::string one_line(const Diagnostic& mistake) {
  return (mistake.place.known() ? mistake.place.str() + ": " : "") + mistake.message;
}

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  constexpr size_t kLongest = 100;
  std::string found;
  if (name.size() > kLongest) return found;
  size_t best = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const auto [shorter, longer] = std::minmax({name.size(), candidate.size()});
    if (longer - shorter >= best) continue;  // the length difference is a lower bound
    const size_t distance = edit_distance(name, candidate, best);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  const std::string found = nearest(name, known);
  return found.empty() ? "" : "did you mean '" + found + "'?";
}

std::string meant_or_known(std::string_view name, const std::vector<std::string>& known) {
  constexpr size_t kMost = 10;
  const std::string meant = did_you_mean(name, known);
  if (!meant.empty() || known.empty()) return meant;
  std::string list;
  for (size_t i = 0; i < std::min(kMost, known.size()); ++i) list += (i > 0 ? ", '" : "'") + known[i] + "'";
  return "known: " + list + (known.size() > kMost ? " and " + std::to_string(known.size() - kMost) + " more" : "");
}

void throw_internal(std::string_view what) { throw std::logic_error("internal error: " + std::string(what)); }

Diagnostic file_mistake(const std::string& path, std::string message, std::string hint, int line) {
  Diagnostic mistake;
  mistake.place.file = path;
  mistake.place.line = line;
  mistake.message = std::move(message);
  mistake.hint = std::move(hint);
  return mistake;
}

Error file_error(ExitCode code, const std::string& path, std::string message, std::string hint) {
  return Error(code, file_mistake(path, std::move(message), std::move(hint)));
}

}  // namespace cortado

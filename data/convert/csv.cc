#include "data/convert/csv.h"

#include <algorithm>

namespace cortado::data {

std::vector<std::string> csv_cells(std::string_view line, char separator, std::string& wrong) {
  std::vector<std::string> cells(1);
  wrong.clear();
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      cells.back() += line[++i];
    else if (c == '"' && (quoted || cells.back().empty()))
      quoted = !quoted;
    else if (c == separator && !quoted)
      cells.emplace_back();
    else if (c != '\r' || i + 1 < line.size())
      cells.back() += c;
  }
  if (quoted) wrong = "a quote is not closed on its line";
  return cells;
}

char csv_separator(std::string_view line) {
  char best = ',';
  for (const char c : {';', '\t'})
    if (std::count(line.begin(), line.end(), c) > std::count(line.begin(), line.end(), best)) best = c;
  return best;
}

}  // namespace cortado::data

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cortado::data {

/// One line of a table as its cells: separated by `separator`; a cell in quotes may hold it, and "" for a quote.
/// `wrong` says what is wrong with the line, or "".
std::vector<std::string> csv_cells(std::string_view line, char separator, std::string& wrong);

/// What separates the first line's cells: the most frequent of comma, semicolon and tab.
char csv_separator(std::string_view line);

}  // namespace cortado::data

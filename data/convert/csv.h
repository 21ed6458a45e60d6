#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cortado::data {

/// Splits one line of a table into its cells. A quoted cell may contain `separator`, and "" for a quote. `wrong`
/// receives the error in the line, or "".
std::vector<std::string> csv_cells(std::string_view line, char separator, std::string& wrong);

/// The separator of the first line: the most frequent of comma, semicolon and tab.
char csv_separator(std::string_view line);

}  // namespace cortado::data

#include "tools/starter/mirror.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace cortado::tools {

namespace {

using Words = std::vector<std::string>;

bool is_digit_of_name(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_lower_of_name(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }
bool is_upper_of_name(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }

/// "TurnLeft_03" becomes turn, left, 03. Bytes beyond ASCII are parts of words.
Words words_of(const std::string& name) {
  Words words;
  char before = ' ';
  for (const char c : name) {
    const bool part = (static_cast<unsigned char>(c) & 0x80) != 0 || std::isalnum(static_cast<unsigned char>(c));
    const bool goes_on = part && !words.empty() && before != ' ' && is_digit_of_name(c) == is_digit_of_name(before) &&
                         !(is_upper_of_name(c) && is_lower_of_name(before));
    if (part && !goes_on) words.emplace_back();
    if (part) words.back() += char(std::tolower(static_cast<unsigned char>(c)));
    before = part ? c : ' ';
  }
  return words;
}

template <size_t n>
bool is_word_of(const std::string& word, const std::array<std::string_view, n>& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Words that say that a class is a character, and which form of it, but not which one.
bool only_describes(const std::string& word) {
  constexpr std::array<std::string_view, 19> kDescriptions = {
      "digit", "digits",  "number", "numeral", "letter", "letters", "char",  "character", "glyph",    "symbol",
      "class", "capital", "upper",  "lower",   "case",   "upcase",  "small", "uppercase", "lowercase"};
  return is_word_of(word, kDescriptions);
}

bool is_character(const std::string& word) {
  constexpr std::array<std::string_view, 35> kSpelt = {
      "zero", "one",     "two",   "three",   "four",  "five", "six",     "seven", "eight", "nine",   "ten",  "alpha",
      "beta", "gamma",   "delta", "epsilon", "zeta",  "eta",  "theta",   "iota",  "kappa", "lambda", "mu",   "nu",
      "xi",   "omicron", "pi",    "rho",     "sigma", "tau",  "upsilon", "phi",   "chi",   "psi",    "omega"};
  return word.size() == 1 || is_digit_of_name(word[0]) || is_word_of(word, kSpelt);
}

/// Nothing but characters: "7", "b", "digit_seven", "A1"; no "001.ak47" and no "3_birds".
bool names_characters(const Words& words) {
  int64_t characters = 0;
  for (const std::string& word : words) {
    if (only_describes(word)) continue;
    if (!is_character(word)) return false;
    ++characters;
  }
  return characters > 0;
}

bool names_side(const Words& words) {
  constexpr std::array<std::string_view, 12> kSides = {
      "left",      "right",         "leftward",         "rightward", "leftwards", "rightwards",
      "clockwise", "anticlockwise", "counterclockwise", "mirrored",  "west",      "east"};
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) { return is_word_of(word, kSides); });
}

}  // namespace

std::string why_not_mirrored(const std::vector<std::string>& names) {
  size_t characters = 0;
  for (const std::string& name : names) {
    const Words words = words_of(name);
    if (names_side(words)) return "mirrored, '" + name + "' would be another class";
    characters += names_characters(words);
  }
  return 2 * characters > names.size() ? "classes named by digits or letters are other things when mirrored" : "";
}

}  // namespace cortado::tools

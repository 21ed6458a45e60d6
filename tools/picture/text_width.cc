#include "tools/picture/text_width.h"

#include <vector>

namespace cortado::tools {

namespace {

// Widths of the characters from ' ' to '~', in thousandths of the font size: of Helvetica, and of the widest common
// fonts, DejaVu Sans and its bold face (Verdana is slightly wider).
constexpr int kWidths[] = {278,  278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
                           556,  556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
                           1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
                           667,  778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
                           333,  556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
                           556,  556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584};
constexpr int kWide[] = {318,  401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
                         636,  636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531,
                         1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
                         603,  787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500,
                         500,  613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
                         635,  635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838};
constexpr int kWideBold[] = {348,  456, 521, 838, 696, 1002, 872, 306,  457, 457, 523, 838, 380, 415,  380, 365,
                             696,  696, 696, 696, 696, 696,  696, 696,  696, 696, 400, 400, 838, 838,  838, 580,
                             1000, 774, 762, 734, 830, 683,  683, 821,  837, 372, 372, 775, 637, 995,  837, 850,
                             733,  850, 770, 720, 682, 812,  774, 1103, 771, 724, 725, 457, 365, 457,  838, 500,
                             500,  675, 716, 593, 716, 678,  435, 716,  712, 343, 343, 665, 343, 1042, 712, 687,
                             716,  716, 493, 595, 478, 712,  652, 924,  645, 652, 582, 712, 365, 712,  838};
constexpr double kHair = 1.03;
constexpr int kOther = 1000;  // characters of other scripts are at most square

/// The characters of the text, each as its bytes.
std::vector<std::string> characters(const std::string& text) {
  std::vector<std::string> out;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80                   ? 1
                          : lead >= 0xC2 && lead < 0xE0 ? 2
                          : lead >= 0xE0 && lead < 0xF0 ? 3
                          : lead >= 0xF0 && lead < 0xF5 ? 4
                                                        : 0;
    bool whole = length > 0 && i + length <= text.size() && lead >= 0x20 && lead != 0x7F;
    for (size_t k = 1; whole && k < length; ++k) whole = (static_cast<unsigned char>(text[i + k]) & 0xC0) == 0x80;
    out.push_back(whole ? text.substr(i, length) : "?");
    i += whole ? length : 1;
  }
  return out;
}

double width_of(const std::string& character, double size, bool bold) {
  const bool plain = character.size() == 1;
  const int width = plain ? kWidths[size_t(character[0]) - 32] : character == "×" || character == "·" ? 584 : kOther;
  return width * size / 1000 * (bold ? 1.08 : 1);
}

double room_of(const std::string& character, double size, bool bold) {
  if (character.size() > 1) return kOther * size / 1000 * kHair;
  return (bold ? kWideBold : kWide)[size_t(character[0]) - 32] * size / 1000 * kHair;
}

}  // namespace

double text_width(const std::string& text, double size, bool bold) {
  double sum = 0;
  for (const std::string& character : characters(text)) sum += width_of(character, size, bold);
  return sum;
}

double text_room(const std::string& text, double size, bool bold) {
  double sum = 0;
  for (const std::string& character : characters(text)) sum += room_of(character, size, bold);
  return sum;
}

std::string fitted(const std::string& text, double most, double size, bool bold) {
  const std::vector<std::string> all = characters(text);
  std::string whole, front, back;
  double width = 0;
  for (const std::string& character : all) {
    whole += character;
    width += room_of(character, size, bold);
  }
  if (width <= most) return whole;
  double used = room_of("…", size, bold);
  for (size_t i = 0, j = all.size(); i < j;) {
    const std::string& next = i + j <= all.size() ? all[i] : all[j - 1];
    used += room_of(next, size, bold);
    if (used > most) break;
    if (i + j <= all.size())
      front += all[i++];
    else
      back = all[--j] + back;
  }
  return front + "…" + back;
}

}  // namespace cortado::tools

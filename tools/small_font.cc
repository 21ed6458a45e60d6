// Letters of 3 x 5 dots, each dot drawn as 2 x 2 pixels. A glyph is five octal digits, a row each; 4 is the left dot.
#include "tools/small_font.h"

#include <cctype>
#include <cstring>

namespace cortado::tools {

namespace {

constexpr int kDot = 2, kRows = 5, kColumns = 3;
constexpr char kLetters[] = " 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.,+/():'?";
constexpr const char* kGlyphs[] = {
    "00000", "75557", "26227", "71747", "71717", "55711", "74717", "74757", "71111", "75757", "75717", "25755",
    "65656", "34443", "65556", "74647", "74644", "34553", "55755", "72227", "11152", "55655", "44447", "57755",
    "65555", "25552", "65644", "25573", "65655", "34216", "72222", "55557", "55552", "55775", "55255", "55222",
    "71247", "00700", "00007", "00002", "00024", "02720", "11244", "12221", "42224", "02020", "22000", "71202"};
static_assert(sizeof kLetters - 1 == sizeof kGlyphs / sizeof *kGlyphs);

const char* glyph_of(char letter) {
  const char* found = std::strchr(kLetters, std::toupper(static_cast<unsigned char>(letter)));
  return kGlyphs[found != nullptr && *found != '\0' ? found - kLetters : long(sizeof kLetters) - 2];
}

void draw_dot(data::Image& image, int x, int y) {
  for (int dy = 0; dy < kDot; ++dy)
    for (int dx = 0; dx < kDot; ++dx) {
      if (x + dx >= image.width || y + dy >= image.height) continue;
      const size_t at = (size_t(y + dy) * size_t(image.width) + size_t(x + dx)) * size_t(image.channels);
      for (size_t c = 0; c < size_t(image.channels); ++c) image.pixels[at + c] = 255;
    }
}

}  // namespace

void draw_text(data::Image& image, int x, int y, const std::string& text) {
  for (const char letter : text) {
    const char* glyph = glyph_of(letter);
    for (int row = 0; row < kRows; ++row)
      for (int column = 0; column < kColumns; ++column)
        if ((glyph[row] - '0') >> (kColumns - 1 - column) & 1) draw_dot(image, x + column * kDot, y + row * kDot);
    x += kTextAdvance;
  }
}

}  // namespace cortado::tools

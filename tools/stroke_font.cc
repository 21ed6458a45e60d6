// A glyph is a few strokes, separated by blanks. A point is two letters of base 36, x and y, on a grid where letters
// stand on y = 4 and end at 12 or, capitals, at 16. A point after ~ is not on the stroke but pulls it to its side, as
// in TrueType: with the points before and behind it makes a quadratic Bezier, and half way between two such there is a
// point.
#include "tools/stroke_font.h"

#include <algorithm>
#include <iterator>

namespace cortado::tools {

namespace {

constexpr double kUnit = 0.06;  // of the font size: capitals are 0.72 high
constexpr double kBaseline = 4, kBearing = 1.5, kBlank = 5;
constexpr int kCurveSteps = 6;

// clang-format off
constexpr const char* kGlyphs[] = {
    /* ! */ "0g08 0405", "0g0c 3g3c", "244g 648g 0898 0c9c", "9d~8g5g~0g0d~0a5a~9a97~9454~1407 5i52",
    "04cg 3g~0g~0b~6b~6g3g 99~69~64~c4~c999", "a42d~2g5g~7g7e~7c28~0907~0444~8498", "0g0c", "3h~0e0a~0633",
    /* ) */ "0h~3e3a~3603", "3g3a 0e6c 6e0c", "4c44 0888", "1502", "0858", "0405", "036h",
    /* 0 */ "4g~0g~04~84~8g4g", "1d5g54 2484", "0d~0g4g~8g8d~8b0484", "0e~1g4g~8g8d~8a4a3a 4a~8a87~8444~1406",
    "646g0787", "7g1g0a~2c4c~8c~8444~1406", "7g~0g08~0444~8488~8c4c~0c08", "0g8g34",
    "4a~0a0d~0g4g~8g8d~8a4a~8a87~8444~0407~0a4a", "14~848c~8g4g~0g0c~0848~888c",
    /* : */ "0405 0b0c", "1502 1b1c", "8c0884", "0a8a 0686", "0c8804", "0d~0g3g~7g7d~7a3937 3435",
    "b3~9262~02~0g6g~cgca~c6a6~8689 89~8c6c~3c~3656~8689",
    /* A */ "046gc4 2888", "040g4g~8g~8a4a0a 4a~9a~944404", "bd~9g6g~0g~0464~94b7", "040g5g~bg~b45404",
    "8g0g0484 0a7a", "8g0g04 0a7a", "bd~9g6g~0g~0464~a4c7ca7a", "040g a4ag 0aaa", "040g", "6g68~6434~0408",
    "040g 9g08 3b94", "0g0474", "040g67cgc4", "040ga4ag", "6g~0g~04~c4~cg6g", "040g5g~9g~995909",
    "6g~0g~04~c4~cg6g 87c3", "040g5g~9g~9a5a0a 5a94", "9d~8g5g~0g0d~0a5a~9a97~9454~1407", "0gag 5g54",
    "0g08~0454~a4a8ag", "0g64cg", "0g448ec4gg", "04ag 0ga4", "0g5aag 5a54", "0g9g0494",
    /* [ */ "3h0h0333", "0h63", "0h3h3303", "0c3g6c", "0282", "0g2d",
    /* a */ "1b~2c4c~7c7974 7949~09~0434~6477", "0g04 08~0c4c~8c~8444~0408", "7b~6c4c~0c~0444~6475",
    "8g84 88~8c4c~0c~0444~8488", "0888~8c4c~0c~0444~7486", "5g4g~2g2d24 0c5c", "88~8c4c~0c~0444~8488 8c83~8040~2011",
    "0g04 08~0c4c~7c7974", "0c04 0f0g", "2c22~2000 2f2g", "0g04 7c07 3974", "0g06~0424",
    "0c04 08~0c3c~6c6964 69~6c9c~ccc9c4", "0c04 08~0c4c~7c7974", "4c~0c~04~84~8c4c", "0c00 08~0c4c~8c~8444~0408",
    "8c80 88~8c4c~0c~0444~8488", "0c04 08~0c4c5c", "7a~6c4c~0c0a~0848~7876~7434~1406", "2f26~244454 0c5c",
    "0c07~0434~7478 7c74", "0c448c", "0c346b94cc", "047c 0c74", "0c44 8c32~2000", "0c7c0474",
    /* { */ "4h~2h2e~2a0a~2a26~2343", "0h02", "0h~2h2e~2a4a~2a26~2303", "07~1b48~7589"};
// clang-format on
static_assert(std::size(kGlyphs) == '~' - ' ');
constexpr const char *kStrokeFontTimes = "057c 0c75", *kMiddleDot = "0a0b", *kDots = "0405 4445 8485",
                     *kUnknown = "040g8g8404";

double coordinate(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

/// The point half way where the curve turns from one pull to another.
Point middle(const Point& a, const Point& b) { return {(a.x + b.x) / 2, (a.y + b.y) / 2}; }

void add_curve(Polyline& line, const Point& pull, const Point& end) {
  const Point begin = line.back();
  for (int i = 1; i <= kCurveSteps; ++i) {
    const double t = double(i) / kCurveSteps, a = (1 - t) * (1 - t), b = 2 * t * (1 - t), c = t * t;
    line.push_back({a * begin.x + b * pull.x + c * end.x, a * begin.y + b * pull.y + c * end.y});
  }
}

/// Reads one stroke, up to a blank or the end, in grid units.
Polyline read_stroke(const char*& at) {
  Polyline line;
  bool pulled = false;
  Point pull;
  for (; *at != '\0' && *at != ' '; at += 2) {
    const bool off = *at == '~';
    if (off) ++at;
    const Point point{coordinate(at[0]), coordinate(at[1])};
    if (off) {
      if (pulled) add_curve(line, pull, middle(pull, point));
      pull = point;
    } else if (pulled) {
      add_curve(line, pull, point);
    } else {
      line.push_back(point);
    }
    pulled = off;
  }
  return line;
}

Glyph read_glyph(const char* text, double size) {
  Glyph glyph;
  double widest = 0;
  for (const char* at = text; *at != '\0'; at += *at == ' ') glyph.strokes.push_back(read_stroke(at));
  for (Polyline& stroke : glyph.strokes)
    for (Point& point : stroke) {
      widest = std::max(widest, point.x);
      point = {(point.x + kBearing) * kUnit * size, (kBaseline - point.y) * kUnit * size};
    }
  glyph.advance = (widest + 2 * kBearing) * kUnit * size;
  return glyph;
}

/// The character that begins at `at`, which moves past it.
const char* next_glyph(const std::string& text, size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t length = std::min<size_t>(lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4, text.size() - at);
  const std::string character = text.substr(at, length);
  at += length;
  if (length == 1 && lead > ' ' && lead <= '~') return kGlyphs[lead - '!'];
  return character == "×" ? kStrokeFontTimes : character == "·" ? kMiddleDot : character == "…" ? kDots : kUnknown;
}

}  // namespace

std::vector<Glyph> glyphs_of(const std::string& text, double size) {
  std::vector<Glyph> glyphs;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == ' ') {
      glyphs.push_back({{}, kBlank * kUnit * size});
      ++at;
    } else {
      glyphs.push_back(read_glyph(next_glyph(text, at), size));
    }
  }
  return glyphs;
}

double glyphs_width(const std::string& text, double size) {
  double width = 0;
  for (const Glyph& glyph : glyphs_of(text, size)) width += glyph.advance;
  return width;
}

}  // namespace cortado::tools

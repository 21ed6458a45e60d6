#include "tools/canvas.h"

#include <algorithm>
#include <cmath>

namespace cortado::tools {

namespace {

double distance_to_segment(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
  const double t = length > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0.0, 1.0) : 0;
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

/// How far `p` is outside of a rectangle with round corners; inside it is negative.
double distance_to_box(Point p, Point corner, double width, double height, double radius) {
  const double x = std::abs(p.x - corner.x - width / 2) - width / 2 + radius;
  const double y = std::abs(p.y - corner.y - height / 2) - height / 2 + radius;
  return std::hypot(std::max(x, 0.0), std::max(y, 0.0)) + std::min(std::max(x, y), 0.0) - radius;
}

}  // namespace

/// Calls distance(p) for the pixels between two corners; where it is negative, p is inside.
template <typename Distance>
void Canvas::cover(Point least, Point most, const Color& color, const Distance& distance) {
  const auto from = [this](double at) { return int(std::clamp(std::floor(at * scale_) - 1, 0.0, 1e6)); };
  const auto to = [this](double at, int end) { return int(std::min(std::ceil(at * scale_) + 1, double(end))); };
  for (int y = from(least.y); y < to(most.y, image_.height); ++y)
    for (int x = from(least.x); x < to(most.x, image_.width); ++x) {
      const double outside = distance(Point{(x + 0.5) / scale_, (y + 0.5) / scale_}) * scale_;
      const double share = std::clamp(0.5 - outside, 0.0, 1.0);
      if (share == 0) continue;
      uint8_t* pixel = image_.pixels.data() + (size_t(y) * size_t(image_.width) + size_t(x)) * 3;
      for (size_t c = 0; c < 3; ++c) pixel[c] = uint8_t(std::lround(pixel[c] + share * (color[2 - c] - pixel[c])));
    }
}

void Canvas::fill(const Color& color) {
  for (size_t i = 0; i < image_.pixels.size(); ++i) image_.pixels[i] = color[2 - i % 3];
}

void Canvas::box(Point corner, double width, double height, double radius, const Color& fill, double line,
                 const Color& edge) {
  const Point end{corner.x + width, corner.y + height};
  const auto distance = [&](Point p) { return distance_to_box(p, corner, width, height, radius); };
  cover(corner, end, fill, distance);
  const Point least{corner.x - line, corner.y - line}, most{end.x + line, end.y + line};
  cover(least, most, edge, [&](Point p) { return std::abs(distance(p)) - line / 2; });
}

void Canvas::strokes(const std::vector<Polyline>& lines, double width, const Color& color) {
  Point least{1e9, 1e9}, most{-1e9, -1e9};
  for (const Polyline& line : lines)
    for (const Point& p : line) {
      least = {std::min(least.x, p.x - width), std::min(least.y, p.y - width)};
      most = {std::max(most.x, p.x + width), std::max(most.y, p.y + width)};
    }
  cover(least, most, color, [&](Point p) {
    double nearest = 1e9;
    for (const Polyline& line : lines)
      for (size_t i = 0; i < line.size(); ++i)
        nearest = std::min(nearest, distance_to_segment(p, line[i > 0 ? i - 1 : 0], line[i]));
    return nearest - width / 2;
  });
}

void Canvas::stroke(const Polyline& line, double width, const Color& color) {
  for (size_t i = 1; i < line.size(); ++i) strokes({{line[i - 1], line[i]}}, width, color);
}

void Canvas::triangle(Point a, Point b, Point c, const Color& color) {
  if ((b.x - a.x) * (c.y - a.y) < (b.y - a.y) * (c.x - a.x)) std::swap(b, c);
  const Point corners[] = {a, b, c};
  const auto distance = [&](Point p) {
    double most = -1e9;
    for (size_t i = 0; i < 3; ++i) {
      const Point from = corners[i], to = corners[(i + 1) % 3];
      const double dx = to.x - from.x, dy = to.y - from.y;
      most = std::max(most, ((p.x - from.x) * dy - (p.y - from.y) * dx) / std::max(std::hypot(dx, dy), 1e-9));
    }
    return most;
  };
  cover({std::min({a.x, b.x, c.x}), std::min({a.y, b.y, c.y})}, {std::max({a.x, b.x, c.x}), std::max({a.y, b.y, c.y})},
        color, distance);
}

void Canvas::text(Point left, const std::string& text, double size, double weight, double width, const Color& color) {
  const double natural = glyphs_width(text, size), stretch = width > 0 && natural > 0 ? width / natural : 1;
  for (Glyph& glyph : glyphs_of(text, size)) {
    for (Polyline& stroke : glyph.strokes)
      for (Point& p : stroke) p = {left.x + p.x * stretch, left.y + p.y};
    strokes(glyph.strokes, weight, color);
    left.x += glyph.advance * stretch;
  }
}

}  // namespace cortado::tools

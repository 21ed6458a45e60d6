#pragma once

// The C interface of libcortado_canvas.so. Pango and cairo load about 30 libraries, which cost start-up time and
// memory. Therefore only this module links them, and it is loaded when something is drawn. No C++ types cross the
// interface. Lengths are in units of the canvas's scale.

#include <stddef.h>
#include <stdint.h>

extern "C" {

/// An image of three channels (blue, green, red) to draw on.
typedef struct CortadoCanvas CortadoCanvas;

typedef struct {
  uint8_t red, green, blue;
} CortadoColor;

/// A sans serif font.
typedef struct {
  double size;  ///< approximately the distance of lines
  int bold;
} CortadoFont;

typedef struct {
  /// Creates a canvas with a copy of `pixels`, or a black one for null. Returns null without memory, or if a side is
  /// too long for cairo.
  CortadoCanvas* (*make)(const uint8_t* pixels, int width, int height, double scale);
  void (*copy)(const CortadoCanvas* canvas, uint8_t* pixels);  ///< copies the image
  void (*drop)(CortadoCanvas* canvas);

  /// A rectangle with rounded corners.
  void (*fill_box)(CortadoCanvas* canvas, double x, double y, double width, double height, double radius,
                   CortadoColor color);
  /// Its outline, centred on the edge.
  void (*draw_box)(CortadoCanvas* canvas, double x, double y, double width, double height, double radius, double line,
                   CortadoColor color);
  /// Cubic Bezier curves, eight numbers each: four points.
  void (*draw_curves)(CortadoCanvas* canvas, const double* points, size_t curves, double line, CortadoColor color);
  void (*fill_triangle)(CortadoCanvas* canvas, const double* points, CortadoColor color);  ///< six numbers
  /// Text from its left end, on the baseline, compressed if it is wider than `most`. UTF-8; invalid bytes are shown as
  /// such.
  void (*draw_text)(CortadoCanvas* canvas, double x, double y, const char* text, CortadoFont font, double most,
                    CortadoColor color);

  double (*text_width)(const char* text, CortadoFont font);
  /// Breaks the text into lines of `width`, also within words that are wider. Calls take() with the bytes of each line.
  void (*break_text)(const char* text, CortadoFont font, double width, void (*take)(void*, const char*, size_t),
                     void* user);
} CortadoCanvasFunctions;

/// Null if text cannot be drawn on this machine, with the reason in `why`.
const CortadoCanvasFunctions* cortado_canvas(const char** why);
}

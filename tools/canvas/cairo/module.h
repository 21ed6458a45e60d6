#pragma once

// The C interface of libcortado_canvas.so. Pango and cairo bring some 30 libraries, which cost start-up time and
// memory, so the program does not link them; this module does, and is loaded only when something is drawn. Nothing C++
// crosses the border. Lengths are in units of the canvas's scale.

#include <stddef.h>
#include <stdint.h>

extern "C" {

/// An image of three channels (blue, green, red) that is drawn on.
typedef struct CortadoCanvas CortadoCanvas;

typedef struct {
  uint8_t red, green, blue;
} CortadoColor;

/// A font of no serifs.
typedef struct {
  double size;  ///< about from a line to the next
  int bold;
} CortadoFont;

typedef struct {
  /// Null where there is no memory for it, or a side is too long for cairo. Of `pixels`, which stay as they are; null:
  /// a black one.
  CortadoCanvas* (*make)(const uint8_t* pixels, int width, int height, double scale);
  void (*copy)(const CortadoCanvas* canvas, uint8_t* pixels);  ///< what was drawn
  void (*drop)(CortadoCanvas* canvas);

  /// A rectangle with round corners.
  void (*fill_box)(CortadoCanvas* canvas, double x, double y, double width, double height, double radius,
                   CortadoColor color);
  /// Its outline, whose middle lies on the edge.
  void (*draw_box)(CortadoCanvas* canvas, double x, double y, double width, double height, double radius, double line,
                   CortadoColor color);
  /// Cubic Beziers, eight numbers each: four points.
  void (*draw_curves)(CortadoCanvas* canvas, const double* points, size_t curves, double line, CortadoColor color);
  void (*fill_triangle)(CortadoCanvas* canvas, const double* points, CortadoColor color);  ///< six numbers
  /// From its left end on its baseline; squeezed where it is wider than `most`. UTF-8, of which what is none is shown
  /// as such.
  void (*draw_text)(CortadoCanvas* canvas, double x, double y, const char* text, CortadoFont font, double most,
                    CortadoColor color);

  double (*text_width)(const char* text, CortadoFont font);
  /// Breaks the text into lines of `width`, within words that are wider: gives take() the bytes of each line.
  void (*break_text)(const char* text, CortadoFont font, double width, void (*take)(void*, const char*, size_t),
                     void* user);
} CortadoCanvasFunctions;

/// Null, and `why` says it: text cannot be drawn here.
const CortadoCanvasFunctions* cortado_canvas(const char** why);
}

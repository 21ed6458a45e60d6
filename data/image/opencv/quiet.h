#pragma once

// What the modules with OpenCV have in common.

#include <cstdio>
#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>

#include "data/image/opencv/module.h"

/// Writes the message of a failure; returns 1.
inline int refuse(char* message, const char* reason) {
  std::snprintf(message, kCortadoMessageBytes, "%s", reason);
  return 1;
}

/// Uses one thread, because there are many callers already, and disables output to stderr, because errors are returned.
inline void make_quiet() {
  static const bool once = [] {
    cv::setNumThreads(1);
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    cv::redirectError([](int, const char*, const char*, const char*, int, void*) { return 0; });
    return true;
  }();
  (void)once;
}

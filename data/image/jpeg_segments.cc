#include "data/image/jpeg_segments.h"

namespace cortado::data {

bool JpegSegments::next() {
  if (at_ == 0) {
    if (word_at(file_, 0) != (0xFF00 | kStartOfImage)) return false;
    at_ = 2;
  }
  if (code_ == kStartOfScan) return false;
  while (byte_at(file_, at_) == 0xFF && byte_at(file_, at_ + 1) == 0xFF) ++at_;  // fill bytes
  if (at_ + 4 > file_.size() || byte_at(file_, at_) != 0xFF) return false;
  code_ = byte_at(file_, at_ + 1);
  const size_t length = size_t(word_at(file_, at_ + 2));
  if (code_ == kStartOfImage || code_ == kEndOfImage || length < 2 || at_ + 2 + length > file_.size()) return false;
  content_ = file_.substr(at_ + 4, length - 2);
  at_ += 2 + length;
  return true;
}

}  // namespace cortado::data

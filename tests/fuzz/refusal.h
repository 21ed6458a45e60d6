#pragma once

#include "http/request_error.h"

namespace cortado::fuzz {

/// Runs `read`, which may throw RequestError. Any other exception ends the fuzzer.
template <typename Read>
void expect_refusal(const Read& read) {
  try {
    read();
  } catch (const http::RequestError&) {
  }
}

}  // namespace cortado::fuzz

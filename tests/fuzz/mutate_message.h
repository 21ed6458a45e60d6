#pragma once

// Mutations that keep a message valid: few of libFuzzer's own mutations pass the parser.

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>

namespace cortado::fuzz {

/// Changes the text of a message of `prototype`'s type in place: sets, removes, repeats or exchanges a field. If the
/// text does not parse, and sometimes otherwise, changes bytes as libFuzzer does. Returns the new size, at most `most`.
size_t mutate_text(const google::protobuf::Message& prototype, uint8_t* data, size_t size, size_t most, unsigned seed);
/// The same for a serialized message.
size_t mutate_binary(const google::protobuf::Message& prototype, uint8_t* data, size_t size, size_t most,
                     unsigned seed);

}  // namespace cortado::fuzz

// What the example uses of stb: reading pictures, and one function to resize them.
#pragma once

#define STBI_NO_STDIO
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_PNM
#include <stb/stb_image.h>

#include <cstdint>

namespace partizap {

// In linear light, so that fine patterns do not become darker. `stride` is the length of a row of
// the source in bytes. False: not enough memory.
bool resize_rgba(const std::uint8_t* from, int from_width, int from_height, int stride,
                 std::uint8_t* to, int to_width, int to_height);

}  // namespace partizap

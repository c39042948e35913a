// Compiles stb, which is headers only. Debian 12 has its first resizer, Debian 13 the second.
#define STB_IMAGE_IMPLEMENTATION
#include "stb.h"

#define STB_IMAGE_RESIZE_IMPLEMENTATION
#if __has_include(<stb/stb_image_resize2.h>)
#include <stb/stb_image_resize2.h>
#else
#include <stb/stb_image_resize.h>
#endif

namespace partizap {

bool resize_rgba(const std::uint8_t* from, int from_width, int from_height, int stride,
                 std::uint8_t* to, int to_width, int to_height) {
#if __has_include(<stb/stb_image_resize2.h>)
  return stbir_resize_uint8_srgb(from, from_width, from_height, stride, to, to_width, to_height, 0,
                                 STBIR_RGBA) != nullptr;
#else
  return stbir_resize_uint8_srgb(from, from_width, from_height, stride, to, to_width, to_height, 0,
                                 4, 3, 0) != 0;
#endif
}

}  // namespace partizap

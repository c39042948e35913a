// Pictures: from what people upload to what pages show.
#pragma once

#include <millrace/result.h>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace partizap {

using Bytes = std::vector<std::uint8_t>;

// One of the sizes in which every picture is kept; docs/adr/0012 says why these.
struct Variant {
  std::string_view name;
  int width;
  int height;
  float quality;  // of WebP, 0 to 100
};
inline constexpr std::array variants{
    Variant{.name = "thumbnail", .width = 200, .height = 200, .quality = 80},
    Variant{.name = "medium", .width = 600, .height = 600, .quality = 85},
    Variant{.name = "large", .width = 1200, .height = 1200, .quality = 90},
};

// Four bytes a pixel: red, green, blue, alpha; rows from the top.
struct Image {
  int width = 0;
  int height = 0;
  Bytes pixels = {};
};

// JPEG, PNG and PPM of up to 50 megapixels; anything else is `invalid` or `too_large`.
millrace::Result<Image> decode_image(std::span<const std::uint8_t> file);

// Exactly this large: scaled until it covers the frame, what sticks out is cut off on both sides.
millrace::Result<Image> resize_to_cover(const Image& image, int width, int height);

millrace::Result<Bytes> encode_webp(const Image& image, float quality);

// All three steps but the first.
millrace::Result<Bytes> make_variant(const Image& original, const Variant& variant);

}  // namespace partizap

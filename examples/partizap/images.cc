#include "images.h"

#include <fmt/format.h>
#include <webp/encode.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "stb.h"

namespace partizap {
namespace {

using millrace::ErrorCode;
using millrace::fail;
using millrace::Result;

constexpr int channels = 4;
// A small file can say that it is a very large picture: 200 MB is as much as one may need.
constexpr std::int64_t most_pixels = 50'000'000;

std::size_t bytes_of(int width, int height) {
  return static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * channels;
}

// What the frame shows of a picture: the largest part of its shape, from the middle.
struct Part {
  int left;
  int top;
  int width;
  int height;
};

Part part_to_show(const Image& image, int width, int height) {
  const std::int64_t by_height = std::int64_t{image.height} * width / height;
  const std::int64_t by_width = std::int64_t{image.width} * height / width;
  Part part{.left = 0, .top = 0, .width = image.width, .height = image.height};
  if (by_height < image.width) part.width = std::max(1, static_cast<int>(by_height));
  if (by_width < image.height) part.height = std::max(1, static_cast<int>(by_width));
  part.left = (image.width - part.width) / 2;
  part.top = (image.height - part.height) / 2;
  return part;
}

}  // namespace

Result<Image> decode_image(std::span<const std::uint8_t> file) {
  if (file.size() > std::numeric_limits<int>::max()) {
    return fail(ErrorCode::too_large, "the picture's file has more than 2 GiB");
  }
  const int size = static_cast<int>(file.size());
  int width = 0;
  int height = 0;
  int found = 0;
  if (stbi_info_from_memory(file.data(), size, &width, &height, &found) == 0) {
    return fail(ErrorCode::invalid, "this is no JPEG, PNG or PPM picture");
  }
  if (std::int64_t{width} * height > most_pixels) {
    return fail(ErrorCode::too_large, fmt::format("the picture has {} × {} pixels; {} megapixels "
                                                  "are allowed",
                                                  width, height, most_pixels / 1'000'000));
  }
  const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> pixels(
      stbi_load_from_memory(file.data(), size, &width, &height, &found, channels), stbi_image_free);
  if (!pixels) {
    return fail(ErrorCode::invalid,
                fmt::format("the picture cannot be read: {}", stbi_failure_reason()));
  }
  return Image{.width = width,
               .height = height,
               .pixels = Bytes(pixels.get(), pixels.get() + bytes_of(width, height))};
}

Result<Image> resize_to_cover(const Image& image, int width, int height) {
  const Part part = part_to_show(image, width, height);
  const std::uint8_t* first = image.pixels.data() + bytes_of(image.width, part.top) +
                              static_cast<std::ptrdiff_t>(part.left) * channels;
  Image resized{.width = width, .height = height, .pixels = Bytes(bytes_of(width, height))};
  if (!resize_rgba(first, part.width, part.height, image.width * channels, resized.pixels.data(),
                   width, height)) {
    return fail(ErrorCode::internal, "there is not enough memory to resize the picture");
  }
  return resized;
}

Result<Bytes> encode_webp(const Image& image, float quality) {
  std::uint8_t* written = nullptr;
  const std::size_t size = WebPEncodeRGBA(image.pixels.data(), image.width, image.height,
                                          image.width * channels, quality, &written);
  const std::unique_ptr<std::uint8_t, decltype(&WebPFree)> owner(written, WebPFree);
  if (size == 0) return fail(ErrorCode::internal, "the picture cannot be written as WebP");
  return Bytes(written, written + size);
}

Result<Bytes> make_variant(const Image& original, const Variant& variant) {
  auto resized = resize_to_cover(original, variant.width, variant.height);
  if (!resized) return std::unexpected(std::move(resized.error()));
  return encode_webp(*resized, variant.quality);
}

}  // namespace partizap

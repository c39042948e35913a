// Pictures made by tests.
#pragma once

#include <fmt/format.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "images.h"

namespace partizap {

using Colour = std::array<std::uint8_t, 4>;
inline constexpr Colour red{255, 0, 0, 255};
inline constexpr Colour green{0, 255, 0, 255};
inline constexpr Colour blue{0, 0, 255, 255};

inline Colour pixel(const Image& image, int x, int y) {
  Colour colour{};
  const auto at = (static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) +
                   static_cast<std::size_t>(x)) *
                  4;
  for (std::size_t i = 0; i < 4; ++i) colour[i] = image.pixels.at(at + i);
  return colour;
}

// Upright stripes of equal width, from the left.
inline Image stripes(int width, int height, const std::vector<Colour>& colours) {
  Image image{.width = width, .height = height};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const Colour& colour = colours.at(static_cast<std::size_t>(x) * colours.size() /
                                        static_cast<std::size_t>(width));
      image.pixels.insert(image.pixels.end(), colour.begin(), colour.end());
    }
  }
  return image;
}

// Rows become columns.
inline Image turned(const Image& image) {
  Image result{.width = image.height, .height = image.width};
  for (int y = 0; y < result.height; ++y) {
    for (int x = 0; x < result.width; ++x) {
      const Colour colour = pixel(image, y, x);
      result.pixels.insert(result.pixels.end(), colour.begin(), colour.end());
    }
  }
  return result;
}

inline Image noise(int width, int height) {
  Image image = stripes(width, height, {red});
  std::minstd_rand random(7);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    if (i % 4 != 3) image.pixels[i] = static_cast<std::uint8_t>(random() >> 8);
  }
  return image;
}

// As a file: a header, then three bytes a pixel.
inline Bytes ppm_of(const Image& image) {
  const std::string header = fmt::format("P6\n{} {}\n255\n", image.width, image.height);
  Bytes file(header.begin(), header.end());
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    if (i % 4 != 3) file.push_back(image.pixels[i]);
  }
  return file;
}

}  // namespace partizap

// Pictures and where they lie, without a queue.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <webp/decode.h>
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_WRITE_NO_STDIO
#include <stb/stb_image_write.h>

#include <filesystem>
#include <string>
#include <vector>

#include "images.h"
#include "storage.h"
#include "test_pictures.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace partizap {
namespace {

using millrace::ErrorCode;
using millrace::test::FailsWith;
using millrace::test::IsOk;
using millrace::test::TemporaryDirectory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;

void append(void* to, void* data, int size) {
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  static_cast<Bytes*>(to)->insert(static_cast<Bytes*>(to)->end(), bytes, bytes + size);
}

Bytes png_of(const Image& image) {
  Bytes file;
  stbi_write_png_to_func(append, &file, image.width, image.height, 4, image.pixels.data(), 0);
  return file;
}

Bytes jpeg_of(const Image& image) {
  Bytes file;
  stbi_write_jpg_to_func(append, &file, image.width, image.height, 4, image.pixels.data(), 95);
  return file;
}

Image from_webp(const Bytes& file) {
  Image image;
  std::uint8_t* pixels = WebPDecodeRGBA(file.data(), file.size(), &image.width, &image.height);
  if (pixels == nullptr) return {};
  image.pixels.assign(pixels, pixels + std::ptrdiff_t{image.width} * image.height * 4);
  WebPFree(pixels);
  return image;
}

// How far the colours of a pixel are from each other, at most.
int difference(const Image& image, int x, int y, Colour colour) {
  const Colour found = pixel(image, x, y);
  int most = 0;
  for (std::size_t i = 0; i < 4; ++i) most = std::max(most, std::abs(found[i] - colour[i]));
  return most;
}

// ---- Reading -----------------------------------------------------------------------------------

TEST(Pictures, three_kinds_of_files_are_read) {
  const Image image = stripes(90, 30, {red, green, blue});
  for (const Bytes& file : {ppm_of(image), png_of(image), jpeg_of(image)}) {
    const auto read = decode_image(file);
    ASSERT_THAT(read, IsOk());
    EXPECT_EQ(read->width, 90);
    EXPECT_EQ(read->height, 30);
    EXPECT_THAT(difference(*read, 10, 15, red), Le(8));
    EXPECT_THAT(difference(*read, 45, 15, green), Le(8));
    EXPECT_THAT(difference(*read, 80, 15, blue), Le(8));
  }
}

TEST(Pictures, what_is_none_is_refused) {
  const std::string text = "GIF89a is not among the kinds";
  EXPECT_THAT(decode_image(Bytes{}), FailsWith(ErrorCode::invalid));
  EXPECT_THAT(decode_image(Bytes(text.begin(), text.end())), FailsWith(ErrorCode::invalid));
  Bytes half = png_of(stripes(90, 30, {red, green}));
  half.resize(half.size() / 2);
  const auto read = decode_image(half);
  ASSERT_THAT(read, FailsWith(ErrorCode::invalid));
  EXPECT_THAT(read.error().message, HasSubstr("cannot be read"));
}

TEST(Pictures, one_that_would_need_too_much_memory_is_not_read) {
  const std::string header = "P6\n10000 10000\n255\n";
  const auto read = decode_image(Bytes(header.begin(), header.end()));
  ASSERT_THAT(read, FailsWith(ErrorCode::too_large));
  EXPECT_EQ(read.error().message,
            "the picture has 10000 × 10000 pixels; 50 megapixels are allowed");
}

// ---- Resizing ----------------------------------------------------------------------------------

// S3-045
TEST(Pictures, wide_ones_lose_both_sides) {
  const Image wide = stripes(300, 100, {red, green, blue});
  const auto square = resize_to_cover(wide, 50, 50);
  ASSERT_THAT(square, IsOk());
  EXPECT_EQ(square->width, 50);
  EXPECT_EQ(square->height, 50);
  for (const int x : {2, 25, 47}) EXPECT_THAT(difference(*square, x, 25, green), Le(2)) << x;
}

// S3-045
TEST(Pictures, tall_ones_lose_top_and_bottom) {
  const Image tall = turned(stripes(300, 100, {red, green, blue}));
  ASSERT_EQ(tall.height, 300);
  const auto square = resize_to_cover(tall, 50, 50);
  ASSERT_THAT(square, IsOk());
  for (const int y : {2, 25, 47}) EXPECT_THAT(difference(*square, 25, y, green), Le(2)) << y;
}

TEST(Pictures, small_ones_grow) {
  for (const auto& [width, height] : {std::pair{1, 1}, std::pair{3, 1}, std::pair{1, 5000}}) {
    const auto grown = resize_to_cover(stripes(width, height, {green}), 200, 200);
    ASSERT_THAT(grown, IsOk());
    EXPECT_EQ(grown->pixels.size(), 200U * 200 * 4);
    EXPECT_THAT(difference(*grown, 199, 199, green), Le(1));
  }
}

TEST(Pictures, the_whole_shape_is_kept_where_it_fits) {
  const auto half = resize_to_cover(stripes(200, 100, {red, blue}), 100, 50);
  ASSERT_THAT(half, IsOk());
  EXPECT_THAT(difference(*half, 2, 25, red), Le(2));
  EXPECT_THAT(difference(*half, 97, 25, blue), Le(2));
}

// ---- Writing -----------------------------------------------------------------------------------

// S3-045
TEST(Pictures, each_variant_has_its_size) {
  const Image original = stripes(1600, 900, {red, green, blue});
  std::vector<std::string> made;
  for (const Variant& variant : variants) {
    const auto file = make_variant(original, variant);
    ASSERT_THAT(file, IsOk());
    const Image read = from_webp(*file);
    made.push_back(fmt::format("{} {}x{}", variant.name, read.width, read.height));
    EXPECT_THAT(difference(read, read.width / 2, read.height / 2, green), Le(12));
  }
  EXPECT_THAT(made, ElementsAre("thumbnail 200x200", "medium 600x600", "large 1200x1200"));
}

TEST(Pictures, quality_costs_bytes) {
  const Image image = noise(300, 300);
  EXPECT_LT(encode_webp(image, 10)->size() * 2, encode_webp(image, 90)->size());
}

TEST(Pictures, what_is_transparent_stays_so) {
  const Colour glass{255, 0, 0, 100};
  const auto file = make_variant(stripes(40, 40, {glass}), variants[0]);
  ASSERT_THAT(file, IsOk());
  EXPECT_THAT(difference(from_webp(*file), 100, 100, glass), Le(8));
}

// ---- Storage -----------------------------------------------------------------------------------

TEST(Storage, keeps_what_is_uploaded_until_it_is_removed) {
  const TemporaryDirectory directory;
  const Storage storage(directory.path());
  EXPECT_THAT(storage.download("a/b.webp"), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(storage.keys("a"), IsEmpty());
  ASSERT_THAT(storage.upload("a/b.webp", Bytes{1, 2}), IsOk());
  ASSERT_THAT(storage.upload("a/b.webp", Bytes{3, 0, 255}), IsOk());
  EXPECT_THAT(*storage.download("a/b.webp"), ElementsAre(3, 0, 255));
  EXPECT_THAT(storage.keys("a"), ElementsAre("a/b.webp"));
  EXPECT_EQ(storage.remove("a/b.webp"), true);
  EXPECT_EQ(storage.remove("a/b.webp"), false);
}

TEST(Storage, keys_do_not_lead_out_of_it) {
  const TemporaryDirectory directory;
  const Storage storage(directory / "inside");
  for (const char* key : {"", "/tmp/x", "../x", "a/../../x", "a/..", "..", ".", "./a", "a/"}) {
    EXPECT_THAT(storage.upload(key, Bytes{1}), FailsWith(ErrorCode::invalid)) << key;
    EXPECT_THAT(storage.download(key), FailsWith(ErrorCode::invalid)) << key;
    EXPECT_THAT(storage.remove(key), FailsWith(ErrorCode::invalid)) << key;
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(Storage, what_cannot_be_written_leaves_nothing_behind) {
  const TemporaryDirectory directory;
  const Storage storage(directory.path());
  ASSERT_THAT(storage.upload("a/b", Bytes{1}), IsOk());
  EXPECT_THAT(storage.upload("a", Bytes{1}), FailsWith(ErrorCode::unavailable));
  EXPECT_THAT(storage.upload("a/b/c", Bytes{1}), FailsWith(ErrorCode::unavailable));
  EXPECT_THAT(storage.keys(""), ElementsAre("a/b"));
}

}  // namespace
}  // namespace partizap

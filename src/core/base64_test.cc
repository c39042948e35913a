#include "core/base64.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

// The test vectors of RFC 4648.
TEST(Base64, writes_and_reads_the_vectors_of_its_standard) {
  const std::pair<std::string, std::string> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text), bytes);
  }
}

TEST(Base64, gives_every_byte_back) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    EXPECT_EQ(base64_decode(base64_encode(bytes.substr(0, size))), bytes.substr(0, size));
  }
}

TEST(Base64, refuses_every_second_way_to_write_the_same_bytes) {
  for (const char* text : {"Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "=", "Zg==Zg==", "Zm 9v",
                           "Zm9v\n", "Zm-_", "Zm9\xff"}) {
    EXPECT_FALSE(base64_decode(text)) << text;
  }
}

TEST(Base64, says_where_the_text_is_wrong) {
  EXPECT_NE(base64_decode("Zm*v").error().message.find("position 3"), std::string::npos);
}

}  // namespace
}  // namespace millrace

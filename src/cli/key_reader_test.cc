#include "cli/key_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

KeyPress key(Key which) {
  return {.key = which};
}

KeyPress text(std::string character) {
  return {.text = std::move(character)};
}

TEST(KeyReader, reads_characters_and_named_keys) {
  KeyReader reader;
  EXPECT_THAT(reader.read("aé漢"), ElementsAre(text("a"), text("é"), text("漢")));
  EXPECT_THAT(reader.read("\t\r\n\x7f\b"),
              ElementsAre(key(Key::tab), key(Key::enter), key(Key::enter), key(Key::backspace),
                          key(Key::backspace)));
  EXPECT_THAT(reader.read("\x03\x1a\x0c"),
              ElementsAre(key(Key::interrupt), key(Key::suspend), key(Key::redraw)));
  EXPECT_FALSE(reader.waits());
}

TEST(KeyReader, reads_sequences_in_both_dialects) {
  KeyReader reader;
  EXPECT_THAT(reader.read("\x1b[A\x1b[B\x1bOA\x1bOB"),
              ElementsAre(key(Key::up), key(Key::down), key(Key::up), key(Key::down)));
  EXPECT_THAT(reader.read("\x1b[5~\x1b[6~\x1b[H\x1b[4~\x1b[Z"),
              ElementsAre(key(Key::page_up), key(Key::page_down), key(Key::home), key(Key::end),
                          key(Key::back_tab)));
}

TEST(KeyReader, an_escape_alone_is_a_key_once_nothing_follows) {
  KeyReader reader;
  EXPECT_THAT(reader.read("\x1b"), IsEmpty());
  EXPECT_TRUE(reader.waits());
  EXPECT_THAT(reader.give_up(), ElementsAre(key(Key::escape)));
  EXPECT_FALSE(reader.waits());
  EXPECT_THAT(reader.give_up(), IsEmpty());
  EXPECT_THAT(reader.read("\x1bq"), ElementsAre(key(Key::escape), text("q")));
}

TEST(KeyReader, keys_may_come_in_pieces) {
  KeyReader reader;
  EXPECT_THAT(reader.read("\x1b"), IsEmpty());
  EXPECT_THAT(reader.read("["), IsEmpty());
  EXPECT_THAT(reader.read("Bx"), ElementsAre(key(Key::down), text("x")));
  EXPECT_THAT(reader.read("\xc3"), IsEmpty());
  EXPECT_THAT(reader.read("\xa9"), ElementsAre(text("é")));
}

TEST(KeyReader, what_is_no_key_is_passed_over) {
  KeyReader reader;
  // F5, a mouse report, a control character, bytes that are no UTF-8.
  EXPECT_THAT(reader.read("\x1b[15~\x1b[<0;1;1Mq"), ElementsAre(text("q")));
  EXPECT_THAT(reader.read("\x01\xff\x80q"), ElementsAre(text("q")));
  EXPECT_THAT(reader.read("\x1b[" + std::string(100, ';')), IsEmpty());
  EXPECT_THAT(reader.read("q"), ElementsAre(text("q")));
  EXPECT_THAT(reader.read("\xe2\x28\xa1\x61q"), ElementsAre(text("("), text("a"), text("q")));
}

}  // namespace
}  // namespace millrace::cli

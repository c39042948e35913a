#include "store/embedded/codec.h"

#include <gtest/gtest.h>

#include "store/embedded/fields.h"

namespace millrace::embedded {
namespace {

using namespace std::chrono_literals;

NewTask rich_task() {
  return {.id = {Uuid{{1, 2, 3}}},
          .queue = "emails",
          .type = "send",
          .payload = std::string("binary\0bytes", 12),
          .content_type = "application/msgpack",
          .start_by = TimePoint(123456ms),
          .timeout = 30s,
          .max_lost = 7,
          .retry = RetryRules{.base = 5s, .max_retries = 0},
          .unique = UniqueKey{"key", UniqueScope::window, 1h},
          .callback = Callback{"https://example.com/hook", 5, 9},
          .keep_for = 2h,
          .client_id = "client",
          .request_id = "request",
          .group = "tenant-1",
          .metadata = R"({"a":1})",
          .tags = {"one", "two"},
          .parent = {Uuid{{9}}}};
}

template <class T>
void expect_same(const T& got, const NewTask& put) {
  EXPECT_EQ(got.type, put.type);
  EXPECT_EQ(got.payload, put.payload);
  EXPECT_EQ(got.content_type, put.content_type);
  EXPECT_EQ(got.start_by, put.start_by);
  EXPECT_EQ(got.timeout, put.timeout);
  EXPECT_EQ(got.max_lost, put.max_lost);
  EXPECT_EQ(got.retry, put.retry);
  EXPECT_EQ(got.unique, put.unique);
  EXPECT_EQ(got.callback, put.callback);
  EXPECT_EQ(got.keep_for, put.keep_for);
  EXPECT_EQ(got.client_id, put.client_id);
  EXPECT_EQ(got.request_id, put.request_id);
  EXPECT_EQ(got.group, put.group);
  EXPECT_EQ(got.metadata, put.metadata);
  EXPECT_EQ(got.tags, put.tags);
  EXPECT_EQ(got.parent, put.parent);
}

void expect_round_trip(const NewTask& put) {
  Blobs blobs;
  const Blob blob = encode_body(blobs, put, TimePoint(42ms));
  ASSERT_TRUE(body_is_sound(Blobs::view(blob)));
  Lease lease;
  decode_body(Blobs::view(blob), lease);
  expect_same(lease, put);
  EXPECT_EQ(lease.created_at, TimePoint(42ms));
  Task task;
  decode_body(Blobs::view(blob), task, true);
  expect_same(task, put);
  Task without;
  decode_body(Blobs::view(blob), without, false);
  EXPECT_EQ(without.payload, "");
  EXPECT_EQ(without.tags, put.tags);
}

TEST(Codec, every_field_of_a_put_comes_back) {
  expect_round_trip(rich_task());
  expect_round_trip({});
  expect_round_trip({.type = "only-a-type", .payload = "p"});
  expect_round_trip({.payload = std::string(100'000, 'z'), .tags = {"t"}});
}

TEST(Codec, notes_come_back_and_empty_ones_take_no_bytes) {
  Blobs blobs;
  EXPECT_FALSE(encode_notes(blobs, {}));
  EXPECT_EQ(decode_notes({}), Notes{});
  const Notes notes{.result = "done",
                    .error = TaskError{"code", "message", "details", "stack", TimePoint(1ms)},
                    .progress = 12.5,
                    .delivery = DeliveryNote{2, "503"},
                    .log = {{TimePoint(2ms), "line"}},
                    .history = {{TimePoint(1ms), TimePoint(2ms), Event::retry, "w", "c", "m"}}};
  const Blob blob = encode_notes(blobs, notes);
  EXPECT_TRUE(notes_are_sound(Blobs::view(blob)));
  EXPECT_EQ(decode_notes(Blobs::view(blob)), notes);
}

TEST(Codec, cut_bytes_are_not_sound) {
  Blobs blobs;
  const auto body = Blobs::view(encode_body(blobs, rich_task(), {}));
  for (std::size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(body_is_sound(body.substr(0, size))) << size;
  }
  EXPECT_FALSE(body_is_sound(std::string(body) + "x"));
  const auto notes = Blobs::view(encode_notes(blobs, {.result = "r", .log = {{{}, "line"}}}));
  for (std::size_t size = 1; size < notes.size(); ++size) {
    EXPECT_FALSE(notes_are_sound(notes.substr(0, size))) << size;
  }
}

TEST(Bytes, a_reader_that_runs_out_turns_bad_and_gives_nothing) {
  ByteReader in("ab");
  std::uint32_t number = 7;
  read(in, number);
  EXPECT_FALSE(in.good());
  EXPECT_EQ(number, 7U);
  EXPECT_EQ(in.left(), 0U);
}

TEST(Bytes, a_length_beyond_the_end_allocates_nothing) {
  std::string bytes;
  Appender out(bytes);
  write(out, std::uint32_t{0xFFFF'FFFF});
  ByteReader in(bytes);
  std::vector<std::string> list;
  read(in, list);
  EXPECT_FALSE(in.good());
  EXPECT_TRUE(list.empty());
}

TEST(Bytes, a_queue_reference_comes_back_whatever_it_is) {
  for (const QueueRef& ref : {QueueRef("name"), QueueRef(QueueNumber{-5}), QueueRef(Uuid{{7}})}) {
    std::string bytes;
    Appender out(bytes);
    write(out, ref);
    ByteReader in(bytes);
    QueueRef back;
    read(in, back);
    EXPECT_EQ(back, ref);
    EXPECT_TRUE(in.good());
  }
  ByteReader in("\x09");
  QueueRef back;
  read(in, back);
  EXPECT_FALSE(in.good());
}

}  // namespace
}  // namespace millrace::embedded

// Groups by name, and tasks of one group by their places, beside plain sets.
#include "store/embedded/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace millrace::embedded {
namespace {

using ::testing::ElementsAre;

class TasksOfAGroup : public ::testing::Test {
 protected:
  auto place_of() const {
    return [this](std::uint32_t slot) { return places.at(slot); };
  }
  void insert(std::uint32_t slot, const GroupPlace& place) {
    places[slot] = place;
    tasks.insert(place, slot, place_of());
    expected[place] = slot;
  }
  void erase(std::uint32_t slot) {
    const GroupPlace place = places.at(slot);
    tasks.erase(place, place_of());
    expected.erase(place);
    places.erase(slot);
  }
  void expect_same(const GroupPlace& from) const {
    const auto found = expected.lower_bound(from);
    const auto wanted =
        found == expected.end() ? std::nullopt : std::optional<std::uint32_t>(found->second);
    EXPECT_EQ(tasks.first_from(from, place_of()), wanted);
    EXPECT_EQ(tasks.empty(), expected.empty());
  }

  GroupTasks tasks;
  std::map<std::uint32_t, GroupPlace> places;  // by slot
  std::map<GroupPlace, std::uint32_t> expected;
};

TEST_F(TasksOfAGroup, are_in_the_order_of_their_places_however_many_there_are) {
  std::mt19937 random(7);
  std::uint32_t next = 0;
  for (int step = 0; step < 20'000; ++step) {
    // Grows beyond what few tasks are, and shrinks to nothing again.
    const bool grows = (step / 500) % 2 == 0;
    if (places.empty() || random() % 10 < (grows ? 7U : 3U)) {
      insert(++next, {.rank = static_cast<std::uint8_t>(random() % 3),
                      .at = TimePoint(Duration(random() % 50)),
                      .number = next});
    } else {
      erase(
          std::next(places.begin(), static_cast<std::ptrdiff_t>(random() % places.size()))->first);
    }
    expect_same({});
    expect_same({.rank = static_cast<std::uint8_t>(random() % 4)});
    expect_same({.rank = 1, .at = TimePoint(Duration(random() % 50)), .number = random() % 100});
  }
}

TEST(GroupsByName, are_of_one_queue_and_use_handles_again) {
  Groups groups;
  EXPECT_EQ(groups.find(1, "a"), no_group);
  const auto first = groups.make(1, "a");
  EXPECT_EQ(groups.make(1, "a"), first);
  const auto second = groups.make(2, "a");
  EXPECT_NE(first, second);
  EXPECT_EQ(groups.size(), 2U);
  const auto third = groups.make(1, "b");
  std::vector<std::string> names;
  for (const auto& [handle, same] : groups.of(1)) names.push_back(groups.at(handle).name);
  EXPECT_THAT(names, ElementsAre("a", "b"));
  groups.remove(first);
  EXPECT_EQ(groups.find(1, "a"), no_group);
  EXPECT_EQ(groups.find(2, "a"), second);
  EXPECT_EQ(groups.make(1, "c"), first);
  EXPECT_EQ(groups.find(1, "b"), third);
  EXPECT_TRUE(groups.of(3).empty());
}

TEST(GroupMarks, keep_group_and_whereabouts_apart) {
  GroupMarks marks;
  EXPECT_EQ(marks.group(5000), no_group);
  marks.set_where(5000, GroupMarks::Where::late);
  marks.set_group(5000, 77);
  EXPECT_EQ(marks.group(5000), 77U);
  EXPECT_EQ(marks.where(5000), GroupMarks::Where::late);
  marks.set_where(5000, GroupMarks::Where::nowhere);
  EXPECT_EQ(marks.group(5000), 77U);
  EXPECT_EQ(marks.group(4999), no_group);
}

}  // namespace
}  // namespace millrace::embedded

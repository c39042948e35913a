#include "broker/history_memo.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "core/limits.h"
#include "core/time_text.h"

namespace millrace {

std::string history_key(const HistoryStep& step, TimePoint at) {
  return std::string(step.prefix) + format_time(at);
}

TimePoint beginning_of(const HistoryStep& step, TimePoint moment) {
  const auto since = moment.time_since_epoch();
  auto into = since % step.length;
  if (into < Duration::zero()) into += step.length;
  return moment - into;
}

void HistoryRow::add(const HistoryRow& other) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  waited.add(other.waited);
  ran.add(other.ran);
}

std::uint64_t HistoryRow::weight() const {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

void HistoryMemo::add(const MinuteRow& row) {
  HistoryRow more{.waited = SparseHistogram(row.waited), .ran = SparseHistogram(row.ran)};
  std::ranges::copy(row.counts, more.counts.begin());
  queues_[row.queue].types[row.type].add(more);
}

void HistoryMemo::add(const HistoryMemo& other) {
  const bool newer = other.seen_ > seen_;
  if (newer) {
    for (auto& [name, queue] : queues_) queue.waiting = queue.running = 0;
    seen_ = other.seen_;
  }
  for (const auto& [name, theirs] : other.queues_) {
    HistoryQueue& ours = queues_[name];
    if (other.seen_ == seen_) {
      ours.waiting = std::max(ours.waiting, theirs.waiting);
      ours.running = std::max(ours.running, theirs.running);
    }
    for (const auto& [type, row] : theirs.types) ours.types[type].add(row);
  }
  std::erase_if(queues_, [](const auto& each) {
    return each.second.types.empty() && each.second.waiting == 0 && each.second.running == 0;
  });
}

void HistoryMemo::see(const std::vector<QueueCounts>& counts, TimePoint now) {
  HistoryMemo seen;
  seen.seen_ = now;
  for (const QueueCounts& each : counts) {
    const std::uint64_t waiting = each.waiting();
    const std::uint64_t running = each.taken();
    if (waiting == 0 && running == 0) continue;
    seen.queues_[each.queue] = {.waiting = waiting, .running = running};
  }
  add(seen);
}

// ---- Cutting ------------------------------------------------------------------------------------

namespace {

struct Weighed {
  std::uint64_t weight = 0;
  std::string_view queue = {};
  std::string_view type = {};
};

// Rows that are not among the `most` heaviest. Names decide between equals, so that the result is
// always the same.
std::vector<Weighed> lightest(std::vector<Weighed> all, std::size_t most) {
  if (all.size() <= most) return {};
  std::ranges::sort(all, [](const Weighed& a, const Weighed& b) {
    return std::tuple(b.weight, a.queue, a.type) < std::tuple(a.weight, b.queue, b.type);
  });
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(most));
  return all;
}

std::vector<Weighed> rows_of(const HistoryMemo::Queues& queues) {
  std::vector<Weighed> all;
  for (const auto& [name, queue] : queues) {
    for (const auto& [type, row] : queue.types) all.push_back({row.weight(), name, type});
  }
  return all;
}

// Adds a row to the one that replaces it.
void fold(HistoryMemo::Queues& queues, const Weighed& row, std::string_view queue) {
  const auto from = queues.find(row.queue);
  const auto found = from->second.types.find(row.type);
  HistoryQueue& to = queues[std::string(queue)];
  if (&to == &from->second && row.type == other_name) return;
  to.types[std::string(other_name)].add(found->second);
  from->second.types.erase(found);
}

}  // namespace

std::size_t HistoryMemo::rows() const {
  std::size_t sum = 0;
  for (const auto& [name, queue] : queues_) sum += queue.types.size();
  return sum;
}

// Into `other` of their own queue.
void HistoryMemo::cut_types(std::size_t most) {
  for (const Weighed& row : lightest(rows_of(queues_), most)) fold(queues_, row, row.queue);
}

// Into the queue `other`.
void HistoryMemo::cut_queues(std::size_t most) {
  for (const Weighed& row : lightest(rows_of(queues_), most)) fold(queues_, row, other_name);
}

void HistoryMemo::cut_depths(std::size_t most) {
  std::vector<Weighed> depths;
  for (const auto& [name, queue] : queues_) {
    if (queue.waiting + queue.running != 0) depths.push_back({queue.waiting + queue.running, name});
  }
  for (const Weighed& depth : lightest(std::move(depths), most)) {
    if (depth.queue == other_name) continue;
    HistoryQueue& from = queues_.find(depth.queue)->second;
    HistoryQueue& to = queues_[std::string(other_name)];
    to.waiting += std::exchange(from.waiting, 0);
    to.running += std::exchange(from.running, 0);
  }
}

void HistoryMemo::cut(std::size_t rows_wanted, std::size_t depths) {
  // One row is for the queue `other`, and queues that lose types get a row for these.
  const std::size_t most = std::max<std::size_t>(rows_wanted, 2) - 1;
  if (rows() > most) {
    cut_types(most - most / 4);
    cut_queues(most);
  }
  cut_depths(std::max<std::size_t>(depths, 2) - 1);
  std::erase_if(queues_, [](const auto& each) {
    return each.second.types.empty() && each.second.waiting == 0 && each.second.running == 0;
  });
}

// ---- Bytes --------------------------------------------------------------------------------------

namespace {

constexpr std::uint64_t format = 1;

void write(std::string& to, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) to.push_back(static_cast<char>(number | 0x80));
  to.push_back(static_cast<char>(number));
}

void write(std::string& to, std::string_view text) {
  write(to, text.size());
  to += text;
}

void write(std::string& to, const SparseHistogram& histogram) {
  write(to, histogram.buckets().size());
  std::size_t before = 0;
  for (const auto& [bucket, count] : histogram.buckets()) {
    write(to, bucket - before);
    write(to, count);
    before = bucket;
  }
}

// A bit mask of the counts that are not zero, then those counts.
void write(std::string& to, const std::array<std::uint64_t, counted_count>& counts) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) bits |= std::uint64_t{1} << i;
  }
  write(to, bits);
  for (const std::uint64_t count : counts) {
    if (count != 0) write(to, count);
  }
}

// Reads until something is wrong; from then on everything reads as zero.
class Reading {
 public:
  explicit Reading(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      const std::uint64_t bits = byte & 0x7FU;
      if (shift == 63 && bits > 1) break;
      value |= bits << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }
  // The number of items that have at least one byte each.
  std::size_t size() {
    const std::uint64_t size = number();
    if (size > rest_.size()) fail();
    return good_ ? static_cast<std::size_t>(size) : 0;
  }
  std::string_view text(std::size_t most) {
    const std::size_t length = size();
    if (length > most) fail();
    if (!good_) return {};
    const std::string_view text = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return text;
  }
  SparseHistogram histogram() {
    SparseHistogram read;
    std::uint64_t bucket = 0;
    for (std::size_t left = size(); left != 0 && good_; --left) {
      bucket += number();
      const std::uint64_t count = number();
      if (bucket >= fine_buckets || !read.append(static_cast<std::size_t>(bucket), count)) fail();
    }
    return read;
  }
  HistoryRow row() {
    HistoryRow read;
    const std::uint64_t bits = number();
    // A later version may count more; what is unknown here is skipped.
    for (std::size_t i = 0; i < 64 && good_; ++i) {
      if ((bits >> i & 1) == 0) continue;
      const std::uint64_t count = number();
      if (i < read.counts.size()) read.counts[i] = count;
    }
    read.waited = histogram();
    read.ran = histogram();
    return read;
  }

  void fail() {
    good_ = false;
    rest_ = {};
  }
  bool good() const { return good_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

std::string HistoryMemo::encode() const {
  std::string bytes;
  write(bytes, format);
  write(bytes,
        static_cast<std::uint64_t>(std::max<Duration::rep>(seen_.time_since_epoch().count(), 0)));
  write(bytes, queues_.size());
  for (const auto& [name, queue] : queues_) {
    write(bytes, name);
    write(bytes, queue.waiting);
    write(bytes, queue.running);
    write(bytes, queue.types.size());
    for (const auto& [type, row] : queue.types) {
      write(bytes, type);
      write(bytes, row.counts);
      write(bytes, row.waited);
      write(bytes, row.ran);
    }
  }
  return bytes;
}

std::string HistoryMemo::encode_in(std::size_t most) const {
  std::string bytes = encode();
  if (bytes.size() <= most && rows() <= most_rows) return bytes;
  HistoryMemo less = *this;
  for (std::size_t rows = most_rows; rows >= 2; rows -= std::max<std::size_t>(rows / 4, 1)) {
    less.cut(rows, rows);
    bytes = less.encode();
    if (bytes.size() <= most) break;
  }
  return bytes;
}

Result<HistoryMemo> HistoryMemo::decode(std::string_view bytes) {
  Reading from(bytes);
  if (const std::uint64_t version = from.number(); from.good() && version != format) {
    return millrace::fail(ErrorCode::corrupt,
                          fmt::format("history of format {}; only {} is known", version, format));
  }
  HistoryMemo memo;
  const std::uint64_t seen = from.number();
  if (seen > static_cast<std::uint64_t>(last_time.time_since_epoch().count())) from.fail();
  memo.seen_ = TimePoint(Duration(from.good() ? static_cast<Duration::rep>(seen) : 0));
  for (std::size_t queues = from.size(); queues != 0 && from.good(); --queues) {
    HistoryQueue& queue = memo.queues_[std::string(from.text(limits::max_name))];
    queue.waiting = from.number();
    queue.running = from.number();
    for (std::size_t types = from.size(); types != 0 && from.good(); --types) {
      const std::string_view type = from.text(limits::max_name);
      queue.types[std::string(type)] = from.row();
    }
  }
  if (from.good() && from.at_end()) return memo;
  return millrace::fail(ErrorCode::corrupt,
                        fmt::format("{} bytes that are not a history", bytes.size()));
}

}  // namespace millrace

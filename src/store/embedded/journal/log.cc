#include "store/embedded/journal/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/ensure.h"
#include "store/embedded/bytes.h"
#include "store/embedded/journal/last_segment.h"
#include "store/embedded/slot_index.h"

namespace millrace::embedded {
namespace {

// Zeros are written ahead twice as fast as the log grows, but not a few with every commit.
constexpr std::uint64_t least_fill = 256U << 10U;
constexpr std::uint64_t most_fill = 1U << 20U;

// What a segment begins with.
std::string first_bytes(const State& state, const Begin& begin) {
  std::string bytes = segment_head();
  begin_group(bytes);
  write_begin(bytes, begin);
  write_numbers(state, bytes);
  return bytes;
}

// Tells the blobs in [from, to) of a commit's bytes that the first of them lies at `at`. Blobs that
// were only in the log are loaded into memory: the new place cannot be read before it is written.
void set_places(State& state, const Records& commit, std::size_t from, std::size_t to,
                const Position& at) {
  const auto place = [&](std::uint32_t slot, Blob& blob, std::size_t offset) {
    if (offset < from || offset >= to) return;  // also if the blob is nowhere
    ByteReader in(std::string_view(commit.bytes).substr(offset));
    std::uint32_t size = 0;
    read(in, size);
    if (blob.is_in_log()) {
      state.blobs.remove(blob);
      blob = state.blobs.add(size);
      std::memcpy(Blobs::data(blob), commit.bytes.data() + offset + blob_head, size);
    }
    state.blobs.set_logged(blob,
                           {.segment = static_cast<std::uint32_t>(at.segment % Place::max_segments),
                            .offset = static_cast<std::uint32_t>(at.offset + offset - from),
                            .size = size});
    state.cache.add(slot, blob);
  };
  for (const Written& record : commit.written) {
    Slot& slot = state.slot(record.slot);
    place(record.slot, slot.body, record.body);
    place(record.slot, slot.notes, record.notes);
  }
}

std::unexpected<Error> without_space(const Error& cause) {
  return std::unexpected(
      Error{.code = ErrorCode::limited,
            .message = fmt::format("there is no space to store what is waiting: {}", cause.message),
            .retry_after = std::chrono::seconds(1),
            .no_space = true});
}

}  // namespace

Log::Log(Segments& segments, Spares& spares, const JournalOptions& options)
    : segments_(segments), disk_(segments.disk()), spares_(spares), options_(options) {}

Log::~Log() {
  if (file_) disk_.close(*file_);
}

// ---- Appending --------------------------------------------------------------------------------

void Log::enter_segment() {
  if (const auto before = every_.find(end_.segment); before != every_.end() && end_.offset != 0) {
    before->second.end = end_.offset;
  }
  end_ = {end_.segment + 1, 0};
  ++begun_;
  every_[end_.segment] = {.size = options_.segment_size};
  size_ += options_.segment_size;
  const auto salt = mix(options_.hash_seed ^ mix(end_.segment ^ (std::uint64_t{epoch_} << 32U)));
  salts_[end_.segment] = static_cast<std::uint32_t>(salt);
}

void Log::begin_segment(const State& state, Position after) {
  enter_segment();
  Chunk chunk;
  chunk.at = end_;
  chunk.bytes = first_bytes(state, {.epoch = epoch_, .after = after, .first = first_});
  chunk.groups.push_back({.at = segment_head_size});
  chunk.last_sequence = ++sequence_;
  end_.offset = chunk.bytes.size();
  unwritten_ += chunk.bytes.size();
  pending_.push_back(std::move(chunk));
}

Log::Chunk& Log::open_chunk() {
  if (pending_.empty()) {
    pending_.emplace_back();
    pending_.back().at = end_;
    pending_.back().bytes = std::exchange(buffer_, {});
  }
  return pending_.back();
}

// How many bytes of whole records go into the segment; all if they fit, at least one if it is new.
std::size_t Log::fitting(std::string_view records) const {
  const std::uint64_t used = end_.offset + group_head_size;
  const std::uint64_t space = used < options_.segment_size ? options_.segment_size - used : 0;
  if (records.size() <= space) return records.size();
  const bool is_new =
      !pending_.empty() && pending_.back().at.offset == 0 && pending_.back().groups.size() == 1;
  // Commits are divided only if they are larger than a segment.
  if (!is_new && records.size() + 1024 < options_.segment_size) return 0;
  std::string_view left = records;
  std::size_t size = 0;
  while (const auto record = next_record(left)) {
    if (size + record->whole.size() > space && (size != 0 || !is_new)) break;
    size += record->whole.size();
  }
  return size;
}

void Log::add_group(std::string_view records, bool more) {
  Chunk& chunk = open_chunk();
  chunk.groups.push_back({.at = chunk.bytes.size(), .more = more});
  begin_group(chunk.bytes);
  chunk.bytes += records;
  chunk.last_sequence = ++sequence_;
  end_.offset += group_head_size + records.size();
  unwritten_ += group_head_size + records.size();
}

void Log::append(State& state, const Records& commit, std::optional<std::uint64_t> cleaned) {
  const Lock lock(mutex_);
  const std::string_view all = commit.bytes;
  std::size_t done = 0;
  while (done < all.size()) {
    const std::size_t size = fitting(all.substr(done));
    if (size == 0) {
      begin_segment(state, end_);
      continue;
    }
    const Position at{end_.segment, end_.offset + group_head_size};
    add_group(all.substr(done, size), done + size < all.size());
    set_places(state, commit, done, done + size, at);
    done += size;
  }
  if (cleaned) {
    for (; first_ < *cleaned; ++first_) {
      if (const auto gone = every_.find(first_); gone != every_.end()) size_ -= gone->second.size;
    }
    open_chunk().cleaned = cleaned;
  }
}

std::uint64_t Log::room() const {
  const Lock lock(mutex_);
  const std::uint64_t here =
      end_.offset < options_.segment_size ? options_.segment_size - end_.offset : 0;
  const std::size_t all = spares_.ready();
  const std::size_t ready = all - std::min(all, Spares::for_opening);
  if (ready < begun_) return 0;  // more is already promised than there is
  return here + (ready - begun_) * options_.segment_size;
}

std::optional<Position> Log::oldest() const {
  const Lock lock(mutex_);
  if (first_ >= written_.segment) return std::nullopt;
  const auto found = every_.find(first_);
  return Position{first_, found == every_.end() ? 0 : found->second.end};
}

std::size_t Log::unwritten() const {
  const Lock lock(mutex_);
  return unwritten_;
}

Position Log::written() const {
  const Lock lock(mutex_);
  return written_;
}

// ---- Flushing ---------------------------------------------------------------------------------

Result<void> Log::flush(std::optional<TimePoint> now) {
  const Lock flushing(flushing_);
  std::vector<Chunk> chunks;
  std::size_t bytes = 0;
  {
    const Lock lock(mutex_);
    if (failure_) return std::unexpected(*failure_);
    chunks = std::exchange(pending_, {});
    bytes = std::exchange(unwritten_, 0);
  }
  const auto written = write(chunks);
  const bool waits = !written && std::exchange(no_space_, false);
  if (waits) put_back(chunks);
  auto done = waits ? Result<void>{} : written;
  if (done && must_sync(now)) {
    done = sync();
    last_sync_ = now;
  }
  if (done) done = note_begun();
  if (done) done = free_segments();
  if (!done) return std::unexpected(fail_for_good(done.error()));
  {
    const Lock lock(mutex_);
    lacks_space_ = waits ? std::optional(written.error()) : std::nullopt;
  }
  if (waits) return written;
  fill_owed_ += 2 * bytes;
  if (fill_owed_ >= least_fill || spares_.ready() < Spares::wanted) {
    spares_.refill(std::min(std::exchange(fill_owed_, 0), most_fill));
  }
  return {};
}

bool Log::must_sync(std::optional<TimePoint> now) const {
  if (!now || options_.sync == SyncMode::always) return true;
  if (options_.sync == SyncMode::none) return false;
  return !last_sync_ || *now < *last_sync_ || *now >= later(*last_sync_, options_.interval);
}

// Bytes that were not written go before those appended since.
void Log::put_back(std::vector<Chunk>& chunks) {
  std::erase_if(chunks, [](const Chunk& chunk) { return chunk.bytes.empty(); });
  const Lock lock(mutex_);
  for (const Chunk& chunk : chunks) unwritten_ += chunk.bytes.size();
  pending_.insert(pending_.begin(), std::make_move_iterator(chunks.begin()),
                  std::make_move_iterator(chunks.end()));
}

Result<void> Log::write(std::vector<Chunk>& chunks) {
  for (Chunk& chunk : chunks) {
    if (auto written = write_chunk(chunk); !written) return written;
    chunk.bytes.clear();
    const Lock lock(mutex_);
    buffer_ = std::move(chunk.bytes);
  }
  return {};
}

Result<void> Log::write_chunk(Chunk& chunk) {
  const bool begins = chunk.at.offset == 0;
  // A chunk that lacked space comes again; its file may have been begun by then.
  if (begins && file_segment_ != chunk.at.segment) {
    if (auto begun = begin_file(chunk); !begun) return begun;
  }
  seal(chunk);
  auto written = may_wait(disk_.write(*file_, chunk.at.offset, chunk.bytes));
  if (!written) return written;
  unsynced_ = true;
  ensure(chunk.last_sequence >= written_sequence_ + chunk.groups.size(),
         "groups of the log were written out of order");
  written_sequence_ = chunk.last_sequence;
  if (chunk.cleaned) cleaned_written_ = *chunk.cleaned;
  {
    const Lock lock(mutex_);
    written_ = {chunk.at.segment, chunk.at.offset + chunk.bytes.size()};
  }
  // In every mode the next segment may begin only when everything before it is on disk.
  return begins ? sync() : Result<void>{};
}

// Writes into every group what is durable by now.
void Log::seal(Chunk& chunk) const {
  std::uint32_t salt = 0;
  {
    const Lock lock(mutex_);
    salt = salts_.at(chunk.at.segment);
  }
  std::uint64_t sequence = chunk.last_sequence - chunk.groups.size();
  for (std::size_t i = 0; i < chunk.groups.size(); ++i) {
    const auto [begin, more] = chunk.groups[i];
    const bool last = i + 1 == chunk.groups.size();
    const std::size_t end = last ? chunk.bytes.size() : chunk.groups[i + 1].at;
    char* group = chunk.bytes.data() + begin;
    const Group head{.sequence = ++sequence,
                     .durable = durable_sequence_,
                     .salt = salt,
                     .more = more,
                     .records = {group + group_head_size, end - begin - group_head_size}};
    seal_group(group, head, {chunk.at.segment, chunk.at.offset + begin});
  }
}

// A file system that copies what it writes may lack space although the file has all of its own. The
// bytes are kept and written again, to the same place.
Result<void> Log::may_wait(Result<void> done) {
  if (done || done.error().code != ErrorCode::limited) return done;
  no_space_ = true;
  return without_space(done.error());
}

Result<void> Log::ready_spare() {
  if (spares_.ready() > kept_spares_) return {};
  auto made = spares_.make();
  no_space_ = !made;
  return made ? made : without_space(made.error());
}

// The file begins with `bytes`, if any are given, before it gets its name.
Result<void> Log::begin_file(const Chunk& chunk, std::string_view bytes) {
  if (auto synced = sync(); !synced) return synced;
  const std::string name = segment_name(chunk.at.segment);
  if (auto ready = ready_spare(); !ready) return ready;
  if (file_) {
    disk_.close(*file_);
    file_.reset();
  }
  if (auto renamed = may_wait(spares_.rename_to(name, bytes)); !renamed) return renamed;
  unsynced_names_ = true;
  const auto file = disk_.open(name, Disk::Access::write);
  if (!file) return std::unexpected(file.error());
  file_ = *file;
  file_segment_ = chunk.at.segment;
  const Lock lock(mutex_);
  ensure(begun_ > 0, "a segment was written that the applier did not begin");
  --begun_;
  salts_.erase(salts_.begin(), salts_.find(chunk.at.segment));
  return {};
}

Result<void> Log::sync() {
  if (unsynced_) {
    if (auto synced = disk_.sync(*file_); !synced) return synced;
    unsynced_ = false;
  }
  if (unsynced_names_) {
    if (auto synced = disk_.sync_directory(); !synced) return synced;
    unsynced_names_ = false;
  }
  ensure(durable_sequence_ <= written_sequence_, "more of the log is durable than was written");
  durable_sequence_ = written_sequence_;
  return {};
}

// ---- The file `last` ---------------------------------------------------------------------------

// The file stays as it was where there is no space for another one: it is still true.
Result<void> Log::note_last(std::uint64_t segment, std::uint64_t end) {
  const auto noted =
      write_last_segment(disk_, {.segment = segment, .size = options_.segment_size, .end = end});
  if (!noted) return noted.error().code == ErrorCode::limited ? Result<void>{} : noted;
  noted_ = segment;
  unsynced_names_ = true;
  return sync();
}

// Before anything in a segment is acknowledged, the file says that the segment must be there. The
// segment itself is on disk, because it was synced when it was begun.
Result<void> Log::note_begun() {
  std::uint64_t segment = 0;
  {
    const Lock lock(mutex_);
    segment = written_.segment;
  }
  return segment == noted_ ? Result<void>{} : note_last(segment, 0);
}

Result<void> Log::note_end() {
  const Lock flushing(flushing_);
  return note_last(end_.segment, end_.offset);
}

// ---- Freeing ----------------------------------------------------------------------------------

// A file goes only when the commit that made it unnecessary is on disk.
Result<void> Log::free_segments() {
  if (cleaned_written_ == freed_ || unsynced_) return {};
  // A segment that a read still needs waits for a later flush.
  const std::uint64_t free_below = std::min(cleaned_written_, segments_.first_pinned());
  if (free_below <= freed_) return {};
  for (; freed_ < free_below; ++freed_) {
    std::uint64_t size = 0;
    {
      const Lock lock(mutex_);
      const auto found = every_.find(freed_);
      if (found == every_.end()) continue;
      size = found->second.size;
    }
    segments_.forget(freed_);
    auto gone = spares_.recycle(segment_name(freed_), size);
    // Some file systems need space even for this; a later flush tries again.
    if (!gone && gone.error().code == ErrorCode::limited) break;
    if (!gone) return gone;
    unsynced_names_ = true;
    const Lock lock(mutex_);
    every_.erase(freed_);
  }
  return sync();
}

std::optional<Error> Log::lacks_space() const {
  const Lock lock(mutex_);
  return lacks_space_;
}

// ---- Failing ----------------------------------------------------------------------------------

std::optional<Error> Log::failure() const {
  const Lock lock(mutex_);
  return failure_;
}

Error Log::fail_for_good(const Error& cause) {
  const Lock lock(mutex_);
  if (!failure_) {
    failure_ = Error{.code = ErrorCode::unavailable,
                     .message = fmt::format("the journal has failed and must be opened again: {}",
                                            cause.message)};
  }
  return *failure_;
}

}  // namespace millrace::embedded

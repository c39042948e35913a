#include "store/embedded/blobs.h"

#include <cstring>

namespace millrace::embedded {

Blobs::~Blobs() {
  for (char* block : large_) delete[] block;
}

Blob Blobs::add(std::size_t size) {
  const std::size_t bytes = block_size(size);
  used_ += size;
  char* block = nullptr;
  if (bytes <= largest) {
    block = take_block(bytes);
  } else {
    block = new char[bytes];
    large_.insert(block);
    reserved_ += bytes;
  }
  const auto stored = static_cast<std::uint32_t>(size);
  std::memcpy(block, &stored, sizeof(stored));
  if (trailer_ != 0) std::memset(block + header + size, 0, trailer_);
  return Blob::in_memory(block);
}

void Blobs::remove(Blob blob) {
  if (!blob) return;
  if (blob.is_in_log()) {
    only_logged_ -= blob.place().size;
    return;
  }
  const std::size_t size = size_of(blob);
  const std::size_t bytes = block_size(size);
  used_ -= size;
  if (bytes <= largest) {
    SizeClass& of_size = classes_[bytes / step];
    std::memcpy(blob.at(), &of_size.freed, sizeof(of_size.freed));
    of_size.freed = blob.at();
    return;
  }
  reserved_ -= bytes;
  large_.erase(blob.at());
  delete[] blob.at();
}

std::uint32_t Blobs::size_of(Blob blob) {
  std::uint32_t size = 0;
  std::memcpy(&size, blob.at(), sizeof(size));
  return size;
}

Blob Blobs::logged(Blob blob) const {
  if (!blob || blob.is_in_log()) return blob;
  Blob place;
  std::memcpy(&place, data(blob) + size_of(blob), sizeof(place));
  return place;
}

void Blobs::set_logged(Blob& blob, const Place& place) {
  const Blob there = Blob::in_log(place);
  if (blob && !blob.is_in_log()) {
    std::memcpy(data(blob) + size_of(blob), &there, sizeof(there));
    return;
  }
  if (blob) only_logged_ -= blob.place().size;
  only_logged_ += there.place().size;
  blob = there;
}

void Blobs::evict(Blob& blob) {
  const Blob there = logged(blob);
  remove(blob);
  only_logged_ += there.place().size;
  blob = there;
}

char* Blobs::take_block(std::size_t bytes) {
  SizeClass& of_size = classes_[bytes / step];
  if (of_size.freed != nullptr) {
    char* block = of_size.freed;
    std::memcpy(&of_size.freed, block, sizeof(of_size.freed));
    return block;
  }
  if (of_size.fresh == of_size.fresh_end) {
    const std::size_t count = chunk_size / bytes;
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(count * bytes));
    of_size.fresh = chunks_.back().get();
    of_size.fresh_end = of_size.fresh + count * bytes;
    reserved_ += count * bytes;
  }
  char* block = of_size.fresh;
  of_size.fresh += bytes;
  return block;
}

}  // namespace millrace::embedded

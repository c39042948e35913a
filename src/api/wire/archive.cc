#include "api/wire/archive.h"

namespace millrace::wire {
namespace {

constexpr std::string_view one_key =
    "a line must be an object with one key: queue, group, schedule, memo, task or end";

}  // namespace

Error ArchiveLine::error() {
  in_.finish();
  return std::move(in_.refusal().error);
}

Result<std::string_view> ArchiveLine::kind() {
  bool first = true;
  if (in_.peek() == '{') {
    in_.open('{', Path{});
    if (const auto key = in_.key(scratch_, first)) return kind_ = *key;
  }
  if (in_.good()) in_.refuse(Path{}, std::string(one_key));
  return std::unexpected(error());
}

Result<std::string_view> ArchiveLine::raw() {
  const auto text = in_.raw();
  if (auto good = end(); !good) return std::unexpected(std::move(good.error()));
  return *text;
}

Result<void> ArchiveLine::end() {
  bool first = false;
  std::string other;
  if (in_.good() && in_.key(other, first)) in_.refuse(Path{}, std::string(one_key));
  in_.finish();
  if (in_.good()) return {};
  return std::unexpected(error());
}

}  // namespace millrace::wire

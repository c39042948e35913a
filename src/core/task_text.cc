#include "core/task_text.h"

#include <algorithm>
#include <cstdint>

#include "core/uuid.h"

namespace millrace {
namespace {

// The small letter of one whose UTF-8 has two bytes.
std::uint32_t small_letter(std::uint32_t letter) {
  if (letter >= 0xC0 && letter <= 0xDE && letter != 0xD7) return letter + 0x20;  // À to Þ
  if (letter >= 0x391 && letter <= 0x3A9) return letter + 0x20;                  // Α to Ω
  if (letter >= 0x410 && letter <= 0x42F) return letter + 0x20;                  // А to Я
  if (letter >= 0x400 && letter <= 0x40F) return letter + 0x50;                  // Ѐ to Џ
  return letter;
}

bool is_later_byte(unsigned char byte) {
  return (byte & 0xC0U) == 0x80U;
}

}  // namespace

void append_folded(std::string& out, std::string_view text) {
  const std::size_t begin = out.size();
  out.append(text);
  for (std::size_t i = begin; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(out[i]);
    if (byte >= 'A' && byte <= 'Z') {
      out[i] = static_cast<char>(byte + ('a' - 'A'));
    } else if (byte >= 0xC3 && byte <= 0xD0 && i + 1 < out.size()) {
      const auto next = static_cast<unsigned char>(out[i + 1]);
      if (!is_later_byte(next)) continue;
      const std::uint32_t small = small_letter(((byte & 0x1FU) << 6U) | (next & 0x3FU));
      out[i] = static_cast<char>(0xC0U | (small >> 6U));
      out[++i] = static_cast<char>(0x80U | (small & 0x3FU));
    }
  }
}

bool TaskText::has(std::string_view text) {
  if (text.size() < wanted_.size()) return false;
  folded_.clear();
  append_folded(folded_, text);
  return folded_.find(wanted_) != std::string::npos;
}

bool TaskText::in(const Task& task) {
  if (has(to_text(task.id.value)) || has(task.type) || has(task.client_id) || has(task.group)) {
    return true;
  }
  if (has(task.request_id) || has(task.worker)) return true;
  if (task.unique && has(task.unique->key)) return true;
  if (std::ranges::any_of(task.tags, [&](const std::string& tag) { return has(tag); })) return true;
  if (task.error) {
    const TaskError& error = *task.error;
    if (has(error.code) || has(error.message) || has(error.details)) return true;
  }
  return has(task.metadata) || has(task.payload) || has(task.result);
}

}  // namespace millrace

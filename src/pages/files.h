// The files of the dashboard, compiled into the program.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace millrace::pages {

struct File {
  std::string_view path = {};  // /index.html, /assets/index-Bic0k6-Y.css
  std::string_view content_type = {};
  std::string_view tag = {};  // changes with the content
  std::string_view plain = {};
  // Compressed; empty if that is not smaller.
  std::string_view gzip = {};
  std::string_view brotli = {};
};

// By path. Empty: the program was built without a dashboard.
std::span<const File> files();

}  // namespace millrace::pages

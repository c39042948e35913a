// Serves the dashboard to browsers. Asset names change with their content, so assets may be cached
// for ever. The page itself is fetched each time and contains its base path:
//
//   <base href="../">     for /tasks/17, so that every link in it is relative, and a proxy can put
//                         the server under any path without a setting
//
// Every address of the dashboard is answered with the same page, which reads its address.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "api/server/http.h"
#include "api/server/pages.h"
#include "pages/files.h"

namespace millrace::pages {

struct PagesOptions {
  std::string version = "0";
  // The path under which readers see the server: /admin/queues. Empty: the root, or the path that a
  // proxy reports.
  std::string base_path = {};
  std::span<const File> files = pages::files();
};

class Dashboard final : public api::Pages {
 public:
  explicit Dashboard(PagesOptions options = {}) : options_(std::move(options)) {}

  std::optional<api::HttpResponse> answer(const api::HttpRequest& head,
                                          std::string_view path) const override;

 private:
  const PagesOptions options_;
};

// ---- The pieces ----

// The value of <base href>: what leads from an address back to the root. A proxy may name its path
// in X-Forwarded-Prefix; a value that is not a plain path is ignored.
std::string base_of(std::string_view path, std::string_view forwarded_prefix);

// Whether a header Accept-Encoding allows this one.
bool accepts(std::string_view accept_encoding, std::string_view encoding);

}  // namespace millrace::pages

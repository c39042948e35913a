// Answers what people open in a browser. Files have names that change with their content and may be
// kept for ever; the page itself is asked for anew each time and says only where it lives:
//
//   <base href="../">     for /tasks/17, so that everything in it may be relative, and a proxy can
//                         put the server anywhere without anybody having to be told
//
// Every address of the page is answered with the same page, which finds out by itself what to show.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/server/http.h"
#include "pages/files.h"

namespace millrace::pages {

struct PagesOptions {
  std::string version = "0";
  // Where the server is for its readers: /admin/queues. Empty: at the root, or wherever a proxy
  // has put it.
  std::string base_path = {};
  std::span<const File> files = pages::files();
};

// For a request that no route is for; `path` is its path without the query. nullopt: it is not for
// us either, and there is nothing of that name.
std::optional<api::HttpResponse> answer(const PagesOptions& options, const api::HttpRequest& head,
                                        std::string_view path);

// ---- The pieces --------------------------------------------------------------------------------

// What leads from an address back to the root, as the value of <base href>. A proxy may have said
// in X-Forwarded-Prefix where that is; what is no plain path is not heeded.
std::string base_of(std::string_view path, std::string_view forwarded_prefix);

// Whether a header Accept-Encoding allows this one.
bool accepts(std::string_view accept_encoding, std::string_view encoding);

}  // namespace millrace::pages

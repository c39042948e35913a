#include "pages/pages.h"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "core/plain_path.h"

namespace millrace::pages {
namespace {

using api::HttpRequest;
using api::HttpResponse;
using api::Method;

constexpr std::string_view page = "/index.html";
constexpr std::string_view base_mark = "<base href=\"./\" />";

// Only our own files may run, be shown or be fetched; no site may put the page into a frame; only
// markup compiled by Svelte becomes HTML.
constexpr std::string_view policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'self'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types svelte-trusted-html";

void guard(HttpResponse& response) {
  for (const auto& [name, value] :
       {std::pair<std::string_view, std::string_view>{"Content-Security-Policy", policy},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"}}) {
    response.headers.emplace_back(name, value);
  }
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// Calls `see` with each part of a list separated by commas, until it returns true.
template <class See>
bool any_of_list(std::string_view list, See see) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (see(trimmed(list.substr(0, end)))) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

bool wants_a_page(std::string_view accept) {
  return any_of_list(accept, [](std::string_view part) {
    return trimmed(part.substr(0, std::min(part.find(';'), part.size()))) == "text/html";
  });
}

bool has_tag(std::string_view if_none_match, std::string_view tag) {
  return any_of_list(if_none_match, [&](std::string_view part) {
    if (part.starts_with("W/")) part.remove_prefix(2);
    return part == tag || part == "*";
  });
}

const File* find(std::span<const File> files, std::string_view path) {
  const auto found = std::ranges::find(files, path, &File::path);
  return found == files.end() ? nullptr : &*found;
}

HttpResponse asset(const File& file, const HttpRequest& head) {
  HttpResponse response{.content_type = std::string(file.content_type)};
  std::string_view body = file.plain;
  if (!file.brotli.empty() && accepts(head.accept_encoding, "br")) {
    body = file.brotli;
    response.headers.emplace_back("Content-Encoding", "br");
  } else if (!file.gzip.empty() && accepts(head.accept_encoding, "gzip")) {
    body = file.gzip;
    response.headers.emplace_back("Content-Encoding", "gzip");
  }
  response.body = body;
  response.headers.emplace_back("Cache-Control", "public, max-age=31536000, immutable");
  response.headers.emplace_back("Vary", "Accept-Encoding");
  guard(response);
  return response;
}

HttpResponse index(const File& file, const std::string& base, const HttpRequest& head) {
  HttpResponse response{.content_type = std::string(file.content_type)};
  // The page depends on its base path, so its tag does, too.
  const std::string tag = fmt::format("\"{}-{}\"", file.tag, base);
  response.headers.emplace_back("Cache-Control", "no-cache");
  response.headers.emplace_back("ETag", tag);
  response.headers.emplace_back("Vary", "Accept, X-Forwarded-Prefix");
  guard(response);
  if (has_tag(head.if_none_match, tag)) {
    response.status = 304;
    return response;
  }
  response.body = file.plain;
  if (const auto at = response.body.find(base_mark); at != std::string::npos) {
    response.body.replace(at, base_mark.size(), fmt::format("<base href=\"{}\" />", base));
  }
  return response;
}

HttpResponse hint(const PagesOptions& options) {
  const bool built = !options.files.empty();
  HttpResponse response{
      .content_type = "text/plain; charset=utf-8",
      .body = fmt::format("Millrace {}, a durable task queue\n\n"
                          "  API        under /v1; /openapi.json describes it\n"
                          "  dashboard  {}\n",
                          options.version,
                          built ? "open this address in a browser"
                                : "not in this program; build it with MILLRACE_DASHBOARD=ON")};
  response.headers.emplace_back("Cache-Control", "no-cache");
  response.headers.emplace_back("Vary", "Accept");
  guard(response);
  return response;
}

}  // namespace

std::string base_of(std::string_view path, std::string_view forwarded_prefix) {
  if (is_plain_path(forwarded_prefix)) {
    return fmt::format("{}{}", forwarded_prefix, forwarded_prefix.ends_with('/') ? "" : "/");
  }
  if (path.starts_with('/')) path.remove_prefix(1);
  const auto depth = std::ranges::count(path, '/');
  if (depth == 0) return "./";
  std::string up;
  for (auto i = depth; i > 0; --i) up += "../";
  return up;
}

bool accepts(std::string_view accept_encoding, std::string_view encoding) {
  return any_of_list(accept_encoding, [&](std::string_view part) {
    const std::size_t end = std::min(part.find(';'), part.size());
    if (trimmed(part.substr(0, end)) != encoding) return false;
    std::string_view weight = trimmed(part.substr(std::min(end + 1, part.size())));
    if (!weight.starts_with("q=")) return true;
    weight.remove_prefix(2);
    return weight.find_first_not_of("0.") != std::string_view::npos;
  });
}

std::optional<HttpResponse> Dashboard::answer(const HttpRequest& head,
                                              std::string_view path) const {
  if (head.method != Method::get && head.method != Method::head) return std::nullopt;
  if (path == "/v1" || path.starts_with("/v1/")) return std::nullopt;
  if (path.starts_with("/assets/")) {
    const File* const file = find(options_.files, path);
    if (file == nullptr) return std::nullopt;
    return asset(*file, head);
  }
  const File* const file = find(options_.files, page);
  const bool for_people = wants_a_page(head.accept);
  if (file != nullptr && for_people) {
    const bool configured = !options_.base_path.empty();
    return index(*file, base_of(path, configured ? options_.base_path : head.forwarded_prefix),
                 head);
  }
  if (path == "/") return hint(options_);
  return std::nullopt;
}

}  // namespace millrace::pages

#include "admin/ctl/api/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <cerrno>

#include "broker/base/check.h"

namespace gearstalk::ctl::api {
namespace {

constexpr std::string_view kUnix = "unix:";

struct Transfer {
  const HttpRequest& request;
  HttpReply reply;
  CURL* curl;
  bool stopped = false;
};

std::size_t OnData(char* data, std::size_t, std::size_t size, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  long status = 0;
  curl_easy_getinfo(transfer.curl, CURLINFO_RESPONSE_CODE, &status);
  if (!transfer.request.on_data || status >= 300) {
    transfer.reply.body.append(data, size);
    return size;
  }
  transfer.stopped = !transfer.request.on_data({data, size});
  return transfer.stopped ? 0 : size;
}

std::string UrlOf(const Settings& settings, const std::string& path) {
  if (settings.server.starts_with(kUnix)) return "http://localhost" + path;
  std::string base = settings.server;
  if (base.find("://") == std::string::npos) base.insert(0, "http://");
  while (base.ends_with('/')) base.pop_back();
  return base + path;
}

// Why there was no answer, and what to look at.
std::string Unanswered(CURL* curl, CURLcode code) {
  const char* const what = curl_easy_strerror(code);
  if (code != CURLE_COULDNT_CONNECT) return what;
  long error = 0;
  curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &error);
  if (error == EACCES) return fmt::format("{}: the socket is for its owner and its group", what);
  return fmt::format(
      "{}: a broker has it if its option `admin:` names this address; --server names another",
      what);
}

}  // namespace

HttpClient::HttpClient(const Settings& settings)
    : settings_(settings), curl_(curl_easy_init(), curl_easy_cleanup) {
  GS_CHECK(curl_ != nullptr);
}

Result<HttpReply> HttpClient::Send(const HttpRequest& request) {
  CURL* curl = curl_.get();
  curl_easy_reset(curl);
  Transfer transfer{request, {}, curl};
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(nullptr, curl_slist_free_all);
  const auto add = [&](const std::string& header) {
    headers.reset(curl_slist_append(headers.release(), header.c_str()));
  };
  for (const std::string& header : request.headers) add(header);
  if (!settings_.token.empty()) add("Authorization: Bearer " + settings_.token);
  add("Expect:");
  const std::string url = UrlOf(settings_, request.path);
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (settings_.server.starts_with(kUnix)) {
    const std::string socket = settings_.server.substr(kUnix.size());
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, socket.c_str());
  }
  if (!settings_.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, settings_.ca_file.c_str());
  if (request.method != "GET" && request.method != "DELETE") {
    add("Content-Type: application/json");
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  }
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  const auto timeout_ms = static_cast<long>(settings_.timeout_s * 1000);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, timeout_ms);
  // A stream has no total time limit.
  if (!request.on_data) curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, OnData);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  const CURLcode code = curl_easy_perform(curl);
  if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) {
    return Status(Code::kInvalid,
                  fmt::format("--server {}: expected http://HOST:PORT[/BASE], https://HOST:PORT or "
                              "unix:/PATH",
                              settings_.server));
  }
  if (code != CURLE_OK && !transfer.stopped) {
    return Status(Code::kIo, fmt::format("{}: {}", settings_.server, Unanswered(curl, code)));
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  transfer.reply.status = static_cast<int>(status);
  return std::move(transfer.reply);
}

std::string UrlEncoded(const std::string& text) {
  const std::unique_ptr<char, void (*)(void*)> encoded(
      curl_easy_escape(nullptr, text.c_str(), static_cast<int>(text.size())), curl_free);
  GS_CHECK(encoded != nullptr);
  return encoded.get();
}

}  // namespace gearstalk::ctl::api

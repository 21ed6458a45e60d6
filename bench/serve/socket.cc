#include "bench/serve/socket.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>

namespace cortado::bench {

Descriptor connect_here(uint16_t port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(socket.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 && errno != EINPROGRESS)
    throw std::runtime_error("cannot connect to port " + std::to_string(port));
  return socket;
}

std::string http_request(const std::string& path, const std::string& headers, const std::string& body) {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string infer_request(const std::string& model, const std::string& input, const std::string& dims,
                          const std::string& values) {
  const std::string json = "{\"inputs\":[{\"name\":\"" + input + "\",\"datatype\":\"FP32\",\"shape\":[" + dims +
                           "],\"parameters\":{\"binary_data_size\":" + std::to_string(values.size()) +
                           "}}],\"parameters\":{\"binary_data_output\":true}}";
  return http_request("/v2/models/" + model + "/infer",
                      "Inference-Header-Content-Length: " + std::to_string(json.size()) + "\r\n", json + values);
}

bool AnswerReader::read(int fd) {
  char part[65536];
  for (;;) {
    const ssize_t got = ::recv(fd, part, sizeof part, 0);
    if (got <= 0) return got < 0 && errno == EAGAIN;
    bytes_.append(part, size_t(got));
    find_head();
    if (is_complete() || size_t(got) < sizeof part) return true;
  }
}

void AnswerReader::find_head() {
  if (head_ != std::string::npos) return;
  const size_t end = bytes_.find("\r\n\r\n");
  if (end == std::string::npos) return;
  head_ = end + 4;
  std::transform(bytes_.begin(), bytes_.begin() + int64_t(end), bytes_.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  length_ = number_behind("\r\ncontent-length: ");
}

size_t AnswerReader::number_behind(const char* field) const {
  const size_t at = bytes_.find(field);
  return at >= head_ ? 0 : size_t(std::atoll(bytes_.c_str() + at + std::char_traits<char>::length(field)));
}

int AnswerReader::status() const { return bytes_.size() < 12 ? 0 : std::atoi(bytes_.c_str() + 9); }

std::string AnswerReader::values() const {
  return bytes_.substr(head_ + number_behind("\r\ninference-header-content-length: "));
}

void AnswerReader::clear() {
  bytes_.clear();
  head_ = std::string::npos;
  length_ = 0;
}

}  // namespace cortado::bench

#include "bench/serve/hostile.h"

#include <sys/socket.h>

namespace cortado::bench {

namespace {

constexpr size_t kMaxHeld = 200;

}  // namespace

std::string Hostile::infer(const std::string& json) const {
  return http_request("/v2/models/" + model_ + "/infer", "", json);
}

void Hostile::attack() {
  const std::string head = "{\"inputs\":[{\"name\":\"" + input_ + "\",\"datatype\":\"FP32\",\"shape\":";
  const std::string attempts[] = {
      infer(head + "[1,2,3],\"data\":[1,2,3]}]}"),
      infer(head + "[1000000000,1000000000,1000000000,1000000000],\"data\":[1]}]}"),
      infer(head + "[-1,-1,-1,-1],\"data\":[]}]}"),
      infer(head + "[1,1,28"),
      infer(std::string(100000, '[')),
      infer("{\"inputs\":" + std::string(5000, '[') + std::string(5000, ']') + "}"),
      "POST /v2/models/" + model_ + "/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n{",
      "POST /v2/models/" + model_ + "/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999\r\n\r\n",
      "GET /v2/mod",
      good_request_,
      good_request_.substr(0, good_request_.size() / 2),
      std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 rubbish\r\n\r\n", 25),
      "GET /v2/models/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + std::string(40000, 'x') + "\r\n\r\n"};
  const size_t kind = attacks_++ % std::size(attempts);
  Descriptor socket = connect_here(port_);
  // On loopback connect() succeeds at once.
  (void)::send(socket.fd(), attempts[kind].data(), attempts[kind].size(), MSG_NOSIGNAL);
  if (kind == 9 || kind == 10) return;  // disconnects
  held_.push_back(std::move(socket));
  if (held_.size() > kMaxHeld) held_.pop_front();
}

}  // namespace cortado::bench

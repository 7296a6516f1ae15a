#include "broker/link/payloads.h"

#include <utility>

#include "broker/base/stored_number.h"

namespace gearstalk::link {
namespace {

class Writer {
 public:
  void operator()(const auto&... fields) { (Put(fields), ...); }
  std::string Take() { return std::move(out_); }

 private:
  void Put(const std::string& text) {
    Put(static_cast<std::uint32_t>(text.size()));
    out_.append(text);
  }
  void Put(const auto& number) {
    out_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }

  std::string out_;
};

// Reads fields one after the other; `good` is false once one was missing.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  void operator()(auto&... fields) { (Get(fields), ...); }
  std::string_view rest() const { return rest_; }
  // Nothing was missing, and nothing is left.
  bool Complete() const { return good_ && rest_.empty(); }
  bool good() const { return good_; }

 private:
  template <typename Number>
  void Get(Number& number) {
    if (rest_.size() < sizeof number) {
      good_ = false;
      return;
    }
    number = Load<Number>(rest_, 0);
    rest_.remove_prefix(sizeof number);
  }
  void Get(bool& flag) {
    std::uint8_t byte = 0;
    Get(byte);
    flag = byte != 0;
  }
  void Get(std::string& text) {
    std::uint32_t size = 0;
    Get(size);
    good_ = good_ && size <= rest_.size();
    if (!good_) return;
    text = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }

  std::string_view rest_;
  bool good_ = true;
};

template <typename Payload>
std::string Written(const Payload& payload) {
  Writer writer;
  Payload::Visit(payload, writer);
  return writer.Take();
}

template <typename Payload>
std::optional<Payload> ReadWhole(std::string_view bytes) {
  Payload payload;
  Reader reader(bytes);
  Payload::Visit(payload, reader);
  return reader.Complete() ? std::optional(std::move(payload)) : std::nullopt;
}

}  // namespace

std::string Encode(const Open& open) {
  Writer writer;
  writer(open.listener, open.port);
  return writer.Take().append(open.address);
}

std::optional<Open> DecodeOpen(std::string_view payload) {
  Open open;
  Reader reader(payload);
  reader(open.listener, open.port);
  open.address = reader.rest();
  const std::size_t size = open.address.size();
  if (!reader.good() || (size != 0 && size != 4 && size != 16)) return std::nullopt;
  return open;
}

std::string Encode(const Reset& reset) {
  std::string out(1, static_cast<char>(reset.trouble));
  return out.append(reset.reason);
}

std::optional<Reset> DecodeReset(std::string_view payload) {
  if (payload.empty()) return std::nullopt;
  const auto trouble = static_cast<Trouble>(payload[0]);
  if (trouble > Trouble::kDescriptors) return std::nullopt;
  return Reset{trouble, payload.substr(1)};
}

std::string EncodeClose(std::uint32_t number) {
  Writer writer;
  writer(number);
  return writer.Take();
}

std::optional<std::uint32_t> DecodeClose(std::string_view payload) {
  if (payload.size() != sizeof(std::uint32_t)) return std::nullopt;
  return Load<std::uint32_t>(payload, 0);
}

std::string Encode(const Credit& credit) { return Written(credit); }
std::optional<Credit> DecodeCredit(std::string_view payload) { return ReadWhole<Credit>(payload); }

std::string Encode(const Counters& counters) { return Written(counters); }
std::optional<Counters> DecodeCounters(std::string_view payload) {
  return ReadWhole<Counters>(payload);
}

std::string Encode(const Settings& settings) { return Written(settings); }
std::optional<Settings> DecodeSettings(std::string_view payload) {
  return ReadWhole<Settings>(payload);
}

}  // namespace gearstalk::link

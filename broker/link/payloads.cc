#include "broker/link/payloads.h"

#include "broker/base/stored_number.h"

namespace gearstalk::link {
namespace {

template <typename Number>
void PutNumber(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// Reads fields one after the other; `good` is false once one was missing.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  template <typename Number>
  void Get(Number& number) {
    if (rest_.size() < sizeof number) {
      good_ = false;
      return;
    }
    number = Load<Number>(rest_, 0);
    rest_.remove_prefix(sizeof number);
  }
  void GetText(std::string& text) {
    std::uint32_t size = 0;
    Get(size);
    good_ = good_ && size <= rest_.size();
    if (!good_) return;
    text = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }
  std::string_view rest() const { return rest_; }
  // Nothing was missing, and nothing is left.
  bool Complete() const { return good_ && rest_.empty(); }
  bool good() const { return good_; }

 private:
  std::string_view rest_;
  bool good_ = true;
};

void PutText(std::string& out, std::string_view text) {
  PutNumber(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

}  // namespace

std::string Encode(const Open& open) {
  std::string out;
  PutNumber(out, open.listener);
  PutNumber(out, open.port);
  return out.append(open.address);
}

std::optional<Open> DecodeOpen(std::string_view payload) {
  Open open;
  Fields fields(payload);
  fields.Get(open.listener);
  fields.Get(open.port);
  open.address = fields.rest();
  const std::size_t size = open.address.size();
  if (!fields.good() || (size != 0 && size != 4 && size != 16)) return std::nullopt;
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

std::string Encode(const Credit& credit) {
  std::string out;
  PutNumber(out, credit.delivered);
  PutNumber(out, credit.granted);
  return out;
}

std::optional<Credit> DecodeCredit(std::string_view payload) {
  Credit credit;
  Fields fields(payload);
  fields.Get(credit.delivered);
  fields.Get(credit.granted);
  if (!fields.Complete()) return std::nullopt;
  return credit;
}

std::string EncodeClose(std::uint32_t number) {
  std::string out;
  PutNumber(out, number);
  return out;
}

std::optional<std::uint32_t> DecodeClose(std::string_view payload) {
  std::uint32_t number = 0;
  Fields fields(payload);
  fields.Get(number);
  if (!fields.Complete()) return std::nullopt;
  return number;
}

std::string Encode(const Counters& counters) {
  std::string out;
  for (const std::uint64_t number : {counters.ping, counters.accepted, counters.handshakes,
                                     counters.received_bytes, counters.sent_bytes}) {
    PutNumber(out, number);
  }
  return out;
}

std::optional<Counters> DecodeCounters(std::string_view payload) {
  Counters counters;
  Fields fields(payload);
  for (std::uint64_t* number : {&counters.ping, &counters.accepted, &counters.handshakes,
                                &counters.received_bytes, &counters.sent_bytes}) {
    fields.Get(*number);
  }
  if (!fields.Complete()) return std::nullopt;
  return counters;
}

std::string Encode(const Settings& settings) {
  std::string out;
  PutNumber(out, settings.handshake_timeout);
  PutNumber(out, settings.connections);
  PutNumber(out, static_cast<std::uint8_t>(settings.tls));
  PutNumber(out, settings.client_certificates);
  for (const std::string* text :
       {&settings.tls_uses, &settings.certificate, &settings.key, &settings.client_ca}) {
    PutText(out, *text);
  }
  return out;
}

std::optional<Settings> DecodeSettings(std::string_view payload) {
  Settings settings;
  Fields fields(payload);
  fields.Get(settings.handshake_timeout);
  fields.Get(settings.connections);
  std::uint8_t tls = 0;
  fields.Get(tls);
  settings.tls = tls != 0;
  fields.Get(settings.client_certificates);
  for (std::string* text :
       {&settings.tls_uses, &settings.certificate, &settings.key, &settings.client_ca}) {
    fields.GetText(*text);
  }
  if (!fields.Complete()) return std::nullopt;
  return settings;
}

}  // namespace gearstalk::link

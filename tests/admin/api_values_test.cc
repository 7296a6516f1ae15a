// The parts of the API that are functions of values: names, cursors, decoders, paths, who may.

#include <gtest/gtest.h>

#include <future>
#include <new>

#include "admin/api/audit.h"
#include "admin/api/decode.h"
#include "admin/api/guard.h"
#include "admin/api/id_set.h"
#include "admin/api/json.h"
#include "admin/api/json_scan.h"
#include "admin/api/page.h"
#include "admin/api/ring.h"
#include "admin/api/side_thread.h"
#include "broker/base/base64.h"

namespace gearstalk::api {
namespace {

using namespace std::string_literals;

TEST(NamesTest, ARefSurvivesEveryName) {
  for (const std::string& name : {"plain"s, "a b"s, "a/b"s, "100%"s, "~x"s, "."s, ".."s, "\\"s,
                                  "\0\n"s, "\xff"s, "größe"s, "+"s}) {
    EXPECT_EQ(name, NameOfRef(RefOf(name))) << name;
    EXPECT_EQ(name, NameOfRef("~" + ToBase64Url(name))) << name;
    EXPECT_EQ(std::string::npos, RefOf(name).find_first_of("/\\ ?#"));
  }
  EXPECT_EQ("a%20b", RefOf("a b"));
  EXPECT_EQ(std::nullopt, NameOfRef("%4"));
  EXPECT_EQ(std::nullopt, NameOfRef("~*"));
}

TEST(CursorTest, BelongsToItsQuery) {
  const std::string cursor = Cursor{{1, UINT64_MAX}, "name \xff"}.Encode("q");
  const auto decoded = Cursor::Decode(cursor, "q", 2);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(UINT64_MAX, decoded->numbers[1]);
  EXPECT_EQ("name \xff", decoded->text);
  EXPECT_FALSE(Cursor::Decode(cursor, "r", 2).has_value());
  EXPECT_FALSE(Cursor::Decode(cursor, "q", 3).has_value());
  EXPECT_FALSE(Cursor::Decode("", "q", 0).has_value());
}

TEST(DecodeTest, SaysWhatABodyIs) {
  EXPECT_EQ("json", Decode("[1]", "auto").as);
  EXPECT_EQ("php", Decode("a:0:{}", "auto").as);
  EXPECT_EQ("msgpack", Decode("\x81\xa1k\x01", "auto").as);
  EXPECT_EQ("base64", Decode("eyJhIjogMTIzNDU2fQ==", "auto").as);
  EXPECT_EQ("text", Decode("hello", "auto").as);
  EXPECT_EQ("text", Decode("550e8400e29b41d4a716446655440000", "auto").as);
  EXPECT_EQ("ffffff", Decode("////", "base64").value);
  EXPECT_EQ("hex", Decode("\xff\x00"s, "auto").as);
  EXPECT_EQ(Json({{"k", 1}}), Decode("\x81\xa1k\x01", "msgpack").value);
  EXPECT_EQ("9007199254740993", Decode("9007199254740993", "json").value);
  EXPECT_EQ("123456789012345678901234567890",
            Decode("123456789012345678901234567890", "json").value);
  EXPECT_FALSE(Decode("{", "json").ok());
  EXPECT_FALSE(Decode(std::string(300'000, ' '), "text").ok());
}

TEST(DecodeTest, PhpMakesNothingButValues) {
  const Json value = Decode("O:3:\"Foo\":2:{s:1:\"a\";b:1;s:6:\"\0Foo\0b\";d:0.5;}"s, "php").value;
  EXPECT_EQ(Json({{"__class", "Foo"}, {"a", true}, {"b", 0.5}}), value);
  EXPECT_EQ(Json::array({1, nullptr}), Decode("a:2:{i:0;i:1;i:1;N;}", "php").value);
  EXPECT_EQ(Json({{"5", "x"}}), Decode("a:1:{i:5;s:1:\"x\";}", "php").value);
  for (const char* bad :
       {"", "i:5", "i:5;x", "s:9:\"x\";", "s:1:\"xx\";", "a:1:{i:0;}", "a:9:{}",
        "O:1:\"x\":", "b:2;", "x:1;", "a:4294967295:{", "i:99999999999999999999;"}) {
    EXPECT_FALSE(Decode(bad, "php").ok()) << bad;
  }
}

TEST(DecodeTest, BoundsDepthAndNumber) {
  for (const std::string_view as : {"json", "msgpack", "php"}) {
    std::string deep;
    for (int i = 0; i < 70; ++i)
      deep += as == "json" ? "[" : as == "msgpack" ? "\x91" : "a:1:{i:0;";
    EXPECT_FALSE(Decode(deep, as).ok()) << as;
  }
  std::string many = "[0";
  for (int i = 0; i < 10'000; ++i) many += ",0";
  EXPECT_FALSE(Decode(many + "]", "json").ok());
}

// The value at a path, read in slices of so many bytes.
std::string ValueAt(std::string_view path, std::string_view text, std::size_t slice) {
  const JsonPath steps = JsonPath::Parse(path).value();
  const std::function<void(std::string_view)> no_matter = [](std::string_view) {};
  JsonScan scan(steps, no_matter);
  while (!scan.Read(text, slice)) continue;
  return std::string(scan.value());
}

TEST(JsonScanTest, FindsValues) {
  const std::string text =
      R"( {"a" : {"b": [10, {"c": "x\"]", "\u0064": [ ] }], "e": 1e3}, "a2":null} )";
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"$.a.b[0]", "10"},
      {"$.a.b[1].c", R"("x\"]")"},
      {"$['a'].b[1][\"c\"]", R"("x\"]")"},
      {"$.a.b[1].d", "[ ]"},
      {"$.a.e", "1e3"},
      {"$.a2", "null"},
      {"$.b", ""},
      {"$.a.b[2]", ""},
      {"$.a[0]", ""},
      {"$.a.b.c", ""},
      {"$.a.b[0].c", ""},
      {"$[0]", ""}};
  for (const std::size_t slice : {1U, 7U, 1000U}) {
    for (const auto& [path, value] : cases) EXPECT_EQ(value, ValueAt(path, text, slice)) << path;
    EXPECT_EQ(text.substr(1, text.size() - 2), ValueAt("$", text, slice));
    EXPECT_EQ("3", ValueAt("$.a", R"({"a":1,"b":2,"a":3})", slice));
    EXPECT_EQ("", ValueAt("$.a.b", R"({"a":{"b":1},"a":{}})", slice));
  }
}

TEST(JsonScanTest, TakesWhatTheParserTakes) {
  const std::string deep(128, '[');
  const std::string closed(128, ']');
  const std::string texts[] = {"",
                               " ",
                               "1",
                               "-",
                               "-0",
                               "01",
                               "1.",
                               "1.5",
                               ".5",
                               "1e",
                               "1e+5",
                               "1e999",
                               "-1e999",
                               "tru",
                               "true",
                               "nul",
                               "\"",
                               "\"a",
                               "\"a\"",
                               "\"\\x\"",
                               "\"\\u12\"",
                               "\"\\ud800\"",
                               "\"\\udc00\"",
                               "\"\\ud83d\\ude00\"",
                               "\"\\ud83dx\"",
                               "\"\xff\"",
                               "\"\xc3\xa4\"",
                               "\"\n\"",
                               "[",
                               "[]",
                               "[1,]",
                               "[,1]",
                               "[1 2]",
                               "[1,2]",
                               "{",
                               "{}",
                               "{\"a\"}",
                               "{\"a\":}",
                               "{\"a\":1,}",
                               "{\"a\":1}",
                               "{a:1}",
                               "{\"a\":1}x",
                               "[1]]",
                               "\xEF\xBB\xBF[1]",
                               "null \t\r\n",
                               "[\"a\" , {\"b\":[]}]",
                               deep + closed,
                               deep + "1" + closed,
                               deep + "[]" + closed,
                               deep + "[1]" + closed,
                               deep + "{}" + closed,
                               deep + "{\"a\":1}" + closed,
                               std::string(400, '9'),
                               "\0"s,
                               "1\0"s};
  for (const std::string& text : texts) {
    for (const std::size_t slice : {1U, 1000U}) {
      EXPECT_EQ(ParseJson(text).has_value(), !ValueAt("$", text, slice).empty()) << text;
    }
  }
}

TEST(JsonScanTest, TextsAreTheParsers) {
  for (const char* quoted :
       {R"("")", R"("plain")", R"("\"\\\/\b\f\n\r\t")", R"("\u00e4\u20ac\u0041")",
        R"("\ud83d\ude00 and \u0000")", R"("a\\u0041")"}) {
    EXPECT_EQ(ParseJson(quoted)->get<std::string>(), TextOfJsonString(quoted));
  }
}

TEST(IdSetTest, ComesBack) {
  std::vector<std::uint64_t> dense, sparse;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    dense.push_back(1000 + i + i / 9);
    sparse.push_back(1 + i * 1'000'003);
  }
  for (const auto& ids : {std::vector<std::uint64_t>{}, {7}, {1, UINT64_MAX >> 1}, dense, sparse}) {
    IdSet set;
    set.Add(ids);
    set.Add(ids);
    const auto decoded = IdSet::Decode(set.Encode());
    ASSERT_TRUE(decoded.has_value());
    for (const std::uint64_t id : ids) EXPECT_TRUE(decoded->Has(id));
    EXPECT_EQ(set.Encode(), decoded->Encode());
    EXPECT_FALSE(decoded->Has(999));
  }
  IdSet set;
  set.Add(dense);
  EXPECT_LT(set.Encode().size(), 800U);
  set.DropUpTo(dense[4998]);
  EXPECT_FALSE(set.Has(dense[4998]));
  EXPECT_TRUE(set.Has(dense[4999]));
  for (const std::string& bad : {"x"s, "g\x80"s, "g\0"s, "b"s, "b\0\1"s}) {
    EXPECT_FALSE(IdSet::Decode(bad).has_value());
  }
}

TEST(JsonPathTest, IsRefused) {
  for (const char* bad : {"", "a", "$.", "$a", "$[", "$[x]", "$..a"}) {
    EXPECT_FALSE(JsonPath::Parse(bad).has_value()) << bad;
  }
}

TEST(UsersTest, AreReadFromTheirLines) {
  const std::string hash(64, 'a');
  const auto user = User::Parse("anna operator+bodies sha256:" + hash + " mail-*,x");
  ASSERT_TRUE(user.ok());
  EXPECT_EQ(Role::kOperator, user.value().grant.role);
  EXPECT_TRUE(user.value().grant.bodies);
  EXPECT_TRUE(user.value().grant.Sees("mail-1"));
  EXPECT_FALSE(user.value().grant.Sees("mail"));
  EXPECT_FALSE(user.value().grant.Sees("mail-\0x"s));
  EXPECT_FALSE(user.value().grant.SeesAll());
  for (const std::string& bad :
       {""s, "anna"s, "anna boss sha256:" + hash, "anna admin " + hash, "anna admin sha256:aa"s,
        "anna admin+ sha256:" + hash, "anna none sha256:" + hash}) {
    EXPECT_FALSE(User::Parse(bad).ok()) << bad;
  }
}

HttpRequest Request(HttpRequest::Pairs headers, bool local = true) {
  HttpRequest request;
  request.method = "GET";
  request.headers = std::move(headers);
  request.peer = {.address = "127.0.0.1", .local = local, .unix = false};
  return request;
}

TEST(GuardTest, WrongTokensAreCountedByAddress) {
  Guard guard;
  AccessSettings settings;
  settings.users.push_back({"u", {.role = Role::kViewer}, HashOf("right")});
  guard.SetAccess(settings);
  const auto ask = [&](std::string token, Time now) {
    std::optional<Problem> problem;
    guard.Identify(Request({{"authorization", "Bearer " + token}}), now, problem);
    return problem ? std::string(problem->code) : "";
  };
  Time now = 1000 * kSecond;
  EXPECT_EQ("", ask("right", now));
  for (int i = 0; i < 5; ++i) EXPECT_EQ("unauthenticated", ask("wrong", now));
  EXPECT_EQ("too-many-requests", ask("wrong", now));
  EXPECT_EQ("too-many-requests", ask("wrong", now + 59 * kSecond));
  EXPECT_EQ("unauthenticated", ask("wrong", now + 60 * kSecond));
}

TEST(GuardTest, ARightTokenIsNotRefusedForWrongOnes) {
  Guard guard;
  AccessSettings settings;
  settings.users.push_back({"u", {.role = Role::kViewer}, HashOf("right")});
  guard.SetAccess(settings);
  std::optional<Problem> problem;
  for (int i = 0; i < 10; ++i) {
    guard.Identify(Request({{"authorization", "Bearer wrong"}}), kSecond, problem);
  }
  EXPECT_EQ("too-many-requests", problem->code);
  problem.reset();
  EXPECT_EQ("u",
            guard.Identify(Request({{"authorization", "Bearer right"}}), kSecond, problem).user);
  EXPECT_FALSE(problem.has_value());
  Caller caller;
  caller.address = "127.0.0.1";
  EXPECT_FALSE(guard.OpenSession("right", kSecond, caller).has_value());
  EXPECT_EQ("too-many-requests", guard.OpenSession("wrong", kSecond, caller)->code);
}

TEST(GuardTest, ToRecogniseACallerCountsNothing) {
  Guard guard;
  const HttpRequest request = Request({{"authorization", "Bearer wrong"}});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Role::kNone, guard.Recognise(request, kSecond).grant.role);
  std::optional<Problem> problem;
  guard.Identify(request, kSecond, problem);
  EXPECT_EQ("unauthenticated", problem->code);
}

TEST(GuardTest, OnlyTrustedProxiesSayWhoAsks) {
  Guard guard;
  const auto address = [&](HttpRequest::Pairs headers) {
    return guard.AddressOf(Request(std::move(headers)));
  };
  EXPECT_EQ("127.0.0.1", address({{"x-forwarded-for", "192.0.2.1"}}));
  guard.SetAccess({.proxies = {"127.0.0.1", "192.0.2.9"}});
  EXPECT_EQ("127.0.0.1", address({}));
  EXPECT_EQ("192.0.2.1", address({{"x-forwarded-for", "192.0.2.1"}}));
  EXPECT_EQ("192.0.2.1", address({{"x-forwarded-for", "10.0.0.1, 192.0.2.1:80"}}))
      << "may be made up";
  EXPECT_EQ("2001:db8::1", address({{"x-forwarded-for", "[2001:DB8:0::1]:80, 192.0.2.9"}}));
  EXPECT_EQ("192.0.2.1",
            address({{"x-forwarded-for", "192.0.2.1"}, {"x-forwarded-for", "192.0.2.9"}}));
  EXPECT_EQ("192.0.2.9", address({{"x-forwarded-for", "unknown,192.0.2.9"}}));
  for (const char* none : {"", ",", "a b", "192.0.2.1\n", "[", "::1::"}) {
    EXPECT_EQ("127.0.0.1", address({{"x-forwarded-for", none}})) << none;
  }
}

TEST(AuditTest, RefusalsOfStrangersDoNotPushOutActs) {
  Audit audit;
  int told = 0;
  audit.Tell([&](const Audit::Entry&) { ++told; });
  Caller user;
  user.grant.role = Role::kOperator;
  user.user = "u";
  Caller stranger;
  stranger.address = "b";
  Act act;
  act.action = "job.put";
  audit.Add(user, act, "ok", "r", kSecond);
  for (int i = 0; i < 5000; ++i) {
    audit.Add(stranger, act, "unauthenticated", "r", kSecond);
  }
  const Audit::Entry* const newest = audit.Before(UINT64_MAX);
  EXPECT_EQ(5000U, newest->count);
  EXPECT_EQ("b", newest->address);
  const Audit::Entry* const done = audit.Before(newest->id);
  ASSERT_NE(nullptr, done);
  EXPECT_EQ("u", done->user);
  EXPECT_EQ(nullptr, audit.Before(done->id));
  EXPECT_EQ(2, told) << "the first refusal, and the act";
  for (int i = 0; i < 5000; ++i) {
    Peer peer;
    peer.address = std::to_string(i);
    OperatorAct forbidden;
    forbidden.action = "tube.pause";
    forbidden.result = "forbidden";
    audit.Add(peer, forbidden, kSecond);
  }
  std::size_t kept = 0;
  for (auto* each = audit.Before(UINT64_MAX); each != nullptr; each = audit.Before(each->id))
    ++kept;
  EXPECT_EQ(1 + Audit::kRefusedKept, kept);
}

TEST(AuditTest, EqualActsOfClientsWithinAMinuteAreOne) {
  Audit audit;
  std::uint64_t times = 0;
  audit.Tell([&](const Audit::Entry& entry) { times = entry.times; });
  Peer peer;
  peer.address = "a";
  OperatorAct kick;
  kick.action = "job.kick";
  kick.tube = "t";
  kick.result = "ok";
  for (int second = 1; second <= 90; ++second) {
    kick.job = static_cast<JobId>(second);
    audit.Add(peer, kick, second * kSecond);
  }
  kick.tube = "other";
  audit.Add(peer, kick, 90 * kSecond);
  EXPECT_EQ(1u, times);
  const Audit::Entry* const other = audit.Before(UINT64_MAX);
  const Audit::Entry* const second = audit.Before(other->id);
  ASSERT_NE(nullptr, second);
  EXPECT_EQ(30u, second->times);
  EXPECT_EQ(90u, second->job);
  const Audit::Entry* const first = audit.Before(second->id);
  ASSERT_NE(nullptr, first);
  EXPECT_EQ(60u, first->times);
  EXPECT_EQ(nullptr, audit.Before(first->id));
}

TEST(SideThreadTest, DoesNothingThatNobodyWaitsFor) {
  SideThread thread;
  std::promise<void> begun, goes_on;
  std::atomic<int> done = 0;
  SideResult<int> first(thread, [&] {
    begun.set_value();
    goes_on.get_future().wait();
    return ++done;
  });
  EXPECT_FALSE(first.done());
  begun.get_future().wait();
  for (int i = 0; i < 100; ++i) {
    SideResult<int> given_up(thread, [&] { return ++done; });
    EXPECT_FALSE(given_up.done());
  }
  const SideResult<int> never_asked(thread, [&] { return ++done; });
  SideResult<int> last(thread, [&] { return ++done; });
  EXPECT_FALSE(last.done());
  goes_on.set_value();
  while (!last.done()) std::this_thread::yield();
  EXPECT_EQ(2, *last);
}

TEST(SideThreadTest, WithoutMemoryThereIsNoResult) {
  SideThread thread;
  SideResult<int> none(thread, []() -> int { throw std::bad_alloc(); });
  while (!none.done()) std::this_thread::yield();
  EXPECT_FALSE((*none).has_value());
  SideResult<int> next(thread, [] { return 7; });
  while (!next.done()) std::this_thread::yield();
  EXPECT_EQ(7, *next);
}

TEST(GuardTest, ASessionEnds) {
  Guard guard;
  AccessSettings settings;
  settings.users.push_back({"u", {.role = Role::kViewer}, HashOf("right")});
  guard.SetAccess(settings);
  Caller caller;
  ASSERT_FALSE(guard.OpenSession("right", kSecond, caller).has_value());
  const auto who = [&](Time now) {
    std::optional<Problem> problem;
    return guard.Identify(Request({{"cookie", "x=y; gearstalk_session=" + caller.session}}), now,
                          problem);
  };
  EXPECT_EQ("u", who(2 * kSecond).user);
  EXPECT_EQ(Caller::Via::kNobody, who(Guard::kSessionLasts + kSecond).via);
  ASSERT_FALSE(guard.OpenSession("right", kSecond, caller).has_value());
  settings.users.clear();
  guard.SetAccess(settings);
  EXPECT_EQ("", who(2 * kSecond).user) << "there is no such user any more";
}

TEST(GuardTest, CallersLastUntilTheSettingsChangeTheirRights) {
  Guard guard;
  const auto identify = [&](HttpRequest::Pairs headers) {
    std::optional<Problem> problem;
    return guard.Identify(Request(std::move(headers)), kSecond, problem);
  };
  const Caller anonymous = identify({});
  EXPECT_TRUE(guard.Lasts(anonymous, kSecond));
  AccessSettings settings;
  settings.users.push_back({"u", {.role = Role::kViewer}, HashOf("right")});
  guard.SetAccess(settings);
  EXPECT_FALSE(guard.Lasts(anonymous, kSecond)) << "it is for users now";
  Caller by_cookie;
  ASSERT_FALSE(guard.OpenSession("right", kSecond, by_cookie).has_value());
  Caller by_token = identify({{"authorization", "Bearer right"}});
  for (const Caller* caller : {&by_cookie, &by_token}) {
    guard.SetAccess(settings);
    EXPECT_TRUE(guard.Lasts(*caller, kSecond));
    AccessSettings fewer = settings;
    fewer.users[0].grant.tubes = {"a"};
    guard.SetAccess(fewer);
    EXPECT_FALSE(guard.Lasts(*caller, kSecond));
    AccessSettings revoked = settings;
    revoked.users[0].token = HashOf("another");
    guard.SetAccess(revoked);
    EXPECT_FALSE(guard.Lasts(*caller, kSecond));
  }
}

TEST(GuardTest, RatesAreByCaller) {
  Guard guard;
  guard.SetAccess({.rate = 10});
  Caller a, b;
  a.user = "a";
  b.user = "b";
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(guard.CountRequest(a, kSecond).has_value());
  EXPECT_TRUE(guard.CountRequest(a, kSecond).has_value());
  EXPECT_FALSE(guard.CountRequest(b, kSecond).has_value());
  EXPECT_FALSE(guard.CountRequest(a, kSecond + kSecond / 10).has_value());
}

TEST(RingTest, KeepsMeansAndPeaks) {
  Ring ring(10, 3, 2);
  ring.KeepPeaks(1);
  const auto add = [&](Time at, float number) {
    const float sample[] = {number, number};
    ring.Add(at, sample);
  };
  add(0, 1);
  add(9, 3);
  add(10, 7);
  EXPECT_EQ(0, ring.last());
  EXPECT_EQ(2, ring.At(0, 0));
  EXPECT_EQ(3, ring.At(0, 1));
  add(50, 1);
  EXPECT_EQ(1, ring.last());
  add(60, 1);
  EXPECT_EQ(5, ring.last());
  EXPECT_EQ(3, ring.first());
  EXPECT_NE(ring.At(4, 0), ring.At(4, 0)) << "nothing is known";
}

}  // namespace
}  // namespace gearstalk::api

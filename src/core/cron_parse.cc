// Cron::parse: text to bits. Every refusal names the column, what is there and what may be there.
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include "core/ascii.h"
#include "core/cron.h"
#include "core/limits.h"
#include "core/quote.h"

namespace millrace {
namespace {

constexpr std::string_view fields_wanted =
    "5 fields (minute hour day month weekday), or 6 with the second first";

constexpr std::array<std::string_view, 12> month_names{"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                       "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> weekday_names{"SUN", "MON", "TUE", "WED",
                                                        "THU", "FRI", "SAT"};

enum class Field { second, minute, hour, day, month, weekday };

struct FieldShape {
  std::string_view name;
  int least;
  int greatest;
  std::span<const std::string_view> names;  // the first one stands for `least`
  std::string_view allowed;

  // Weekday 7 is another name for 0, so `*` and `n/step` end at 6.
  int end() const { return names.size() == 7 ? 6 : greatest; }
  int size() const { return end() - least + 1; }
};

constexpr std::array<FieldShape, 6> shapes{{
    {"second", 0, 59, {}, "a number 0-59 or *"},
    {"minute", 0, 59, {}, "a number 0-59 or *"},
    {"hour", 0, 23, {}, "a number 0-23 or *"},
    {"day", 1, 31, {}, "a number 1-31, *, L, L-n, LW or nW"},
    {"month", 1, 12, month_names, "a number 1-12, JAN-DEC or *"},
    {"weekday", 0, 7, weekday_names, "a number 0-7, SUN-SAT, *, FRI#2 or FRIL"},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> nicknames{{
    {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
    {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
}};

using ascii::is_digit;
using ascii::is_letter;

constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

// Reads one expression. A function that returns false has left its reason in `error_`.
class CronParser {
 public:
  explicit CronParser(std::string_view text) : text_(text) {}

  Result<Cron> parse() {
    if (text_.size() > limits::max_cron) {
      return fail(ErrorCode::too_large, fmt::format("cron: {} bytes are too many; {} are allowed",
                                                    text_.size(), limits::max_cron));
    }
    if (!read_fields()) return std::unexpected(std::move(error_));
    return cron_;
  }

 private:
  struct Word {
    std::size_t begin;
    std::size_t end;
  };

  // One number or name; `at` is where it began.
  struct Value {
    std::size_t at = 0;
    int number = 0;
    bool named = false;
  };

  bool refuse(std::size_t at, std::string_view why) {
    error_ = Error{.code = ErrorCode::invalid,
                   .message = fmt::format("cron {}: column {}: {}", in_quotes(text_), at + 1, why)};
    return false;
  }

  bool read_fields() {
    std::vector<Word> words = split();
    if (words.empty()) return refuse(0, fmt::format("the rule is empty; write {}", fields_wanted));
    if (text_[words[0].begin] == '@') return read_nickname(words);
    if (words.size() != 5 && words.size() != 6) {
      const std::size_t at = words.size() > 6 ? words[6].begin : words.back().end;
      return refuse(at, fmt::format("found {} fields; write {}", words.size(), fields_wanted));
    }
    const bool with_seconds = words.size() == 6;
    if (!with_seconds) cron_.seconds = 1;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!read_field(static_cast<Field>(with_seconds ? i : i + 1), words[i])) return false;
    }
    return check_it_fires(words[with_seconds ? 3 : 2].begin);
  }

  std::vector<Word> split() const {
    std::vector<Word> words;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (is_blank(text_[i])) continue;
      if (i == 0 || is_blank(text_[i - 1])) words.push_back({i, i});
      words.back().end = i + 1;
    }
    return words;
  }

  bool read_nickname(std::span<const Word> words) {
    const std::string_view name = text_.substr(words[0].begin, words[0].end - words[0].begin);
    if (ascii::equal_ignoring_case(name, "@every")) {
      return refuse(words[0].begin, "@every is not a cron rule; use an interval schedule");
    }
    if (words.size() > 1) {
      return refuse(words[1].begin, fmt::format("nothing may follow {}", in_quotes(name)));
    }
    for (const auto& [nickname, meaning] : nicknames) {
      if (!ascii::equal_ignoring_case(name, nickname)) continue;
      cron_ = *Cron::parse(meaning);
      return true;
    }
    return refuse(words[0].begin, fmt::format("unknown name {}; there are @yearly, @annually, "
                                              "@monthly, @weekly, @daily, @midnight and @hourly",
                                              in_quotes(name)));
  }

  bool read_field(Field field, Word word) {
    field_ = field;
    shape_ = &shapes[static_cast<std::size_t>(field)];
    at_ = word.begin;
    end_ = word.end;
    bits_ = 0;
    unrestricted_ = false;
    do {
      if (!read_item()) return false;
    } while (take(','));
    if (at_ != end_) return refuse_rest();
    store_field();
    return true;
  }

  void store_field() {
    const auto narrow = static_cast<std::uint32_t>(bits_);
    switch (field_) {
      case Field::second:
        cron_.seconds = bits_;
        break;
      case Field::minute:
        cron_.minutes = bits_;
        break;
      case Field::hour:
        cron_.hours = narrow;
        break;
      case Field::month:
        cron_.months = narrow;
        break;
      case Field::day:
        cron_.days = narrow;
        cron_.any_day = unrestricted_;
        break;
      case Field::weekday:
        for (std::size_t n = 0; n <= 7; ++n) {
          if (narrow & (1U << n)) cron_.weekdays[n % 7] |= Cron::every_week;
        }
        cron_.any_weekday = unrestricted_;
        break;
    }
  }

  // What stands between two commas.
  bool read_item() {
    if (take('*') || take('?')) {
      int step = 1;
      if (peek() == '/' && !read_step(step)) return false;
      if (step == 1) unrestricted_ = true;
      add(shape_->least, shape_->end(), step);
      return true;
    }
    if (field_ == Field::day && ascii::lower(peek()) == 'l') return read_last_day();
    Value from;
    if (!read_value(from)) return false;
    if (field_ == Field::day && ascii::lower(peek()) == 'w') return read_nearest_weekday(from);
    if (field_ == Field::weekday && (peek() == '#' || ascii::lower(peek()) == 'l'))
      return read_week_of_month(from);
    return read_range(from);
  }

  bool read_range(Value from) {
    Value to = from;
    const bool is_range = take('-');
    if (is_range && !read_value(to)) return false;
    // A range that ends in SUN ends the week: MON-SUN is 1-7.
    if (is_range && field_ == Field::weekday && to.named && to.number == 0 && from.number > 0)
      to.number = 7;
    if (from.number > to.number) {
      return refuse(from.at,
                    fmt::format("the range {}-{} runs backwards; write {}-{},{}-{}", from.number,
                                to.number, from.number, shape_->end(), shape_->least, to.number));
    }
    int step = 1;
    if (peek() == '/') {
      if (!read_step(step)) return false;
      if (!is_range) to.number = std::max(from.number, shape_->end());
    }
    add(from.number, to.number, step);
    return true;
  }

  bool read_step(int& step) {
    take('/');
    const std::size_t at = at_;
    if (!is_digit(peek())) {
      return refuse(at, fmt::format("a step is a number 1-{}, found {}", shape_->size(), here()));
    }
    step = read_number();
    if (step < 1 || step > shape_->size()) {
      return refuse(at, fmt::format("step {} of the {} field is out of range 1-{}",
                                    text_.substr(at, at_ - at), shape_->name, shape_->size()));
    }
    return true;
  }

  // L, L-3, LW, L-3W
  bool read_last_day() {
    take(peek());
    int before = 0;
    if (take('-')) {
      const std::size_t at = at_;
      before = is_digit(peek()) ? read_number() : -1;
      if (before < 1 || before > 30) {
        at_ = at;
        return refuse(at, fmt::format("L-n takes a number 1-30, found {}", here()));
      }
    }
    const bool nearest = ascii::lower(peek()) == 'w' && take(peek());
    (nearest ? cron_.nearest_from_last : cron_.from_last) |= 1U << before;
    return true;
  }

  // 15W
  bool read_nearest_weekday(Value value) {
    take(peek());
    if (peek() == '-' || peek() == '/') {
      return refuse(at_, fmt::format("{}W is one day and takes no range or step", value.number));
    }
    cron_.nearest |= 1U << value.number;
    return true;
  }

  // FRI#2, 5L, FRIL, FRI#L
  bool read_week_of_month(Value value) {
    std::uint8_t week = Cron::last_week;
    if (take('#')) {
      const std::size_t at = at_;
      const int number = is_digit(peek()) ? read_number() : 0;
      if (number >= 1 && number <= 5) {
        week = static_cast<std::uint8_t>(1U << (number - 1));
      } else if (number != 0 || ascii::lower(peek()) != 'l' || !take(peek())) {
        at_ = at;
        return refuse(at, fmt::format("# takes a week 1-5 or L, found {}", here()));
      }
    } else {
      take(peek());
    }
    cron_.weekdays[static_cast<std::size_t>(value.number % 7)] |= week;
    return true;
  }

  bool read_value(Value& value) {
    value = {.at = at_};
    if (is_letter(peek()) && !shape_->names.empty()) return read_name(value);
    if (!is_digit(peek())) {
      return refuse(at_, fmt::format("the {} field needs {}, found {}", shape_->name,
                                     shape_->allowed, here()));
    }
    value.number = read_number();
    if (value.number >= shape_->least && value.number <= shape_->greatest) return true;
    return refuse(value.at, fmt::format("{} {} is out of range {}-{}", shape_->name,
                                        text_.substr(value.at, at_ - value.at), shape_->least,
                                        shape_->greatest));
  }

  bool read_name(Value& value) {
    std::size_t end = at_;
    while (end < end_ && is_letter(text_[end])) ++end;
    std::string_view name = text_.substr(at_, end - at_);
    const bool marks_last =
        field_ == Field::weekday && name.size() == 4 && ascii::lower(name[3]) == 'l';
    if (marks_last) name.remove_suffix(1);
    for (std::size_t i = 0; i < shape_->names.size(); ++i) {
      if (!ascii::equal_ignoring_case(name, shape_->names[i])) continue;
      at_ += name.size();
      value.number = shape_->least + static_cast<int>(i);
      value.named = true;
      return true;
    }
    return refuse(at_, fmt::format("the {} field needs {}, found {}", shape_->name, shape_->allowed,
                                   in_quotes(name)));
  }

  // REQUIRES: a digit. Numbers too long for any field all read as 9999.
  int read_number() {
    int number = 0;
    while (is_digit(peek())) number = std::min(9999, number * 10 + (text_[at_++] - '0'));
    return number;
  }

  bool refuse_rest() {
    return refuse(at_, fmt::format("unexpected {} in the {} field", here(), shape_->name));
  }

  // A day that is in no month named, in any year: the Gregorian calendar repeats after 400.
  bool check_it_fires(std::size_t day_column) {
    using std::chrono::local_days;
    using std::chrono::year;
    const auto first = cron_.first_from(local_days{year{2000} / 1 / 1});
    if (first && *first < local_days{year{2400} / 1 / 1}) return true;
    return refuse(day_column, "no year has this day in these months, so nothing would ever fire");
  }

  void add(int from, int to, int step) {
    for (int n = from; n <= to; n += step) bits_ |= std::uint64_t{1} << n;
  }

  char peek() const { return at_ < end_ ? text_[at_] : '\0'; }

  bool take(char wanted) {
    if (at_ == end_ || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  // The number, word or character that stands where the reading stopped.
  std::string here() const {
    if (at_ == end_) return "the end of the field";
    std::size_t end = at_;
    while (end < end_ && is_digit(text_[end])) ++end;
    if (end == at_) {
      while (end < end_ && is_letter(text_[end])) ++end;
    }
    return in_quotes(text_.substr(at_, std::max<std::size_t>(end - at_, 1)));
  }

  std::string_view text_;
  Cron cron_;
  Error error_;

  // The field being read.
  Field field_ = Field::second;
  const FieldShape* shape_ = nullptr;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::uint64_t bits_ = 0;
  bool unrestricted_ = false;
};

}  // namespace

Result<Cron> Cron::parse(std::string_view text) {
  return CronParser{text}.parse();
}

}  // namespace millrace

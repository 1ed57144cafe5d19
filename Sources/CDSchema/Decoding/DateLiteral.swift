#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Reads ISO 8601 dates: a day, which means its start in UTC, or a day and a time with a time zone.
///
/// `2024-02-29`, `2024-02-29T12:30:00Z`, `2024-02-29T12:30:00.125+01:00`. A time without a time zone is refused,
/// because its meaning would depend on the machine.
public struct DateLiteral {
  private var rest: Substring.UTF8View

  /// Reads a date from a text. Returns nil if the text has none of these forms.
  public static func date(_ text: String) -> Date? {
    var reader = DateLiteral(rest: text[...].utf8)
    return reader.read()
  }

  private mutating func read() -> Date? {
    guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2),
      (1...12).contains(month), day >= 1, day <= Self.days(in: month, of: year)
    else { return nil }
    var seconds = Double(Self.daysSinceReference(year: year, month: month, day: day)) * 86_400
    if rest.isEmpty { return Date(timeIntervalSinceReferenceDate: seconds) }
    guard take("T"), let hour = number(2), take(":"), let minute = number(2), hour < 24, minute < 60 else {
      return nil
    }
    seconds += Double(hour * 3600 + minute * 60)
    if take(":") {
      guard let second = number(2), second < 60 else { return nil }
      seconds += Double(second)
      if take(".") {
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard !digits.isEmpty, let fraction = Double("0." + String(Substring(digits))) else { return nil }
        rest = rest.dropFirst(digits.count)
        seconds += fraction
      }
    }
    guard let offset = zone(), rest.isEmpty else { return nil }
    return Date(timeIntervalSinceReferenceDate: seconds - Double(offset))
  }

  /// The time zone's offset from UTC in seconds.
  private mutating func zone() -> Int? {
    if take("Z") { return 0 }
    let sign: Int
    if take("+") { sign = 1 } else if take("-") { sign = -1 } else { return nil }
    guard let hours = number(2), hours < 24 else { return nil }
    _ = take(":")
    guard let minutes = number(2), minutes < 60 else { return nil }
    return sign * (hours * 3600 + minutes * 60)
  }

  private mutating func number(_ count: Int) -> Int? {
    var value = 0
    for _ in 0..<count {
      guard let byte = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      value = value * 10 + Int(byte - UInt8(ascii: "0"))
      rest = rest.dropFirst()
    }
    return value
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard let byte = rest.first, UInt32(byte) == character.value else { return false }
    rest = rest.dropFirst()
    return true
  }

  private static func days(in month: Int, of year: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func isLeap(_ year: Int) -> Bool {
    year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
  }

  /// The number of days from 2001-01-01 in the Gregorian calendar, which ISO 8601 uses for all years.
  private static func daysSinceReference(year: Int, month: Int, day: Int) -> Int {
    func daysBefore(_ year: Int) -> Int {
      let last = year - 1
      func floored(_ divisor: Int) -> Int { Int((Double(last) / Double(divisor)).rounded(.down)) }
      return last * 365 + floored(4) - floored(100) + floored(400)
    }
    var count = daysBefore(year) - daysBefore(2001) + day - 1
    for earlier in 1..<month { count += days(in: earlier, of: year) }
    return count
  }
}

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension DateLiteral {
  /// The text that ``date(_:)`` reads as exactly this date: only the day if the date is the start of a day in UTC,
  /// otherwise a time with all its digits. Nil outside the years 1 to 9999.
  public static func text(of date: Date) -> String? {
    let interval = date.timeIntervalSinceReferenceDate
    let whole = interval.rounded(.down)
    // From the start of the year 1 to the end of 9999.
    guard interval.isFinite, whole >= -63_113_904_000, whole < 252_423_993_600 else { return nil }
    let seconds = Int(whole)
    let day = seconds >= 0 ? seconds / 86_400 : -((86_399 - seconds) / 86_400)
    let time = seconds - day * 86_400
    let (year, month, dayOfMonth) = civil(daysSinceReference: day)
    let text = "\(padded(year, 4))-\(padded(month, 2))-\(padded(dayOfMonth, 2))"
    let fraction = interval - whole
    if time == 0, fraction == 0 { return text }
    let clock = "\(padded(time / 3600, 2)):\(padded(time / 60 % 60, 2)):\(padded(time % 60, 2))"
    return text + "T" + clock + (fraction == 0 ? "" : "." + digits(of: fraction)) + "Z"
  }

  /// The digits after the point of a number between 0 and 1, as many as are needed to read the same number again.
  private static func digits(of fraction: Double) -> String {
    let text = fraction.description
    guard let mark = text.firstIndex(of: "e"), let exponent = Int(text[text.index(after: mark)...]) else {
      return String(text.dropFirst(2))
    }
    let mantissa = text[..<mark].filter { $0 != "." }
    return String(repeating: "0", count: max(-exponent - 1, 0)) + mantissa
  }

  private static func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(width - digits.count, 0)) + digits
  }

  /// The Gregorian date of a number of days after 2001-01-01. It counts eras of 400 years that begin on 1 March.
  private static func civil(daysSinceReference days: Int) -> (year: Int, month: Int, day: Int) {
    // 2001-01-01 is 730 791 days after 0000-03-01.
    let count = days + 730_791
    let era = (count >= 0 ? count : count - 146_096) / 146_097
    let dayOfEra = count - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shifted + 2) / 5 + 1
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }
}

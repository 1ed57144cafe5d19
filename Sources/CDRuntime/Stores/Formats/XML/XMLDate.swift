/// The text of a date in an XML store. A whole second of the years 1 to 9999 is `2026-11-21T09:30:00Z`. Any other date
/// is the number of seconds since 2001, which is always exact.
enum XMLDate {
  /// The day 2001-01-01, counted from 1970-01-01.
  private static let reference: Int64 = 11_323

  static func text(_ seconds: Double) -> String {
    // From the year 1 to the end of the year 9999.
    guard seconds >= -63_113_904_000, seconds < 252_423_993_600, let whole = Int64(exactly: seconds),
      !(seconds == 0 && seconds.sign == .minus)
    else { return "\(seconds)" }
    let day = whole >= 0 ? whole / 86_400 : (whole + 1) / 86_400 - 1
    let second = whole - day * 86_400
    let date = civil(day + reference)
    return padded(date.year, 4) + "-" + padded(date.month, 2) + "-" + padded(date.day, 2) + "T"
      + padded(second / 3600, 2) + ":" + padded(second / 60 % 60, 2) + ":" + padded(second % 60, 2) + "Z"
  }

  /// Returns the seconds for the bytes of a text; nil if the text is not a date.
  static func seconds(_ bytes: UnsafeBufferPointer<UInt8>) -> Double? {
    guard bytes.count == 20, bytes[4] == UInt8(ascii: "-"), bytes[10] == UInt8(ascii: "T") else {
      return XMLValue.real(bytes)
    }
    func number(_ range: Range<Int>) -> Int64? {
      var result: Int64 = 0
      for byte in bytes[range] {
        guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
        result = result * 10 + Int64(byte - UInt8(ascii: "0"))
      }
      return result
    }
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
      let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
      bytes[7] == UInt8(ascii: "-"), bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
      bytes[19] == UInt8(ascii: "Z"), hour < 24, minute < 60, second < 60
    else { return nil }
    let days = days(year, month, day)
    // A day that the month does not have would become a day of the next month.
    guard civil(days) == (year, month, day) else { return nil }
    return Double((days - reference) * 86_400 + hour * 3600 + minute * 60 + second)
  }

  private static func padded(_ number: Int64, _ width: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
  }

  // The calendar repeats after 400 years. Years begin in March, so that the leap day is the last day.

  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let ofEra = year - era * 400
    let ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
  }

  private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let days = days + 719_468
    let era = (days >= 0 ? days : days - 146_096) / 146_097
    let ofEra = days - era * 146_097
    let yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * ofYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, ofYear - (153 * shifted + 2) / 5 + 1)
  }
}

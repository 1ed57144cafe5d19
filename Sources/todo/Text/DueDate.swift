import ArgumentParser
import Foundation

/// A due date, given as a time from now or as a date.
struct DueDate: ExpressibleByArgument {
  var date: Date

  static let forms =
    "a time from now on, such as 5m, 1h30m or 2d, or a date, such as 2030-06-01 or 2030-06-01T18:30"

  init?(argument: String) {
    if let span = TimeSpan(argument: argument) {
      date = Date.now + span.seconds
    } else if let date = Self.date(argument) {
      self.date = date
    } else {
      return nil
    }
  }

  /// Reads an ISO 8601 date, with or without a time. It is in the local time zone unless it ends in `Z`. A date without a
  /// time is the beginning of the day.
  private static func date(_ text: String) -> Date? {
    let isUTC = text.hasSuffix("Z")
    let parts = text.dropLast(isUTC ? 1 : 0).split(separator: "T", omittingEmptySubsequences: false)
    guard let first = parts.first, parts.count <= 2, !isUTC || parts.count == 2,
      let days = numbers(first, separator: "-", widths: [4, 2, 2])
    else { return nil }
    var components = DateComponents(
      year: days[0], month: days[1], day: days[2], hour: 12, minute: 0, second: 0)
    if parts.count == 2 {
      let time = numbers(parts[1], separator: ":", widths: [2, 2, 2])
      guard let time = time ?? numbers(parts[1], separator: ":", widths: [2, 2]) else { return nil }
      components.hour = time[0]
      components.minute = time[1]
      components.second = time.count > 2 ? time[2] : 0
    }
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = isUTC ? .gmt : .current
    // A calendar accepts 31 June and returns 1 July, so the result must be compared with the text.
    guard let date = calendar.date(from: components) else { return nil }
    let back = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
    let isSame =
      back.year == components.year && back.month == components.month && back.day == components.day
      && back.hour == components.hour && back.minute == components.minute && back.second == components.second
    guard isSame else { return nil }
    // Clocks that go forward at midnight leave a day without a midnight. Each day has a noon.
    return parts.count == 2 ? date : calendar.startOfDay(for: date)
  }

  private static func numbers(_ text: Substring, separator: Character, widths: [Int]) -> [Int]? {
    let parts = text.split(separator: separator, omittingEmptySubsequences: false)
    guard parts.map(\.count) == widths, text.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == separator) })
    else { return nil }
    let numbers = parts.compactMap { Int($0) }
    return numbers.count == widths.count ? numbers : nil
  }
}

extension Date {
  /// The date in the local time zone: `2030-06-01 18:30`.
  var shortText: String {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .current
    let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute], from: self)
    func digits(_ value: Int?, _ width: Int) -> String {
      let text = String(value ?? 0)
      return String(repeating: "0", count: max(0, width - text.count)) + text
    }
    return "\(digits(parts.year, 4))-\(digits(parts.month, 2))-\(digits(parts.day, 2)) "
      + "\(digits(parts.hour, 2)):\(digits(parts.minute, 2))"
  }
}

import Foundation

/// Dates as the browser's `datetime-local` fields write them, in the time zone of the server: `2030-06-01T18:30`.
enum LocalTime {
  static func text(_ date: Date) -> String {
    let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute], from: date)
    func digits(_ value: Int?, _ width: Int) -> String {
      let text = String(value ?? 0)
      return String(repeating: "0", count: max(0, width - text.count)) + text
    }
    return "\(digits(parts.year, 4))-\(digits(parts.month, 2))-\(digits(parts.day, 2))"
      + "T\(digits(parts.hour, 2)):\(digits(parts.minute, 2))"
  }

  /// Reads a date; nil if the text is not one.
  static func date(_ text: String) -> Date? {
    let numbers = text.split { !$0.isNumber }.compactMap { Int($0) }
    guard numbers.count >= 5, text.count >= 16, numbers.allSatisfy({ $0 <= 9999 }) else { return nil }
    let components = DateComponents(
      year: numbers[0], month: numbers[1], day: numbers[2], hour: numbers[3], minute: numbers[4])
    // A calendar takes the 31st of June for the 1st of July.
    guard components.isValidDate(in: calendar) else { return nil }
    return calendar.date(from: components)
  }

  /// The date for people.
  static func readable(_ date: Date) -> String { text(date).replacing("T", with: " ") }

  static let calendar = Calendar(identifier: .gregorian)
}

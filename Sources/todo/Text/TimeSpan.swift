import ArgumentParser
import Foundation

/// A duration as people write it: `90s`, `5m`, `1h30m`, `2d`.
struct TimeSpan: Hashable, ExpressibleByArgument {
  var seconds: TimeInterval

  private static let units: [Character: TimeInterval] = [
    "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800,
  ]

  init?(argument: String) {
    var seconds: TimeInterval = 0
    var digits = ""
    for character in argument {
      if character.isASCII, character.isNumber {
        digits.append(character)
      } else if let unit = Self.units[character], let number = TimeInterval(digits) {
        seconds += number * unit
        digits = ""
      } else {
        return nil
      }
    }
    // A number without a unit is ambiguous. The maximum is a hundred years.
    guard digits.isEmpty, !argument.isEmpty, seconds <= 100 * 366 * 86_400 else { return nil }
    self.seconds = seconds
  }

  init(from start: Date, to end: Date) {
    seconds = end.timeIntervalSince(start)
  }

  /// The time relative to now, rounded to its largest unit: `in 5 min`, `3 h ago`, `now`.
  var relativeText: String {
    let size = abs(seconds)
    let (number, unit) =
      switch size {
      case ..<60: (size, "s")
      case ..<3600: (size / 60, "min")
      case ..<86_400: (size / 3600, "h")
      default: (size / 86_400, "d")
      }
    let rounded = Int(number.rounded())
    if rounded == 0 { return "now" }
    return seconds < 0 ? "\(rounded) \(unit) ago" : "in \(rounded) \(unit)"
  }
}

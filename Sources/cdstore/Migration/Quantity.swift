import CDModel
import Foundation

/// Formats numbers with their units.
enum Quantity {
  static func count(_ number: Int, _ unit: String) -> String { "\(number) \(unit)\(number == 1 ? "" : "s")" }

  static func time(_ duration: Duration) -> String {
    let seconds = duration / .seconds(1)
    return seconds < 1 ? String(format: "%.0f ms", seconds * 1000) : String(format: "%.1f s", seconds)
  }

  static func bytes(_ number: Int64) -> String {
    let units = ["bytes", "KB", "MB", "GB", "TB"]
    var (value, place) = (Double(number), 0)
    while value >= 1000, place < units.count - 1 {
      value /= 1000
      place += 1
    }
    return place == 0 ? "\(number) bytes" : String(format: "%.1f \(units[place])", value)
  }
}

extension JSONValue {
  static func count(_ number: Int) -> JSONValue { .int(Int64(number)) }

  static func seconds(_ duration: Duration) -> JSONValue { .double(duration / .seconds(1)) }
}

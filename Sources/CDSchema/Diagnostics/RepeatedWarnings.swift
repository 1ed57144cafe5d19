/// Joins warnings that are equal for several versions of a model.
///
/// Most elements of a version, and the warnings about them, are the same in the version before. Nobody reads the
/// repeated warnings of a hundred versions.
enum RepeatedWarnings {
  /// - Parameters:
  ///   - diagnostics: All diagnostics, in order.
  ///   - versions: The versions' numbers by the paths of their files.
  /// - Returns: The diagnostics. Of equal warnings, only that of the newest version is kept, and it names the other
  ///   versions.
  static func joined(_ diagnostics: [Diagnostic], versions: [String: Int]) -> [Diagnostic] {
    struct Key: Hashable {
      var message: String
      /// The index of this warning among those of its version with the same text. The text does not always identify its
      /// element.
      var place: Int
    }
    var counts: [String: Int] = [:]
    var keys: [Int: Key] = [:]
    var numbers: [Key: [Int]] = [:]
    for (place, each) in diagnostics.enumerated() {
      guard each.severity == .warning, let number = versions[each.location.path] else { continue }
      let count = counts["\(number) \(each.fullMessage)", default: 0]
      counts["\(number) \(each.fullMessage)"] = count + 1
      let key = Key(message: each.fullMessage, place: count)
      keys[place] = key
      numbers[key, default: []].append(number)
    }
    return diagnostics.enumerated().compactMap { place, each in
      guard let key = keys[place], let all = numbers[key], all.count > 1 else { return each }
      guard let newest = all.max(), versions[each.location.path] == newest else { return nil }
      var result = each
      // A suggestion is printed at the end of the text, so it must be part of the text before more is added.
      (result.message, result.suggestion) = (each.fullMessage, nil)
      result.message +=
        " (so too in version\(all.count > 2 ? "s" : "") \(ranges(all.filter { $0 != newest })))"
      return result
    }
  }

  /// Formats numbers as a list for people: `1 to 4, 6`.
  private static func ranges(_ numbers: [Int]) -> String {
    var ranges: [ClosedRange<Int>] = []
    for number in numbers.sorted() {
      if let last = ranges.last, last.upperBound + 1 == number {
        ranges[ranges.count - 1] = last.lowerBound...number
      } else {
        ranges.append(number...number)
      }
    }
    return ranges.map { range in
      switch range.count {
      case 1: "\(range.lowerBound)"
      case 2: "\(range.lowerBound), \(range.upperBound)"
      default: "\(range.lowerBound) to \(range.upperBound)"
      }
    }.joined(separator: ", ")
  }
}

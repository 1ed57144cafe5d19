/// Warnings that are the same for several versions of a model, each of them once.
///
/// A version mostly has what the one before it has, and what is remarked of it. Whoever reads a hundred versions' remarks
/// reads none.
enum RepeatedWarnings {
  /// - Parameters:
  ///   - diagnostics: All there is to say, in order.
  ///   - versions: The versions' numbers by the paths of their files.
  /// - Returns: The same, where of equal warnings the newest version's is left, and names the others.
  static func joined(_ diagnostics: [Diagnostic], versions: [String: Int]) -> [Diagnostic] {
    struct Key: Hashable {
      var message: String
      /// Which of a version's warnings with this text it is: some name nothing that tells them apart.
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
      // A suggestion ends the text, so that it has to become part of it.
      (result.message, result.suggestion) = (each.fullMessage, nil)
      result.message +=
        " (so too in version\(all.count > 2 ? "s" : "") \(ranges(all.filter { $0 != newest })))"
      return result
    }
  }

  /// Numbers as people list them: `1 to 4, 6`.
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

/// The order of a bundle's versions. Xcode does not store it.
struct VersionOrder {
  /// A version and the versions that it is based on.
  struct Entry: Hashable {
    var name: String
    /// Nil if the version is based on the one before it.
    var bases: [String]?
  }

  var entries: [Entry]

  /// Reads the order from a text that lists the versions from oldest to newest, one per line. `NAME <- BASE, BASE`
  /// names the bases of a version that is not based on the one before it. A `#` starts a comment.
  init(text: String) {
    entries = text.split(whereSeparator: \.isNewline).compactMap { line in
      let trimmed = line.drop { $0 == " " || $0 == "\t" }
      if trimmed.isEmpty || trimmed.hasPrefix("#") { return nil }
      guard let arrow = trimmed.firstRange(of: " <- ") else { return Entry(name: Self.name(trimmed)) }
      let bases = trimmed[arrow.upperBound...].split(separator: ",").map(Self.name)
      return Entry(name: Self.name(trimmed[..<arrow.lowerBound]), bases: bases)
    }
  }

  private static func name(_ text: Substring) -> String {
    var name = text
    while let last = name.last, last.isWhitespace { name.removeLast() }
    while let first = name.first, first.isWhitespace { name.removeFirst() }
    let suffix = ".xcdatamodel"
    return name.hasSuffix(suffix) ? String(name.dropLast(suffix.count)) : String(name)
  }

  /// Derives the order from the numbers in the versions' names. Nil if this is not possible.
  ///
  /// It is possible if all names consist of the same text and different numbers: `Model 2`, `Model_v3`, `App1.4.2`. The
  /// first name may have no number, or its number may belong to the text: `App2`, `App2 2`.
  init?(numbersIn names: [String], bundle: String) {
    guard names.count > 1 else {
      entries = names.map { Entry(name: $0) }
      return
    }
    guard let entries = Self.byNumbers(names, bundle: bundle) ?? Self.behindFirst(names) else { return nil }
    self.entries = entries
  }

  private static func byNumbers(_ names: [String], bundle: String) -> [Entry]? {
    let keyed = names.map { ($0, key($0)) }
    let stems = Set(keyed.filter { !$0.1.numbers.isEmpty }.map(\.1.stem))
    guard stems.count == 1, let stem = stems.first else { return nil }
    let unnumbered = keyed.filter { $0.1.numbers.isEmpty }
    guard unnumbered.count <= 1, unnumbered.allSatisfy({ $0.1.stem == stem || $0.0 == bundle }) else {
      return nil
    }
    guard Set(keyed.map(\.1.numbers)).count == names.count else { return nil }
    return keyed.sorted { $0.1.numbers.lexicographicallyPrecedes($1.1.numbers) }.map { Entry(name: $0.0) }
  }

  /// The order if the first version's name itself ends with a digit, and the other names add a number to it: `App2`,
  /// `App2 2`, or `Sample3`, `Sample3_v2`.
  private static func behindFirst(_ names: [String]) -> [Entry]? {
    guard let first = names.min(by: { $0.count < $1.count }), first.last.map(NaturalOrder.isDigit) ?? false
    else {
      return nil
    }
    var numbers: [[Int]: String] = [:]
    for name in names where name != first {
      let rest = name.dropFirst(first.count)
      // If a digit or a point follows, it continues the number in the first name.
      guard name.hasPrefix(first), let next = rest.first, !NaturalOrder.isDigit(next), next != "." else {
        return nil
      }
      let (stem, number) = key("x" + rest)
      guard stem == "x", !number.isEmpty, numbers.updateValue(name, forKey: number) == nil else { return nil }
    }
    let later = numbers.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
    return ([first] + later).map { Entry(name: $0) }
  }

  /// Splits a name into its text and its number, which may contain points: `App1.4.2` gives `app` and 1, 4, 2.
  private static func key(_ name: String) -> (stem: String, numbers: [Int]) {
    var stem = Substring(name)
    while let last = stem.last, NaturalOrder.isDigit(last) || last == "." { stem.removeLast() }
    var digits = name[stem.endIndex...]
    while digits.first == "." { digits.removeFirst() }
    var numbers = digits.split(separator: ".").compactMap { Int($0) }
    if numbers.count != digits.split(separator: ".").count { numbers = [] }
    // `1.0` and `1` are the same number.
    while numbers.count > 1, numbers.last == 0 { numbers.removeLast() }
    func trim() {
      while let last = stem.last, !(last.isLetter || NaturalOrder.isDigit(last)) { stem.removeLast() }
    }
    trim()
    if !numbers.isEmpty {
      for word in ["version", "v"] where stem.lowercased().hasSuffix(word) {
        let rest = stem.dropLast(word.count)
        guard rest.last.map({ !$0.isLetter || $0.isLowercase != stem[rest.endIndex].isLowercase }) ?? true
        else { continue }
        stem = rest
        trim()
        break
      }
    }
    return (stem.lowercased(), numbers)
  }
}

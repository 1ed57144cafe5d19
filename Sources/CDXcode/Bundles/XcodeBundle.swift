/// An Xcode model on disk: the versions of an `.xcdatamodeld`, or a single `.xcdatamodel`.
public struct XcodeBundle: Sendable {
  /// The folder of a version.
  public struct Version: Sendable {
    /// The folder's name without its extension.
    public var name: String
    /// The path of the version's file, for messages.
    public var path: String
    /// The file's bytes.
    public var contents: [UInt8]

    /// Creates a version.
    public init(name: String, path: String, contents: [UInt8]) {
      self.name = name
      self.path = path
      self.contents = contents
    }
  }

  /// The bundle's name without its extension.
  public var name: String
  /// The path as the caller gave it.
  public var path: String
  /// The versions ordered by name. Numbers in names are compared as numbers.
  public var versions: [Version]
  /// The version from which Xcode generates classes; nil if the bundle does not name one.
  public var currentName: String?
  /// The names of versions in the binary format of Xcode 3, which cannot be read.
  public var binaryNames: [String]
  /// The names of versions whose folders contain no file `contents`.
  public var emptyNames: [String]

  /// Creates a bundle.
  public init(
    name: String, path: String, versions: [Version], currentName: String? = nil, binaryNames: [String] = [],
    emptyNames: [String] = []
  ) {
    self.name = name
    self.path = path
    self.versions = versions.sorted { NaturalOrder.isBefore($0.name, $1.name) }
    self.currentName = currentName
    self.binaryNames = binaryNames.sorted(by: NaturalOrder.isBefore)
    self.emptyNames = emptyNames.sorted(by: NaturalOrder.isBefore)
  }

  /// Whether the order of the versions follows from the numbers in their names. Otherwise the order must be given
  /// explicitly.
  public var tellsOrder: Bool {
    VersionOrder(numbersIn: versions.map(\.name), bundle: name) != nil
  }
}

/// Compares names so that `2` comes before `10`.
enum NaturalOrder {
  static func isBefore(_ left: String, _ right: String) -> Bool {
    let (one, two) = (parts(left), parts(right))
    for (a, b) in zip(one, two) where a != b {
      switch (a, b) {
      case (.number(let a), .number(let b)): if a != b { return a < b }
      case (.text(let a), .text(let b)): return a.utf8.lexicographicallyPrecedes(b.utf8)
      case (.number, .text): return true
      case (.text, .number): return false
      }
    }
    if one.count != two.count { return one.count < two.count }
    return left.utf8.lexicographicallyPrecedes(right.utf8)
  }

  private enum Part: Hashable {
    case text(String)
    case number(Int)
  }

  /// Splits a name into runs of digits and of other characters.
  private static func parts(_ name: String) -> [Part] {
    var result: [Part] = []
    var rest = Substring(name)
    while let first = rest.first {
      let isDigit = Self.isDigit(first)
      let run = rest.prefix { Self.isDigit($0) == isDigit }
      // A run with more digits than an Int can hold is compared as text.
      result.append(isDigit ? Int(run).map { .number($0) } ?? .text(String(run)) : .text(String(run)))
      rest = rest.dropFirst(run.count)
    }
    return result
  }

  static func isDigit(_ character: Character) -> Bool { ("0"..."9").contains(character) }
}

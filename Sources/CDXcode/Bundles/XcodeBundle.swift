/// One of Xcode's models as it lies on disk: the versions of an `.xcdatamodeld`, or a single `.xcdatamodel`.
public struct XcodeBundle: Sendable {
  /// A version's folder.
  public struct Version: Sendable {
    /// The folder's name without its extension.
    public var name: String
    /// The path of its file, as messages show it.
    public var path: String
    /// The file's bytes.
    public var contents: [UInt8]

    /// A version as given.
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
  /// In the order of their names, numbers counting as such.
  public var versions: [Version]
  /// The version that Xcode builds classes of; nil where the bundle does not say.
  public var currentName: String?
  /// Versions in the binary form of Xcode 3, which is not read.
  public var binaryNames: [String]
  /// Versions whose folders have no file `contents`.
  public var emptyNames: [String]

  /// A bundle as given.
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

  /// Whether the numbers in the versions' names tell which came first. Where they do not, only an order that somebody
  /// writes makes a history of the versions.
  public var tellsOrder: Bool {
    VersionOrder(numbersIn: versions.map(\.name), bundle: name) != nil
  }
}

/// The order of names in which `2` comes before `10`.
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

  /// Runs of digits and what is between.
  private static func parts(_ name: String) -> [Part] {
    var result: [Part] = []
    var rest = Substring(name)
    while let first = rest.first {
      let isDigit = Self.isDigit(first)
      let run = rest.prefix { Self.isDigit($0) == isDigit }
      // More digits than an Int has are no number that anybody counts by.
      result.append(isDigit ? Int(run).map { .number($0) } ?? .text(String(run)) : .text(String(run)))
      rest = rest.dropFirst(run.count)
    }
    return result
  }

  static func isDigit(_ character: Character) -> Bool { ("0"..."9").contains(character) }
}

public import CDModel

/// What a model's `versions.lock` keeps of a released version: enough to find out whether its file is still
/// what was released, and which element is not.
public struct LockedVersion: Hashable, Sendable {
  /// The version's number.
  public let number: Int
  /// The hash of what affects stored data.
  public let data: Digest
  /// The hash of indexes and unique constraints.
  public let layout: Digest
  /// The hash of everything.
  public let definition: Digest
  /// The beginnings of the digests of the version's elements, as hexadecimal digits. They only have to tell
  /// an element from its own older self: the hashes above guard the whole.
  public let elements: [VersionElement: String]

  /// How many digits of an element's digest are kept.
  static let digitCount = 16

  /// Locks a version as it is.
  public init(_ version: ModelVersion) {
    let hashes = version.hashes
    number = version.number
    data = hashes.data
    layout = hashes.layout
    definition = hashes.definition
    elements = Dictionary(
      ElementDigests(version).entries.map { ($0.element, Self.digits(of: $0.digest)) },
      uniquingKeysWith: { first, _ in first })
  }

  init(number: Int, data: Digest, layout: Digest, definition: Digest, elements: [VersionElement: String]) {
    self.number = number
    self.data = data
    self.layout = layout
    self.definition = definition
    self.elements = elements
  }

  static func digits(of digest: Digest) -> String { String(digest.description.prefix(digitCount)) }
}

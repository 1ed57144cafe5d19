public import CDModel

/// The entry of a released version in `versions.lock`. It shows whether the version's file has changed since the
/// release, and which elements have changed.
public struct LockedVersion: Hashable, Sendable {
  /// The version's number.
  public let number: Int
  /// The data hash, which covers everything that affects stored data.
  package let data: Digest
  /// The layout hash, which covers indexes and unique constraints.
  package let layout: Digest
  /// The definition hash, which covers everything.
  package let definition: Digest
  /// The beginnings of the digests of the version's elements, as hexadecimal digits. They only have to show whether an
  /// element has changed; the hashes above protect the whole version.
  package let elements: [ModelElement: String]

  /// The number of digits that are kept of an element's digest.
  static let digitCount = 16

  /// Creates the entry of a version in its present form.
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

  init(number: Int, data: Digest, layout: Digest, definition: Digest, elements: [ModelElement: String]) {
    self.number = number
    self.data = data
    self.layout = layout
    self.definition = definition
    self.elements = elements
  }

  static func digits(of digest: Digest) -> String { String(digest.description.prefix(digitCount)) }
}

/// The digest of each element of a version, so that a version that is not what it was can be told apart from
/// it element by element.
///
/// Together they cover what ``ModelHashes/definition`` covers: two versions of equal definition hashes have
/// equal digests, and those of unequal ones differ in one element at least.
public struct ElementDigests: Hashable, Sendable {
  /// An element and its digest.
  public struct Entry: Hashable, Sendable {
    /// The part of the version.
    public let element: VersionElement
    /// The digest of its definition.
    public let digest: Digest
  }

  /// The elements: what the version itself has, types, configurations, and entity by entity its parts. Each
  /// kind is in the order of names, so that the order of declarations is not seen.
  public let entries: [Entry]

  /// Computes the digests of a version, in time proportional to its size. Of elements with one name, which is
  /// a mistake, the first counts.
  public init(_ version: ModelVersion) {
    var collector = ElementCollector()
    collector.add(version)
    entries = collector.entries
  }

  /// The digest of an element; nil for one that the version does not have.
  public subscript(element: VersionElement) -> Digest? {
    entries.first { $0.element == element }?.digest
  }
}

private struct ElementCollector {
  private let encoder = ModelEncoder(purpose: .definition)
  private(set) var entries: [ElementDigests.Entry] = []
  private var seen: Set<VersionElement> = []

  mutating func add(_ version: ModelVersion) {
    add(.bases, .array(version.basedOn.sorted().map { .int(Int64($0)) }))
    for each in version.enums.sorted(by: { $0.name.precedes($1.name) }) {
      add(.enumeration(each.name), encoder.enumeration(each))
    }
    for each in version.composites.sorted(by: { $0.name.precedes($1.name) }) { add(each) }
    for each in version.configurations.sorted(by: { $0.name.precedes($1.name) }) {
      add(.configuration(each.name), encoder.configuration(each))
    }
    for each in version.entities.sorted(by: { $0.name.precedes($1.name) }) { add(each) }
  }

  private mutating func add(_ element: VersionElement, _ value: JSONValue) {
    guard seen.insert(element).inserted else { return }
    entries.append(
      ElementDigests.Entry(element: element, digest: ModelHasher.digest("element", ("value", value))))
  }

  private mutating func add(_ composite: CompositeDescription) {
    var head = composite
    head.fields = []
    add(.composite(composite.name), encoder.composite(head))
    for field in composite.fields.sorted(by: { $0.name.precedes($1.name) }) {
      add(.field(composite: composite.name, name: field.name), encoder.attribute(field))
    }
  }

  private mutating func add(_ entity: EntityDescription) {
    var head = entity
    head.attributes = []
    head.relationships = []
    head.fetchedProperties = []
    head.fetchTemplates = []
    head.indexes = []
    head.uniquenessConstraints = []
    add(.entity(entity.name), encoder.entity(head))
    for each in entity.attributes.sorted(by: { $0.name.precedes($1.name) }) {
      add(.attribute(entity: entity.name, name: each.name), encoder.attribute(each))
    }
    for each in entity.relationships.sorted(by: { $0.name.precedes($1.name) }) {
      add(.relationship(entity: entity.name, name: each.name), encoder.relationship(each))
    }
    for each in entity.fetchedProperties.sorted(by: { $0.name.precedes($1.name) }) {
      add(.fetchedProperty(entity: entity.name, name: each.name), encoder.fetchedProperty(each))
    }
    for each in entity.fetchTemplates.sorted(by: { $0.name.precedes($1.name) }) {
      add(.fetchTemplate(entity: entity.name, name: each.name), encoder.fetchTemplate(each))
    }
    if !entity.indexes.isEmpty {
      add(.indexes(entity: entity.name), .array(encoder.indexes(of: entity)))
    }
    if !entity.uniquenessConstraints.isEmpty {
      add(
        .uniquenessConstraints(entity: entity.name), .array(encoder.uniquenessConstraints(of: entity)))
    }
  }
}

import CDModel

/// The digest of each element of a version. They show which elements of a changed version have changed.
///
/// Together the digests cover the same content as ``ModelHashes/definition``: two versions with equal definition hashes
/// have equal digests, and two with different hashes differ in at least one element.
struct ElementDigests {
  /// The digests in this order: the version's bases, its types, its configurations, then each entity with its parts.
  /// Elements of each sort are ordered by name, so that the order of declarations has no effect.
  private(set) var entries: [(element: ModelElement, digest: Digest)] = []
  private let encoder = ModelEncoder.definition
  private var seen: Set<ModelElement> = []

  /// Computes the digests of a version, in time proportional to its size. If several elements have the same name, which
  /// is a mistake, the first one counts.
  init(_ version: ModelVersion) {
    add(.bases, .array(version.basedOn.ordered().map { .int(Int64($0)) }))
    for each in version.enums.ordered(by: { $0.name.precedes($1.name) }) {
      add(.enumeration(each.name), encoder.enumeration(each))
    }
    for each in version.composites.ordered(by: { $0.name.precedes($1.name) }) { add(each) }
    for each in version.configurations.ordered(by: { $0.name.precedes($1.name) }) {
      add(.configuration(each.name), encoder.configuration(each))
    }
    for each in version.entities.ordered(by: { $0.name.precedes($1.name) }) { add(each) }
  }

  private mutating func add(_ element: ModelElement, _ value: JSONValue) {
    guard seen.insert(element).inserted else { return }
    entries.append((element, ModelHasher.digest("element", ("value", value))))
  }

  private mutating func add(_ composite: CompositeDescription) {
    var head = composite
    head.fields = []
    add(.composite(composite.name), encoder.composite(head))
    for field in composite.fields.ordered(by: { $0.name.precedes($1.name) }) {
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
    for each in entity.attributes.ordered(by: { $0.name.precedes($1.name) }) {
      add(.attribute(entity: entity.name, name: each.name), encoder.attribute(each))
    }
    for each in entity.relationships.ordered(by: { $0.name.precedes($1.name) }) {
      add(.relationship(entity: entity.name, name: each.name), encoder.relationship(each))
    }
    for each in entity.fetchedProperties.ordered(by: { $0.name.precedes($1.name) }) {
      add(.fetchedProperty(entity: entity.name, name: each.name), encoder.fetchedProperty(each))
    }
    for each in entity.fetchTemplates.ordered(by: { $0.name.precedes($1.name) }) {
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

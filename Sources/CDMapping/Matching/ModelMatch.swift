import CDModel

/// Pairs the elements of two versions: each element of the destination with the one it was in the source, by name or
/// `renamedFrom`.
struct ModelMatch {
  /// The relation between the two versions.
  enum Kind {
    /// The destination is based on the source, so its `renamedFrom` names elements of the source.
    case step
    /// Both are the same version at different times, or branches of one version. Elements with the same name are the
    /// same; `renamedFrom` is used only for the others.
    case draft
    /// The source is based on the destination, so the source's `renamedFrom`s are used in reverse.
    case back
  }

  let source: EntityGraph
  let destination: EntityGraph
  private let links: [StepMatch]
  /// The source entity that each destination entity was, by the destination's name.
  let entities: [String: String]

  init(from source: ModelVersion, to destination: ModelVersion, kind: Kind) {
    self.init(line: [source, destination].map(EntityGraph.init), kind: kind)
  }

  /// Matches the two ends of a line of versions, each based on the one before. An element that was renamed several
  /// times is followed through all its names.
  init(line: [EntityGraph], kind: Kind = .step) {
    let first = line.first ?? EntityGraph(ModelVersion(number: 0))
    source = first
    destination = line.last ?? first
    links = zip(line, line.dropFirst()).map { StepMatch(source: $0, destination: $1, kind: kind) }
    var entities = Dictionary(
      destination.version.entities.map { ($0.name, $0.name) }, uniquingKeysWith: { first, _ in first })
    for link in links.reversed() {
      entities = entities.compactMapValues { link.entities[$0] }
    }
    self.entities = entities
  }

  /// Whether the `renamedFrom`s of the destination name elements of the source directly.
  var isDirect: Bool { links.count == 1 && links.allSatisfy { $0.kind == .step } }

  /// The source property of each property of a destination entity, including inherited ones, by the destination's name.
  /// Attributes are paired with attributes, and relationships with relationships.
  func properties(of name: String, from sourceName: String) -> [String: String] {
    guard entities[name] == sourceName else {
      // A rule maps from another entity. Properties are then paired by name, and by `renamedFrom` where it fits.
      return
        (links.count == 1 ? links.first : StepMatch(source: source, destination: destination, kind: .step))?
        .properties(of: name, from: sourceName) ?? [:]
    }
    var result = Dictionary(
      (destination.attributes(of: name).map(\.name) + destination.relationships(of: name).map(\.name))
        .map { ($0, $0) }, uniquingKeysWith: { first, _ in first })
    var entity = name
    for link in links.reversed() {
      guard let before = link.entities[entity] else { return [:] }
      let properties = link.properties(of: entity, from: before)
      result = result.compactMapValues { properties[$0] }
      entity = before
    }
    return result
  }

  /// The field of the source composite for each field of a destination composite, by the destination's name.
  func fields(of name: String, from sourceName: String) -> [String: String] {
    let fields = destination.composite(name)?.fields ?? []
    let old = Set(source.composite(sourceName)?.fields.map(\.name) ?? [])
    var result: [String: String] = [:]
    for field in fields {
      var origin: String? = field.name
      for link in links.reversed() {
        guard let now = origin else { break }
        // The fields of two different composites are compared by name.
        origin = link.field(now, of: name) ?? (name == sourceName ? nil : now)
      }
      if let origin, old.contains(origin) { result[field.name] = origin }
    }
    return result
  }
}

/// The match of a version with the one that it is based on.
private struct StepMatch {
  let source: EntityGraph
  let destination: EntityGraph
  let kind: ModelMatch.Kind
  private(set) var entities: [String: String] = [:]
  /// The match in the opposite direction, if that is the direction of the renames.
  private var forward: [StepMatch] = []

  init(source: EntityGraph, destination: EntityGraph, kind: ModelMatch.Kind) {
    self.source = source
    self.destination = destination
    self.kind = kind
    if kind == .back {
      let link = StepMatch(source: destination, destination: source, kind: .step)
      entities = link.entities.inverted
      forward = [link]
      return
    }
    var claimed: Set<String> = []
    for entity in destination.version.entities {
      if kind == .draft, source.entity(entity.name) != nil { continue }
      guard let old = entity.renamedFrom, source.entity(old) != nil, claimed.insert(old).inserted else {
        continue
      }
      entities[entity.name] = old
    }
    for entity in destination.version.entities where entities[entity.name] == nil {
      if source.entity(entity.name) != nil, !claimed.contains(entity.name) {
        entities[entity.name] = entity.name
      }
    }
  }

  func properties(of name: String, from sourceName: String) -> [String: String] {
    if let link = forward.first { return link.properties(of: sourceName, from: name).inverted }
    var result: [String: String] = [:]
    var claimed: Set<String> = []
    func pair(_ property: String, _ renamedFrom: String?, _ isOld: (String) -> Bool) {
      if kind == .draft, isOld(property) { return }
      guard let old = renamedFrom.flatMap({ oldName($0, in: sourceName) }), isOld(old) else { return }
      result[property] = old
      claimed.insert(old)
    }
    let oldAttributes = Set(source.attributes(of: sourceName).lazy.filter(\.isStored).map(\.name))
    let oldRelationships = Set(source.relationships(of: sourceName).map(\.name))
    let attributes = destination.attributes(of: name)
    let relationships = destination.relationships(of: name)
    for each in attributes { pair(each.name, each.renamedFrom, oldAttributes.contains) }
    for each in relationships { pair(each.name, each.renamedFrom, oldRelationships.contains) }
    for each in attributes where result[each.name] == nil {
      if oldAttributes.contains(each.name), !claimed.contains(each.name) { result[each.name] = each.name }
    }
    for each in relationships where result[each.name] == nil {
      if oldRelationships.contains(each.name), !claimed.contains(each.name) { result[each.name] = each.name }
    }
    return result
  }

  /// The name within a source entity that a `renamedFrom` refers to; nil if it names another entity.
  private func oldName(_ renamedFrom: String, in entity: String) -> String? {
    let parts = renamedFrom.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count > 1 else { return renamedFrom }
    return parts.count == 2 && source.isKind(entity, of: parts[0]) ? parts[1] : nil
  }

  /// The name in the source of a composite's field; nil if the field is new. A composite that one of the versions lacks
  /// says nothing about its fields, so their names are then the same.
  func field(_ name: String, of composite: String) -> String? {
    guard let old = source.composite(composite), let new = destination.composite(composite) else {
      return name
    }
    if let link = forward.first {
      return old.fields.first { link.field($0.name, of: composite) == name }?.name
    }
    let isKept = old.fields.contains { $0.name == name }
    if kind == .draft, isKept { return name }
    if let renamed = new.fields.first(where: { $0.name == name })?.renamedFrom,
      old.fields.contains(where: { $0.name == renamed })
    {
      return renamed
    }
    return isKept ? name : nil
  }
}

extension [String: String] {
  /// The keys by their values. If several keys have the same value, the first one by name is used.
  fileprivate var inverted: [String: String] {
    Dictionary(
      sorted { $0.key.precedes($1.key) }.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
  }
}

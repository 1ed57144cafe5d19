import CDModel

/// Which element of one version each element of another was: by name, or by `renamedFrom`.
struct ModelMatch {
  /// How the two versions go together.
  enum Kind {
    /// The destination is based on the source, so that its `renamedFrom`s speak of it.
    case step
    /// Both are the same version at different times, or branches that began as one: what has the same name
    /// in both is the same, and a `renamedFrom` is for what has not.
    case draft
    /// The source is based on the destination, so that its `renamedFrom`s are read backwards.
    case back
  }

  let source: EntityGraph
  let destination: EntityGraph
  private let links: [MatchLink]
  /// The entity of the source that each of the destination was.
  let entities: [String: String]

  init(from source: ModelVersion, to destination: ModelVersion, kind: Kind) {
    self.init(line: [source, destination].map(EntityGraph.init), kind: kind)
  }

  /// The match of the ends of a line of versions, each based on the one before: what was renamed several times
  /// is followed from name to name.
  init(line: [EntityGraph], kind: Kind = .step) {
    let first = line.first ?? EntityGraph(ModelVersion(number: 0))
    source = first
    destination = line.last ?? first
    links = zip(line, line.dropFirst()).map { MatchLink(source: $0, destination: $1, kind: kind) }
    var entities = Dictionary(
      destination.version.entities.map { ($0.name, $0.name) }, uniquingKeysWith: { first, _ in first })
    for link in links.reversed() {
      entities = entities.compactMapValues { link.entities[$0] }
    }
    self.entities = entities
  }

  /// Whether the `renamedFrom`s of the destination speak of the source.
  var isDirect: Bool { links.count == 1 && links.allSatisfy { $0.kind == .step } }

  /// The properties of a source entity that those of a destination entity were, own and inherited, by the name
  /// in the destination. Attributes were attributes, and relationships relationships.
  func properties(of name: String, from sourceName: String) -> [String: String] {
    guard entities[name] == sourceName else {
      // A rule takes from another entity: names are all there is to go by, renames as far as they fit.
      return
        (links.count == 1 ? links.first : MatchLink(source: source, destination: destination, kind: .step))?
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

  /// The fields of a composite of the source that those of one of the destination were.
  func fields(of name: String, from sourceName: String) -> [String: String] {
    let fields = destination.composite(name)?.fields ?? []
    let old = Set(source.composite(sourceName)?.fields.map(\.name) ?? [])
    var result: [String: String] = [:]
    for field in fields {
      var origin = field.name
      for link in links.reversed() { origin = link.field(origin, of: name) }
      if old.contains(origin) { result[field.name] = origin }
    }
    return result
  }
}

/// The match of a version and one that it is based on.
private struct MatchLink {
  let source: EntityGraph
  let destination: EntityGraph
  let kind: ModelMatch.Kind
  private(set) var entities: [String: String] = [:]
  /// The link the other way round, where that is the one that renames speak of.
  private var forward: [MatchLink] = []

  init(source: EntityGraph, destination: EntityGraph, kind: ModelMatch.Kind) {
    self.source = source
    self.destination = destination
    self.kind = kind
    if kind == .back {
      let link = MatchLink(source: destination, destination: source, kind: .step)
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

  /// The name within a source entity that a `renamedFrom` means; nil where it speaks of another entity.
  private func oldName(_ renamedFrom: String, in entity: String) -> String? {
    let parts = renamedFrom.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count > 1 else { return renamedFrom }
    return parts.count == 2 && source.isKind(entity, of: parts[0]) ? parts[1] : nil
  }

  func field(_ name: String, of composite: String) -> String {
    if let link = forward.first {
      let fields = source.composite(composite)?.fields.map(\.name) ?? []
      return fields.first { link.field($0, of: composite) == name } ?? name
    }
    guard let old = source.composite(composite),
      let field = destination.composite(composite)?.fields.first(where: { $0.name == name }),
      let renamed = field.renamedFrom, old.fields.contains(where: { $0.name == renamed })
    else { return name }
    if kind == .draft, old.fields.contains(where: { $0.name == name }) { return name }
    return renamed
  }
}

extension [String: String] {
  /// The keys by their values; of several keys with one value the one that is first by name.
  fileprivate var inverted: [String: String] {
    Dictionary(
      sorted { $0.key.precedes($1.key) }.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
  }
}

/// A version of a model with resolved names: the inheritance of entities, and all properties of each.
///
/// The graph builds its tables once, in time proportional to the version's size. A lookup by name then takes constant
/// time, and one along the inheritance takes one step for each ancestor.
///
/// A graph can be built from any version, so that a checker can use it for versions with mistakes too. It handles
/// mistakes as follows:
/// - If two declarations have the same name, the first counts. The second entity of a name is not in the graph.
/// - An entity with an unknown parent is a root.
/// - A cycle of parents is cut at the end of the walk from the entity that was declared first: with `A: B`, `B: C` and
///   `C: A`, in this order, C becomes the root.
/// - If an entity declares a property that it also inherits, ``property(_:of:)`` returns the entity's own;
///   ``attributes(of:)`` and similar methods return both.
public struct EntityGraph: Sendable {
  /// The version of the graph, as declared.
  public let version: ModelVersion

  /// The indices in `version.entities`, by entity name.
  private let indices: [String: Int]
  /// The index of each entity's parent; nil for a root. There are no cycles.
  private let parents: [Int?]
  /// The indices of each entity's direct subentities, in order of declaration.
  private let children: [[Int]]
  /// Each entity's own properties, by name.
  private let properties: [[String: PropertyIndex]]
  private let enumIndices: [String: Int]
  private let compositeIndices: [String: Int]

  /// Resolves the names of a version.
  public init(_ version: ModelVersion) {
    let entities = version.entities
    let indices = Self.indices(of: entities.lazy.map(\.name))
    // A second entity of the same name gets no parent and no children.
    let declared = entities.indices.map { index in
      indices[entities[index].name] == index ? entities[index].parent.flatMap { indices[$0] } : nil
    }
    let parents = Self.withoutCycles(declared)
    var children = [[Int]](repeating: [], count: entities.count)
    for (index, parent) in parents.enumerated() {
      if let parent { children[parent].append(index) }
    }
    self.version = version
    self.indices = indices
    self.parents = parents
    self.children = children
    properties = entities.map(PropertyIndex.all(of:))
    enumIndices = Self.indices(of: version.enums.lazy.map(\.name))
    compositeIndices = Self.indices(of: version.composites.lazy.map(\.name))
  }

  // MARK: Entities

  /// The entity with a name; nil if the version has none.
  public func entity(_ name: String) -> EntityDescription? {
    indices[name].map { version.entities[$0] }
  }

  /// The parent of an entity; nil for a root and for an unknown name.
  public func parent(of name: String) -> EntityDescription? {
    indices[name].flatMap { parents[$0] }.map { version.entities[$0] }
  }

  /// The entities of the graph. Each comes after its parent.
  public var entitiesParentsFirst: [EntityDescription] {
    version.entities.indices
      .filter { parents[$0] == nil && indices[version.entities[$0].name] == $0 }
      .flatMap { [version.entities[$0]] + descendants(of: version.entities[$0].name) }
  }

  /// An entity with its ancestors: the root comes first, the entity itself last. Empty for an unknown name.
  public func lineage(of name: String) -> [EntityDescription] {
    lineageIndices(of: name).map { version.entities[$0] }
  }

  /// The root of an entity's hierarchy, which is the entity itself if it has no parent. Nil for an unknown name.
  public func root(of name: String) -> EntityDescription? {
    guard var index = indices[name] else { return nil }
    while let parent = parents[index] { index = parent }
    return version.entities[index]
  }

  /// The maximum number of ancestors of an entity. SQL compiles a condition for each entity of a hierarchy, and Swift
  /// compiles a chain of subclasses. Neither can handle many more.
  package static let mostAncestors = 1000

  /// The number of ancestors of each entity of the version, by the entity's index.
  package var depths: [Int] {
    var depths = [Int?](repeating: nil, count: parents.count)
    for start in parents.indices {
      // An explicit list replaces recursion. It ends at an ancestor whose depth is known.
      var path: [Int] = []
      var next: Int? = start
      while let index = next, depths[index] == nil {
        path.append(index)
        next = parents[index]
      }
      var depth = next.flatMap { depths[$0] } ?? -1
      for index in path.reversed() {
        depth += 1
        depths[index] = depth
      }
    }
    return depths.map { $0 ?? 0 }
  }

  /// The direct subentities of an entity, in order of declaration.
  public func subentities(of name: String) -> [EntityDescription] {
    guard let index = indices[name] else { return [] }
    return children[index].map { version.entities[$0] }
  }

  /// All entities below an entity, without the entity itself. Each comes before its own subentities, and siblings are
  /// in order of declaration.
  public func descendants(of name: String) -> [EntityDescription] {
    guard let index = indices[name] else { return [] }
    var result: [EntityDescription] = []
    // An explicit list replaces recursion, because a schema can have any depth.
    var pending = Array(children[index].reversed())
    while let next = pending.popLast() {
      result.append(version.entities[next])
      pending.append(contentsOf: children[next].reversed())
    }
    return result
  }

  /// Whether an entity is the same as another one or inherits from it. False if either name is unknown.
  public func isKind(_ name: String, of ancestor: String) -> Bool {
    guard var index = indices[name], let goal = indices[ancestor] else { return false }
    while index != goal {
      guard let parent = parents[index] else { return false }
      index = parent
    }
    return true
  }

  // MARK: Properties

  /// All attributes of an entity: inherited ones first, starting at the root, then its own.
  public func attributes(of name: String) -> [AttributeDescription] {
    collect(\.attributes, of: name)
  }

  /// All relationships of an entity: inherited ones first, starting at the root, then its own.
  public func relationships(of name: String) -> [RelationshipDescription] {
    collect(\.relationships, of: name)
  }

  /// All fetched properties of an entity: inherited ones first, starting at the root, then its own.
  public func fetchedProperties(of name: String) -> [FetchedPropertyDescription] {
    collect(\.fetchedProperties, of: name)
  }

  /// The entity's own or inherited property with a name; nil if there is none.
  public func property(_ key: String, of name: String) -> PropertyDescription? {
    guard let (owner, property) = find(key, in: name) else { return nil }
    let entity = version.entities[owner]
    return switch property {
    case .attribute(let index): .attribute(entity.attributes[index])
    case .relationship(let index): .relationship(entity.relationships[index])
    case .fetched(let index): .fetched(entity.fetchedProperties[index])
    }
  }

  /// The entity that declares a property: the entity itself or an ancestor. Nil if there is no such property.
  public func declaringEntity(of key: String, in name: String) -> EntityDescription? {
    find(key, in: name).map { version.entities[$0.owner] }
  }

  /// A property's name with the entity that declares it: the entity itself or an ancestor. The entity itself if there is
  /// no such property.
  package func declaredName(of key: String, in name: String) -> PropertyName {
    PropertyName(declaringEntity(of: key, in: name)?.name ?? name, key)
  }

  /// The inverse of an entity's relationship.
  ///
  /// - Parameters:
  ///   - relationship: A relationship that the entity declares or inherits.
  ///   - name: The entity.
  /// - Returns: Nil if the relationship has no inverse, or if the model is wrong: the destination or the inverse is
  ///   unknown, the inverse names another relationship, or it leads to an entity outside this entity's line of
  ///   inheritance.
  public func inverse(of relationship: RelationshipDescription, in name: String) -> RelationshipDescription? {
    guard let key = relationship.inverse,
      case .relationship(let inverse)? = property(key, of: relationship.destination),
      inverse.inverse == relationship.name,
      isKind(name, of: inverse.destination) || isKind(inverse.destination, of: name)
    else { return nil }
    return inverse
  }

  // MARK: Types

  /// The enumeration with a name; nil if the version has none.
  public func enumeration(_ name: String) -> EnumDescription? {
    enumIndices[name].map { version.enums[$0] }
  }

  /// The composite with a name; nil if the version has none.
  public func composite(_ name: String) -> CompositeDescription? {
    compositeIndices[name].map { version.composites[$0] }
  }
}

extension EntityGraph {
  /// The sort of a property and its index in the entity's list.
  private enum PropertyIndex {
    case attribute(Int)
    case relationship(Int)
    case fetched(Int)

    static func all(of entity: EntityDescription) -> [String: PropertyIndex] {
      var result: [String: PropertyIndex] = [:]
      result.reserveCapacity(
        entity.attributes.count + entity.relationships.count + entity.fetchedProperties.count)
      func add(_ name: String, _ index: PropertyIndex) {
        if result[name] == nil { result[name] = index }
      }
      for (index, each) in entity.attributes.enumerated() { add(each.name, .attribute(index)) }
      for (index, each) in entity.relationships.enumerated() { add(each.name, .relationship(index)) }
      for (index, each) in entity.fetchedProperties.enumerated() { add(each.name, .fetched(index)) }
      return result
    }
  }

  private func lineageIndices(of name: String) -> [Int] {
    var result: [Int] = []
    var next = indices[name]
    while let index = next {
      result.append(index)
      next = parents[index]
    }
    return result.reversed()
  }

  private func collect<T>(_ own: KeyPath<EntityDescription, [T]>, of name: String) -> [T] {
    guard let index = indices[name] else { return [] }
    // Most entities have no parent. Their own list is returned without a copy.
    if parents[index] == nil { return version.entities[index][keyPath: own] }
    return lineageIndices(of: name).flatMap { version.entities[$0][keyPath: own] }
  }

  private func find(_ key: String, in name: String) -> (owner: Int, property: PropertyIndex)? {
    var next = indices[name]
    while let index = next {
      if let property = properties[index][key] { return (index, property) }
      next = parents[index]
    }
    return nil
  }

  private static func indices(of names: some Sequence<String>) -> [String: Int] {
    Dictionary(zip(names, 0...), uniquingKeysWith: { first, _ in first })
  }

  /// Cuts each cycle where it leads back to an entity of the same walk.
  private static func withoutCycles(_ declared: [Int?]) -> [Int?] {
    var parents = declared
    // The walk that first visited each entity. A walk ends at an entity that an earlier walk has visited.
    var walks = [Int?](repeating: nil, count: declared.count)
    for start in declared.indices {
      var index = start
      while walks[index] == nil {
        walks[index] = start
        guard let parent = parents[index] else { break }
        if walks[parent] == start {
          parents[index] = nil
          break
        }
        index = parent
      }
    }
    return parents
  }
}

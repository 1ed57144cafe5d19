package import CDModel

extension ManagedObjectModel {
  /// The model without the names and renaming identifiers in Xcode's model that its elements no longer have.
  ///
  /// A new version begins as a copy of its base. So an element that is renamed in the copy still has, under `info`, the name
  /// that the old element has in Xcode's model. Its own name counts instead, there and in all versions based on this one.
  package func withoutFormerXcodeNames() -> ManagedObjectModel {
    var result = self
    var former: [Int: Set<String>] = [:]
    for (place, version) in versions.enumerated() {
      let base = version.basedOn.first.flatMap { self.version($0) }
      var search = FormerXcodeNames(
        version, base: base, foundInBase: base.flatMap { former[$0.number] } ?? [])
      search.run()
      former[version.number] = search.found
      result.versions[place] = search.version
    }
    return result
  }
}

/// Finds the names and renaming identifiers in Xcode's model that elements of a version have kept through a rename.
private struct FormerXcodeNames {
  private static let nameKey = "xcode.name"
  /// The keys under `info` of a name and of a renaming identifier.
  private static let keys = [nameKey, "xcode.elementID"]

  /// The version without the entries that were found.
  private(set) var version: ModelVersion
  /// The entries that were found, each with its element: `Entity xcode.name` or `Entity.property xcode.name`.
  private(set) var found: Set<String> = []
  private let base: EntityGraph?
  private let foundInBase: Set<String>

  init(_ version: ModelVersion, base: ModelVersion?, foundInBase: Set<String>) {
    self.version = version
    self.base = base.map { EntityGraph($0) }
    self.foundInBase = foundInBase
  }

  /// An entity or a property with what a version says about it under `info`.
  private struct Element {
    /// `Entity` or `Entity.property`.
    var path: String
    var name: String
    var info: [String: String]
  }

  mutating func run() {
    let entities = version.entities
    let elements = entities.map { Self.element($0) }
    let oldElements = base?.version.entities.map { Self.element($0) } ?? []
    for (place, entity) in entities.enumerated() {
      let source = base?.entity(entity.renamedFrom ?? entity.name)
      let own = elements[place]
      for key in former(own, source.map { Self.element($0) }, oldElements, elements) {
        version.entities[place].info[key] = nil
      }
      let siblings = Self.properties(of: entity)
      let oldSiblings = source.map { Self.properties(of: $0) } ?? []
      func keys(_ name: String, _ renamedFrom: String?, _ info: [String: String]) -> [String] {
        guard Self.keys.contains(where: { info[$0] != nil }) else { return [] }
        let element = Element(path: "\(entity.name).\(name)", name: name, info: info)
        let origin = property(renamedFrom ?? name, of: source?.name)
        return former(element, origin, oldSiblings, siblings)
      }
      for (number, each) in entity.attributes.enumerated() {
        for key in keys(each.name, each.renamedFrom, each.info) {
          version.entities[place].attributes[number].info[key] = nil
        }
      }
      for (number, each) in entity.relationships.enumerated() {
        for key in keys(each.name, each.renamedFrom, each.info) {
          version.entities[place].relationships[number].info[key] = nil
        }
      }
      for (number, each) in entity.fetchedProperties.enumerated() {
        for key in keys(each.name, nil, each.info) {
          version.entities[place].fetchedProperties[number].info[key] = nil
        }
      }
    }
  }

  // MARK: Elements

  private static func element(_ entity: EntityDescription) -> Element {
    Element(path: entity.name, name: entity.name, info: entity.info)
  }

  private static func properties(of entity: EntityDescription) -> [Element] {
    func element(_ name: String, _ info: [String: String]) -> Element {
      Element(path: "\(entity.name).\(name)", name: name, info: info)
    }
    var result = entity.attributes.map { element($0.name, $0.info) }
    for each in entity.relationships { result.append(element(each.name, each.info)) }
    for each in entity.fetchedProperties { result.append(element(each.name, each.info)) }
    return result
  }

  /// A property of the base, by its name or by `Entity.name`.
  ///
  /// - Parameter entity: The entity that a name alone refers to; nil if the base does not have it.
  private func property(_ path: String, of entity: String?) -> Element? {
    let parts = path.split(separator: ".").map { String($0) }
    guard let base, let name = parts.last, let holder = parts.count > 1 ? parts[0] : entity,
      let owner = base.declaringEntity(of: name, in: holder)
    else { return nil }
    return Self.properties(of: owner).first { $0.name == name }
  }

  // MARK: Comparing

  /// The keys of an element's entries that belong to a former name.
  ///
  /// - Parameters:
  ///   - origin: The same element in the base; nil for a new element.
  ///   - oldSiblings: The elements in the base beside which the element stands.
  ///   - siblings: The elements beside it, and the element itself.
  private mutating func former(
    _ element: Element, _ origin: Element?, _ oldSiblings: [Element], _ siblings: [Element]
  ) -> [String] {
    var result: [String] = []
    for key in Self.keys {
      guard let value = element.info[key] else { continue }
      let isOutdated =
        if let origin {
          isFormer(key, value, of: element, origin)
        } else {
          isCopied(key, value, of: element, oldSiblings, siblings)
        }
      guard isOutdated else { continue }
      found.insert("\(element.path) \(key)")
      result.append(key)
    }
    return result
  }

  /// Whether an element was renamed, in this version or before, since it got an entry.
  private func isFormer(_ key: String, _ value: String, of element: Element, _ origin: Element) -> Bool {
    if origin.info[key] != value { return false }
    // The import too can give another name to an element that has kept its name in Xcode's model.
    if key == Self.nameKey, XcodeName.mayBecome(value, element.name) { return false }
    return origin.name != element.name || foundInBase.contains("\(origin.path) \(key)")
  }

  /// Whether a new element has the name of another one in Xcode's model, because its text was copied.
  private func isCopied(
    _ key: String, _ value: String, of element: Element, _ oldSiblings: [Element], _ siblings: [Element]
  ) -> Bool {
    if key != Self.nameKey || XcodeName.mayBecome(value, element.name) { return false }
    func isAnother(_ other: Element) -> Bool { other.name != element.name && other.info[key] == value }
    return oldSiblings.contains { isAnother($0) }
      || siblings.contains { isAnother($0) && XcodeName.mayBecome(value, $0.name) }
  }
}

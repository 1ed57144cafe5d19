import CDSchema

/// The names that entities, composites and properties get: their own, where they can keep them.
struct NameTable {
  private(set) var entities: [String: String] = [:]
  private(set) var composites: [String: String] = [:]
  private var properties: [String: [String: String]] = [:]

  init(_ root: MarkupElement, modelName: String = "") {
    var folded: [String: Int] = [:]
    let all = root.children("entity")
    for element in all {
      guard let name = element["name"], entities[name] == nil else { continue }
      let new = Self.unique(Self.valid(name), among: &folded)
      entities[name] = new
    }
    readComposites(root, all, modelName)
    // Entities of one tree share a table, whose columns may not differ in case alone.
    let parents = Dictionary(
      all.compactMap { element in element["name"].map { ($0, element["parentEntity"]) } },
      uniquingKeysWith: { first, _ in first })
    var columns: [String: [String: String]] = [:]
    var counts: [String: [String: Int]] = [:]
    for element in all {
      guard let entity = element["name"], properties[entity] == nil else { continue }
      properties[entity] = [:]
      let root = Self.root(of: entity, parents)
      for property in element.children
      where ["attribute", "relationship", "fetchedProperty"].contains(property.name) {
        guard let name = property["name"] else { continue }
        let valid = Self.valid(name)
        let base = property.name == "relationship" && valid == "none" ? "none_" : valid
        var new = base
        var count = counts[root]?[base.lowercased()] ?? 0
        while let other = columns[root]?[new.lowercased()], other != new {
          count += 1
          new = Self.numbered(base, count)
        }
        counts[root, default: [:]][base.lowercased()] = count
        columns[root, default: [:]][new.lowercased()] = new
        properties[entity]?[name] = new
      }
    }
  }

  /// In Xcode a composite can be called as an entity is; here both are types of Swift.
  private mutating func readComposites(
    _ root: MarkupElement, _ entities: [MarkupElement], _ modelName: String
  ) {
    var taken = Set(self.entities.values)
    for element in entities {
      if let name = element["representedClassName"]?.split(separator: ".").last { taken.insert(String(name)) }
    }
    for element in root.children("composite") {
      guard let name = element["name"], composites[name] == nil else { continue }
      var new = Self.valid(name)
      while taken.contains(new) || !NameRules.isClassName(new, ofModel: modelName) { new += "Value" }
      taken.insert(new)
      composites[name] = new
    }
  }

  func entity(_ name: String) -> String { entities[name] ?? name }

  func property(_ name: String, of entity: String) -> String { properties[entity]?[name] ?? name }

  private static func root(of entity: String, _ parents: [String: String?]) -> String {
    var name = entity
    var seen: Set<String> = [name]
    while let parent = parents[name] ?? nil, parents[parent] != nil, seen.insert(parent).inserted {
      name = parent
    }
    return name
  }

  /// A name that differs from all others not only in case.
  ///
  /// - Parameter folded: How often each name came, in small letters.
  private static func unique(_ name: String, among folded: inout [String: Int]) -> String {
    var new = name
    while let count = folded[new.lowercased()] {
      folded[name.lowercased(), default: count] += 1
      new = numbered(name, folded[name.lowercased()] ?? count)
    }
    folded[new.lowercased()] = 0
    return new
  }

  /// `name_`, and then `name_2`, `name_3`.
  private static func numbered(_ name: String, _ count: Int) -> String {
    name + (count == 1 ? "_" : "_\(count)")
  }

  /// A name with what no name can have replaced.
  static func valid(_ name: String) -> String {
    if NameRules.problem(with: name) == nil { return name }
    var result = ""
    for character in name.unicodeScalars {
      let isAllowed = character == "_" || character.properties.isXIDContinue
      result.unicodeScalars.append(isAllowed ? character : "_")
    }
    while result.hasPrefix("_") {
      result = String(result.dropFirst()) + "_" == result ? "x" : String(result.dropFirst())
    }
    if result.lowercased().hasPrefix("sqlite_") { result = "x" + result }
    if NameRules.problem(with: result) != nil { result = "x" + result }
    return NameRules.problem(with: result) == nil ? result : "unnamed"
  }
}

import CDSchema

/// The names of imported entities, composites and properties. Names stay unchanged where possible.
struct NameTable {
  private(set) var entities: [String: String] = [:]
  private(set) var composites: [String: String] = [:]
  private var properties: [String: [String: String]] = [:]

  /// The parent of each entity that has one. There are no cycles.
  private var parents: [String: String] = [:]

  init(_ root: MarkupElement, modelName: String = "") {
    let all = root.children("entity")
    entities = Self.distinct(all.compactMap { $0["name"] })
    readComposites(root, all, modelName)
    readProperties(all)
  }

  /// Entities of one hierarchy share a table, so their column names must differ in more than case.
  private mutating func readProperties(_ all: [MarkupElement]) {
    var seen: Set<String> = []
    let entities = all.compactMap { element in element["name"].map { (name: $0, element: element) } }
      .filter { seen.insert($0.name).inserted }
    let roots = readParents(entities)
    var tables: [String: ColumnNames] = [:]
    for canStay in [true, false] {
      for (entity, element) in entities {
        for property in element.children
        where ["attribute", "relationship", "fetchedProperty"].contains(property.name) {
          guard let name = property["name"], properties[entity]?[name] == nil else { continue }
          let valid = Self.valid(name)
          let base = property.name == "relationship" && valid == "none" ? "none_" : valid
          guard (base == name) == canStay else { continue }
          properties[entity, default: [:]][name] = tables[roots[entity] ?? entity, default: ColumnNames()]
            .add(base, for: name, of: entity, parents)
        }
      }
    }
  }

  /// Finds the root of each entity. A parent that leads back to its own entity is ignored.
  private mutating func readParents(_ entities: [(name: String, element: MarkupElement)]) -> [String: String]
  {
    let known = Set(entities.map(\.name))
    for (name, element) in entities {
      if let parent = element["parentEntity"], known.contains(parent) { parents[name] = parent }
    }
    var roots: [String: String] = [:]
    for (name, _) in entities where roots[name] == nil {
      var path: [String] = []
      var seen: Set<String> = []
      var last = name
      while roots[last] == nil, seen.insert(last).inserted {
        path.append(last)
        guard let parent = parents[last] else {
          roots[last] = last
          break
        }
        last = parent
      }
      if let root = roots[last] {
        for each in path { roots[each] = root }
      } else {
        parents[name] = nil
        roots[name] = name
      }
    }
    return roots
  }

  /// In Xcode, a composite and an entity can have the same name. Here both become Swift types, so their names must
  /// differ.
  private mutating func readComposites(
    _ root: MarkupElement, _ entities: [MarkupElement], _ modelName: String
  ) {
    var taken = Set(self.entities.values)
    for element in entities {
      if let name = element["representedClassName"]?.split(separator: ".").last { taken.insert(String(name)) }
    }
    // How many names were made of each name, so that many composites of one name take little time.
    var counts: [String: Int] = [:]
    for element in root.children("composite") {
      guard let name = element["name"], composites[name] == nil else { continue }
      let base = Self.valid(name)
      var new = base
      while taken.contains(new) || !NameRules.isValueTypeName(new, ofModel: modelName) {
        let count = counts[base] ?? 1
        counts[base] = count + 1
        new = base + "Value" + (count == 1 ? "" : "\(count)")
      }
      taken.insert(new)
      composites[name] = new
    }
  }

  func entity(_ name: String) -> String { entities[name] ?? name }

  /// The name of a property that an entity declares or inherits.
  func property(_ name: String, of entity: String) -> String {
    var owner: String? = entity
    while let each = owner {
      if let new = properties[each]?[name] { return new }
      owner = parents[each]
    }
    return name
  }

  /// Gives each original a name, so that all names differ in more than case. Originals that can keep their name are
  /// handled first.
  static func distinct(_ originals: [String]) -> [String: String] {
    var result: [String: String] = [:]
    var folded: [String: Int] = [:]
    for canStay in [true, false] {
      for name in originals where result[name] == nil {
        let new = valid(name)
        if (new == name) == canStay { result[name] = unique(new, among: &folded) }
      }
    }
    return result
  }

  /// Returns a name that differs from all others in more than case.
  ///
  /// - Parameter folded: How often each name in lower case has been used.
  private static func unique(_ name: String, among folded: inout [String: Int]) -> String {
    var new = name
    while let count = folded[new.lowercased()] {
      folded[name.lowercased(), default: count] += 1
      new = numbered(name, folded[name.lowercased()] ?? count)
    }
    folded[new.lowercased()] = 0
    return new
  }

  /// Returns `name_`, and then `name_2`, `name_3`.
  static func numbered(_ name: String, _ count: Int) -> String {
    name + (count == 1 ? "_" : "_\(count)")
  }

  /// Replaces the characters that a name cannot contain, and composes the others (NFC).
  static func valid(_ name: String) -> String {
    let name = NameRules.composed(name)
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

/// The property names of one entity hierarchy.
///
/// Two properties of one object must have different names. Properties of sibling entities may share a name, because no
/// object has both.
private struct ColumnNames {
  private struct Column {
    var spelling: String
    /// The entities that use the name, by the property's name in Xcode.
    var holders: [String: Holders] = [:]
  }

  private struct Holders {
    var entities: Set<String> = []
    /// The entities with their ancestors.
    var entitiesWithAncestors: Set<String> = []

    mutating func add(_ entity: String, _ parents: [String: String]) {
      entities.insert(entity)
      var line: String? = entity
      while let each = line, entitiesWithAncestors.insert(each).inserted { line = parents[each] }
    }
  }

  /// The columns by their names in lower case.
  private var columns: [String: Column] = [:]
  private var counts: [String: Int] = [:]
  /// The names given so far, by the first candidate for the name and then by the property's name in Xcode.
  private var given: [String: [String: String]] = [:]

  mutating func add(
    _ base: String, for original: String, of entity: String, _ parents: [String: String]
  ) -> String {
    var new = base
    if !isFree(new, for: original, of: entity, parents), let other = given[base]?[original] { new = other }
    while !isFree(new, for: original, of: entity, parents) {
      let count = (counts[base.lowercased()] ?? 0) + 1
      counts[base.lowercased()] = count
      new = NameTable.numbered(base, count)
    }
    given[base, default: [:]][original] = new
    columns[new.lowercased(), default: Column(spelling: new)].holders[original, default: Holders()]
      .add(entity, parents)
    return new
  }

  private func isFree(
    _ name: String, for original: String, of entity: String, _ parents: [String: String]
  ) -> Bool {
    guard let column = columns[name.lowercased()] else { return true }
    if column.spelling != name { return false }
    for (other, holders) in column.holders where other != original {
      if holders.entitiesWithAncestors.contains(entity) { return false }
      var line = parents[entity]
      while let each = line {
        if holders.entities.contains(each) { return false }
        line = parents[each]
      }
    }
    return true
  }
}

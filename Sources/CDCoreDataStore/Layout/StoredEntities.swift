import CDModel

/// The entities of a store with their numbers, from `Z_PRIMARYKEY`.
struct StoredEntities {
  struct Entity: Hashable {
    var number: Int64
    var name: String
    /// The number of the parent entity; nil if there is none.
    var parent: Int64?
    /// The highest key that was ever given in the table; set for root entities only.
    var lastKey: Int64
  }

  /// The first number of Core Data's own entities, for the history and for CloudKit.
  private static let firstOfSystem: Int64 = 16_000
  private static let limit = 20_000

  /// All entities, in the order of their numbers.
  let all: [Entity]
  private let byName: [String: Entity]
  private let byNumber: [Int64: Entity]
  private let roots: [Int64: Entity]
  /// The numbers of the entities that have subentities.
  private let parents: Set<Int64>

  init(_ database: SourceDatabase, _ schema: inout SourceSchema) throws(CoreDataStoreError) {
    let url = database.url
    try schema.require(["Z_ENT", "Z_NAME", "Z_SUPER", "Z_MAX"], in: "Z_PRIMARYKEY")
    guard try database.number("SELECT count(*) FROM Z_PRIMARYKEY") <= Self.limit else {
      throw .damaged(url, reason: "Z_PRIMARYKEY has more than \(Self.limit) entities")
    }
    let rows = try database.rows("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY ORDER BY Z_ENT") {
      row -> Entity? in
      guard let number = row.integer(0), number > 0, let name = row.text(1), !name.isEmpty else { return nil }
      let parent = row.integer(2).flatMap { $0 == 0 ? nil : $0 }
      return Entity(number: number, name: name, parent: parent, lastKey: row.integer(3) ?? 0)
    }
    var byName: [String: Entity] = [:]
    var byNumber: [Int64: Entity] = [:]
    for row in rows {
      guard let row else {
        throw .damaged(url, reason: "a row of Z_PRIMARYKEY has no number or no name")
      }
      guard byName.updateValue(row, forKey: row.name) == nil,
        byNumber.updateValue(row, forKey: row.number) == nil
      else { throw .damaged(url, reason: "Z_PRIMARYKEY has '\(row.name)', or its number, twice") }
    }
    // The root of each entity, and the number of its ancestors. Each link is followed once, however long the lines are.
    var roots: [Int64: (root: Entity, depth: Int)] = [:]
    for row in rows.compactMap(\.self) {
      var line: [Int64] = []
      var seen: Set<Int64> = []
      var next = row
      while roots[next.number] == nil {
        guard seen.insert(next.number).inserted else {
          throw .damaged(url, reason: "'\(row.name)' inherits from itself by Z_SUPER")
        }
        line.append(next.number)
        guard let number = next.parent else { break }
        guard let above = byNumber[number] else {
          throw .damaged(
            url, reason: "'\(row.name)' inherits from entity \(number), which Z_PRIMARYKEY does not contain")
        }
        next = above
      }
      let root = roots[next.number]?.root ?? next
      var depth = roots[next.number]?.depth ?? -1
      for number in line.reversed() {
        depth += 1
        roots[number] = (root, depth)
      }
      guard depth <= EntityGraph.mostAncestors else {
        throw .damaged(
          url, reason: "'\(row.name)' inherits from more than \(EntityGraph.mostAncestors) entities")
      }
    }
    self.roots = roots.mapValues { $0.root }
    all = rows.compactMap(\.self)
    self.byName = byName
    self.byNumber = byNumber
    parents = Set(byNumber.values.compactMap(\.parent))
  }

  subscript(name: String) -> Entity? { byName[name] }

  func name(of number: Int64) -> String? { byNumber[number]?.name }

  /// The entity without a parent from which an entity inherits, or the entity itself.
  func root(of entity: Entity) -> Entity { roots[entity.number] ?? entity }

  /// Whether an entity has neither a parent nor subentities. All rows of its table are then its objects, whatever
  /// number they have: Core Data does not check it.
  func isAlone(_ number: Int64) -> Bool {
    byNumber[number].map { $0.parent == nil } == true && !parents.contains(number)
  }

  /// The entities of the app's model.
  var ofModel: [Entity] { all.filter { $0.number < Self.firstOfSystem } }
}

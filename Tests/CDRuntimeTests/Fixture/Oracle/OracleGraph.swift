import CDRuntime

/// An object as the oracle knows it: a plain value, in which others stand by their numbers.
struct OracleRow: Equatable, Sendable {
  let entity: String
  /// The runtime's key, by which objects without another order are sorted.
  let key: Int64
  var attributes: [String: AttributeValue]
  var toOne: [String: Int] = [:]
  var toMany: [String: [Int]] = [:]
  var isInserted = true
  var isDeleted = false
}

/// All objects of a context, with both sides of each relationship written out, and the rules by which changes
/// go on from one object to others.
struct OracleGraph: Sendable {
  typealias Relation = OracleModel.Relation

  let model: OracleModel
  var rows: [Int: OracleRow] = [:]
  /// What was changed since the last save, whether or not it has been changed back.
  private(set) var changed: [Int: Set<String>] = [:]

  var touched: Set<Int> { Set(changed.keys) }
  func changedProperties(of number: Int) -> Set<String> { changed[number] ?? [] }

  init(_ model: OracleModel) { self.model = model }

  // MARK: What can be seen

  /// The objects that are not deleted, in the order of their numbers.
  func live(_ entity: String? = nil) -> [Int] {
    rows.filter { _, row in
      !row.isDeleted && (entity.map { model.isKind(row.entity, of: $0) } ?? true)
    }.keys.sorted()
  }

  func isLive(_ number: Int) -> Bool { rows[number].map { !$0.isDeleted } ?? false }

  func related(_ number: Int, _ relation: Relation) -> [Int] {
    if relation.isToMany { return rows[number]?.toMany[relation.name]?.filter(isLive) ?? [] }
    return rows[number]?.toOne[relation.name].map { [$0] }?.filter(isLive) ?? []
  }

  // MARK: Changes

  private mutating func note(_ number: Int, _ property: String) {
    changed[number, default: []].insert(property)
  }

  /// Takes the note back that properties were changed.
  mutating func forgetChanges(_ number: Int, of properties: [String]) {
    changed[number]?.subtract(properties)
  }

  mutating func noteDeletion(_ number: Int) { changed[number, default: []].formUnion([]) }

  mutating func insert(_ number: Int, _ entity: String, key: Int64) {
    var attributes: [String: AttributeValue] = [:]
    for attribute in model.attributes(of: entity) {
      if case .value(let value)? = attribute.defaultValue { attributes[attribute.name] = value }
    }
    rows[number] = OracleRow(entity: entity, key: key, attributes: attributes)
    changed[number] = []
  }

  mutating func set(_ number: Int, _ attribute: String, _ value: AttributeValue) {
    rows[number]?.attributes[attribute] = value == .null ? nil : value
    note(number, attribute)
  }

  mutating func connect(_ number: Int, _ relation: Relation, _ other: Int) {
    let inverse = model.inverse(of: relation)
    if has(number, relation, other) { return }
    if !relation.isToMany, let former = rows[number]?.toOne[relation.name] {
      disconnect(number, relation, former)
    }
    if let inverse, !inverse.isToMany, let former = rows[other]?.toOne[inverse.name] {
      disconnect(other, inverse, former)
    }
    put(number, relation, other)
    if let inverse { put(other, inverse, number) }
  }

  mutating func disconnect(_ number: Int, _ relation: Relation, _ other: Int) {
    take(number, relation, other)
    if let inverse = model.inverse(of: relation) { take(other, inverse, number) }
  }

  /// Puts an object that is among the related ones at a place of those that can be seen.
  mutating func move(_ number: Int, _ relation: Relation, _ other: Int, to index: Int) {
    var order = related(number, relation).filter { $0 != other }
    order.insert(other, at: min(index, order.count))
    arrange(number, relation, order)
  }

  mutating func arrange(_ number: Int, _ relation: Relation, _ order: [Int]) {
    guard relation.isOrdered, related(number, relation) != order else { return }
    let hidden = rows[number]?.toMany[relation.name]?.filter { !isLive($0) } ?? []
    rows[number]?.toMany[relation.name] = order + hidden
    note(number, relation.name)
  }

  private func has(_ number: Int, _ relation: Relation, _ other: Int) -> Bool {
    relation.isToMany
      ? rows[number]?.toMany[relation.name]?.contains(other) == true
      : rows[number]?.toOne[relation.name] == other
  }

  private mutating func put(_ number: Int, _ relation: Relation, _ other: Int) {
    if has(number, relation, other) { return }
    if relation.isToMany {
      rows[number]?.toMany[relation.name, default: []].append(other)
    } else {
      rows[number]?.toOne[relation.name] = other
    }
    note(number, relation.name)
  }

  private mutating func take(_ number: Int, _ relation: Relation, _ other: Int) {
    guard has(number, relation, other) else { return }
    if relation.isToMany {
      let left = rows[number]?.toMany[relation.name]?.filter { $0 != other } ?? []
      rows[number]?.toMany[relation.name] = left.isEmpty ? nil : left
    } else {
      rows[number]?.toOne[relation.name] = nil
    }
    note(number, relation.name)
  }
}

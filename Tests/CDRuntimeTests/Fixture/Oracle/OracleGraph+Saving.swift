import CDRuntime

// Deletion with its rules, and what a save has to say to a graph.
extension OracleGraph {
  mutating func delete(_ number: Int) {
    var waiting = [number]
    while let next = waiting.popLast() {
      guard isLive(next), let entity = rows[next]?.entity else { continue }
      for relation in model.relations(of: entity) {
        if relation.rule == .noAction || relation.rule == .deny { continue }
        let others = related(next, relation)
        if relation.rule == .cascade { waiting += others }
        guard model.inverse(of: relation) != nil else { continue }
        for other in others { disconnect(next, relation, other) }
      }
      rows[next]?.isDeleted = true
      noteDeletion(next)
    }
  }

  /// A mistake that a save reports.
  struct Mistake: Hashable, Sendable {
    var number: Int
    var property: String
    var isDenial = false
  }

  func mistakes() -> Set<Mistake> {
    var result: Set<Mistake> = []
    for number in touched {
      guard let row = rows[number] else { continue }
      if row.isDeleted {
        guard !row.isInserted else { continue }
        for relation in model.relations(of: row.entity)
        where relation.rule == .deny && !related(number, relation).isEmpty {
          result.insert(Mistake(number: number, property: relation.name, isDenial: true))
        }
        continue
      }
      func isChecked(_ property: String) -> Bool {
        row.isInserted || changed[number]?.contains(property) == true
      }
      for attribute in model.attributes(of: row.entity)
      where !attribute.isOptional && isChecked(attribute.name) && row.attributes[attribute.name] == nil {
        result.insert(Mistake(number: number, property: attribute.name))
      }
      for relation in model.relations(of: row.entity)
      where !relation.isOptional && isChecked(relation.name) && related(number, relation).isEmpty {
        result.insert(Mistake(number: number, property: relation.name))
      }
    }
    return result
  }

  /// Whether two objects have the same values of a unique list; nil is no value.
  var hasDuplicates: Bool {
    var seen: Set<[String]> = []
    for number in live() {
      guard let row = rows[number] else { continue }
      for list in model.uniqueLists(of: row.entity) {
        let values = list.keys.compactMap { row.attributes[$0] }
        guard values.count == list.keys.count else { continue }
        if !seen.insert(
          [list.entity] + list.keys
            + values.map { value in
              if case .string(let text) = value { return "\(Array(text.utf8))" }
              return "\(value)"
            }
        ).inserted {
          return true
        }
      }
    }
    return false
  }

  /// The graph after a save: what was deleted is gone, and so is what led to it.
  func saved() -> OracleGraph {
    var result = OracleGraph(model)
    for (number, row) in rows where !row.isDeleted {
      var row = row
      row.isInserted = false
      row.toOne = row.toOne.filter { isLive($0.value) }
      row.toMany = row.toMany.mapValues { $0.filter(isLive) }.filter { !$0.value.isEmpty }
      result.rows[number] = row
    }
    return result
  }

  /// Whether the partner of each object in a one-to-one relationship has the object for its own.
  var hasOnePartnerEach: Bool {
    rows.allSatisfy { number, row in
      model.relations(of: row.entity).allSatisfy { relation in
        guard let other = row.toOne[relation.name], let inverse = model.inverse(of: relation),
          !inverse.isToMany
        else { return true }
        return rows[other]?.toOne[inverse.name] == number
      }
    }
  }

  /// The objects that a save depends on: those with changes, and those that they lead to without their knowing.
  func involved() -> Set<Int> {
    var result = touched
    for number in touched {
      guard let row = rows[number] else { continue }
      for relation in model.relations(of: row.entity) where relation.inverse == nil {
        result.formUnion(related(number, relation))
      }
    }
    return result
  }
}
